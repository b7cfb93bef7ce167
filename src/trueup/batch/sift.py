"""Sifting: files of replies and a contract enter; `validated.jsonl`, `failures.jsonl` and `summary.json` leave, in the order of the input.

Three steps, each of which can be killed at any instant and taken up again: every range is judged into a part of its own;
ids taken twice are found over the whole input; the parts are merged and the files put in place.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import orjson

from trueup import __version__
from trueup.batch.contracts import Spec
from trueup.batch.duplicates import duplicates_in
from trueup.batch.manifest import FORMAT, Manifest
from trueup.batch.merge import FILES, Merge
from trueup.batch.pipeline.lock import Busy, Lock
from trueup.batch.ranges import RANGE_SIZE, count_ranges, ranges_of
from trueup.batch.sources import Source, changed, open_sources
from trueup.batch.summary import read_summary
from trueup.batch.tally import Tally
from trueup.batch.work import Done, Guard, Job, Task, part_path, read_part

WORK = ".sift"
SUMMARY = "summary.json"
OUTPUTS = (*FILES, SUMMARY, "report.html")
MAX_LINE = 8 << 20
_COMMIT = 0.5  # seconds between two notes of what is judged


class Refused(ValueError):
    """The run cannot begin or go on: says why and what to do."""


class OutOfTime(RuntimeError):
    """The time that the run was given is over; what was done is kept."""


class Options(NamedTuple):
    """How a sift is run; none of these changes what comes out of a unit but `max_line` and `guard`."""

    engine: str = "local"
    workers: int = 0
    guard: Guard = Guard()
    max_line: int = MAX_LINE
    range_size: int = RANGE_SIZE
    fresh: bool = False
    flips: bool = False
    time_limit: float = 0.0


DEFAULTS = Options()


class Progress(NamedTuple):
    """How far a run is: `step` is judging, comparing or merging; counts are of units."""

    step: str
    done: int
    total: int
    seconds: float
    tally: Tally
    resumed: int = 0


class Result(NamedTuple):
    """What came of a run: its summary, and whether there was nothing left to do."""

    summary: dict[str, Any]
    already: bool = False

    @property
    def exit_code(self) -> int:
        return 1 if self.summary["counts"]["failed"] else 0


Tell = Callable[[Progress], None]


def sift(
    files: list[str], spec: Spec, out: Path, options: Options = DEFAULTS, tell: Tell | None = None,
    stdin: BinaryIO | None = None,
) -> Result:  # fmt: skip
    """Sift files into a folder; the same call again takes up what was left, or finds it done."""
    work = _open_folder(out)
    lock = _own(out, work)
    try:
        if options.fresh:
            _clear(out, work)
        with _Run(files, spec, out, work, lock, options, tell or _silent, stdin) as run:
            return run.finish()
    finally:
        lock.release()


class _Run:
    def __init__(
        self, files: list[str], spec: Spec, out: Path, work: Path, lock: Lock, options: Options, tell: Tell,
        stdin: BinaryIO | None,
    ) -> None:  # fmt: skip
        self._out, self._work, self._lock = out, work, lock
        self._options, self._tell, self._spec = options, tell, spec
        self._began = time.monotonic()
        self._resumed = 0
        self._judged: list[tuple[int, int, int]] = []
        self.tally = Tally()
        self.manifest = Manifest(work)
        try:
            self.manifest.own()
            self.sources = open_sources(files, work / "spool", stdin)
            self.sizes = [source.size for source in self.sources]
            self.key = _key(self.sources, spec, options)
            self._settle_identity()
        except BaseException:
            self.manifest.close()
            raise
        (work / "parts").mkdir(exist_ok=True)
        parts = str((work / "parts").absolute())
        self.job = Job(self.key, spec, tuple(self.sources), parts, options.max_line, options.flips)
        self.total = count_ranges(self.sizes, options.range_size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.manifest.close()

    def _settle_identity(self) -> None:
        """Begin a run, or make sure that this is the one that was begun."""
        known = self.manifest.get("key")
        if known is None:
            taken = [name for name in OUTPUTS[:4] if (self._out / name).exists()]
            if taken:
                raise Refused(f"{self._out}: {taken[0]} is there and not of this run; choose another --out, or --fresh")
            self.manifest.commit({"key": self.key, "format": FORMAT, "state": "judging", "started": time.time()})
            return
        if self.manifest.get("format") != FORMAT:
            raise Refused(f"{self._out}: the run was begun by another version of trueup; use --fresh to begin anew")
        if known != self.key:
            if self.manifest.get("state") == "done":
                shutil.rmtree(self._work / "spool", ignore_errors=True)
            before = self.manifest.get("about") or {}
            what = (
                "a different contract" if before.get("contract") != self._spec.digest else "different files or options"
            )
            raise Refused(f"{self._out}: another run is there, begun with {what}; choose another --out, or --fresh")

    def finish(self) -> Result:
        """Take every step that is left."""
        if self.manifest.get("state") == "done":
            return self._done_before()
        self.manifest.commit({"about": {"contract": self._spec.digest}})
        if self.manifest.get("state") == "judging":
            self._judge(self._tasks())
            self._condemn_duplicates()
            for source in self.sources:
                if changed(source):
                    raise Refused(f"{source.name}: the file changed while it was read; use --fresh to begin anew")
            self.manifest.commit({"state": "merging"})
        if self.manifest.get("state") == "merging":
            merge = Merge(self._work, self.manifest, self.key, self.total, flips=self._options.flips)
            merge.run(lambda done, total: self._say("merging", done, total, merge.tally))
            self.manifest.commit({"state": "publishing"})
        return Result(self._publish(Tally.of(self.manifest.get("merge")["tally"])))

    def _done_before(self) -> Result:
        """The run has ended: its summary, if what it wrote is still there."""
        for name in (*self._names, SUMMARY):
            if not (self._out / name).is_file():
                raise Refused(
                    f"{self._out}: it was sifted before, and {name} is gone since; use --fresh to sift it anew"
                )
        try:
            summary = read_summary((self._out / SUMMARY).read_bytes())
        except ValueError:
            raise Refused(
                f"{self._out}: it was sifted before, and {SUMMARY} is damaged since; use --fresh to sift it anew"
            ) from None
        return Result(summary, already=True)

    @property
    def _names(self) -> tuple[str, ...]:
        return FILES if self._options.flips else FILES[:2]

    # -- judging ---------------------------------------------------------------------------------

    def _tasks(self) -> Iterator[Task]:
        """The ranges whose parts are not there yet; those that are, are counted."""
        for piece in ranges_of(self.sizes, self._options.range_size):
            part = read_part(part_path(self.job.parts, piece.number))
            if part is not None and part.key == self.key:
                self._resumed += 1
                self.tally.add(part.tally)
                self._judged.append((piece.number, sum(part.sizes[:3]), part.sizes[3]))
            else:
                yield Task(piece)

    def _judge(self, tasks: Iterator[Task]) -> None:
        total = sum(self.sizes)
        since = time.monotonic()
        for done in self._engine(tasks):
            self.tally.add(done.tally)
            self._judged.append((done.number, sum(done.sizes[:3]), done.sizes[3]))
            if time.monotonic() - since >= _COMMIT:
                self._commit_judged()
                since = time.monotonic()
            self._say("judging", self.tally.counts["bytes"], total, self.tally)
        self._commit_judged()

    def _commit_judged(self) -> None:
        """Note the ranges that are done; a part that is not noted yet is found by itself when a run resumes."""
        self._lock.check()
        self.manifest.commit({}, self._judged)
        self._judged.clear()

    def _engine(self, tasks: Iterator[Task]) -> Iterator[Done]:
        options = self._options
        kind, _, address = options.engine.partition(":")
        if kind == "ray":
            from trueup.batch.engines import ray  # an extra

            return ray.run(self.job, tasks, address, options.workers, options.guard)
        if kind != "local":
            raise Refused(f"no engine {options.engine!r}; there are local and ray[:ADDRESS]")
        from trueup.batch.engines import local

        return local.run(self.job, tasks, options.workers or _cores(), options.guard, self._lock.release)

    # -- comparing -------------------------------------------------------------------------------

    def _condemn_duplicates(self) -> None:
        """Judge anew the ranges that hold ids which others before them have taken."""
        self._say("comparing", 0, self.total, self.tally)
        found = duplicates_in(self.job.parts, self.manifest.ranges)
        if not found:
            return
        pieces = (piece for piece in ranges_of(self.sizes, self._options.range_size) if piece.number in found)
        tasks = []
        for piece in pieces:
            part = read_part(part_path(self.job.parts, piece.number))
            before = part.condemned if part is not None else {}
            tasks.append(Task(piece, {**dict.fromkeys(found[piece.number], "U003"), **before}))
        for _ in self._engine(iter(tasks)):
            self._say("comparing", 0, self.total, self.tally)

    # -- the end ---------------------------------------------------------------------------------

    def _publish(self, tally: Tally) -> dict[str, Any]:
        """Put the files in place; each step may be taken again."""
        self._lock.check()
        for name in self._names:
            if (self._work / name).exists():
                (self._work / name).replace(self._out / name)
        summary = self._summary(tally)
        beside = self._work / SUMMARY
        with beside.open("wb") as opened:
            opened.write(orjson.dumps(summary, option=orjson.OPT_INDENT_2, default=str) + b"\n")
            opened.flush()
            os.fsync(opened.fileno())
        beside.replace(self._out / SUMMARY)
        _sync_folder(self._out)
        self.manifest.commit({"state": "done"})
        for name in ("parts", "spool"):
            shutil.rmtree(self._work / name, ignore_errors=True)
        return summary

    def _fingerprint(self) -> str:
        """That of the contract, which verdicts in a store carry too; of another kind of contract there is none."""
        return str(getattr(self._spec.open(), "fingerprint", ""))

    def _summary(self, tally: Tally) -> dict[str, Any]:
        seconds = time.monotonic() - self._began
        units = tally.counts["units"]
        account = tally.account()
        if self._options.flips:
            account["flips"] = dict(sorted(tally.flips.items()))
        return {
            "trueup": __version__,
            "format": FORMAT,
            "contract": {"name": self._spec.name, "hash": self._spec.digest, "fingerprint": self._fingerprint()},
            "inputs": [{"name": source.name, "bytes": source.size} for source in self.sources],
            **account,
            "exit_code": 1 if tally.counts["failed"] else 0,
            "timings": {
                "started": self.manifest.get("started"),
                "seconds": round(seconds, 3),
                "units_per_second": round(units / seconds) if seconds else 0,
                "engine": self._options.engine.partition(":")[0],
                "workers": self._options.workers or _cores(),
                "ranges": self.total,
                "ranges_resumed": self._resumed,
            },
        }

    def _say(self, step: str, done: int, total: int, tally: Tally) -> None:
        seconds = time.monotonic() - self._began
        self._tell(Progress(step, done, total, seconds, tally, self._resumed))
        if self._options.time_limit and seconds > self._options.time_limit:
            raise OutOfTime(f"the {self._options.time_limit:g} seconds of the run are over")


def _key(sources: list[Source], spec: Spec, options: Options) -> str:
    """What tells this run from any other whose parts would differ."""
    told: list[Any] = [FORMAT, spec.digest, options.max_line, options.range_size, options.flips]
    told += [[source.name, source.size, source.mark] for source in sources]
    return hashlib.sha256(orjson.dumps(told)).hexdigest()


def _open_folder(out: Path) -> Path:
    work = out / WORK
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{out}: cannot be written: {error.strerror}") from None
    return work


def _own(out: Path, work: Path) -> Lock:
    try:
        return Lock(work)
    except Busy:
        raise Refused(f"{out}: another process is sifting into it; wait for it, or choose another --out") from None


def _clear(out: Path, work: Path) -> None:
    """Remove what an earlier run left, and nothing else."""
    for name in OUTPUTS:
        (out / name).unlink(missing_ok=True)
    for name in ("parts", "spool"):
        shutil.rmtree(work / name, ignore_errors=True)
    for path in [*work.glob("manifest.db*"), *work.glob("*.json*")]:
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _silent(_: Progress) -> None:
    return None
