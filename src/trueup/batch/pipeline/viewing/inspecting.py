"""Reads one unit at one step in full from a run directory: its requests, its replies, and their verdicts.

Replies come from the one reader of results, so a call that was only sent is never shown as a reply.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.pipeline.config import read_config
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.disk import Damaged
from trueup.batch.pipeline.rundir.replies import is_reply, read_calls, replies_to, rows_in
from trueup.batch.pipeline.running.metadata import METADATA, metadata
from trueup.batch.pipeline.steps.llm import reply_of, step_contract
from trueup.batch.pipeline.viewing.unitlist import UnitRow
from trueup.contract.contract import Contract
from trueup.verdict.verdict import Verdict

_INNER = frozenset({"failure_stage", "raw_response", "errors", "warnings", "fixes", "retry_count", "tries", "input"})
Row = dict[str, Any]


class JudgedReply(NamedTuple):
    """One reply about a unit, and its verdict (None if a contract does not judge it)."""

    raw: str
    verdict: Verdict | None
    usage: Row
    model: str = ""
    at: str = ""


class UnitDetails(NamedTuple):
    """Everything about one unit at one step.

    `note` is the progress of its calls while it is not judged; `fault` says which part of it cannot be read.
    """

    id: str
    input: Row
    prompt: str
    replies: tuple[JudgedReply, ...]
    failure: Row | None
    result: Row | None
    note: str = ""
    fault: str = ""


def unit_at(path: Path, step: str, row: UnitRow) -> UnitDetails:
    """One unit: its input, its requests, its replies and their verdicts."""
    try:
        return unit_in(RunDir.look(path), step, row)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        return UnitDetails(row.id, {}, "", (), None, None, fault=str(error))


def unit_in(run: RunDir, step: str, row: UnitRow) -> UnitDetails:
    """The same for a run that was opened already. Raises the errors of reading a damaged run."""
    faults: list[str] = []

    def last(kind: str) -> Row | None:
        found = None
        for record in _readable(rows_in(run.file(row.chunk, step, kind)), faults):
            found = record if record.get("unit_id") == row.id else found
        return found

    failure = last("failures") if row.state == "failed" else None
    result = last("validated") if row.state == "valid" else None
    given = (failure or {}).get("input")
    if not isinstance(given, dict):
        entered = _readable(run.units(run.state.chunks[row.chunk], run.state.steps.index(step)), faults)
        given = next((unit for unit in entered if unit.get("unit_id") == row.id), {})
    prompt = str((last("prompts") or {}).get("prompt", ""))
    replies = _judged(run, step, row, given, faults)
    note = "" if row.state in {"failed", "valid"} else _open_note(run, step, row)
    return UnitDetails(row.id, given, prompt, replies, failure, result, note, "\n".join(dict.fromkeys(faults)))


def _readable(rows: Iterable[Row], faults: list[str]) -> Iterator[Row]:
    """Records up to the first that cannot be read, which is added to the faults."""
    try:
        yield from rows
    except (OSError, Damaged) as error:
        faults.append(str(error))


def _open_note(run: RunDir, step: str, row: UnitRow) -> str:
    """The progress of the calls about a unit that is not judged yet."""
    calls = read_calls(_readable(rows_in(run.file(row.chunk, step, "results")), []), {row.id})
    recorded = calls.recorded.get(row.id, [])
    failures = sum(not is_reply(record) for record in recorded)
    sent = calls.unanswered[row.id]
    parts = []
    if sent and run.is_running:
        parts.append("a request was sent; there is no reply yet")
    elif sent:
        parts.append("a request was sent, but no process is running this run, so its reply is lost")
    elif row.state == "asked":
        parts.append("its request is in a batch at the provider; there is no reply yet")
    elif not recorded:
        parts.append("not asked yet")
    if failures:
        parts.append(f"{failures} call{'s' * (failures != 1)} failed on the way")
    return "; ".join(parts)


def _judged(run: RunDir, step: str, row: UnitRow, given: Row, faults: list[str]) -> tuple[JudgedReply, ...]:
    """The replies about a unit, each judged again by the contract of the step."""
    rows: list[Row] = []
    try:
        rows = replies_to(run, row.chunk, step, row.id)
    except (OSError, Damaged) as error:
        faults.append(str(error))
    file = run.path / "config" / str(run.state.run.get("config", "config.yaml"))
    contract = _contract(file, step, run.state.number) if rows else None
    out = []
    for record in rows:
        seen = {**given, METADATA: metadata(given, step, record)}
        judged = _verdict(contract, record, seen)
        told = str(record.get("model") or ""), str(record.get("at") or "")
        out.append(JudgedReply(record["raw_response"], judged, record.get("usage") or {}, *told))
    return tuple(out)


def _verdict(contract: Contract | None, record: Row, seen: Row) -> Verdict | None:
    if contract is None:
        return None
    try:
        return contract.check(reply_of(record), {"input": seen})
    except (Exception, SystemExit):  # noqa: BLE001 - the run keeps how it was judged; the reply is shown all the same
        return None


@lru_cache(maxsize=8)
def _contract(file: Path, step: str, _: int) -> Contract | None:
    """The contract of a step. It is made again if the length of the journal, the last key, has changed: a pipeline may be adopted."""
    with suppress(OSError, ValueError, Damaged):
        pipeline = read_config(file)
        named = next((found for found in pipeline.steps if found.name == step), None)
        if named is not None and named.asks:
            return step_contract(pipeline, named)
    return None


def fields_of(result: Row) -> Row:
    """A record without the fields that trueup added to the unit's own."""
    return {name: value for name, value in result.items() if name not in _INNER}
