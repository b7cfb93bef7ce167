"""Violations: the places in a text where the rules of one state are broken, less those that are excused.

Rules and a folded text enter; for each broken rule its first places leave. A place is excused by another word of its
sentence, by a question, a denial or a condition it stands in, or because it is a name that the context gives.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trueup.checks.dialogue import BadStates, Excuses, Rule, Timed
from trueup.checks.folding import Folded, fold
from trueup.checks.matching import Matcher
from trueup.checks.sentences import Around, Form, around, asks, names_in

_SHOWN = 5
_YES = re.compile("\\b[sS](?:[íÍ]|[iI]\u0301)(?!\\w)")  # once folded, yes is if: "tu cita sí está confirmada"
_MAX_TIMED = 200


class Hit(NamedTuple):
    """A place in the original text, and what stands there."""

    text: str
    span: tuple[int, int]
    timed_out: bool = False


class _Watched(NamedTuple):
    rule: Rule
    excuses: Excuses
    exceptions: Matcher | None
    first: int  # the index of its first source in the common matcher
    terms: bool  # whether that first source is its terms
    timed: tuple[tuple[Any, Timed], ...]


class Lookout:
    """The rules of one state, watched for together."""

    __slots__ = ("_always", "_by_source", "_forms", "_matcher", "_names", "_watched")

    def __init__(self, rules: Sequence[Rule], allow: Excuses, forms: Mapping[str, Form], names: Sequence[str]) -> None:
        self._forms = forms
        self._watched: list[_Watched] = []
        self._by_source: list[int] = []
        sources: list[str] = []
        for index, rule in enumerate(rules):
            excuses = rule.excuses + allow
            made = excuses.content.sources
            timed = tuple((_timed(one, rule), one) for one in rule.content.timed)
            first = len(sources)
            sources += rule.content.sources
            self._by_source += [index] * (len(sources) - first)
            self._watched.append(
                _Watched(rule, excuses, Matcher(made) if made else None, first, bool(rule.content.terms), timed)
            )
        self._matcher = Matcher(sources)
        self._always = [watched for watched in self._watched if watched.timed]
        self._names = tuple(names)

    def hits(self, folded: Folded, data: Mapping[str, Any]) -> Iterator[tuple[Rule, list[Hit]]]:
        """The broken rules, in their order, each with the first places that are not excused."""
        which = self._matcher.which(folded.data)
        if not which and not self._always:
            return
        text = folded.data.decode("ascii")
        meant = Folded(_YES.sub("xx", folded.text)).data.decode("ascii") if _YES.search(folded.text) else text
        found: dict[int, list[Hit]] = {}
        for source in which:
            index = self._by_source[source]
            watched = self._watched[index]
            if not _is_off(watched.rule, data) and len(found.get(index, ())) < _SHOWN:
                found.setdefault(index, []).extend(self._places(watched, source, folded, (text, meant), data))
        for watched in self._always:
            if not _is_off(watched.rule, data):
                found.setdefault(self._watched.index(watched), []).extend(_late(watched, folded.text))
        for index in sorted(found):
            if found[index]:
                yield self._watched[index].rule, sorted(found[index], key=lambda hit: hit.span)[:_SHOWN]

    def _places(
        self, watched: _Watched, source: int, folded: Folded, texts: tuple[str, str], data: Mapping[str, Any]
    ) -> Iterator[Hit]:
        text, meant = texts
        is_term = watched.terms and source == watched.first
        names = names_in([data.get(key) for key in (*self._names, *watched.excuses.names)]) if is_term and data else ()
        count = 0
        last = (0, 0)
        for place in self._matcher.places(source, folded.data):
            if place is None:  # too many to look at: what was not looked at is not excused
                yield Hit(folded.text[slice(*folded.span(*last))], folded.span(*last))
                return
            last = place
            if is_term and text[place[0] : place[1]].strip("_") in names:
                continue
            here = around(text, *place)
            if self._is_excused(watched, here, here if meant is text else around(meant, *place)):
                continue
            span = folded.span(*place)
            yield Hit(folded.text[span[0] : span[1]], span)
            count += 1
            if count == _SHOWN:
                return

    def _is_excused(self, watched: _Watched, place: Around, meant: Around) -> bool:
        """Whether a place is excused; `meant` is the same without what reads like a condition and is none."""
        forms = watched.excuses.forms
        if "question" in forms and asks(place):
            return True
        if any(kind in forms and form.holds(meant) for kind, form in self._forms.items()):
            return True
        return watched.exceptions is not None and watched.exceptions.occurs(place.sentence.encode("ascii"))


def _is_off(rule: Rule, data: Mapping[str, Any]) -> bool:
    """Whether all that a rule waits for has been collected."""
    return bool(rule.unless) and all(_collected(data.get(key)) for key in rule.unless)


def _collected(value: Any) -> bool:
    return value is not None and value is not False and (not isinstance(value, str) or bool(value.strip()))


def _timed(one: Timed, rule: Rule) -> Any:
    try:
        import regex  # type: ignore[import-untyped]  # only contracts that allow timed patterns need it
    except ImportError:
        raise BadStates(rule.path, "a timed pattern needs the regex package: pip install regex") from None
    try:
        return regex.compile(one.pattern, regex.IGNORECASE)
    except regex.error as error:
        raise BadStates(rule.path, f"{one.pattern!r} cannot be used: {error}") from None


def _late(watched: _Watched, text: str) -> Iterator[Hit]:
    """What timed patterns find in the text as it stands; one that is out of time says so."""
    for pattern, one in watched.timed:
        try:
            found = list(zip(range(_MAX_TIMED), pattern.finditer(text, timeout=one.seconds), strict=False))
        except TimeoutError:
            yield Hit("", (0, 0), timed_out=True)
            continue
        for _, match in found[:_SHOWN]:
            if fold(match[0]):
                yield Hit(match[0], match.span())
