"""One unit: takes its place in a run or a sift and returns everything that is known about it: input, prompt, replies
drawn with their marks.

The replies of a run are judged again by the contract of their step, as in the terminal screens; those of a sift are
drawn from its record. Texts are cut at a length that a page can show; values are returned as text.
"""

import json
import time
from typing import Any

import msgspec

from trueup.batch.pipeline.viewing.inspecting import JudgedReply, unit_in
from trueup.batch.pipeline.viewing.unitlist import UnitRow
from trueup.studio.judging.drawing import drawn
from trueup.studio.refusal import RequestRefused
from trueup.studio.runs.finding import RunPlace
from trueup.studio.runs.following import following
from trueup.studio.runs.guarding import FAULTS, GuardedRun, bounded, cut
from trueup.studio.runs.pieces import RecordRange, fields_of, full_record, pieces_of, split_place
from trueup.verdict.facts import Finding, Findings, Fix
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

Row = dict[str, Any]
_SHOWN = 200_000  # characters of a text
_MOST_REPLIES = 20
_SECONDS = 3.0  # seconds of a search for a unit by its id


def unit_of(place: RunPlace, unit: str, at: str = "", step: str = "") -> Row:
    """A unit in full; `at` is its last known place, and it is searched for if it is no longer there."""
    piece, record = _record(place, unit, at, step)
    told = _told(record, piece)
    if place.kind == "sift":
        return told | {"replies": [_from_record(record), *_merged(record)]}
    try:
        with following(place.path) as (state, _):
            run = GuardedRun(place.path, state)
            row = UnitRow(record["unit_id"], piece.where, "failed" if piece.kind == "failed" else "valid")
            found = unit_in(run, piece.step, row)
    except FAULTS as error:
        return told | {
            "replies": [_from_record(record)] if record.get("raw_response") else [],
            "fault": cut(str(error)),
        }
    replies = [_replied(number, reply) for number, reply in enumerate(found.replies[-_MOST_REPLIES:], 1)]
    if replies and replies[-1]["verdict"] is None and piece.kind == "failed":
        replies[-1] |= {"verdict": _from_record(record)["verdict"]}
    return told | {
        "input": _laid_out(found.input),
        "prompt": cut(found.prompt, _SHOWN),
        "replies": replies or ([_from_record(record)] if record.get("raw_response") else []),
        "fault": cut(found.fault),
    }


def _record(place: RunPlace, unit: str, at: str, step: str) -> tuple[RecordRange, Row]:
    """The record of a unit, at its last known or its current place."""
    pieces = pieces_of(place, step=step)
    if at:
        key, offset = split_place(at)
        of_step = pieces_of(place, step=key.rpartition("~")[2])
        for piece in (piece for piece in (*pieces, *of_step) if piece.key == key):
            for _, line in piece.lines(place.path, offset):
                record = full_record(line)
                if record is not None and (not unit or record["unit_id"] == unit):
                    return piece, record
                break
    end = time.monotonic() + _SECONDS
    wanted = json.dumps(unit)[1:-1].encode()
    plain = unit.encode("utf-8", "surrogatepass")
    for piece in pieces if unit else ():
        for number, (_, line) in enumerate(piece.lines(place.path)):
            if number % 1024 == 0 and time.monotonic() > end:
                raise RequestRefused(404, f"The unit {unit[:200]!r} was not found in time.", code="no_unit")
            if plain not in line and wanted not in line:
                continue
            record = full_record(line)
            if record is not None and record["unit_id"] == unit:
                return piece, record
    raise RequestRefused(
        404, f"There is no unit {unit[:200]!r} among the failed and valid ones.", code="no_unit",
        hint="Units are listed once their chunk has finished a step; a retry removes them from the list.",
    )  # fmt: skip


def _told(record: Row, piece: RecordRange) -> Row:
    """The data in the record of a unit."""
    errors = record.get("errors")
    fields = fields_of(record, piece)
    return {
        "unit": cut(record["unit_id"], 2000),
        "state": piece.kind,
        "step": piece.step,
        "chunk": piece.where if piece.step else "",
        "place": cut(str(record.get("place", "")), 400),
        "stage": cut(str(record.get("failure_stage", "")), 100),
        "retry_count": bounded(record.get("retry_count", 0)),
        "errors": bounded(errors if isinstance(errors, list) else []),
        "input": _laid_out(record.get("input")),
        "value": _laid_out(fields if piece.step else record.get("data")) if piece.kind == "valid" else None,
        "beside": None if piece.step else _laid_out(fields),
        "prompt": "",
        "fault": "",
    }


def _laid_out(value: Any) -> str | None:
    """A value as text: a browser would round long integers."""
    if value is None or value == {}:
        return None
    return cut(json.dumps(value, indent=2, ensure_ascii=False), _SHOWN)


def _replied(number: int, reply: JudgedReply) -> Row:
    usage = bounded({name: reply.usage.get(name) for name in ("input_tokens", "output_tokens")})
    return {
        "number": number, "model": cut(reply.model, 200), "at": cut(reply.at, 40), "usage": usage,
        "text": cut(reply.raw, _SHOWN), "verdict": None if reply.verdict is None else _drawn(reply.verdict),
    }  # fmt: skip


def _drawn(verdict: Verdict) -> Row | None:
    try:
        return drawn(verdict)
    except FAULTS:  # a record may contain anything; its reply is still shown
        return None


def _from_record(record: Row) -> Row:
    """A reply from the data of its record."""
    raw = record.get("raw_response")
    text = raw if isinstance(raw, str) else ""
    verdict = _rebuilt(record, text)
    return {"number": 1, "model": "", "at": "", "usage": {}, "text": cut(text, _SHOWN), "verdict": verdict}


class _Error(msgspec.Struct):
    code: str
    path: str = "$"
    message: str = ""
    rule: str = ""
    hint: str = ""
    span: tuple[int, int] | None = None


def _rebuilt(record: Row, text: str) -> Row | None:
    try:
        findings = [
            Finding(each.code, each.path, each.message, _inside(each.span, text), {"rule": each.rule}, each.hint, level)
            for name, level in _LEVELS
            for each in msgspec.convert(record.get(name) or [], list[_Error])
        ]
        fixes = msgspec.convert(record.get("fixes") or [], tuple[Fix, ...])
    except (msgspec.MsgspecError, RecursionError):
        return None
    return _drawn(Verdict(Reply(text=text), record.get("data"), Findings(findings), fixes))


_LEVELS: Any = (("errors", "error"), ("warnings", "warning"))


def _inside(span: tuple[int, int] | None, text: str) -> tuple[int, int] | None:
    return span if span is not None and 0 <= span[0] <= span[1] <= len(text) else None


def _merged(record: Row) -> list[Row]:
    """The earlier replies of a unit of a sift."""
    earlier = record.get("merged")
    rows = [row for row in earlier if isinstance(row, dict)] if isinstance(earlier, list) else []
    return [{**_from_record(row), "number": number} for number, row in enumerate(rows[:_MOST_REPLIES], 2)]
