"""What every test may use: Hypothesis profiles, snapshots, needs that may be missing on this machine.

Profiles: `dev` (quick, the default), `ci` (TRUEUP_PROFILE=ci) and `soak` (`make soak`).
"""

import functools
import gc
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from trueup.ask.clients.weights import find as find_weights
from trueup.verdict.catalogue import OWN

ROOT = Path(__file__).resolve().parent.parent

_quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
# dev and ci look at the same examples each time, so that a change is judged and not the luck of the draw;
# soak draws anew.
settings.register_profile("dev", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_quiet)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_quiet)
settings.register_profile("soak", max_examples=10_000, deadline=None, suppress_health_check=_quiet, print_blob=True)
PROFILE = os.environ.get("TRUEUP_PROFILE", "dev")
settings.load_profile(PROFILE)
if PROFILE != "soak":
    # Hypothesis also draws constants of the modules that are loaded, so that the examples of a test would depend on which tests
    # ran before it, and on every string of the sources.
    providers._get_local_constants = lambda: providers._local_constants  # there is no setting for it

# What a test may need beyond the Python packages, and how to tell that it is here: @pytest.mark.needs("browser").
NEEDS: dict[str, Callable[[], bool]] = {
    "browser": lambda: any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    "model": lambda: find_weights() is not None,
    "node": lambda: all(map(shutil.which, ("node", "npm"))),
    "database": lambda: shutil.which("pg_ctl") is not None or "TRUEUP_TEST_POSTGRES" in os.environ,
}

_left_out: list[tuple[str, str]] = []
_looked_at_again: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write the rendered outputs anew")


MEASUREMENTS = 3


def _measured_again(test: Callable[..., None]) -> Callable[..., None]:
    """What else a machine does only ever makes a measurement worse, so the best of three counts; a real slowness fails all three.

    The garbage collector leaves alone meanwhile what other tests have left behind.
    """

    @functools.wraps(test)
    def measured(*args: Any, **more: Any) -> None:
        gc.freeze()
        try:
            for _ in range(MEASUREMENTS - 1):
                try:
                    return test(*args, **more)
                except AssertionError:
                    time.sleep(1)
            return test(*args, **more)
        finally:
            gc.unfreeze()

    return measured


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and item.get_closest_marker("perf"):
        item.obj = _measured_again(item.obj)


# Rooms whose tests work with servers, processes and real clocks. A test of theirs that fails is looked at once more, as CPython's
# own suite does it, and what was right only then is told: a race to be mended, but no reason to refuse a change. Whatever is wrong
# each time fails both looks. A soak hunts for such races, so it has no second look.
BESIDE_THE_WORLD = frozenset(
    {"ask", "batch", "cli", "examples", "gateway", "store", "test_docs.py", "testing", "tui", "watch"}
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PROFILE == "soak":
        return
    for item in items:
        if BESIDE_THE_WORLD & set(item.path.relative_to(ROOT).parts[:3]):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=1))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.outcome == "rerun":
        _looked_at_again.append(report.nodeid)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for need in mark.args:
            if not NEEDS[need]():
                _left_out.append((need, item.nodeid))
                pytest.skip(f"no {need} here")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave a note for the end of `make test`: what was skipped, and for want of what; what was right at the second look only."""
    if session.config.getoption("collectonly", default=False):
        return
    lines = [f"skipped for want of a {need}: {test}" for need, test in sorted(_left_out)]
    lines = lines or ["nothing was skipped for want of a browser or a database"]
    lines += [f"failed at the first look: {test}" for test in _looked_at_again]
    note = ROOT / ".cache" / "skipped.txt"
    note.parent.mkdir(exist_ok=True)
    note.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture(autouse=True)
def _own_codes() -> Iterator[None]:
    """The codes that a test gives to checks of its own are free again after it."""
    before = dict(OWN)
    yield
    OWN.clear()
    OWN.update(before)


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
