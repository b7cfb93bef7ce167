"""Caches of replies for repeated asks: in memory, or in a file that processes share. You choose one with `cache=`; by default, nothing is cached.

Only valid replies are stored, under a digest of the request and the client. Neither the digest nor the stored reply contains API keys or
headers. A reply from the cache is judged again; if it is no longer valid, it is dropped and the model is asked.
`replay` makes the keys and the bytes.
"""

import logging
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any, Protocol

_PRUNED = 64  # replies that are stored between two checks of the file's size


class Cache(Protocol):
    """A store of replies: bytes under a key of hexadecimal digits. Write your own with these three methods."""

    def get(self, key: str) -> bytes | None:
        """The bytes that were stored under `key`, or None."""

    def put(self, key: str, value: bytes) -> None:
        """Store the bytes `value` under `key`."""

    def drop(self, key: str) -> None:
        """Delete the reply under `key`."""


class MemoryCache:
    """Keeps up to `most` replies in memory; the least recently used ones are forgotten first.

    >>> cache = MemoryCache(most=2)
    >>> for key in "abc":
    ...     cache.put(key, key.encode())
    >>> cache.get("a"), cache.get("c"), len(cache)
    (None, b'c', 2)
    """

    def __init__(self, most: int = 1000) -> None:
        if type(most) is not int or most < 1:
            raise ValueError(f"most must be a whole number, 1 or more; got {most!r}")
        self._most = most
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> bytes | None:
        """The bytes that were stored under `key`, or None."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Store the bytes `value` under `key`."""
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def drop(self, key: str) -> None:
        """Delete the reply under `key`."""
        with self._lock:
            self._kept.pop(key, None)


class FileCache:
    """Keeps replies in the SQLite file at `path`, which processes and threads can share. Stored replies survive a crash.

    If there are more than `most` replies, the oldest are deleted. Replies older than `max_age` seconds are not used; None: no limit. If the
    file later cannot be read or written, it counts as empty: the ask continues without it, and a warning is logged.
    """

    def __init__(self, path: str | os.PathLike[str], *, most: int = 100_000, max_age: float | None = None) -> None:
        if type(most) is not int or most < 1:
            raise ValueError(f"most must be a whole number, 1 or more; got {most!r}")
        if max_age is not None and not max_age > 0:
            raise ValueError(f"max_age must be a number of seconds above 0; got {max_age!r}")
        self._path = Path(path)
        self._most = most
        self._max_age = max_age
        self._lock = threading.Lock()
        self._puts = 0
        try:
            self._base = self._open()
        except sqlite3.Error as error:
            raise ValueError(f"cannot keep replies in {self._path}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        self._process = os.getpid()
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))  # replies may be private
        base = sqlite3.connect(self._path, timeout=1.0, isolation_level=None, check_same_thread=False)
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")
        base.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, value BLOB NOT NULL, at REAL NOT NULL)")
        base.execute("CREATE INDEX IF NOT EXISTS replies_at ON replies (at)")
        return base

    def get(self, key: str) -> bytes | None:
        """The bytes that were stored under `key`, or None."""
        oldest = 0.0 if self._max_age is None else time.time() - self._max_age
        rows = self._do("SELECT value FROM replies WHERE key = ? AND at >= ?", key, oldest)
        return rows[0][0] if rows and isinstance(rows[0][0], bytes) else None

    def put(self, key: str, value: bytes) -> None:
        """Store the bytes `value` under `key`."""
        self._do("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", key, value, time.time())
        self._puts += 1
        if self._puts % _PRUNED == 1:
            self._do(
                "DELETE FROM replies WHERE key IN (SELECT key FROM replies ORDER BY at DESC LIMIT -1 OFFSET ?)",
                self._most,
            )

    def drop(self, key: str) -> None:
        """Delete the reply under `key`."""
        self._do("DELETE FROM replies WHERE key = ?", key)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    def _do(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            try:
                if self._process != os.getpid():  # a connection does not survive a fork
                    self._base = self._open()
                return self._base.execute(statement, values).fetchall()
            except (sqlite3.Error, OSError) as error:
                logging.getLogger("trueup.ask").warning("cannot use the cache %s: %s", self._path, error)
                return []
