"""Columns: find the table that has one column per record. Takes mentions; returns the record of each column, if any."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from trueup.grounding.pages import SourcePage
from trueup.grounding.stretches import Field, Mention
from trueup.verdict.facts import Span

_LEAST = 0.6  # the least share of mentions that must agree on the record of a column


class Columns:
    """The columns of a table, each about one record."""

    def __init__(self, page: SourcePage, records: dict[int, int]) -> None:
        self._page = page
        self._records = records  # by column
        self._columns = {record: column for column, record in records.items()}

    def at(self, position: int) -> int | None:
        """The record of the column at a position; None outside the columns."""
        return self._records.get(_cell(self._page, position)[1])

    def cell(self, record: int, position: int) -> Span | None:
        """A record's cell in the line at a position."""
        cells, _ = _cell(self._page, position)
        column = self._columns.get(record, len(cells))
        return cells[column] if column < len(cells) else None


def columns_of(page: SourcePage, mentions: Sequence[Mention], name: Field) -> Columns | None:
    """The columns of a table that has all record names in one line, and each record's values below its name."""
    names = [one.span[0] for one in mentions if name in one.claims.values()]
    if not names:
        return None
    begin, end = page.line(names[0])
    beside = sum(begin <= one.span[0] < end for one in mentions)
    if names[-1] >= end or (len(mentions) - beside) * 2 <= len(mentions) - len(names):
        return None
    votes: dict[tuple[int, int], float] = defaultdict(float)
    total = 0.0
    for mention in mentions:
        _, column = _cell(page, mention.span[0])
        total += mention.weight
        for record in mention.claims:
            votes[column, record] += mention.weight
    records: dict[int, int] = {}
    known: set[int] = set()
    agreed = 0.0
    for (column, record), weight in sorted(votes.items(), key=lambda one: -one[1]):
        if column not in records and record not in known:
            records[column] = record
            known.add(record)
            agreed += weight
    return Columns(page, records) if len(records) > 1 and agreed > _LEAST * total else None


def _cell(page: SourcePage, position: int) -> tuple[list[Span], int]:
    """The cells of the line at a position, and the index of the cell there; -1 between two cells."""
    cells = page.cells(page.line(position))
    at = bisect_right(cells, position, key=lambda cell: cell[0]) - 1
    return cells, at if at >= 0 and position < cells[at][1] else -1
