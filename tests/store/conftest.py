"""A store on each database: SQLite in a file, and a real PostgreSQL that is started on loopback and stopped by its id.

PostgreSQL refuses to run as root, so root starts it as the user `postgres`. TRUEUP_TEST_POSTGRES names a server that
is already there instead; each process of the tests makes its own database there.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.running import free_port
from tests.waiting import wait_for
from trueup.store.open import open_store
from trueup.store.session import Clock
from trueup.store.store import Store

_count = iter(range(1_000_000))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database" in metafunc.fixturenames:
        kinds = ["sqlite", pytest.param("postgresql", marks=pytest.mark.needs("database"))]
        metafunc.parametrize("database", kinds, indirect=True, scope="session")


def _programs() -> Path:
    """Where initdb and postgres are; Debian keeps them out of the way."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    return places[0] if places else Path(found or "initdb").resolve().parent


def _as_server() -> dict[str, int]:
    """How to run the server: as somebody who is not root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            who = pwd.getpwnam(name)
            return {"user": who.pw_uid, "group": who.pw_gid}
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


@contextlib.contextmanager
def _own_database(server: str) -> Iterator[str]:
    """A database on a server that others use too: some tests cut every connection to theirs."""
    import psycopg

    name = f"trueup_tests_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a PostgreSQL; one that lives as long as the tests, with its data in a temporary folder."""
    if "TRUEUP_TEST_POSTGRES" in os.environ:
        with _own_database(os.environ["TRUEUP_TEST_POSTGRES"]) as url:
            yield url
        return
    who = _as_server()
    folder = Path(tempfile.mkdtemp(prefix="trueup-pg-"))
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        data, port = folder / "data", free_port()
        # The server's user may not enter the folder that the tests were started from.
        here: dict[str, Any] = {"cwd": folder, "extra_groups": [], **who} if who else {"cwd": folder}
        subprocess.run(
            [_programs() / "initdb", "-D", data, "-A", "trust", "-U", "trueup", "-E", "UTF8", "--no-sync", "--locale=C"],
            check=True, capture_output=True, **here,
        )  # fmt: skip
        options = [
            f"-p{port}",
            "-h127.0.0.1",
            f"-k{folder}",
            "-cfsync=off",
            "-cmax_connections=60",
            "-cshared_buffers=32MB",
        ]
        log = (folder / "log").open("wb")
        process = subprocess.Popen([_programs() / "postgres", "-D", data, *options], stdout=log, stderr=log, **here)
        try:
            url = f"postgresql://trueup@127.0.0.1:{port}/postgres"
            _wait_until_up(url, process, folder / "log")
            yield url
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: its data is thrown away
            process.wait(60)
            log.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_up(url: str, process: "subprocess.Popen[Any]", log: Path) -> None:
    import psycopg

    def is_up() -> bool:
        try:
            psycopg.connect(url, connect_timeout=60).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_for(lambda: is_up() or process.poll() is not None, "PostgreSQL never lets anybody in")
    if process.poll() is not None:
        pytest.fail(f"PostgreSQL does not start: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="session")
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """A function that gives the address of an empty database, of the kind that the test is run with."""
    if request.param == "sqlite":
        folder = tmp_path_factory.mktemp("stores")
        return lambda: str(folder / f"{next(_count)}.db")
    return empty_database(request.getfixturevalue("server"))


def empty_database(server: str) -> Callable[[], str]:
    """Addresses of separate schemas in one database, which are quick to make."""
    import psycopg

    def make() -> str:
        name = f"trueup_{os.getpid()}_{next(_count)}"
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(f"CREATE SCHEMA {name}")
        return f"{server}?options=-csearch_path%3D{name}"

    return make


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.micros = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.micros

    def go(self, seconds: float) -> None:
        self.micros += int(seconds * 1_000_000)


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def opened(database: Callable[[], str], clock: Clock) -> Iterator[Store]:
    """An empty store on each database, its clock set by hand."""
    with open_store(database(), clock=clock) as store:
        yield store
