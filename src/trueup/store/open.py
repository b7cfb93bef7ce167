"""Open a store at a path or an address, and bring its tables up to date.

`verdicts.db`, `sqlite:verdicts.db` and `sqlite:///var/lib/verdicts.db` are SQLite; `postgresql://…` is PostgreSQL.
"""

from pathlib import Path
from urllib.parse import urlsplit

from trueup.store.alarm import Alarm
from trueup.store.errors import StoreUnavailable
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention
from trueup.store.session import Backend, Clock
from trueup.store.store import Store

_KNOWN = "give a path, sqlite:///path or postgresql://host/name"


def open_store(
    url: str | Path,
    *,
    redaction: Redaction | None = None,
    retention: Retention | None = None,
    capacity: int = 10_000,
    alarm: Alarm | None = None,
    clock: Clock | None = None,
    create: bool = True,
    keep_context: bool | int = False,
) -> Store:
    """Open the store at `url`: a path, `sqlite:///path` or `postgresql://host/name`.

    - `redaction`: what to remove from a reply; None: only keys and tokens.
    - `retention`: for how many days data is kept; None: the defaults of `Retention`.
    - `capacity`: how many verdicts may wait to be written.
    - `alarm`: logs a warning if a model must be asked again too often; None: at the default rate.
    - `clock`: returns microseconds since 1970, for tests; None: the system's clock.
    - `create`: whether a missing or empty file becomes a store; otherwise it is refused.
    - `keep_context`: whether the context of a judgement is kept with the reply, so that it can be judged again. True, or the
      most bytes of each; False: only the state and the names of the context.
    """
    return Store(
        backend_of(str(url), clock, create=create), redaction, retention, capacity, alarm, keep_context=keep_context
    )


def backend_of(url: str, clock: Clock | None = None, *, create: bool = True) -> Backend:
    """The kind of database that a URL names."""
    path = file_of(url)
    if path is None:
        from trueup.store.postgres import Postgres

        return Postgres(url, clock)
    from trueup.store.sqlite import Sqlite

    if path.is_dir():
        raise StoreUnavailable(f"{path}: that is a folder; give a path such as trueup.db")
    if not create and not path.exists():
        raise StoreUnavailable(f"{path}: there is no such store")
    if not create and path.is_file() and not path.stat().st_size:  # SQLite would make an empty file a database
        raise StoreUnavailable(f"{path}: the file is empty; it is not a store")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"{path}: there is no folder {str(path.parent)!r}; make it first")
    return Sqlite(path, clock)


def file_of(url: str) -> Path | None:
    """The SQLite file that a URL names, or None if it names PostgreSQL; raises StoreUnavailable if it names neither.

    >>> str(file_of("sqlite:///var/lib/verdicts.db")), file_of("postgresql://db/trueup")
    ('/var/lib/verdicts.db', None)
    """
    scheme, colon, rest = url.partition(":")
    if colon and scheme in ("postgresql", "postgres"):
        _refuse_no_address(url, rest)
        return None
    if colon and rest.startswith("//") and scheme != "sqlite":
        near = "write postgresql:// alone" if scheme.lower().startswith("postgres") else _KNOWN
        raise StoreUnavailable(f"{scheme[:40]}:// is not a store; {near}")
    given = rest.removeprefix("//") if scheme == "sqlite" and colon else url
    if not given or given.endswith("/"):
        raise StoreUnavailable(f"{url}: that is not a file; give a path such as trueup.db")
    if ":memory:" in given:
        raise StoreUnavailable(f"{url}: a store is shared by several connections; give a path such as trueup.db")
    return Path(given)


def _refuse_no_address(url: str, rest: str) -> None:
    """Parts of the address are not repeated: one of them may be a password."""
    try:
        right = rest.startswith("//") and urlsplit(url).port != 0
    except ValueError:  # a port that is not a number, or unbalanced brackets
        right = False
    if not right:
        raise StoreUnavailable("the address of PostgreSQL cannot be read; give postgresql://user@host:5432/name")
