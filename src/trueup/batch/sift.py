"""Judges files of replies and writes `validated.jsonl`, `failures.jsonl` and `summary.json`, in the order of the input.

A sift has three steps: it judges each range into its own part, finds lines that share an id over the whole input, and merges the
parts and puts the files in place. Each step can be killed at any time and resumed. A finished sift can grow by new lines.
`SiftRefused` says why a sift cannot start.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import orjson

from trueup import __version__
from trueup.batch.counting.tally import UnitTally
from trueup.batch.input.folders import address_of
from trueup.batch.input.ranges import RANGE_SIZE, ranges_of
from trueup.batch.input.sources import InputForm, InputSource, changed, open_sources
from trueup.batch.judging.contracts import ContractSpec
from trueup.batch.judging.work import JudgedRange, RangeTask, SiftJob, UnitLimits, part_path, read_part
from trueup.batch.merging.choosing import HOW, edits_of
from trueup.batch.merging.duplicates import groups_in
from trueup.batch.merging.editing import Editor, InputLines
from trueup.batch.merging.merge import Merge
from trueup.batch.merging.stored_ranges import FILES, FileSpan, Shelf
from trueup.batch.pipeline.rundir.lock import Busy, Lock
from trueup.batch.siftdir.growing import InputChanged, growth_of, looks_grown, stay_judged
from trueup.batch.siftdir.manifest import FORMAT, Edit, Manifest, dropped, edited, judged, no_edits, planned
from trueup.batch.siftdir.summary import read_summary
from trueup.batch.tables.writing import NAMES, TABLES, clear_tables, target_of, write_tables

WORK = ".sift"
BUCKETS = "buckets"
SUMMARY = "summary.json"
OUTPUTS = (*FILES, SUMMARY, "report.html")
MAX_LINE = 8 << 20
_COMMIT = 0.5  # seconds between two commits of the ranges that were judged
_EDITS = 10_000  # edits that are committed together


class SiftRefused(ValueError):
    """The run cannot start or continue. The message says why and what to do."""


class OutOfTime(RuntimeError):
    """The run reached its time limit; what it has done so far is kept."""


class SiftOptions(NamedTuple):
    """How a sift is run. Only `max_line`, `guard` and `merge` can change the result of a unit.

    `merge` says what happens to lines that share an id: `fail`, `first`, `last` or `valid`. The default is `valid` if every line
    is from a provider's batch, and `fail` otherwise. `grow` allows the files of an earlier run to have new lines at their end,
    and new files after them. `form` says how tables are read. `format` is a second format for the records, in addition to JSON
    lines.
    """

    engine: str = "local"
    workers: int = 0
    guard: UnitLimits = UnitLimits()
    max_line: int = MAX_LINE
    range_size: int = RANGE_SIZE
    fresh: bool = False
    flips: bool = False
    time_limit: float = 0.0
    form: InputForm = InputForm()
    merge: str = ""
    grow: bool = False
    format: str = "jsonl"


DEFAULTS = SiftOptions()


class SiftProgress(NamedTuple):
    """The progress of a run: `step` is judging, comparing or merging, and counts are of units.

    `kept_units` and `kept_bytes` were judged by an earlier start. They are included in the counts, but `seconds` does not cover
    them.
    """

    step: str
    done: int
    total: int
    seconds: float
    tally: UnitTally
    resumed: int = 0
    kept_units: int = 0
    kept_bytes: int = 0


class SiftResult(NamedTuple):
    """A finished run: its summary, and whether there was nothing left to do."""

    summary: dict[str, Any]
    already: bool = False

    @property
    def exit_code(self) -> int:
        return 1 if self.summary["counts"]["failed"] else 0


Tell = Callable[[SiftProgress], None]


def sift(
    files: list[str], spec: ContractSpec, out: Path, options: SiftOptions = DEFAULTS, tell: Tell | None = None,
    stdin: BinaryIO | None = None,
) -> SiftResult:  # fmt: skip
    """Sift files into a folder. Called again, it resumes an unfinished sift or returns the summary of a finished one."""
    work = _open_folder(out)
    lock = _own(out, work)
    try:
        if options.fresh:
            _clear(out, work)
        with _Run(files, spec, out, work, lock=lock, options=options, tell=tell or _silent, stdin=stdin) as run:
            result = run.finish()
            run.write_tables()
            return result
    finally:
        lock.release()


class _Run:
    def __init__(
        self, files: list[str], spec: ContractSpec, out: Path, work: Path, *, lock: Lock, options: SiftOptions, tell: Tell,
        stdin: BinaryIO | None,
    ) -> None:  # fmt: skip
        self._out, self._work, self._lock = out, work, lock
        self._options, self._tell, self._spec = options, tell, spec
        self._began = time.monotonic()
        self._resumed = 0
        self._kept = (0, 0)  # units and bytes of the resumed ranges
        self._judged: list[tuple[int, int, int]] = []
        self.tally = UnitTally()
        self.manifest = Manifest(work)
        try:
            self.manifest.own()
            form = options.form._replace(max_line=options.max_line)
            self.sources = open_sources(files, work / "spool", stdin, form, grow=options.grow)
            self.settings = _settings(spec, options)
            self.key = _key(self.sources, self.settings)
            self._shelf = Shelf(work, out, self.manifest, self.settings)
            self._settle_identity()
        except BaseException:
            self.manifest.close()
            raise
        (work / "parts").mkdir(exist_ok=True)
        parts = str((work / "parts").absolute())
        self.job = SiftJob(self.settings, spec, tuple(self.sources), parts, options.max_line, options.flips)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.manifest.close()

    def _settle_identity(self) -> None:
        """Start a run, or make sure that the folder has the same one."""
        known = self.manifest.get("key")
        if known is None:
            taken = [name for name in (*OUTPUTS[:4], *TABLES) if (self._out / name).exists()]
            if taken:
                raise SiftRefused(
                    f"{self._out}: this sift did not write the {taken[0]} in it; choose another --out, or use --fresh to replace it"
                )
            pieces = ranges_of([source.extent for source in self.sources], self._options.range_size)
            begun = {"format": FORMAT, "settings": self.settings, "state": "judging", "index": 1}
            self.manifest.commit({**begun, "started": time.time(), **self._identity()}, planned(pieces))
            return
        if self.manifest.get("format") != FORMAT:
            raise SiftRefused(
                f"{self._out}: the run was started by another version of trueup; choose another --out, or use --fresh to start over"
            )
        if known != self.key:
            self._grow_or_refuse()

    def _identity(self) -> dict[str, Any]:
        """The facts that identify the run in its manifest."""
        files = [[source.name, source.size, source.mark] for source in self.sources]
        return {"key": self.key, "sources": files, "contract": self._spec.digest}

    def _grow_or_refuse(self) -> None:
        """Continue a run whose files have grown, if the options allow it."""
        try:
            self._expect_growth()
            self._grow(self._earlier())
        except SiftRefused:
            if self.manifest.get("state") == "done":
                self._drop_spool()
            raise

    def _expect_growth(self) -> None:
        """Refuse another contract or other options, and changed files unless they may grow."""
        if self.manifest.get("contract") != self._spec.digest:
            raise SiftRefused(self._other_run("a different contract"))
        if self.manifest.get("settings") != self.settings:
            raise SiftRefused(self._other_run("different options"))
        if self._options.grow:
            return
        if looks_grown(self._earlier(), self.sources):
            what = "the files have changed since this run started; if lines were only added, use --grow to sift those"
            raise SiftRefused(f"{self._out}: {what}; otherwise choose another --out, or use --fresh to start over")
        raise SiftRefused(self._other_run("different files"))

    def _other_run(self, what: str) -> str:
        return f"{self._out}: this folder has the results of another run, started with {what}; choose another --out, or use --fresh to start over"

    def _earlier(self) -> list[InputSource]:
        """The files as the run recorded them."""
        now = chain(self.sources, repeat(InputSource("", "", 0, "")))
        known = self.manifest.get("sources")
        return [
            source._replace(name=name, size=size, mark=mark)
            for source, (name, size, mark) in zip(now, known, strict=False)
        ]

    def _grow(self, earlier: list[InputSource]) -> None:
        """Plan the new ranges. A run that was being merged is finished first."""
        options = self._options
        try:
            growth = growth_of(
                self.manifest, self._shelf, earlier, self.sources, options.range_size, options.max_line
            )  # fmt: skip
        except InputChanged as error:
            raise SiftRefused(
                f"{self._out}: cannot grow: {error}; choose another --out, or use --fresh to start over"
            ) from None
        if self.manifest.get("state") in {"merging", "publishing"}:
            now, self.sources = self.sources, earlier
            self._merge_and_publish()
            self.sources = now
        if not growth.new and not growth.gone:
            self.manifest.commit(self._identity())
            return
        index = self.manifest.get("index") + (self.manifest.get("state") == "done")
        begun = {"state": "judging", "merge": None, "index": index, **self._identity()}
        self.manifest.commit(begun, planned(growth.new), dropped(growth.gone), no_edits())

    def finish(self) -> SiftResult:
        """Take every remaining step."""
        if self.manifest.get("state") == "done":
            return self._done_before()
        if self.manifest.get("state") == "judging":
            self._judge(self._tasks())
            how = self._options.merge or _usual(self.tally)
            self._compare(how)
            self._stay_unchanged()
            self.manifest.commit({"state": "merging", "how": how})
        summary = self._merge_and_publish()
        self._drop_spool()
        return SiftResult(summary)

    def _stay_unchanged(self) -> None:
        """Refuse files that changed while they were read. With `grow`, new lines at their end are left for the next sift."""
        for at, source in enumerate(self.sources):
            if not changed(source):
                continue
            if not self._options.grow:
                more = "use --grow to sift what was added, or --fresh to start over"
                raise SiftRefused(f"{source.name}: the file changed while it was read; {more}")
            try:
                stay_judged(self.manifest, self._shelf, at, source, self._options.max_line)
            except InputChanged as error:
                raise SiftRefused(f"{error}; use --fresh to start over") from None

    def _merge_and_publish(self) -> dict[str, Any]:
        if self.manifest.get("state") == "merging":
            self._stay_published()
            options = self._options
            lines = InputLines(self.sources, options.max_line)
            try:
                editor = Editor(self._shelf, lines, self._spec.open(), options.max_line, flips=options.flips)
                merge = Merge(self._work, self.manifest, self._shelf, editor, self._index)
                merge.run(lambda done, total: self._say("merging", done, total, merge.tally))
            finally:
                lines.close()
            self.manifest.commit({"state": "publishing"})
        return self._publish(UnitTally.of(self.manifest.get("merge")["tally"]))

    @property
    def _index(self) -> str:
        return f"index.{self.manifest.get('index')}"

    def _stay_published(self) -> None:
        """Refuse to build on files of an earlier run that were changed since."""
        for name, about in (self.manifest.get("published") or {}).items():
            if _about(self._out / name) != about:
                raise SiftRefused(f"{self._out}: {name} has changed since it was sifted; use --fresh to start over")

    def _done_before(self) -> SiftResult:
        """The summary of a finished run, if its files are still there."""
        for name in (*self._names, SUMMARY):
            if not (self._out / name).is_file():
                raise SiftRefused(
                    f"{self._out}: this folder was sifted before, but {name} is missing; use --fresh to sift it again"
                )
        try:
            summary = read_summary((self._out / SUMMARY).read_bytes())
        except ValueError:
            raise SiftRefused(
                f"{self._out}: this folder was sifted before, but {SUMMARY} is damaged; use --fresh to sift it again"
            ) from None
        self._drop_spool()
        return SiftResult(summary, already=True)

    def _drop_spool(self) -> None:
        """Remove the copies of input that can only be read once. A run needs them until everything is published."""
        shutil.rmtree(self._work / "spool", ignore_errors=True)

    @property
    def _names(self) -> tuple[str, ...]:
        return FILES if self._options.flips else FILES[:2]

    # -- judging ---------------------------------------------------------------------------------

    def _tasks(self) -> Iterator[RangeTask]:
        """The ranges that have no part yet. Ranges that have one are counted."""
        for row in self.manifest.plan():
            if row.kept is not None:
                self._keep(self._shelf.of(row).part.tally)
                continue
            part = read_part(part_path(self.job.parts, row.piece.number))
            if part is not None and part.key == self.settings and part.piece == row.piece:
                self._keep(part.tally)
                self._judged.append((row.piece.number, sum(part.sizes[:3]), part.sizes[3]))
            else:
                yield RangeTask(row.piece)

    def _keep(self, tally: dict[str, Any]) -> None:
        """Count a range that an earlier start judged."""
        self._resumed += 1
        self._kept = (self._kept[0] + tally["counts"]["units"], self._kept[1] + tally["counts"]["bytes"])
        self.tally.add(tally)

    def _judge(self, tasks: Iterator[RangeTask]) -> None:
        total = sum(source.extent for source in self.sources)
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
        """Commit the ranges that were judged. A resumed run also finds parts that were not committed yet."""
        self._lock.check()
        self.manifest.commit({}, judged(self._judged))
        self._judged.clear()

    def _engine(self, tasks: Iterator[RangeTask]) -> Iterator[JudgedRange]:
        options = self._options
        kind, _, address = options.engine.partition(":")
        if kind == "ray":
            from trueup.batch.engines import ray  # optional dependency

            return ray.run(self.job, tasks, address, options.workers, options.guard)
        if kind != "local":
            raise SiftRefused(f"unknown engine {options.engine!r}; use local or ray[:ADDRESS]")
        from trueup.batch.engines import local

        return local.run(self.job, tasks, options.workers or _cores(), options.guard, self._lock.release)

    # -- comparing -------------------------------------------------------------------------------

    def _compare(self, how: str) -> None:
        """Find the lines that share an id, and record what happens to them."""
        if how not in HOW:
            raise SiftRefused(f"unknown value {how!r} for merge; choose one of {', '.join(HOW)}")
        self._say("comparing", 0, self.tally.counts["lines"], self.tally)
        self.manifest.commit({}, no_edits())
        edits: list[Edit] = []
        folder = self._work / BUCKETS
        for lines in groups_in(self._ids, folder, lambda done, total: self._say("comparing", done, total, self.tally)):
            for edit in edits_of(lines, how):
                edits.append(edit)
                if len(edits) >= _EDITS:
                    self.manifest.commit({}, edited(edits))
                    edits.clear()
        self.manifest.commit({}, edited(edits))

    def _ids(self) -> Iterator[tuple[int, FileSpan]]:
        return ((row.piece.number, self._shelf.ids(row)) for row in self.manifest.plan())

    # -- the end ---------------------------------------------------------------------------------

    def _publish(self, tally: UnitTally) -> dict[str, Any]:
        """Put the files in place; each step can be repeated."""
        self._lock.check()
        drafts = [name for name in self._names if (self._work / name).exists()]
        if drafts:  # a summary only exists beside the files that it describes
            for name in (SUMMARY, "report.html"):
                (self._out / name).unlink(missing_ok=True)
            clear_tables(self._out)
        for name in drafts:
            (self._work / name).replace(self._out / name)
        summary = self._summary(tally)
        beside = self._work / SUMMARY
        with beside.open("wb") as opened:
            opened.write(orjson.dumps(summary, option=orjson.OPT_INDENT_2, default=str) + b"\n")
            opened.flush()
            os.fsync(opened.fileno())
        beside.replace(self._out / SUMMARY)
        _sync_folder(self._out)
        self.manifest.commit({"state": "done", "published": {name: _about(self._out / name) for name in self._names}})
        shutil.rmtree(self._work / "parts", ignore_errors=True)
        for path in (*self._work.glob("index.*"), *(self._work / name for name in FILES)):
            if path.name != self._index:
                path.unlink(missing_ok=True)
        return summary

    def write_tables(self) -> None:
        """Write the records in the second format, unless that is done. An interrupted write is repeated from the start."""
        form, published = self._options.format, self.manifest.get("published")
        if form == "jsonl":
            return
        known = self.manifest.get("tables") or {}
        if known.get(form) == published and all(target_of(self._out, name, form).exists() for name in NAMES):
            return
        self._lock.check()
        schema = getattr(getattr(self._spec.open(), "schema", None), "source", None)
        write_tables(self._out, self._work, form, schema)
        self.manifest.commit({"tables": {**known, form: published}})

    def _fingerprint(self) -> str:
        """The fingerprint of the contract, which verdicts in a store have too; empty if the contract has none."""
        return str(getattr(self._spec.open(), "fingerprint", ""))

    def _summary(self, tally: UnitTally) -> dict[str, Any]:
        seconds = time.monotonic() - self._began
        units = tally.counts["units"]
        account = tally.account()
        counts = tally.counts
        account["counts"] = {"lines": counts["lines"], **account["counts"], "merged": counts["merged"]}
        kinds = dict(sorted(tally.merged.items()))
        account["merged"] = {
            "how": self.manifest.get("how"), "units": kinds.pop("units", 0), "replies": counts["merged"], "kinds": kinds,
        }  # fmt: skip
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
                "units_per_second": round(max(units - self._kept[0], 0) / seconds) if seconds else 0,
                "engine": self._options.engine.partition(":")[0],
                "workers": self._options.workers or _cores(),
                "ranges": self.manifest.count(),
                "ranges_resumed": self._resumed,
            },
        }

    def _say(self, step: str, done: int, total: int, tally: UnitTally) -> None:
        seconds = time.monotonic() - self._began
        self._tell(SiftProgress(step, done, total, seconds, tally, self._resumed, *self._kept))
        if self._options.time_limit and seconds > self._options.time_limit:
            raise OutOfTime(f"the run reached its time limit of {self._options.time_limit:g} seconds")


def _settings(spec: ContractSpec, options: SiftOptions) -> str:
    """Identifies the parts of a run among all runs over the same bytes."""
    told: list[Any] = [FORMAT, spec.digest, options.max_line, options.flips, options.merge]
    if options.form != InputForm():
        told.append([*options.form.columns, options.form.encoding])
    return hashlib.sha256(orjson.dumps(told)).hexdigest()


def _key(sources: list[InputSource], settings: str) -> str:
    """Identifies a run."""
    told = [settings, *([source.name, source.size, source.mark] for source in sources)]
    return hashlib.sha256(orjson.dumps(told)).hexdigest()


def _usual(tally: UnitTally) -> str:
    """The default way to merge lines that share an id: in a provider's files they are attempts at the same unit."""
    units = tally.counts["lines"] - tally.counts["strange"]
    return "valid" if units and tally.counts["provided"] == units else "fail"


def _about(path: Path) -> list[int]:
    """The size and time of a published file, which show whether it changed."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return []
    return [about.st_size, about.st_mtime_ns]


def _open_folder(out: Path) -> Path:
    if address := address_of(out):
        raise SiftRefused(
            f"{address}: results are written to a local folder; choose one, and copy it when the run is done"
        )
    work = out / WORK
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SiftRefused(f"{out}: cannot be written: {error.strerror}") from None
    return work


def _own(out: Path, work: Path) -> Lock:
    try:
        return Lock(work)
    except Busy:
        raise SiftRefused(f"{out}: another process is sifting into it; wait for it, or choose another --out") from None


def _clear(out: Path, work: Path) -> None:
    """Remove the files of an earlier run, and no others."""
    for name in OUTPUTS:
        (out / name).unlink(missing_ok=True)
    clear_tables(out)
    for name in ("parts", "spool", BUCKETS):
        shutil.rmtree(work / name, ignore_errors=True)
    for path in [*work.glob("manifest.db*"), *work.glob("*.json*"), *work.glob("index.*")]:
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _silent(_: SiftProgress) -> None:
    return None
