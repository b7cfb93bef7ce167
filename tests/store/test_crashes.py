"""A crash at any instant, and a full disk: what was acknowledged is there, nothing is counted twice or lost."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.effort import SOAK
from tests.waiting import wait_for
from trueup import Contract
from trueup.store.errors import StoreFull
from trueup.store.open import open_store

SEEDS = 1000 if SOAK else 4
KILLS = 12  # of each seed, before its crew is killed as a whole


@pytest.mark.spec("Q13", "X38", "X39", "X42")
@pytest.mark.timeout(14_400 if SOAK else 600)
def test_eight_processes_killed_at_any_instant_never_break_the_ledger(
    database: Callable[[], str], tmp_path: Path, root: Path
) -> None:
    url = database().removesuffix(".db")
    command = [sys.executable, "-m", "tests.store.crew", url, str(tmp_path), str(SEEDS), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stderr[-3000:]
    *faults, summary = [json.loads(line) for line in done.stdout.splitlines()]
    assert faults == []
    assert summary["seeds"] == SEEDS
    assert summary["killed"] >= SEEDS * KILLS, "a worker that was to be killed had ended by itself"
    assert summary["captured"] > SEEDS, "the crews did hardly anything"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes; only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.spec("Q13", "X46")
def test_a_full_disk_is_a_clear_error_and_loses_no_quota_and_no_verdict(small_disk: Path) -> None:
    url = str(small_disk / "s.db")
    verdict = Contract(True).check(json.dumps("x" * 20_000))
    store = open_store(url)
    store.quota.set_limit("acme", 1000, period="total")
    held = [store.quota.reserve("acme", f"k{n}") for n in range(10)]
    for one in held[:5]:
        store.quota.capture(one)
    with pytest.raises(StoreFull, match="free some space"):
        fill(lambda: store.record_verdict(verdict))
    kept = len(list(store.verdicts()))
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        fill(lambda: file.write(b"\0" * 4096))
    told = {"captured": 5, "refused": 0}
    for one in held[5:]:
        try:
            store.quota.capture(one)
            told["captured"] += 1
        except StoreFull:
            told["refused"] += 1
    assert store.quota.audit() == []
    assert _used(url) == (told["captured"], told["refused"])
    late = [store.record_verdict(verdict, wait=False) for _ in range(3)]
    with pytest.raises(StoreFull):
        store.flush()
    assert "free some space" in str(store.trouble)

    ballast.unlink()  # somebody made room: those that waited are written, and what was refused can be settled
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    wait_for(lambda: store.trouble is None)
    store.flush()
    assert {stored.id for stored in store.verdicts()} >= set(late)
    assert len(list(store.verdicts())) == kept + 3
    for one in held:
        store.quota.capture(one)
    assert _used(url) == (10, 0)
    assert store.quota.audit() == []
    store.close()


def fill(write: Callable[[], object]) -> None:
    for _ in range(100_000):
        write()


def _used(url: str) -> tuple[int, int]:
    with open_store(url) as store:
        whole = [s for s in store.quota.standings("acme") if s.unit == "replies" and s.period == "total"]
        return whole[0].used, whole[0].held


def test_closing_on_a_full_disk_reports_how_much_was_not_written(small_disk: Path) -> None:
    verdict = Contract(True).check(json.dumps("x" * 20_000))
    store = open_store(small_disk / "s.db")
    for _ in range(500):
        store.record_verdict(verdict, wait=False)
    with pytest.raises(StoreFull, match=r"\d+ verdicts could not be written"):
        store.close()
