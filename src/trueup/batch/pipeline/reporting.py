"""The report of a run: takes a run directory and writes the same page as for a sift.

The page shows the first units of each code: those that failed a step, and those that passed one with a fix or a warning, each
with the reply that decided. A unit with the same code at several steps counts once.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from trueup import __version__
from trueup.batch.pipeline.disk import read_records
from trueup.batch.pipeline.metadata import METADATA, notes_of
from trueup.batch.pipeline.revalidate import last_replies
from trueup.batch.pipeline.rundir import RunDir
from trueup.batch.pipeline.status import status
from trueup.batch.report import Row, sampled, write_page
from trueup.batch.tally import Tally
from trueup.verdict.facts import Finding, Fix, finding


def report_run(path: Path) -> Path:
    """Write `report.html` into a run directory."""
    run = RunDir.look(path)
    return write_page(path, sampled(_summary(run), _records(run)))


def _records(run: RunDir) -> Iterator[tuple[str, Row]]:
    """The records of the run that the page is about, each `failed` or `valid`."""
    yield from (("failed", row) for row in _failed(run))
    yield from (("valid", row) for row in _noted(run))


def _summary(run: RunDir) -> Row:
    """The counterpart of a sift's summary."""
    state, tally = run.state, Tally()
    found = status(state)
    seen: dict[str, set[str]] = {}  # codes by unit
    fixed, warned = set[str](), set[str]()
    for kind, row in _records(run):
        uid, fixes, warnings = row["unit_id"], row.get("fixes") or (), row.get("warnings") or ()
        codes = seen.setdefault(uid, set())
        tally.note_findings(uid, map(_finding, (*(row.get("errors") or ()), *warnings)), codes)
        tally.note_fixes(uid, (msgspec.convert(fix, Fix) for fix in fixes), codes)
        if kind == "valid":
            fixed.update([uid] if fixes else ())
            warned.update([uid] if warnings else ())
    for step in found["steps"]:
        for stage, number in step["stages"].items():
            tally.stages[stage] = tally.stages.get(stage, 0) + number
    seconds = sum(step["seconds"] for step in found["steps"])
    counts = {
        "units": found["valid"] + found["failed"] + found["pending"], "valid": found["valid"], "failed": found["failed"],
        "fixed": len(fixed), "warned": len(warned),
    }  # fmt: skip
    return {
        **tally.account(),
        "counts": {**tally.account()["counts"], **counts},
        "timings": {"seconds": seconds, "units_per_second": counts["units"] / seconds if seconds else 0.0},
        "inputs": [{"name": found["pipeline"]}],
        "contract": {"name": found["pipeline"], "hash": state.run.get("sha256", "")},
        "trueup": __version__,
    }


def _finding(fact: Row) -> Finding:
    return finding(fact["code"], fact["path"], fact["message"], None, {"rule": fact["rule"]})


def _failed(run: RunDir) -> Iterator[Row]:
    """The failure records of every step."""
    for chunk in run.state.ordered():
        for step, done in chunk.done.items():
            for row in read_records(run.file(chunk.name, step, "failures")) if done.failures else ():
                yield {**row, "place": f"{chunk.name} {step}"}


def _noted(run: RunDir) -> Iterator[Row]:
    """Records of the units that passed a step with a fix or a warning, with the reply that decided."""
    for chunk in run.state.ordered():
        for step, done in chunk.done.items():
            if not done.fixed and not done.warned:
                continue
            replies = last_replies(run, chunk, step)
            for unit in read_records(run.file(chunk.name, step, "validated")):
                fixes, warnings = notes_of(unit, step)
                if fixes or warnings:
                    data = {name: value for name, value in unit.items() if name != METADATA}
                    raw = replies.get(unit["unit_id"], {}).get("raw_response", "")
                    yield {
                        "unit_id": unit["unit_id"], "raw_response": raw, "data": data, "fixes": fixes,
                        "warnings": warnings, "place": f"{chunk.name} {step}",
                    }  # fmt: skip
