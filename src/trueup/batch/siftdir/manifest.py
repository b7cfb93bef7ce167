"""The manifest of a sift: its settings, its ranges and its progress, in one SQLite file beside its parts.

Each commit is durable before it returns. A manifest has one owner at a time; an owner that was replaced finds out at its next
commit.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trueup.batch.input.ranges import Range

FORMAT = 2
NAME = "manifest.db"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    (
        "CREATE TABLE IF NOT EXISTS plan (number INTEGER PRIMARY KEY, source INTEGER, first INTEGER, last INTEGER,"
        " ids INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0, kept BLOB)"
    ),
    "CREATE INDEX IF NOT EXISTS plan_order ON plan (source, first)",
    (
        "CREATE TABLE IF NOT EXISTS edits (number INTEGER, place INTEGER, act TEXT NOT NULL, others BLOB,"
        " PRIMARY KEY (number, place)) WITHOUT ROWID"
    ),
)
_PAGE = 1000
_ROW = "SELECT number, source, first, last, ids, size, kept FROM plan"


class LostOwnership(RuntimeError):
    """The run now belongs to another process; nothing more was written."""


class UnknownManifest(ValueError):
    """The manifest has another version, or is damaged."""


class PlannedRange(NamedTuple):
    """A range of the run; once it is judged, the start and the size of its ids.

    `kept` has the place of a merged range and its records in the index. Until a range is merged, it has its own part.
    """

    piece: Range
    ids: int
    size: int
    kept: dict[str, Any] | None


class Edit(NamedTuple):
    """The edit of one line whose id other lines have too: `keep`, `refuse`, `drop` or `choose`.

    A chosen line has the first of the lines that it replaces, each as its range, its offset and whether it failed, and their
    number. A dropped line has the chosen one.
    """

    number: int
    offset: int
    act: str
    others: list[tuple[int, int, bool]] = []
    stands_for: int = 0


class RowChange(NamedTuple):
    """Rows to write with the next commit."""

    statement: str
    rows: Iterable[tuple[Any, ...]]


def planned(pieces: Iterable[Range]) -> RowChange:
    """Ranges to judge."""
    return RowChange("INSERT OR REPLACE INTO plan (number, source, first, last) VALUES (?, ?, ?, ?)", pieces)


def dropped(numbers: Iterable[int]) -> RowChange:
    """Ranges that are no longer part of the run."""
    return RowChange("DELETE FROM plan WHERE number = ?", ((number,) for number in numbers))


def judged(rows: Iterable[tuple[int, int, int]]) -> RowChange:
    """Ranges whose parts are in place: the number of each, the start of the ids in its part, and their size in bytes."""
    return RowChange("UPDATE plan SET ids = ?, size = ? WHERE number = ?", ((ids, size, n) for n, ids, size in rows))


def kept(rows: Iterable[tuple[int, int, dict[str, Any]]]) -> RowChange:
    """Ranges that were merged: the number of each, the start of its ids in the index, and the place of the rest."""
    values = ((ids, orjson.dumps(where), number) for number, ids, where in rows)
    return RowChange("UPDATE plan SET ids = ?, kept = ? WHERE number = ?", values)


def no_edits() -> RowChange:
    """Remove all edits."""
    return RowChange("DELETE FROM edits WHERE number >= ?", [(0,)])


def edited(edits: Iterable[Edit]) -> RowChange:
    """Lines whose output differs from how they were judged."""
    rows = ((edit.number, edit.offset, edit.act, orjson.dumps([edit.stands_for, edit.others])) for edit in edits)
    return RowChange("INSERT OR REPLACE INTO edits VALUES (?, ?, ?, ?)", rows)


class Manifest:
    """Keys and values of one run, committed together."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=10)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise UnknownManifest(f"{self.path}: {error}; use --fresh to start over") from None
        self._term = -1

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        for statement in _TABLES:
            self._db.execute(statement)

    def own(self) -> int:
        """Take over the run; an earlier owner can no longer commit."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._term = int(self.get("term", 0)) + 1
            self._put({"term": self._term})
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}") from error
        return self._term

    def get(self, name: str, default: Any = None) -> Any:
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return default if row is None else orjson.loads(row[0])

    def commit(self, facts: dict[str, Any], *changes: RowChange) -> None:
        """Write facts and rows, all or none, if the run is still ours."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}") from error
        try:
            self._stay_owner()
            self._put(facts)
            for change in changes:
                self._db.executemany(change.statement, change.rows)
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self._db.rollback()
            raise OSError(f"{self.path}: {error}") from error
        except BaseException:
            self._db.rollback()
            raise

    def _stay_owner(self) -> None:
        if self.get("term") != self._term:
            raise LostOwnership("another process has taken over this run")

    def plan(self, after: Range | None = None) -> Iterator[PlannedRange]:
        """The ranges of the run in the order of the input, from the start or after one of them."""
        query = f"{_ROW} WHERE (source, first) > (?, ?) ORDER BY source, first LIMIT {_PAGE}"
        edge = (-1, -1) if after is None else (after.source, after.start)
        while rows := self._db.execute(query, edge).fetchall():  # page by page, since there are commits in between
            yield from map(_planned, rows)
            edge = rows[-1][1], rows[-1][2]

    def range(self, number: int) -> PlannedRange:
        """One range of the run."""
        return _planned(self._db.execute(f"{_ROW} WHERE number = ?", (number,)).fetchone())

    def count(self) -> int:
        """The number of ranges of the run."""
        return int(self._db.execute("SELECT count(*) FROM plan").fetchone()[0])

    def edits(self, number: int) -> list[Edit]:
        """The edits of a range, by the offset of their lines."""
        found = self._db.execute("SELECT * FROM edits WHERE number = ? ORDER BY place", (number,))
        return [_edit(row) for row in found]

    def _put(self, facts: dict[str, Any]) -> None:
        rows = [(name, orjson.dumps(value)) for name, value in facts.items()]
        self._db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)

    def close(self) -> None:
        self._db.close()


def _planned(row: tuple[Any, ...]) -> PlannedRange:
    number, source, first, last, ids, size, raw = row
    return PlannedRange(Range(number, source, first, last), ids, size, None if raw is None else orjson.loads(raw))


def _edit(row: tuple[Any, ...]) -> Edit:
    number, offset, act, raw = row
    count, others = orjson.loads(raw)
    return Edit(number, offset, act, [(of, at, failed) for of, at, failed in others], count)
