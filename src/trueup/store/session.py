"""One connection to a database, in the few words that this room needs; SQLite and PostgreSQL each have a file.

SQL enters with `?` for its values, rows leave. A driver's own error becomes a StoreError with what to do about it.
Times are whole microseconds since 1970 by the clock of the store: PostgreSQL's own, or this machine's for SQLite.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from trueup.store.errors import StoreError

Row = tuple[Any, ...]
Clock = Callable[[], int]


class Session(Protocol):
    """A connection; between `begin` and `commit` everything counts or nothing does."""

    books: Any  # of the transaction under way; see `books.py`

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None: ...

    def insert(self, table: str, rows: Sequence[Sequence[Any]], tail: str = "") -> None:
        """Whole rows into a table, in as few statements as the database likes; `tail` says what happens to those that are there."""

    def stream(self, sql: str, values: Sequence[Any] = (), size: int = 500) -> Iterator[Row]: ...

    def begin(self, locks: Iterable[str] = (), lasting: bool = True) -> None:
        """Start to write; no other writer touches the rows of these tenants until the end.

        What is not `lasting` survives the death of this process, and may be lost with the power; what is committed later is never
        kept without it.
        """

    def snapshot(self) -> None:
        """Start to read: until the end everything is seen as of one instant."""

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def now(self) -> int: ...

    def shred(self, log: bool = False) -> bool:
        """From now on overwrite what is deleted, where the database can; with `log` also what is in its log. Whether that is done."""

    def close(self) -> None: ...


class Backend(Protocol):
    """A kind of database: opens sessions, and tells what its errors mean."""

    blob: str
    where: str
    by_tenant: bool  # writers of different tenants go on side by side

    def connect(self, writing: bool = False) -> Session: ...

    def explain(self, error: BaseException) -> StoreError | None:
        """A driver's error as one of ours, or None when it is not a driver's."""

    def broken(self, error: BaseException) -> bool:
        """Whether the connection is of no more use after this error."""


def lock_number(name: str) -> int:
    """The number of a tenant's lock, the same in every process."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)
