"""Writes the requests of a chunk as a batch, and matches the answers to its units by custom id, never by order.

A custom id is a hash. It reveals nothing, fits every provider, and replaces the id of the unit. A line that cannot be read, that
is repeated, or that belongs to no unit does not affect other units.
"""

import hashlib
from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from trueup.ask.clients.request import CallFailure, failure_in
from trueup.ask.policy import Mode
from trueup.batch.pipeline.prompts.templates import PromptError
from trueup.batch.pipeline.providers.batches import Requests
from trueup.batch.pipeline.providers.http import page_of
from trueup.batch.pipeline.providers.wire import batch_line
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.disk import line
from trueup.batch.pipeline.running.jobs import ChunkJob
from trueup.batch.pipeline.steps.llm import LlmStep, Recorded, UnitAsk, recorded
from trueup.read.batch import salvage_key
from trueup.read.reader import read


def retry_key(run: str, chunk: str, step: str) -> str:
    """The key that the requests of a retry are stored under.

    >>> retry_key("r", "retry_000", "ask")
    'tu-9246fd3a165dcdab'
    """
    return f"tu-{_hash(run, chunk, step)[:16]}"


def custom_id(key: str, unit_id: str, call: int) -> str:
    """The custom id of a request: the name of its batch, and a hash of the unit."""
    return f"{key}-{_hash(unit_id, str(call))[:24]}"


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class BatchAnswer(NamedTuple):
    """A line of a batch: its custom id, and its record; no record if the line has no usable answer."""

    custom_id: str
    record: Recorded | None


def requests_of(job: ChunkJob, asks: dict[int, UnitAsk], key: str) -> Requests:
    """The requests that the asks of a job want to send now."""
    found: Requests = []
    for place, ask in asks.items():
        unit_id = job.units[place]["unit_id"]
        cid = custom_id(key, unit_id, job.calls(unit_id))
        found.append((cid, unit_id, job.replies(unit_id), ask.request()))
    return found


def read_line(raw: bytes, mode: Mode = "text") -> BatchAnswer:
    """Read a line of a batch's output or error file; `mode` is how the provider was made to follow the schema."""
    try:
        row = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return BatchAnswer(salvage_key(raw.decode("utf-8", "replace")), None)
    if not isinstance(row, dict):
        return BatchAnswer("", None)
    reading = read(row)
    failed = next((found for found in reading.findings if found.code == "R002"), None)
    if failed is not None:
        return BatchAnswer(reading.key, {**_failure(failure_in(failed, mode)), "page": page_of(raw.strip())})
    if reading.findings:
        return BatchAnswer(reading.key, None)
    return BatchAnswer(reading.key, recorded(reading.reply))


def sorted_out(lines: Iterable[bytes], owners: Container[str], mode: Mode = "text") -> tuple[dict[str, Recorded], int]:
    """The answer for each known custom id, and the number of unusable lines: broken, repeated, or of no known unit.

    A reply counts rather than an error for the same request: it was paid for.

    >>> sorted_out([b'{"custom_id": "a"', b"[]"], {"a"})
    ({}, 2)
    """
    found: dict[str, Recorded] = {}
    odd = 0
    for raw in lines:
        if not raw.strip():
            continue
        cid, record = read_line(raw, mode)
        if record is None or cid not in owners:
            odd += 1
        elif cid not in found:
            found[cid] = record
        else:
            odd += 1
            if "usage" in record and "usage" not in found[cid]:
                found[cid] = record
    return found, odd


def _failure(failure: CallFailure) -> Recorded:
    """An error line. An error that may pass next time is a transport failure; any other ends the asking."""
    plain = msgspec.to_builtins(failure)
    again = failure.kind in {"rate", "transient"} or failure.code in {
        "batch_expired",
        "expired",
        "canceled",
        "cancelled",
    }
    return {"transport": plain} if again else {"failure": plain}


def retry_requests(run: OwnedRun, chunk: str, step: LlmStep, rows: Iterable[tuple[Any, Any]]) -> Iterator[bytes]:
    """The requests of a retry in the provider's batch format, each with the prompt that asks for a correction."""
    key = retry_key(run.state.run["run"], chunk, step.name)
    for unit, earlier in rows:
        try:
            more = earlier["attempts"] if earlier["raw_response"] else max(0, earlier["attempts"] - 1)
            ask = step.ask(unit, step.prompt(unit), more=more)
        except PromptError:
            continue
        if earlier["raw_response"]:
            ask.repeat(earlier)
        if not ask.finished:
            yield line(batch_line(step.provider, custom_id(key, unit["unit_id"], 0), ask.request()))
