"""Finds the places of a chosen value's parts: in the tree of the text, or in the form that the value was read from."""

from functools import cache
from typing import TYPE_CHECKING, Any

from trueup.recover.aims import Aims
from trueup.recover.choose import JudgedCandidate
from trueup.recover.json.frames import parts_of
from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from types import ModuleType

    from trueup.recover.json.tree import ValueTree

_FEW = 4  # this many parts are searched in the whole text; for more, it is walked through once
Member = tuple[tuple[int, int], tuple[int, int]]  # the spans of its key and its value


class Spans:
    """The places of a chosen value's parts in the text."""

    __slots__ = ("_aims", "_asked", "_base", "_candidate", "_is_json", "_text", "_tree")

    def __init__(self, text: str, reading: JudgedCandidate, aims: Aims) -> None:
        candidate = self._candidate = reading.candidate
        self._base = reading.base
        self._text = text
        self._aims = aims
        self._asked = 0
        self._tree: ValueTree | None = None
        kind = type(candidate.value)
        self._is_json = candidate.form == "json" and (kind is dict or kind is list) and candidate.places is None

    def of(self, parts: Parts, code: str = "") -> tuple[int, int]:
        """The place of a part, or of the nearest value around it."""
        candidate, where = self._candidate, (*self._base, *parts)
        found: tuple[int, int] | None = None
        if self._is_json and where:
            self._asked += 1
            found = (self._only(where, code) if self._asked <= _FEW else None) or self._walked(where, code)
        places = None if self._is_json else candidate.places
        while places and found is None and where:
            found = places.get(where)
            where = where[:-1]
        return found or (candidate.spans[0][0], candidate.end)

    def _walked(self, where: Parts, code: str) -> tuple[int, int] | None:
        """The place of a part in the tree of the text."""
        tree, candidate = self._tree, self._candidate
        if tree is None:
            start, is_clean = candidate.spans[0][0], not candidate.codes
            tree = _room().ValueTree(
                self._text, start, candidate.end, self._aims.known, self._aims.max_depth, is_json=is_clean
            )
            self._tree = tree
        return tree.span(where, code)

    def _only(self, where: Parts, code: str) -> tuple[int, int] | None:
        """The place of a member whose key occurs once in the text, which needs no walk."""
        key, candidate = where[-1], self._candidate
        if not isinstance(key, str) or code in ("C009", "C010") or candidate.codes or not _has(candidate.value, where):
            return None
        member: Member | None = _room().only_member(self._text, candidate.spans[0][0], candidate.end, key)
        return None if member is None else member[1]


def _has(value: Any, where: Parts) -> bool:
    """Whether a value has something at a path."""
    for part in where:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


@cache
def _room() -> "ModuleType":
    from trueup.recover.json import tree  # loads the parser, so only when a place is first needed

    return tree


def path_at(text: str, offset: int) -> Parts:
    """The path of the key or value at an offset of a JSON text."""
    from trueup.recover.json.tree import nodes_at  # as above

    return parts_of(nodes_at(text, [(offset, False)])[0])
