"""The manifest of a sift: what the run is, how far it has come, in one SQLite file beside its parts.

Each commit is durable before it returns. It belongs to one owner at a time; an owner that was replaced finds out at its next commit.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

FORMAT = 1
NAME = "manifest.db"


class Lost(RuntimeError):
    """The run belongs to another process now; nothing more was written."""


class Unknown(ValueError):
    """The manifest is of another version, or damaged."""


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
            raise OSError(f"{self.path}: {error}") from None
        except sqlite3.DatabaseError as error:
            raise Unknown(f"{self.path}: {error}; use --fresh to begin anew") from None
        self._term = -1

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
        self._db.execute("CREATE TABLE IF NOT EXISTS ranges (number INTEGER PRIMARY KEY, start INTEGER, ids INTEGER)")

    def own(self) -> int:
        """Take the run over; whoever had it before cannot commit any more."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._term = int(self.get("term", 0)) + 1
            self._put({"term": self._term})
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}") from None
        return self._term

    def get(self, name: str, default: Any = None) -> Any:
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return default if row is None else orjson.loads(row[0])

    def commit(self, facts: dict[str, Any], done: list[tuple[int, int, int]] = []) -> None:  # noqa: B006 - never written to
        """Write facts and finished ranges, all or none, if the run is still ours."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}") from None
        try:
            self._stay_owner()
            self._put(facts)
            self._db.executemany("INSERT OR REPLACE INTO ranges VALUES (?, ?, ?)", done)
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self._db.rollback()
            raise OSError(f"{self.path}: {error}") from None
        except Lost:
            self._db.execute("ROLLBACK")
            raise

    def _stay_owner(self) -> None:
        if self.get("term") != self._term:
            raise Lost("another process has taken this run over")

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """The judged ranges in order: the number of each, where in its part the ids begin, and how many bytes they take."""
        yield from self._db.execute("SELECT number, start, ids FROM ranges ORDER BY number")

    def _put(self, facts: dict[str, Any]) -> None:
        rows = [(name, orjson.dumps(value)) for name, value in facts.items()]
        self._db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)

    def close(self) -> None:
        self._db.close()
