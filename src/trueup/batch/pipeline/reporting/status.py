"""The status of a run as plain data, for `status --json`, for MANIFEST.json and for the screens.

Takes a run directory, which another process may own, and changes nothing. Counts add up: units in = valid + failed + pending, at
each step. Chunks in the middle of a step count too: with the numbers that their owner last wrote, or by their recorded replies if
no process is running the run.
"""

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.batch.pipeline.estimating.forecast import cost_of_all, progress

if TYPE_CHECKING:
    from trueup.batch.pipeline.rundir.directory import RunDir
    from trueup.batch.pipeline.rundir.state import Chunk, RunState

Row = dict[str, Any]


def manifest(run: "RunDir", live: Row | None = None) -> Row:
    """The status of a run."""
    state = run.state
    return {**status(state, live), "chunks": {chunk.name: _chunk(state, chunk) for chunk in state.chunks.values()}}


def standing(run: "RunDir", *, running: bool) -> Row:
    """The status of a run, with the known numbers of chunks in the middle of a step."""
    if running:
        return status(run.state, _written(run))
    opened = _recorded(run)
    # the numbers of its owner are recent enough
    stopped = _written(run) if run.state.status in {"paused", "failed"} else {}
    for name, entry in (stopped.get("open") or {}).items():
        if name in opened:
            opened[name] = {**entry, "money": opened[name]["money"]}
    return status(run.state, {"open": opened})


def _written(run: "RunDir") -> Row:
    """The numbers that the owner of a run last wrote about the current work; empty if an earlier owner wrote them."""
    from trueup.batch.pipeline.rundir.directory import MANIFEST

    with suppress(OSError, ValueError):
        found = json.loads((run.path / MANIFEST).read_bytes())
        live = found.get("live") if isinstance(found, dict) else None
        if isinstance(live, dict) and live.get("term") == run.state.term:
            return live
    return {}


def _recorded(run: "RunDir") -> Row:
    """The cost of the replies recorded in chunks that no process is working on. Their outcomes are not recorded yet."""
    from trueup.batch.pipeline.rundir.replies import open_calls

    found: Row = {}
    for chunk, calls in open_calls(run):
        lost = calls.unanswered.total()
        money = msgspec.to_builtins(calls.money)
        money |= {name: money[name] + lost for name in ("calls", "unpriced", "lost")}
        found[chunk.name] = {"step": run.state.steps[chunk.at], "valid": 0, "failed": 0, "codes": {}, "money": money}
    return found


def status(state: "RunState", live: Row | None = None) -> Row:
    """The status of a run, without its chunks; `live` is the result of `Live.picture`."""
    rows = [{**row, "money": msgspec.to_builtins(row["money"])} for row in state.step_rows()]
    final = [chunk for chunk in state.chunks.values() if not chunk.split and chunk.at >= len(state.steps)]
    counts = {
        "valid": sum(chunk.waiting for chunk in final if not chunk.failed),
        "failed": sum(row["failed"] for row in rows),
        "pending": sum(row["pending"] for row in rows),
    }
    money = msgspec.to_builtins(state.money())
    _add_open(state, rows, counts, money, (live or {}).get("open") or {})
    done, total = progress(rows)
    found: Row = {
        "run": state.run.get("run", ""),
        "pipeline": state.run.get("pipeline", ""),
        "status": state.status,
        "reason": state.reason,
        "mode": state.mode,
        "created": state.run.get("at", ""),
        "updated": state.last,
        "units": state.run.get("units", 0),
        **counts,
        "steps": rows,
        "money": money,
        "done": done,
        "total": total,
        "cap_usd": state.cap,
        "estimated_usd": (live or {}).get("estimated_usd", cost_of_all(rows)),
        "batches": _batches(state),
        "retries": len(state.retries),
        "wanted": state.run.get("wanted", {}),
    }
    if live and "seconds" in live:
        found["live"] = live
    return found


def _add_open(state: "RunState", rows: list[Row], counts: Row, money: Row, opened: Row) -> None:
    """Count the chunks in the middle of a step, except those that are elsewhere according to the journal."""
    for name, entry in opened.items():
        chunk = state.chunks.get(name)
        if chunk is None or not state.is_open(chunk) or state.steps[chunk.at] != entry["step"]:
            continue
        row = rows[chunk.at]
        row["valid"] += entry["valid"]
        row["failed"] += entry["failed"]
        row["pending"] -= entry["valid"] + entry["failed"]
        for code, number in entry["codes"].items():
            row["codes"][code] = row["codes"].get(code, 0) + number
        for kind, amount in entry["money"].items():
            row["money"][kind] += amount
            money[kind] += amount
        last = entry["valid"] if chunk.at == len(rows) - 1 else 0  # in other cases the unit waits for the next step
        counts["valid"] += last
        counts["failed"] += entry["failed"]
        counts["pending"] -= last + entry["failed"]


def _batches(state: "RunState") -> Row:
    """The batches that a provider is working on: their number, their requests, and the start of the oldest one."""
    sent = [batch for chunk in state.chunks.values() for batch in chunk.batches if batch.id and not batch.collected]
    if not sent:
        return {}
    requests = sum(batch.requests for batch in sent)
    return {"sent": len(sent), "requests": requests, "since": min(batch.at for batch in sent)}


def _chunk(state: "RunState", chunk: "Chunk") -> Row:
    row: Row = {"state": state.label(chunk), "units": chunk.units, "origin": chunk.origin}
    if chunk.done:
        row["done"] = {
            step: {"valid": done.valid, "failed": done.failed, "moved": done.moved} for step, done in chunk.done.items()
        }
    batches = [{"id": batch.id, "round": batch.round, "requests": batch.requests} for batch in chunk.batches]
    if batches:
        row["batches"] = batches
    return row
