"""`_metadata`: the facts that a run records about a unit beside its data, by step: model, time, tokens, fixes and warnings.

Takes a unit, a recorded reply and its verdict, and returns the mapping. Everything in it comes from records on disk, so judging a
reply again after a crash gives the same line, byte for byte. A reply cannot set any of it.
"""

from collections.abc import Mapping
from typing import Any

from trueup.batch.judging.log_lines import fix_lines
from trueup.batch.judging.records import error_of, evidence_of
from trueup.verdict.verdict import Verdict

METADATA = "_metadata"
_KEPT = ("model", "at")
_TOKENS = ("input_tokens", "output_tokens")
Unit = Mapping[str, Any]


def metadata(unit: Unit, step: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a unit with the entry of one more step, for the rules of that step.

    >>> metadata({"unit_id": "a"}, "score", {"raw_response": "{}", "usage": {"input_tokens": 9}, "model": "m"})
    {'score': {'model': 'm', 'input_tokens': 9}}
    """
    about = {name: record[name] for name in _KEPT if record.get(name)}
    usage = record.get("usage")
    if usage:
        about |= {name: usage[name] for name in _TOKENS if name in usage}
    return {**_mapping(unit.get(METADATA)), step: about}


def noted(before: dict[str, Any], step: str, verdict: Verdict) -> dict[str, Any]:
    """The metadata of a unit that passed, with every fix and warning of its verdict, and the evidence for its values."""
    about = dict(_mapping(before.get(step)))
    if verdict.evidence:
        about["evidence"] = evidence_of(verdict)
    if verdict.fixes:
        about["fixes"] = [fix.to_dict() for fix in verdict.fixes]
    if verdict.warnings:
        about["warnings"] = [error_of(found) for found in verdict.warnings]
    return {**before, step: about}


def notes_of(unit: Unit, step: str) -> tuple[list[Any], list[Any]]:
    """The fixes and warnings in the metadata of a unit for a step that it passed."""
    about = _mapping(_mapping(unit.get(METADATA)).get(step))
    fixes, warnings = about.get("fixes"), about.get("warnings")
    return fixes if isinstance(fixes, list) else [], warnings if isinstance(warnings, list) else []


def grounds_of(unit: Unit, step: str) -> dict[str, Any]:
    """The evidence in the metadata of a unit for a step that it passed, in the form of a record; empty if there is none."""
    about = _mapping(_mapping(unit.get(METADATA)).get(step))
    return (
        {name: about[name] for name in ("evidence", "warnings", "model") if about.get(name)}
        if about.get("evidence")
        else {}
    )


def log_lines(unit: Unit, verdict: Verdict) -> tuple[str, ...]:
    """The log lines about a unit that passed: its fixes and warnings."""
    warned = (
        f"[WARN] {found.code} {found.data.get('rule') or found.path}: {found.message}" for found in verdict.warnings
    )
    return tuple(f"{unit['unit_id']}: {line}" for line in (*fix_lines(verdict.fixes), *warned))


def _mapping(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}
