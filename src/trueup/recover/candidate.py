"""A candidate: one reading of a reply, with the fixes that it took.

Records are turned into Fix values only when they are needed.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from trueup.recover.json.frames import Record, parts_of
from trueup.verdict.catalogue import GRADE, PRICE
from trueup.verdict.facts import Fix
from trueup.verdict.paths import Parts, render

# the places of a value's parts: path to start and end
Spans = dict[Parts, tuple[int, int]]
_SHORT = 200
_NO_CODES: frozenset[str] = frozenset()


class Candidate:
    """One value found in a text: its place, the records of its reading, and its price."""

    __slots__ = ("_codes", "_places", "_records", "form", "spans", "value")

    def __init__(
        self,
        value: Any,
        spans: list[tuple[int, int]],
        records: list[Record] | Callable[[], list[Record]],
        form: str = "json",
        codes: AbstractSet[str] | None = None,
        places: "Spans | Callable[[], Spans] | None" = None,
    ) -> None:
        self.value = value
        self.spans = spans
        self._records = records
        self._codes = codes
        self._places = places
        self.form = form

    @property
    def records(self) -> list[Record]:
        records = self._records
        if callable(records):
            records = self._records = records()
        return records

    @property
    def places(self) -> "Spans | None":
        """The place of each part of the value in the text, by its path; None if only a tree of the text has them."""
        places = self._places
        if callable(places):
            places = self._places = places()
        return places

    @property
    def codes(self) -> AbstractSet[str]:
        """The codes of the records, without making the records."""
        if self._codes is not None:
            return self._codes
        return {record[0] for record in self.records} if self._records else _NO_CODES

    @property
    def cost(self) -> int:
        return sum(PRICE[record[0]] for record in self.records)

    @property
    def lossy(self) -> bool:
        return any(GRADE[code] == "lossy" for code in self.codes)

    @property
    def end(self) -> int:
        return self.spans[-1][1]


def to_fixes(text: str, records: list[Record], base: Parts = ()) -> tuple[Fix, ...]:
    """Records as fixes, in the order of the text; `base` is the path of the part that was chosen."""
    fixes = []
    for code, start, end, after, node in records if len(records) < 2 else sorted(records, key=_in_text):
        path = "$"
        if node is not None:
            parts = parts_of(node)
            path = render(parts[len(base) :] if parts[: len(base)] == base else ())
        before = text[start:end] if end - start <= _SHORT else f"{text[start : start + _SHORT - 1]}…"
        after = after if len(after) <= _SHORT else f"{after[: _SHORT - 1]}…"
        fixes.append(Fix(code, GRADE[code], path, (start, end), before, after))
    return tuple(fixes)


def _in_text(record: Record) -> tuple[int, int, str]:
    return record[1], record[2], record[0]
