"""The report of a run: writes the same page as for a sift, whether the run is finished or not.

The page shows the units that each step passed and failed, its cost, the findings by step, and a sample of the units: those that
failed a step, and those that passed one with a fix or a warning, each with the reply that decided. A unit with the same code at
several steps counts once.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from trueup import __version__
from trueup.batch.counting.groups import Seen
from trueup.batch.counting.tally import UnitTally
from trueup.batch.pipeline.estimating.cost import shown
from trueup.batch.pipeline.reporting.status import standing, status
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import read_records
from trueup.batch.pipeline.rundir.replies import last_replies
from trueup.batch.pipeline.rundir.state import Money
from trueup.batch.pipeline.running.metadata import METADATA, grounds_of, notes_of
from trueup.batch.reporting.report import Row, can_show, left_out, page_data, rates_by_field, write_page

_COUNTED = ("valid", "failed", "retried", "pending", "fixed", "warned", "seconds")


def report_run(path: Path) -> Path:
    """Write `report.html` into a run directory."""
    return write_page(path, collect_run(path))


def collect_run(path: Path) -> Row:
    """The data of the page about a run."""
    run = RunDir.look(path)
    found = _counted(run)
    tally, by_step, damaged = _tallies(run)
    shown_records = (each for each in _records(run) if each[0] != "damaged")
    data = page_data("run", _summary(run, found, tally), shown_records)
    money = msgspec.convert(found["money"], Money)
    groups = [(step, counted.account()) for step, counted in by_step.items()]
    return {
        **data,
        "steps": [_step(row) for row in found["steps"]],
        "paths": [{"step": step, "key": key, **row} for step, told in groups for key, row in told["by_path"].items()],
        "rules": [{"step": step, "key": key, **row} for step, told in groups for key, row in told["by_rule"].items()],
        "grounded": [
            row for step in found["steps"] for row in rates_by_field(step["step"], step.get("grounded") or {})
        ],
        "units_in": found["units"],
        "cost": shown(money) if money.calls else "",
        "notes": [
            note for note in (state_of(run), _lost(money), left_out(damaged, "a run") if damaged else "") if note
        ],
        "files": "the files of its chunks",
    }


def _counted(run: RunDir) -> Row:
    """The counts of chunks that have passed a step, whose units the page can show; and the cost of every call."""
    found, now = status(run.state), standing(run, running=run.is_running)
    steps = [{**row, "money": each["money"]} for row, each in zip(found["steps"], now["steps"], strict=True)]
    return {**found, "money": now["money"], "steps": steps}


def state_of(run: RunDir) -> str:
    """The state of an unfinished run; empty if it is finished."""
    word = word_for(run)
    if word == "done":
        return ""
    reason = f" ({run.state.reason})" if run.state.reason else ""
    return f"This run is {word}{reason}: the page shows only the steps that chunks have finished so far."


def word_for(run: RunDir) -> str:
    """The state of a run, as a word for people."""
    if run.state.status != "done" and run.is_running:
        return "running"
    return {"running": "stopped", "ready": "not started"}.get(run.state.status, run.state.status)


def _lost(money: Money) -> str:
    if not money.lost:
        return ""
    calls = "1 call was" if money.lost == 1 else f"{money.lost:,} calls were"
    return f"{calls} in progress when the run was interrupted; the cost is not known."


def _step(row: Row) -> Row:
    """A step as a row for the page."""
    money = msgspec.convert(row["money"], Money)
    counted = {name: row[name] for name in _COUNTED}
    return {
        "step": row["step"],
        "scope": row["scope"],
        **counted,
        **row["money"],
        "cost": shown(money) if money.calls else "–",
    }


def _records(run: RunDir) -> Iterator[tuple[str, Row]]:
    """The records of the run for the page, each `failed` or `valid`; lines that are not records are `damaged`."""
    for kind, rows in (("failed", _failed(run)), ("valid", _noted(run))):
        yield from ((kind if can_show(row) else "damaged", row) for row in rows)


def _tallies(run: RunDir) -> tuple[UnitTally, dict[str, UnitTally], int]:
    """The findings and fixes of the whole run and of each step, and how many lines are not records."""
    total, by_step = UnitTally(), {step: UnitTally() for step in run.state.steps}
    seen: Seen = {}
    fixed, warned = set[str](), set[str]()
    damaged = 0
    for kind, row in _records(run):
        if kind == "damaged":
            damaged += 1
            continue
        for tally in (total, by_step[row["step"]]):
            tally.note_record(row, seen)
        if kind == "valid":
            fixed.update([row["unit_id"]] if row["fixes"] else ())
            warned.update([row["unit_id"]] if row["warnings"] else ())
    total.counts |= {"fixed": len(fixed), "warned": len(warned)}
    return total, by_step, damaged


def _summary(run: RunDir, found: Row, tally: UnitTally) -> Row:
    """A summary with the same fields as a sift's."""
    for step in found["steps"]:
        for stage, number in step["stages"].items():
            tally.stages[stage] = tally.stages.get(stage, 0) + number
    seconds = sum(step["seconds"] for step in found["steps"])
    told = tally.account()
    counts: dict[str, Any] = {name: found[name] for name in ("valid", "failed", "pending")}
    counts["units"] = sum(counts.values())
    return {
        **told,
        "counts": {**told["counts"], **counts},
        "timings": {"seconds": seconds, "units_per_second": counts["units"] / seconds if seconds else 0.0},
        "inputs": [{"name": found["pipeline"]}],
        "contract": {"name": found["pipeline"], "hash": run.state.run.get("sha256", "")},
        "trueup": __version__,
    }


def _failed(run: RunDir) -> Iterator[Row]:
    """The failure records of every step."""
    for chunk in run.state.ordered():
        for step, done in chunk.done.items():
            for row in read_records(run.file(chunk.name, step, "failures")) if done.failures else ():
                yield {**row, "place": f"{chunk.name} {step}", "step": step}


def _noted(run: RunDir) -> Iterator[Row]:
    """Records of the units that passed a step with a fix or a warning, with the reply that decided."""
    for chunk in run.state.ordered():
        for step, done in chunk.done.items():
            if not done.fixed and not done.warned and not done.grounded:
                continue
            replies = last_replies(run, chunk, step)
            for unit in read_records(run.file(chunk.name, step, "validated")):
                fixes, warnings = notes_of(unit, step)
                evidence = grounds_of(unit, step)
                if fixes or warnings or evidence:
                    data = {name: value for name, value in unit.items() if name != METADATA}
                    raw = replies.get(unit["unit_id"], {}).get("raw_response", "")
                    yield {
                        "unit_id": unit["unit_id"], "raw_response": raw, "data": data, "fixes": fixes,
                        "warnings": warnings, "place": f"{chunk.name} {step}", "step": step,
                        **evidence,
                    }  # fmt: skip
