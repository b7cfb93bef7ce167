"""A run that is killed at any instant, by a signal or a power cut, and run again, ends like an undisturbed run."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.batch.pipeline.making import (
    ANSWER,
    GOOD,
    BreakingDisk,
    Counting,
    Crash,
    Ran,
    asking,
    assert_whole,
    go,
    reply,
    results,
    run_pipeline,
    start,
    write_pipeline,
)
from tests.effort import SOAK
from trueup.batch.pipeline.providers.replay import read_replay
from trueup.batch.pipeline.retrying.retry import retry
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.disk import Disk
from trueup.batch.pipeline.running.run import PipelineOptions

SEEDS = 4000 if SOAK else 12
KILLS = 900 if SOAK else 4  # for real processes
WORKERS = 3
LIST = {
    "type": "object",
    "properties": {"parts": {"type": "array"}, "answer": {"type": "string"}},
    "required": ["parts"],
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory if there is one: these tests are about instants, not about disks."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        yield Path(made)


def write_whole(folder: Path) -> Path:
    """A pipeline with every kind of step that works on units, and replies of every kind."""
    rows = [
        *reply("take", "a", '{"parts": ["x", "y"]}'),
        *reply("take", "b", "no JSON here", '```json\n{"parts": ["z"],}\n```'),
        *reply("take", "c", "{}", "[]", "sorry"),
        *reply("take", "d", '{"parts": ["p", "q", "r"]}'),
        *reply("take", "e", '{"parts": []}'),
        *reply("judge", "*", GOOD),
        *reply("judge", "d__fan001", '{"answer": 5}', "nothing", '{"answer": "at last"}'),
        *reply("judge", "a__fan001", "never", "never", "ever"),
    ]
    short = {"name": "short", "expr": "len(answer) > 9", "error": "only {answer}", "level": "warning"}
    steps = [
        {"name": "roll", "scope": "expression", "expressions": {"dice": "random.randint(1, 6)"}},
        asking("take", LIST, "Take {{ unit_id }} with {{ dice }}.", {"required": ["parts"]}),
        {"name": "each", "scope": "fan_out", "field": "parts", "child_field": "part"},
        asking("judge", ANSWER, "Judge {{ part }}.", {"required": ["answer"], "rules": [short]}),
        {"name": "count", "scope": "expression", "expressions": {"size": "len(answer) + dice"}},
    ]
    items = [{"id": name} for name in "abcde"]
    prices = {"prices": {"*": {"input": 3.0, "output": 7.0}}}
    return write_pipeline(folder, steps, items, rows, api=prices, chunk_size=2, file="config.json")


@pytest.fixture
def pipeline(folder: Path) -> Path:
    return write_whole(folder / "pipeline")


@pytest.fixture
def reference(folder: Path, pipeline: Path) -> Ran:
    """The results of an undisturbed run of the pipeline."""
    ran = run_pipeline(pipeline, folder / "reference", disk=NoSync())
    assert_whole(ran.path)
    assert ran.ids == (
        ["a__fan000", "b__fan000", "d__fan000", "d__fan001", "d__fan002"], ["a__fan001", "c", "e"]
    )  # fmt: skip
    steps = {row["step"]: row for row in ran.run.state.step_rows()}
    assert (steps["take"]["fixes"], steps["judge"]["warnings"]) == ({"S001": 1, "W001": 1}, {"B005": 1})
    return ran


class NoSync(Disk):
    """A disk without waiting for syncs."""

    def sync(self, handle: int) -> None:
        """Does nothing: these tests decide themselves what a crash loses."""


def same(ran: Ran, reference: Ran, share: float = 1.0) -> None:
    """The outcome is the same, in the same order, in any order of work."""
    assert_whole(ran.path)
    assert ran.valid == reference.valid
    assert ran.failed == reference.failed
    assert ran.result.status == reference.result.status
    assert ran.money.usd == pytest.approx(share * reference.money.usd, rel=1e-12)
    assert ran.money.calls - ran.money.lost == reference.money.calls


@pytest.mark.spec("B18", "X46")
@pytest.mark.timeout(14_400 if SOAK else 600)
@pytest.mark.parametrize("power", [False, True], ids=["killed", "power-cut"])
@pytest.mark.parametrize("batch", [False, True], ids=["realtime", "batch"])
def test_a_run_that_crashes_often_and_anywhere_ends_like_an_undisturbed_run(
    folder: Path, pipeline: Path, reference: Ran, *, power: bool, batch: bool
) -> None:
    rows = read_replay(pipeline / "replies.jsonl")
    fresh = start(pipeline, folder / "fresh", NoSync())
    for seed in range(SEEDS // 2 if power else SEEDS):
        path = folder / f"run{seed}"
        shutil.copytree(fresh, path)
        chance = random.Random(seed)
        provider = Counting(rows)
        deaths = 0
        while True:
            disk = BreakingDisk(chance.randint(1, 90), seed * 1000 + deaths, power=power)
            try:
                ran = go(path, PipelineOptions(batch=batch, workers=WORKERS, poll=0.001), disk=disk, provider=provider)
                break
            except Crash:
                deaths += 1
            assert deaths < 200, f"seed {seed} never ends"
        same(ran, reference, 0.5 if batch else 1.0)  # a batch costs half
        if not power and not batch:
            # A recorded reply is never requested again; unfinished calls were lost when it died.
            assert len(provider.asked) <= len(results(path)) + deaths * WORKERS, f"seed {seed}"
        shutil.rmtree(path)


@pytest.mark.spec("B12", "X46")
def test_a_retry_that_crashes_anywhere_moves_each_unit_once(folder: Path, pipeline: Path) -> None:
    done = run_pipeline(pipeline, folder / "done", disk=NoSync()).path
    rows = [*read_replay(pipeline / "replies.jsonl"), *reply("take", "c", '{"parts": ["s"]}')]
    for at in range(1, 40):
        path = folder / f"run{at}"
        shutil.copytree(done, path)
        try:
            owned = OwnedRun.open(path, BreakingDisk(at, at))
        except Crash:
            owned = None
        try:
            if owned is not None:
                retry(owned, attempts=5)
        except Crash:
            pass
        finally:
            if owned is not None:
                owned.close()
        owned = OwnedRun.open(path, NoSync())
        moved = len(owned.state.retries)
        again = retry(owned, attempts=5)
        owned.close()
        assert again.units == (2 if moved == 0 else 1 if moved == 1 else 0)
        ran = go(path, disk=NoSync(), provider=Counting(rows))
        assert_whole(path)
        assert "c__fan000" in ran.ids[0]
        shutil.rmtree(path)


RUNNER = """
import sys
from pathlib import Path
from trueup.batch.pipeline.running.run import PipelineOptions, execute
print("ready", flush=True)
execute(Path(sys.argv[1]), PipelineOptions(workers=4))
"""


@pytest.mark.spec("B18", "X46", "X47")
@pytest.mark.timeout(14_400 if SOAK else 600)
def test_a_process_killed_by_a_signal_loses_nothing(folder: Path) -> None:
    pipeline = write_whole(folder / "pipeline")
    config = (pipeline / "config.json").read_text("utf-8")
    slow = config.replace('"source": "replies.jsonl"', '"source": "replies.jsonl", "delay_seconds": 0.01')
    (pipeline / "config.json").write_text(slow, "utf-8")
    reference = run_pipeline(pipeline, folder / "reference")
    whole = written(folder / "reference")
    hit = runs = 0
    while hit < KILLS:
        assert runs < 10 * KILLS, "most of them had ended by themselves"
        path = start(pipeline, folder / f"run{runs}")
        chance = random.Random(runs)
        runs += 1
        for _ in range(3):
            with subprocess.Popen([sys.executable, "-c", RUNNER, str(path)], stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                process.stdout.readline()
                enough = written(path) + chance.randrange(whole // 3)
                while written(path) < enough and process.poll() is None:
                    time.sleep(0.0005)
                time.sleep(chance.uniform(0, 0.01))  # the instant is the point of this test
                process.kill()
            hit += process.returncode == -signal.SIGKILL
        same(go(path), reference)


def written(folder: Path) -> int:
    """How many bytes are in the files of a folder that another process writes to."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            found += path.stat().st_size
    return found


def test_a_clock_that_jumps_does_no_harm(
    folder: Path, pipeline: Path, reference: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times in the journal are for people: they decide nothing."""
    import trueup.batch.pipeline.rundir.journal as room

    chance = random.Random(5)
    monkeypatch.setattr(room, "now", lambda: f"{chance.randint(1970, 2100)}-01-01T00:00:00.000Z")
    path = start(pipeline, folder / "run", NoSync())
    for at in (20, 35, 50):
        with pytest.raises(Crash):
            go(path, PipelineOptions(workers=WORKERS), disk=BreakingDisk(at, at))
    same(go(path, disk=NoSync()), reference)


def test_every_file_operation_of_a_run_is_covered_by_the_crashes(folder: Path, pipeline: Path) -> None:
    """Crashes are drawn from the first operations on; this checks that the run has about as many."""
    path = start(pipeline, folder / "run", NoSync())
    disk = BreakingDisk(10**9, 0)
    go(path, disk=disk)
    assert 60 < disk.operations < 400
