"""Makes the line of `validated.jsonl` or `failures.jsonl` for a unit and its verdict, as bytes.

A record has the value as it was coerced; the text is never read again. The reply stays under `data`, so that its fields cannot be
mistaken for fields of the unit; `merged` gives the flat form. Lone surrogates and integers of any size are written unchanged.
"""

from collections.abc import Iterable
from typing import Any, Literal

import orjson

from trueup.batch.counting.grounding_rates import model_of
from trueup.batch.input.units import Row, Unit
from trueup.contract.meaning.meaning import RESERVED, record
from trueup.verdict.codec import spelled
from trueup.verdict.facts import Finding
from trueup.verdict.paths import parse, value_at
from trueup.verdict.verdict import Verdict

Stage = Literal["parse", "schema_validation", "validation", "pipeline_internal"]
STAGES: tuple[Stage, ...] = ("parse", "schema_validation", "validation", "pipeline_internal")
RETRYABLE: frozenset[Stage] = frozenset({"parse", "schema_validation", "validation"})

# The fields of a record about its unit; none of them is ever taken from a reply.
FIELDS = RESERVED | {
    "failure_stage",
    "input",
    "raw_response",
    "errors",
    "warnings",
    "fixes",
    "data",
    "calls",
    "response",
}

_BY_FAMILY: dict[str, Stage] = {
    "R": "parse", "P": "parse", "L": "parse",
    "G": "schema_validation", "V": "schema_validation", "T": "schema_validation",
    "U": "pipeline_internal", "X": "pipeline_internal",
}  # fmt: skip
# Families of fixes to the text itself. A contract that refuses one refuses to read the text, for example where a reply is
# cut.
_OF_READING = frozenset("SWF")
NO_SOURCE = "E007"  # what a unit lacks, no reply can give
_PLACES = 3  # of a value in a record
_LONG = 200  # characters of a text whose evidence is shown
_ORDER = {stage: place for place, stage in enumerate(("pipeline_internal", "parse", "schema_validation", "validation"))}


def stage_of(errors: Iterable[Finding]) -> Stage:
    """The stage at which a unit failed: the first stage that any of its errors belongs to.

    >>> from trueup.verdict.facts import finding
    >>> stage_of([finding("V001", "$", ""), finding("P001", "$", "")])
    'parse'
    """
    stages = [_stage(error) for error in errors]
    return stages[0] if len(stages) == 1 else min(stages, key=_ORDER.__getitem__)


def _stage(error: Finding) -> Stage:
    if error.code in ("R002", NO_SOURCE):
        # the provider failed, so there is no reply to parse; or the unit has nothing to judge it by
        return "pipeline_internal"
    if error.code == "U001" or (error.code == "G001" and str(error.data.get("fix"))[0] in _OF_READING):
        return "parse"
    return _BY_FAMILY.get(error.code[0], "validation")


def line_of(row: Row) -> bytes:
    r"""A record as one line, with any content.

    >>> line_of({"a": 2**70, "b": "\ud800"})
    b'{"a": 1180591620717411303424, "b": "\\ud800"}\n'
    """
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return spelled(row) + b"\n"


def valid_line(unit: Unit, verdict: Verdict) -> bytes:
    """The line of a valid unit."""
    row: Row = {"unit_id": unit.id, "input": unit.input, "raw_response": unit.raw, "data": verdict.data}
    if verdict.calls:
        row["calls"] = [{"name": c.name, "args": c.args, "id": c.id} for c in verdict.calls]
    fixes = verdict.fixes
    row["fixes"] = [fix.to_dict() for fix in fixes]
    if unit.findings or verdict.findings:
        row["warnings"] = [error_of(f) for f in (*unit.findings, *verdict.findings) if f.level == "warning"]
    return line_of(_whole(row, unit, verdict))


def failed_line(unit: Unit, stage: Stage, findings: Iterable[Finding], verdict: Verdict | None, place: str) -> bytes:
    """The failure record of a unit."""
    retries = unit.kept.get("retry_count") if unit.kept else 0
    errors: list[Row] = []
    warned: list[Row] = []
    for found in findings:
        (errors if found.level == "error" else warned).append(error_of(found))
    row: Row = {
        "unit_id": unit.id,
        "failure_stage": stage,
        "input": unit.input,
        "raw_response": unit.raw,
        "errors": errors,
        "fixes": [fix.to_dict() for fix in verdict.fixes] if verdict is not None else [],
        "retry_count": retries if type(retries) is int else 0,
    }
    if warned:
        row["warnings"] = warned
    row["place"] = place
    return line_of(_whole(row, unit, verdict))


def _whole(row: Row, unit: Unit, verdict: Verdict | None) -> Row:
    """A record with the other fields of its line, and with the evidence if its contract is grounded."""
    if unit.kept:
        row |= _kept(unit)
    # another kind of contract may not have this attribute
    if verdict is not None and getattr(verdict, "evidence", None):
        row["evidence"] = evidence_of(verdict)
        model = model_named(unit, verdict)
        if model and "model" not in row and not model_of(row):
            row["model"] = model
    return row


def evidence_of(verdict: Verdict) -> Row:
    """The evidence of a verdict for a record: each value with its best places."""
    found: Row = {}
    for path, evidence in verdict.evidence.items():
        one = evidence.to_dict()
        if len(one.get("places", ())) > _PLACES:
            one["places"] = one["places"][:_PLACES]
        value = _looked_up(path, verdict)
        found[path] = {"value": f"{value[:_LONG]}…" if isinstance(value, str) and len(value) > _LONG else value, **one}
    return found


def _looked_up(path: str, verdict: Verdict) -> Any:
    """The value that evidence is about: a part of the data, an argument of a call, or a claim in a text."""
    if path.startswith("text["):
        start, end = map(int, path[5:-1].split(":"))
        return verdict.reply.text[start:end]
    parts = parse(path)
    value = value_at(verdict.data, parts)
    if value is None and parts[:1] == ("calls",) and len(parts) > 2:  # $.calls[n].args
        called = (*verdict.calls, *(refusal.call for refusal in verdict.refused))
        value = next((value_at(call.args, parts[3:]) for call in called if call.index == parts[1]), None)
    return value


def model_named(unit: Unit, verdict: Verdict | None) -> str:
    """The model that gave a reply: the one that the unit's line names, else the one that the reply names."""
    named = model_of({**unit.kept, "input": unit.input})
    return named or str(getattr(getattr(verdict, "reply", None), "model", "") or "")


def _kept(unit: Unit) -> Row:
    return {name: value for name, value in unit.kept.items() if name not in FIELDS or name in _FROM_UNIT}


_FROM_UNIT = frozenset({"_metadata", "error", "response", "retry_count"})


def error_of(found: Finding) -> Row:
    """A finding for a record."""
    rule = found.data.get("rule")
    row: Row = {
        "code": found.code,
        "path": found.path,
        "rule": rule if isinstance(rule, str) else found.name,
        "message": found.message,
    }
    if found.span is not None:
        row["span"] = found.span
    if found.hint:
        row["hint"] = found.hint
    return row


def unit_fields(unit_id: str, given: Any) -> Row:
    """The fields of a unit that rules can use besides the reply: its input and its id."""
    fields = given if isinstance(given, dict) else {} if given is None else {"input": given}
    return {**fields, "unit_id": unit_id}


def merged(unit_id: str, given: Any, data: Any) -> Row:
    """A flat unit: its input with the reply's fields over it. The fields that belong to the unit are not overridden.

    >>> merged("u1", {"a": 1, "_seed": 7}, {"a": 2, "b": 3, "unit_id": "u9", "_seed": 0})
    {'a': 2, '_seed': 7, 'unit_id': 'u1', 'b': 3}
    """
    if isinstance(data, dict) and not RESERVED.isdisjoint(data):
        data = {name: value for name, value in data.items() if name not in RESERVED}
    return record(data, {"input": unit_fields(unit_id, given)})
