"""How a run stands, as plain data: for `status --json`, for MANIFEST.json, for the screens.

A run directory enters, whoever owns it; nothing is changed. Counts add up: units in = valid + failed + pending, at each step.
"""

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from trueup.batch.pipeline.rundir import RunDir
    from trueup.batch.pipeline.state import State


def manifest(run: "RunDir", live: dict[str, Any] | None = None) -> dict[str, Any]:
    """The picture of a run."""
    state = run.state
    return {**status(state, live), "chunks": {chunk.name: _chunk(state, chunk) for chunk in state.chunks.values()}}


def status(state: "State", live: dict[str, Any] | None = None) -> dict[str, Any]:
    """How a run stands, without its chunks."""
    money = state.money()
    rows = state.step_rows()
    final = [chunk for chunk in state.chunks.values() if not chunk.split and chunk.at >= len(state.steps)]
    valid = sum(chunk.waiting for chunk in final if not chunk.failed)
    failed = sum(row["failed"] for row in rows)
    found: dict[str, Any] = {
        "run": state.run.get("run", ""),
        "pipeline": state.run.get("pipeline", ""),
        "status": state.status,
        "reason": state.reason,
        "mode": state.mode,
        "created": state.run.get("at", ""),
        "updated": state.last,
        "units": state.run.get("units", 0),
        "valid": valid,
        "failed": failed,
        "pending": sum(row["pending"] for row in rows),
        "steps": [{**row, "money": msgspec.to_builtins(row["money"])} for row in rows],
        "money": msgspec.to_builtins(money),
        "retries": len(state.retries),
        "wanted": state.run.get("wanted", {}),
    }
    if live:
        found["live"] = live
    return found


def _chunk(state: "State", chunk: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"state": state.label(chunk), "units": chunk.units, "origin": chunk.origin}
    if chunk.done:
        row["done"] = {
            step: {"valid": done.valid, "failed": done.failed, "moved": done.moved} for step, done in chunk.done.items()
        }
    batches = [{"id": batch.id, "round": batch.round, "requests": batch.requests} for batch in chunk.batches]
    if batches:
        row["batches"] = batches
    return row
