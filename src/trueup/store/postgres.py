"""PostgreSQL as a store; needs the extra `postgres`.

Writers of different tenants work in parallel: each transaction first takes the locks of its tenants, in one order. The clock
is the server's. A password in the URL never appears in a message.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from trueup.store.errors import NotStorable, StoreBusy, StoreError, StoreFull, StoreUnavailable
from trueup.store.session import Clock, Row, lock_number
from trueup.verdict.extras import install

_MARK = re.compile(r"('[^']*')|\?")  # doubled inside quotes, a quote is a character
_dialect: dict[str, str] = {}
_TOO_LARGE = "54"  # the error class for the server's own limits, such as a text too long for an index
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


def _translated(sql: str) -> str:
    known = _dialect.get(sql)
    if known is None:
        known = _dialect[sql] = _MARK.sub(lambda mark: mark[1] or "%s", sql)
    return known


def without_password(url: str) -> str:
    """A URL that is safe to show.

    >>> without_password("postgresql://ada:secret@db:5432/trueup?password=secret")
    'postgresql://ada@db:5432/trueup'
    """
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, f"{user}{parts.hostname or ''}{port}", parts.path, "", ""))


class PostgresSession:
    """A connection to the server."""

    def __init__(self, url: str, clock: Clock | None, *, writing: bool) -> None:
        import psycopg

        self._clock = clock
        self.books: Any = None
        self._db: psycopg.Connection[Row] = psycopg.connect(
            url, autocommit=True, connect_timeout=10, application_name="trueup", prepare_threshold=3
        )
        if writing:  # a session that hangs in mid-transaction must not keep its tenants' locks; a reader may be slow
            self._db.execute("SET idle_in_transaction_session_timeout = '60s'")
        self._db.execute("SET lock_timeout = '30s'")

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._db.execute(_translated(sql), values)  # our own texts, never a caller's
        return cursor.fetchall() if cursor.description else []

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._db.cursor() as cursor:
            cursor.executemany(_translated(sql), rows)

    def insert(self, table: str, rows: Sequence[Sequence[Any]], tail: str = "") -> None:
        if rows:
            self.many(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))}) {tail}", rows)  # noqa: S608 - our own tables

    def stream(self, sql: str, values: Sequence[Any] = (), size: int = 500) -> Iterator[Row]:
        with self._db.cursor("trueup_rows") as cursor:
            cursor.itersize = size
            cursor.execute(_translated(sql), values)
            yield from cursor

    def begin(self, locks: Iterable[str] = (), *, lasting: bool = True) -> None:
        self._db.execute("BEGIN" if lasting else "BEGIN; SET LOCAL synchronous_commit = off")
        for number in sorted({lock_number(name) for name in locks}):
            self._db.execute("SELECT pg_advisory_xact_lock(%s)", (number,))

    def snapshot(self) -> None:
        self._db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def commit(self) -> None:
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        if not self._db.closed:
            self._db.execute("ROLLBACK")

    def now(self) -> int:
        if self._clock is not None:
            return self._clock()
        return int(self.run(_NOW)[0][0])

    def shred(self, *, log: bool = False) -> bool:  # noqa: ARG002 - VACUUM does it, when the server gets to it
        return False

    def close(self) -> None:
        self._db.close()


class Postgres:
    """A PostgreSQL database."""

    blob = "BYTEA"
    by_tenant = True

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        try:
            import psycopg  # noqa: F401 - told here, once, that it is missing
        except ImportError:
            raise StoreUnavailable(f"PostgreSQL needs a driver: {install('postgres')}") from None
        self._url = url
        self._secrets = _secrets(url)
        self.where = without_password(url)
        self._clock = clock

    def connect(self, *, writing: bool = False) -> PostgresSession:
        return PostgresSession(self._url, self._clock, writing=writing)

    def explain(self, error: BaseException) -> StoreError | None:
        import psycopg
        from psycopg import errors as pg

        if not isinstance(error, psycopg.Error):
            return None
        if isinstance(error, pg.DiskFull | pg.OutOfMemory):
            return StoreFull(f"{self.where}: the server has no room left ({self._said(error)}); free some space")
        if isinstance(
            error, pg.LockNotAvailable | pg.DeadlockDetected | pg.SerializationFailure | pg.TooManyConnections
        ):
            return StoreBusy(f"{self.where}: {self._said(error)}; try again")
        unsent = isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None  # a type that no cell can store
        too_large = (error.sqlstate or "").startswith(_TOO_LARGE)
        if unsent or too_large or isinstance(error, psycopg.DataError | psycopg.IntegrityError):
            return NotStorable(f"{self.where}: cannot store this value: {self._said(error)}")
        if isinstance(error, psycopg.OperationalError):
            return StoreUnavailable(f"{self.where}: the server cannot be reached ({self._said(error)}); is it running?")
        return StoreError(f"{self.where}: {self._said(error)}")

    def _said(self, error: BaseException) -> str:
        """The first line of a driver's message, without our password; later lines may quote values."""
        text = (str(error).splitlines() or [type(error).__name__])[0]
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text

    def broken(self, error: BaseException) -> bool:
        import psycopg

        lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | psycopg.InternalError)
        return lost and getattr(error, "sqlstate", None) in (None, "57P01", "57P02", "57P03", "25P03", "08006", "08003")


def _secrets(url: str) -> list[str]:
    parts = urlsplit(url)
    found = [parts.password or "", *parse_qs(parts.query).get("password", [])]
    return [word for word in found if word]
