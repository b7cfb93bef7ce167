"""The plan of one provider batch: which lines are returned, in which order, with which faults. Pure, for all providers.

Lines are chosen by their custom ids, or by a count of the last lines.
"""

import random
from collections.abc import Collection, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from trueup.testing import script
from trueup.testing.encoding import dump, load
from trueup.testing.faults import build, plain
from trueup.testing.protocols.shapes import Speaks
from trueup.testing.wire import Request

Pick: TypeAlias = int | Collection[str]


class Batch(msgspec.Struct, frozen=True):
    """The plan of one provider batch; by default it completes without a fault."""

    polls: int = 1
    """The batch is complete after this many status requests."""
    status: Literal["completed", "failed", "expired", "cancelled"] = "completed"
    """How the batch ends."""
    expired: Pick = ()
    """Lines without a reply that are reported as expired, by custom id or as a count of the last lines; 0 by
    default."""
    missing: Pick = ()
    """Lines that are not reported at all; 0 by default."""
    repeated: Pick = ()
    """Lines that are returned twice; 0 by default."""
    garbled: Pick = ()
    """Lines that are cut in half; 0 by default."""
    shuffled: bool = True
    """Whether the lines are returned in a different order."""
    message: str = "scripted failure"
    """The error message of a batch that fails."""


class LineResult(msgspec.Struct, frozen=True):
    """The result of one line: a status and a body, or no reply at all."""

    custom_id: str
    kind: Literal["replied", "failed", "expired"]
    status: int = 200
    body: Any = None
    number: int = 0


def picked(pick: Pick, ids: Sequence[str]) -> set[str]:
    """The chosen custom ids.

    >>> sorted(picked(2, ["a", "b", "c"])), picked(["a"], ["a", "b"])
    (['b', 'c'], {'a'})
    """
    if isinstance(pick, int):
        return set(ids[len(ids) - pick :]) if pick else set()
    return set(pick) & set(ids)


def results_of(batch: Batch, requests: Sequence[tuple[Request, Any]], protocol: Speaks, first: int) -> list[LineResult]:
    """The result of each (request, step), without the missing ones."""
    ids = [request.custom_id for request, _ in requests]
    expired = set(ids) if batch.status == "expired" and not batch.expired else picked(batch.expired, ids)
    missing = picked(batch.missing, ids)
    results = []
    for number, (request, step) in enumerate(requests, first):
        if request.custom_id in missing:
            continue
        if request.custom_id in expired:
            results.append(LineResult(request.custom_id, "expired", number=number))
        else:
            results.append(_result(request, plain(step), protocol, number))
    return results


def _result(request: Request, step: Any, protocol: Speaks, number: int) -> LineResult:
    if not isinstance(step, script.Say | script.Fail | script.Raw):
        step = script.Fail(500, f"a batch cannot contain {type(step).__name__}")
    response = build(step, request, protocol, number)
    try:
        body = load(response.body)
    except ValueError:
        body = response.body.decode(errors="replace")
    kind: Literal["replied", "failed"] = "replied" if response.status == 200 else "failed"
    return LineResult(request.custom_id, kind, response.status, body, number)


def file_of(batch: Batch, lines: Sequence[tuple[str, Any]]) -> bytes:
    """The lines (custom id, value) as a JSONL file, with the batch's faults and in its order."""
    ids = [ident for ident, _ in lines]
    repeated, garbled = picked(batch.repeated, ids), picked(batch.garbled, ids)
    out = []
    for ident, value in lines:
        line = dump(value)
        out.append(line[: len(line) // 2] if ident in garbled else line)
        if ident in repeated:
            out.append(line)
    if batch.shuffled:
        random.Random(7).shuffle(out)  # noqa: S311 - the same order each time
    return b"".join(line + b"\n" for line in out)
