"""The replay provider: returns recorded replies by step and unit, without a model, a key or a network.

Reads a file of lines `{"step", "unit_id", "raw_response"}`. Several lines of one unit are its replies in order, and the last one
is repeated if more are requested. `unit_id` `"*"` matches every unit without its own lines. A repetition, or a child of a
list, falls back to the unit it was made from. A line may have a `failure` instead of a reply.
"""

import asyncio
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from trueup.ask.clients.request import CallFailure, Request, TransportFailure
from trueup.batch.pipeline.rundir.disk import Damaged, read_lines
from trueup.batch.pipeline.rundir.replies import kind_of
from trueup.verdict.reply import Reply

_MADE = re.compile(r"__(?:rep|fan)\d+\Z")


class ReplayProvider:
    """Returns recorded replies."""

    name = "replay"

    def __init__(self, rows: Iterable[dict[str, Any]], delay: float = 0.0) -> None:
        self._rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in rows:
            self._rows.setdefault((row["step"], row["unit_id"]), []).append(row)
        self._delay = delay
        self.calls = 0

    async def send(self, step: str, unit_id: str, number: int, request: Request) -> Any:  # noqa: ARG002
        await asyncio.sleep(self._delay)
        self.calls += 1
        return reply_to(self.find(step, unit_id), step, unit_id, number)

    def find(self, step: str, unit_id: str) -> list[dict[str, Any]]:
        """The recorded replies for a unit, in order."""
        name = unit_id
        while True:
            found = self._rows.get((step, name))
            if found is not None:
                return found
            shorter = _MADE.sub("", name) if "__" in name else name
            if shorter == name:
                return self._rows.get((step, "*"), [])
            name = shorter

    async def close(self) -> None:
        """Nothing is open."""


def reply_to(rows: list[dict[str, Any]], step: str, unit_id: str, number: int) -> Any:
    """The recorded reply with that number, or a failure that says what is missing."""
    if not rows:
        message = f"no reply is recorded for unit {unit_id!r} in step {step!r}"
        raise TransportFailure(CallFailure(message, "fatal", code="not_recorded"))
    row = rows[min(number, len(rows) - 1)]
    if "failure" in row:
        raise TransportFailure(msgspec.convert(row["failure"], CallFailure))
    usage, finish = row.get("usage"), row.get("finish")
    if not usage and not finish:
        return row["raw_response"]
    return Reply(text=row["raw_response"], usage=usage or {}, finish=finish or "stop", model=row.get("model", ""))


def read_replay(place: Path) -> list[dict[str, Any]]:
    """The rows of a file, or of a folder with a file `{step}.jsonl` or `{step}_results.jsonl` for each step."""
    rows: list[dict[str, Any]] = []
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    if not files or not files[0].exists():
        raise FileNotFoundError(f"{place}: there are no recorded replies; set api.replay.source")
    for file in files:
        step = file.stem.removesuffix("_results")
        for number, row in enumerate(read_lines(file), 1):
            if not isinstance(row, dict) or not isinstance(row.get("unit_id"), str):
                raise Damaged(f"{file}:{number}: a recorded reply is an object with step, unit_id and raw_response")
            if kind_of(row) in {"sent", "refused", "transport"}:
                continue  # an event of a call, not its answer
            if "failure" not in row and not isinstance(row.get("raw_response"), str):
                raise Damaged(f"{file}:{number}: raw_response is the text of a reply")
            rows.append({"step": step, **row})
    return rows
