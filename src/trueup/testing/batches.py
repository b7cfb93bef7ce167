"""How one provider batch goes: which lines come back, in which order, with which faults. Pure, the same for all providers.

Lines are picked by their custom ids, or by a count: that many of the last ones.
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
    """How one provider batch goes; by default it completes without a fault."""

    polls: int = 1
    """After how many status requests the batch is complete."""
    status: Literal["completed", "failed", "expired", "cancelled"] = "completed"
    """How the batch ends."""
    expired: Pick = ()
    """Lines that get no reply and are reported as expired, by custom id or as a count of the last ones; none by default."""
    missing: Pick = ()
    """Lines that are reported nowhere; none by default."""
    repeated: Pick = ()
    """Lines that come twice; none by default."""
    garbled: Pick = ()
    """Lines of which only the first half arrives; none by default."""
    shuffled: bool = True
    """Whether the lines come in another order than they were sent."""
    message: str = "scripted failure"
    """The error message of a batch that fails."""


class LineResult(msgspec.Struct, frozen=True):
    """What became of one line: a status and a body, or no reply at all."""

    custom_id: str
    kind: Literal["replied", "failed", "expired"]
    status: int = 200
    body: Any = None
    number: int = 0


def picked(pick: Pick, ids: Sequence[str]) -> set[str]:
    """The custom ids that are meant.

    >>> sorted(picked(2, ["a", "b", "c"])), picked(["a"], ["a", "b"])
    (['b', 'c'], {'a'})
    """
    if isinstance(pick, int):
        return set(ids[len(ids) - pick :]) if pick else set()
    return set(pick) & set(ids)


def results_of(batch: Batch, requests: Sequence[tuple[Request, Any]], protocol: Speaks, first: int) -> list[LineResult]:
    """What comes of each (request, step); the missing ones are left out."""
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
        step = script.Fail(500, f"a batch cannot carry {type(step).__name__}")
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
