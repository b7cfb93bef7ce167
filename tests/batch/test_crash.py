"""A sift that is killed at any instant loses and repeats nothing: its files equal those of an undisturbed run."""

import gzip
import itertools
import os
import random
import resource
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.batch.by_line import expected, found, text_of
from tests.batch.merging.test_merge import CONTRACT, HOW, some_lines
from tests.batch.sifting import SCHEMA, bytes_of, run_files, unit, write
from tests.effort import SOAK
from trueup.batch.disk.full_disk import DiskFull
from trueup.batch.judging.contracts import ContractSpec, spec_of
from trueup.batch.merging import duplicates
from trueup.batch.sift import SiftOptions, SiftRefused, Tell, sift
from trueup.batch.siftdir import manifest as manifest_room

KILLS = 2000 if SOAK else 20
SEEDS = 1000 if SOAK else 8
STRIDE = 1 if SOAK else 4  # parts are removed one after the other: a kill before each, or before every fourth
RANGE = 1000
REPLIES = ['{"name": "Ada", "age": 36}', "Sorry.", '```\n{"name": "Bo", "age": "7",}\n```', '{"name": 1}']


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory if there is one: these tests are about instants, not about disks."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """About fifteen ranges, with broken replies, bad lines, and repeated ids in ranges far apart."""
    lines = [unit(f"u{n % 110}", REPLIES[n % 4]).encode() for n in range(120)]
    lines[50:50] = [b"[1]", b"\xff", b'{"unit_id": "torn', b"x" * 2500]
    return write(tmp_path / "lines.jsonl", lines)


@pytest.fixture(scope="module")
def spec() -> ContractSpec:
    """The contract, used here once: every forked worker then has the modules that it loads, which saves most of its time."""
    made = spec_of(options={"schema": SCHEMA})
    for reply in REPLIES:
        made.open().check(reply)
    return made


def forked(act: Callable[[], None]) -> int:
    """Start a process that runs an action silently."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return pid


def sifting(
    file: Path, out: Path, spec: ContractSpec, workers: int = 2, tell: Tell | None = None
) -> Callable[[], None]:
    options = SiftOptions(workers=workers, range_size=RANGE, max_line=2000)
    return lambda: void(sift([str(file)], spec, out, options, tell))


def void(_: Any) -> None:
    return None


def finish(file: Path, out: Path, spec: ContractSpec) -> dict[str, bytes]:
    """The files of an undisturbed run, in a separate process whose workers start immediately."""
    _, status = os.waitpid(forked(sifting(file, out, spec)), 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return bytes_of(out)


class Watched:
    """A sift in a separate process that reports its progress."""

    def __init__(self, file: Path, out: Path, spec: ContractSpec, workers: int) -> None:
        self._hears, says = os.pipe()

        def act() -> None:
            real = manifest_room.Manifest.commit

            def commit(*given: Any) -> None:
                os.write(says, b".")
                real(*given)

            manifest_room.Manifest.commit = commit  # type: ignore[method-assign, assignment]
            sifting(file, out, spec, workers, lambda _: void(os.write(says, b".")))()

        self._pid = forked(act)
        os.close(says)

    def wait(self, most: int) -> int:
        """Wait for some number of progress reports; returns how many came if it ended before."""
        return next((seen for seen in range(most) if not os.read(self._hears, 1)), most)

    def end(self) -> bool:
        """Kill it. Returns whether it was still working."""
        os.kill(self._pid, signal.SIGKILL)
        _, status = os.waitpid(self._pid, 0)
        os.close(self._hears)
        assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
        return os.WIFSIGNALED(status)


@pytest.mark.spec("B11", "X46")
@pytest.mark.timeout(7200 if SOAK else 600)
def test_a_sift_killed_at_random_instants_loses_nothing(tmp_path: Path, file: Path, spec: ContractSpec) -> None:
    """20 kills of a working process; 2,000 in the long form."""
    calm = finish(file, tmp_path / "calm", spec)
    watched = Watched(file, tmp_path / "watched", spec, 2)
    steps = watched.wait(10**6)
    assert not watched.end()
    assert steps > 15, "it says at least when each range is judged"
    dice = random.Random(5)
    kills = finished = 0
    while kills < KILLS:
        out = tmp_path / "out"
        while True:
            watched = Watched(file, out, spec, dice.choice((1, 2)))
            watched.wait(dice.randint(0, steps))
            time.sleep(dice.uniform(0, 0.02))  # the instant is the point of this test
            if not watched.end():
                break
            kills += 1
        assert bytes_of(out) == calm
        shutil.rmtree(out)
        finished += 1
    assert finished


@pytest.mark.spec("X46")
@pytest.mark.timeout(7200 if SOAK else 600)
def test_a_sift_killed_before_each_durable_step_loses_nothing(
    tmp_path: Path, file: Path, spec: ContractSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill the driver before its first sync, rename or commit; before its second; and so on until it finishes."""
    calm = finish(file, tmp_path / "calm", spec)
    left = driver = 0
    unlinks = itertools.count()
    taken: set[str] = set()

    def guarded(real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal left
            if os.getpid() == driver and (real.__name__ != "unlink" or next(unlinks) % STRIDE == 0):
                left -= 1
                if left == 0:
                    (tmp_path / "killed").write_text(real.__name__)
                    os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **more)

        return call

    for owner, name in LASTING:
        monkeypatch.setattr(owner, name, guarded(getattr(owner, name)))
    step = 0
    while True:
        step += 1
        out = tmp_path / f"out{step}"

        def act(out: Path = out, step: int = step) -> None:
            nonlocal left, driver
            left, driver = step, os.getpid()
            sifting(file, out, spec, 1)()

        _, status = os.waitpid(forked(act), 0)
        if os.WIFEXITED(status):
            break
        taken.add((tmp_path / "killed").read_text())
        assert finish(file, out, spec) == calm, step
    assert os.waitstatus_to_exitcode(status) == 0
    assert taken == {"fsync", "ftruncate", "replace", "unlink", "commit"}
    assert step > (20 if SOAK else 15)


@pytest.mark.spec("X46")
def test_a_full_disk_is_reported_and_the_run_resumes_later(tmp_path: Path, file: Path, spec: ContractSpec) -> None:
    calm = finish(file, tmp_path / "calm", spec)

    def act() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with pytest.raises((OSError, RuntimeError)):
            sifting(file, tmp_path / "out", spec)()

    _, status = os.waitpid(forked(act), 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert not (tmp_path / "out" / "validated.jsonl").exists()
    assert finish(file, tmp_path / "out", spec) == calm


@pytest.mark.spec("B11", "X46")
@pytest.mark.parametrize("fault", ["kill", "full disk"])
def test_an_interrupted_comparison_of_ids_starts_again(
    tmp_path: Path, file: Path, spec: ContractSpec, fault: str
) -> None:
    calm = finish(file, tmp_path / "calm", spec)
    buckets, out = tmp_path / "out" / ".sift" / "buckets", tmp_path / "out"
    real = Path.open

    def act() -> None:
        duplicates.AT_ONCE = 10
        opened: list[Path] = []

        def opening(path: Path, *given: Any, **more: Any) -> Any:
            if path.parent == buckets:
                opened.append(path)
                if len(opened) == 9 and fault == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                if len(opened) == 9:
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
            return real(path, *given, **more)

        Path.open = opening  # type: ignore[method-assign, assignment]
        with pytest.raises(DiskFull, match="buckets"):
            sifting(file, out, spec)()

    _, status = os.waitpid(forked(act), 0)
    assert os.WIFSIGNALED(status) if fault == "kill" else status == 0
    assert (len(list(buckets.iterdir())) == 8) if fault == "kill" else not buckets.exists()
    assert finish(file, out, spec) == calm
    assert not buckets.exists()


class Schedule:
    """Random events: files that grow and repeat ids, sifted by processes that are killed or run out of disk."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = dice = random.Random(seed)
        self.how = dice.choice(HOW)
        self.out = folder / "out"
        self.paths = [folder / f"{name}.jsonl{dice.choice(('', '.gz'))}" for name in "ab"[: dice.randint(1, 2)]]
        self._range = dice.choice((150, 900, 4000, 1 << 20))
        self._texts = [b"\n".join(some_lines(dice, dice.randrange(2, 60), dice.choice((3, 12)))) for _ in self.paths]
        self._at_once = dice.choice((5, duplicates.AT_ONCE))  # of ids that are compared

    @property
    def files(self) -> list[Path]:
        return [path for path in self.paths if path.exists()]

    def grow(self, share: float) -> None:
        """Truncate the files to some share of each; the second one appears later than the first."""
        for number, (path, text) in enumerate(zip(self.paths, self._texts, strict=True)):
            if share == 1 or share > number / 2:
                grown = text[: max(int(len(text) * share), len(text_of(path)) if path.exists() else 0)]
                path.write_bytes(gzip.compress(grown) if path.suffix == ".gz" else grown)

    def sift(self, spec: ContractSpec, most: int = 0, steps: int = 0) -> bool:
        """Sift in a separate process that can write files up to a size and is killed at some durable step. Returns whether it finished."""
        workers = self.dice.choice((1, 2))

        def act() -> None:
            duplicates.AT_ONCE = self._at_once
            if steps:
                _killed_at(steps)
            if most:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            options = SiftOptions(workers=workers, range_size=self._range, max_line=1 << 20, merge=self.how, grow=True)
            sift([str(file) for file in self.files], spec, self.out, options)

        _, status = os.waitpid(forked(act), 0)
        assert most or os.WIFSIGNALED(status) or status == 0
        return status == 0


LASTING = ((os, "fsync"), (os, "ftruncate"), (Path, "replace"), (Path, "unlink"), (manifest_room.Manifest, "commit"))


def _killed_at(steps: int) -> None:
    """Kill this process at a durable step."""
    driver, left = os.getpid(), steps

    def guarded(real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal left
            left -= os.getpid() == driver
            if left == 0:
                os.kill(driver, signal.SIGKILL)
            return real(*args, **more)

        return call

    for owner, name in LASTING:
        setattr(owner, name, guarded(getattr(owner, name)))


@pytest.mark.spec("B11", "X46")
@pytest.mark.timeout(7200 if SOAK else 600)
def test_kills_and_full_disks_lose_nothing_while_files_grow_and_ids_repeat(tmp_path: Path) -> None:
    """After any events, the final files are what each line gives alone."""
    spec = spec_of(CONTRACT)
    faults = 0
    for seed in range(SEEDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        schedule = Schedule(folder, seed)
        for share in (0.4, 0.7, 1.0):
            schedule.grow(share)
            for _ in range(schedule.dice.randrange(3)):
                if schedule.dice.random() < 0.7:
                    faults += not schedule.sift(spec, steps=schedule.dice.randrange(1, 40))
                else:
                    faults += not schedule.sift(spec, most=schedule.dice.randrange(3_000, 60_000))
            if share == 1 or schedule.dice.random() < 0.5:  # otherwise the next lines arrive during the run
                assert schedule.sift(spec)
                assert found(schedule.out) == expected(schedule.files, CONTRACT, schedule.how), seed
        shutil.rmtree(folder)
    assert faults > SEEDS / 2


@pytest.mark.spec("X46")
def test_a_torn_end_is_cut_off_before_anything_is_appended(tmp_path: Path, file: Path, spec: ContractSpec) -> None:
    calm = finish(file, tmp_path / "calm", spec)
    real = manifest_room.Manifest.commit

    def act() -> None:
        def stop(self: Any, facts: dict[str, Any], *more: Any) -> None:
            if "merge" in facts:
                for name in ("validated.jsonl", "failures.jsonl"):
                    with (tmp_path / "out" / ".sift" / name).open("ab") as opened:
                        opened.write(b'{"unit_id": "half')
                os._exit(7)
            real(self, facts, *more)

        manifest_room.Manifest.commit = stop  # type: ignore[method-assign, assignment]
        sifting(file, tmp_path / "out", spec)()

    _, status = os.waitpid(forked(act), 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert finish(file, tmp_path / "out", spec) == calm


@pytest.mark.spec("X47")
def test_two_runners_cannot_share_a_folder(tmp_path: Path, file: Path, spec: ContractSpec) -> None:
    told: list[str] = []

    def meanwhile(_: Any) -> None:
        if not told:
            try:
                sift([str(file)], spec, tmp_path / "out")
            except SiftRefused as error:
                told.append(str(error))

    sift([str(file)], spec, tmp_path / "out", SiftOptions(workers=1, range_size=RANGE), meanwhile)
    assert "another process is sifting into it" in told[0]
    assert run_files(tmp_path, [str(file)], range_size=RANGE, out="out").summary["counts"]["units"] == 124


def test_a_damaged_manifest_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / manifest_room.NAME).write_text("this is a letter, not a database. " * 40)
    opened: list[sqlite3.Connection] = []
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: opened.append(real(*args, **options)) or opened[-1]
    )
    with pytest.raises(manifest_room.UnknownManifest, match="use --fresh"):
        manifest_room.Manifest(tmp_path)
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        opened[0].execute("SELECT 1")


@pytest.mark.spec("X47")
def test_a_runner_that_was_replaced_cannot_commit(tmp_path: Path) -> None:
    first = manifest_room.Manifest(tmp_path)
    first.own()
    first.commit({"a": 1})
    second = manifest_room.Manifest(tmp_path)
    second.own()
    with pytest.raises(manifest_room.LostOwnership):
        first.commit({"a": 2})
    second.commit({"b": 3})
    assert (second.get("a"), second.get("b")) == (1, 3)
    first.close()
    second.close()
