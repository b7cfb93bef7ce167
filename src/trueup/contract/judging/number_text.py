"""Numbers that became strings, in the digits of the text: `1.50` is "1.50".

Takes a choice. If its part of the text can be found, the value and its notes get the original digits.
"""

from collections.abc import Callable
from typing import Any

from trueup.recover.aims import Aims
from trueup.recover.choose import Choice
from trueup.recover.json.lexer import WRITTEN_NUMBER
from trueup.recover.json.tree import ValueTree
from trueup.verdict.paths import Parts, with_value
from trueup.verdict.patterns import lazy_regex

_NUMBER = lazy_regex(r"(?<![\w.])-?[0-9]{1,300}(?:\.[0-9]{1,300})?(?:[eE][+-]?[0-9]{1,5})?(?![\w.])")
_MOVING = frozenset(("C005", "C006", "C007"))
# the string, list or element at a path before a coercion moved its content
_Moves = dict[tuple[Parts, str], Any]


def numbers_as_written(text: str, choice: Choice, aims: Aims, is_valid: Callable[[Any], bool]) -> None:
    """If a number became a string, use the digits from the text."""
    reading = choice.reading
    notes = list(reading.fit.notes)
    moves: _Moves = {(note.path, note.code): note.before for note in notes if note.code in _MOVING}
    find = _Finder(text, choice, aims)
    value = reading.fit.value
    for index, note in enumerate(notes):
        if note.code != "C008" or type(note.before) is bool:
            continue
        written_as = find.at(*way_back(note.path, moves)) or find.like(note.before)
        if written_as and written_as != note.after:
            notes[index] = note._replace(before=written_as, after=written_as)
            value = with_value(value, note.path, written_as)
    if is_valid(value):
        choice.reading = reading._replace(fit=reading.fit._replace(value=value, notes=notes))


class _Finder:
    """Finds how a number was written: by its place, or, if places are unknown, by its value."""

    __slots__ = ("_aims", "_base", "_candidate", "_like", "_places", "_spans", "_text")

    def __init__(self, text: str, choice: Choice, aims: Aims) -> None:
        self._candidate = choice.reading.candidate
        self._aims = aims
        source, self._base = _inside(self._candidate.value, choice.reading.base)
        self._text = text if source is None else source
        self._spans = self._candidate.spans if source is None else [(0, len(source))]
        start, stop = self._spans[0][0], self._candidate.end if source is None else len(source)
        self._places = ValueTree(self._text, start, stop, aims.known, aims.max_depth)
        self._like: dict[float, set[str]] | None = None

    def at(self, inner: str | None, path: Parts) -> str:
        """The number at a path, in the text or in a string inside it; empty if it is not found."""
        if self._candidate.form != "json":
            return ""
        text, places, base = self._text, self._places, self._base
        if inner is not None:
            text, places, base = inner, ValueTree(inner, 0, len(inner), self._aims.known, self._aims.max_depth), ()
        span = places.span((*base, *path), "C008")
        found = text[slice(*span)] if span else ""
        return found if WRITTEN_NUMBER.fullmatch(found) else ""

    def like(self, number: Any) -> str:
        """The only spelling of a number with this value in the text; empty if there are several, or if there is none."""
        if self._like is None:
            self._like = {}
            for start, stop in self._spans:
                for found in _NUMBER.finditer(self._text, start, stop):
                    self._like.setdefault(float(found[0]), set()).add(found[0])
        ways = self._like.get(number, ())
        return next(iter(ways)) if len(ways) == 1 else ""


def _inside(value: Any, base: Parts) -> tuple[str | None, Parts]:
    """The string that contains the part at a path as JSON, if there is one, and the path within it."""
    for index, part in enumerate(base):
        if isinstance(value, str):
            return value, base[index:]
        value = value[part]
    return (value, ()) if isinstance(value, str) else (None, base)


def way_back(path: Parts, moves: _Moves) -> tuple[str | None, Parts]:
    """The earlier position of a part of a coerced value: the string that contained it, if any, and its path.

    If a list with one item became that item, or the reverse, its content has moved.
    """
    if not moves:
        return None, path
    text: str | None = None
    out: list[str | int] = []
    for size in range(len(path) + 1):
        if size and (path[: size - 1], "C006") not in moves:
            out.append(path[size - 1])
        if (path[:size], "C005") in moves:
            text, out = moves[path[:size], "C005"], []
        if (path[:size], "C007") in moves:
            out.append(0)
    return text, tuple(out)
