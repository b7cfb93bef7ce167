"""Fixtures for all tests: Hypothesis profiles, snapshots, and programs that may be missing on this machine.

Profiles: `dev`, the default and CI's, looks at the same examples each time; `soak` (`make soak`) draws thousands of new ones.
"""

import functools
import gc
import os
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certifi
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.adapters.elsewhere import INSIDE, PYTHON
from tests.effort import PROFILE, RETRIED, SOAK
from trueup.ask.clients.weights import find as find_weights

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # without it, litellm keeps asking the network for prices

ROOT = Path(__file__).resolve().parent.parent

_quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
# The same examples each time, so that results depend on the change and not on chance. Only a soak draws new ones.
settings.register_profile("dev", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_quiet)
settings.register_profile("soak", max_examples=10_000, deadline=None, suppress_health_check=_quiet, print_blob=True)
settings.load_profile(PROFILE)
if not SOAK:
    # Hypothesis also draws constants of the modules that are loaded, so that the examples of a test would depend on which tests
    # ran before it, and on every string of the sources.
    providers._get_local_constants = lambda: providers._local_constants  # there is no setting for it


_make_context = ssl.create_default_context
_keep_context = functools.cache(_make_context)


def _context(*args: Any, **options: Any) -> ssl.SSLContext:
    """The certificates that httpx brings are read once: every client of every SDK would read them again, to speak plain HTTP."""
    brought = not args and options == {"cafile": certifi.where()}
    return (_keep_context if brought else _make_context)(*args, **options)


ssl.create_default_context = _context


def _has_database() -> bool:
    if "TRUEUP_TEST_POSTGRES" in os.environ or shutil.which("pg_ctl") is not None:
        return True
    return any(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))  # Debian keeps it off the path


# Programs that a test may need in addition to the Python packages, and how to find them: @pytest.mark.needs("browser").
NEEDS: dict[str, Callable[[], bool]] = {
    "browser": lambda: any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    "model": lambda: find_weights() is not None,
    "node": lambda: all(map(shutil.which, ("node", "npm"))),
    "database": _has_database,
    "checkout": lambda: (ROOT / ".git").exists() and shutil.which("git") is not None,
    "adapters": PYTHON.exists,  # `make setup` installs them
}

_skipped: list[str] = []
_retried: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write the rendered outputs again")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not SOAK and item.nodeid.partition("[")[0] in RETRIED:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Keep thousands of tests and hundreds of modules out of garbage collection, which would walk over them each time."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for need in mark.args:
            if not NEEDS[need]():
                pytest.skip(f"no {need} here")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # With several workers, only the process that distributes the tests sees all results.
    if report.outcome == "rerun":
        _retried.append(report.nodeid)
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        _skipped.append(f"{report.longrepr[2].removeprefix('Skipped: ')}: {report.nodeid}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave a note for the end of `make test`: what was skipped and why, and which tests ran twice."""
    config = session.config
    if INSIDE or config.getoption("collectonly", default=False) or hasattr(config, "workerinput"):
        return
    lines = [f"skipped, {why}" for why in sorted(_skipped)] or ["nothing was skipped"]
    lines += [f"passed only when it was run again: {test}" for test in _retried]
    note = ROOT / ".cache" / "skipped.txt"
    note.parent.mkdir(exist_ok=True)
    note.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the repository."""
    return ROOT


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`snapshot("name.txt", text)` compares with tests/…/snapshots/name.txt; `make snapshots` writes it."""
    folder = Path(request.path).parent / "snapshots"

    def compare(name: str, text: str) -> None:
        file = folder / name
        if request.config.getoption("--update-snapshots"):
            folder.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
        assert file.exists(), f"{file.relative_to(ROOT)} is missing: run `make snapshots` and look at the result"
        assert text == file.read_text("utf-8"), "rendered output changed: run `make snapshots` and look at the diff"

    return compare
