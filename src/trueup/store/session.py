"""The interface of one database connection, as this package needs it; SQLite and PostgreSQL each have a file.

SQL uses `?` for its values. A driver's own error becomes a StoreError that says what to do. Times are whole microseconds
since 1970 by the clock of the store: PostgreSQL's own, or this machine's for SQLite.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from trueup.store.errors import StoreError

Row = tuple[Any, ...]
Clock = Callable[[], int]


class Session(Protocol):
    """A connection; everything between `begin` and `commit` takes effect, or nothing does."""

    books: Any  # of the current transaction; see `books.py`

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None: ...

    def insert(self, table: str, rows: Sequence[Sequence[Any]], tail: str = "") -> None:
        """Write whole rows to a table, in as few statements as the database likes; `tail` says what to do with existing rows."""

    def stream(self, sql: str, values: Sequence[Any] = (), size: int = 500) -> Iterator[Row]: ...

    def begin(self, locks: Iterable[str] = (), *, lasting: bool = True) -> None:
        """Begin to write; no other writer touches the rows of these tenants until the end.

        A commit that is not `lasting` survives the death of this process, but may be lost in a power cut; nothing committed
        later is ever kept without it.
        """

    def snapshot(self) -> None:
        """Begin to read: everything is seen at one instant until the end."""

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def now(self) -> int: ...

    def shred(self, *, log: bool = False) -> bool:
        """Overwrite deleted data from now on, if the database can; with `log`, also in its log. Returns whether that is done."""

    def close(self) -> None: ...


class Backend(Protocol):
    """A kind of database: opens sessions and interprets its errors."""

    blob: str
    where: str
    by_tenant: bool  # writers of different tenants work in parallel

    def connect(self, *, writing: bool = False) -> Session: ...

    def explain(self, error: BaseException) -> StoreError | None:
        """A driver's error as one of ours, or None if it is not a driver's."""

    def broken(self, error: BaseException) -> bool:
        """Whether the connection is unusable after this error."""


def lock_number(name: str) -> int:
    """The number of a tenant's lock, the same in every process."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)
