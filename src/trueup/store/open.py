"""Opening a store: a path or an address enters, a Store leaves, its tables brought up to date.

`verdicts.db`, `sqlite:verdicts.db` and `sqlite:///var/lib/verdicts.db` are SQLite; `postgresql://…` is PostgreSQL.
"""

from pathlib import Path

from trueup.store.alarm import Alarm
from trueup.store.errors import StoreUnavailable
from trueup.store.redaction import Redaction
from trueup.store.retention import Retention
from trueup.store.session import Backend, Clock
from trueup.store.store import Store


def open_store(
    url: str | Path,
    *,
    redaction: Redaction | None = None,
    retention: Retention | None = None,
    capacity: int = 10_000,
    alarm: Alarm | None = None,
    clock: Clock | None = None,
    create: bool = True,
) -> Store:
    """Open the store at `url`: a path, `sqlite:///path` or `postgresql://host/name`.

    - `redaction`: what is not kept of a reply; None: only keys and tokens are taken out.
    - `retention`: for how many days things are kept; None: the defaults of `Retention`.
    - `capacity`: how many verdicts may wait to be written.
    - `alarm`: writes a warning to the log if a model must be asked again too often; None: at the usual rate.
    - `clock`: gives microseconds since 1970, for tests; None: the system's clock.
    - `create`: whether a missing file is created; otherwise it is refused.
    """
    return Store(backend_of(str(url), clock, create), redaction, retention, capacity, alarm)


def backend_of(url: str, clock: Clock | None = None, create: bool = True) -> Backend:
    """The kind of database that a URL names."""
    scheme, colon, rest = url.partition(":")
    if colon and scheme in ("postgresql", "postgres"):
        from trueup.store.postgres import Postgres

        return Postgres(url, clock)
    if colon and rest.startswith("//") and scheme != "sqlite":
        raise StoreUnavailable(f"{scheme}:// is not known here; give a path, sqlite:///path or postgresql://host/name")
    from trueup.store.sqlite import Sqlite

    path = Path(rest.removeprefix("//") if scheme == "sqlite" and colon else url)
    if not str(path) or path.is_dir():
        raise StoreUnavailable(f"{url}: that is no file; give a path such as trueup.db")
    if not create and not path.exists():
        raise StoreUnavailable(f"{path}: there is no such store")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"{path}: there is no folder {str(path.parent)!r}; make it first")
    return Sqlite(path, clock)
