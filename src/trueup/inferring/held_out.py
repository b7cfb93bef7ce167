"""Held-out replies against a draft: each is checked; returns the constraints that refuse them, to relax.

A reply that was cut, or that lost something, is counted separately: a good contract refuses most of those. Replies
without a value never relax a constraint.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from trueup.contract.contract import Contract
from trueup.inferring.calling import state_of
from trueup.inferring.draft import ITEMS, VALUES, Location
from trueup.inferring.reading import CUT, NOT_USABLE, NOTHING, is_data, json_data
from trueup.inferring.shapes import ValueShape
from trueup.material.case import Case
from trueup.verdict.facts import Finding
from trueup.verdict.paths import Parts, parse
from trueup.verdict.verdict import Verdict

Word = tuple[str, Location, str]
"""The tool, for constraints on arguments, or empty; the place; the constraint to relax there."""
_LENGTHS = frozenset({"minLength", "maxLength"})


class HeldOutReply(NamedTuple):
    """A held-out reply under a draft."""

    case: Case
    kind: str
    """`whole`, `cut` if something is lost, or `none` without a value of the replies' shape."""
    ok: bool
    words: tuple[Word, ...] = ()
    """The constraints to relax so that it may pass; empty if the draft is not the cause."""
    codes: tuple[str, ...] = ()
    value: Any = None


def judge(
    contract: Contract, cases: Iterable[Case], schema: Any, tools: dict[str, Any], shape: ValueShape | None = None
) -> list[HeldOutReply]:
    """Check cases under a contract without its order of calls. `schema` and `tools` are the parts of the contract.

    A refused case with a different `shape` counts as one without a value, as in drafting.
    """
    judged = [_judged(contract, case, schema, tools) for case in cases]
    if shape is None:
        return judged
    return [
        one._replace(kind="none") if one.kind == "whole" and not one.ok and shape.is_other(one.value) else one
        for one in judged
    ]


def _judged(contract: Contract, case: Case, schema: Any, tools: dict[str, Any]) -> HeldOutReply:
    if case.unjudgeable is not None or case.reply is None:
        return HeldOutReply(case, "none", ok=False)
    if schema is not None and isinstance(case.reply, dict | list) and is_data(case.reply):
        value = json_data(case.reply)
        if value is NOTHING:
            return HeldOutReply(case, "none", ok=False)
        verdict = contract.check_value(value)
    else:
        verdict = contract.check(case.reply, context_of(case))
    codes = {found.code for found in verdict.findings.errors}
    fixes = {fix.code for fix in verdict.fixes}
    if codes & NOT_USABLE:
        return HeldOutReply(case, "none", ok=False, codes=tuple(sorted(codes)))
    lossy = any(fix.grade == "lossy" for fix in verdict.fixes)
    kind = "cut" if lossy or fixes & CUT or verdict.reply.finish == "length" else "whole"
    words = {word for found in verdict.findings.errors if (word := _word(found, verdict, schema, tools)) is not None}
    return HeldOutReply(case, kind, verdict.ok, tuple(sorted(words)), tuple(sorted(codes)), verdict.data)


def context_of(case: Case) -> dict[str, Any]:
    """The context of a case, with its state."""
    state = state_of(case)
    return {**(case.context or {}), **({"state": state} if state else {})}


def _word(found: Finding, verdict: Verdict, schema: Any, tools: dict[str, Any]) -> Word | None:
    """The constraint to relax for a finding; None if the draft is not at fault."""
    if found.code == "D002":
        return "", (), "state"
    if found.code in ("D004", "D006"):
        return "", (), "states"
    if found.code == "Q006":
        return "", (), "min_text"
    if found.code[0] != "V":
        return None
    parts = parse(found.path)
    tool = ""
    if parts[:1] == ("calls",) and len(parts) > 2 and parts[2] == "args" and tools:
        index = int(parts[1])
        tool = verdict.reply.calls[index].name if index < len(verdict.reply.calls) else ""
        schema, parts = tools.get(tool), parts[3:]
    if not isinstance(schema, dict):
        return None
    at, above = located(schema, parts)
    return tool, *_relaxed(found, at, above, parts)


def _relaxed(found: Finding, at: Location, above: dict[str, Any], parts: Parts) -> tuple[Location, str]:
    data = found.data or {}
    code = found.code
    if code == "V001":
        if parts and isinstance(parts[-1], int) and "prefixItems" in above:
            return at[:-1], "tuple"
        return at, f"type:{data.get('got', 'null')}"
    if code == "V002" and parts:
        return at[:-1], f"required:{parts[-1]}"
    if code == "V003":
        return at[:-1], "closed"
    if code == "V005" and "oneOf" in above:
        return at[:-1], "variants"
    if code == "V007":
        return at, "length" if data.get("rule") in _LENGTHS else "size"
    return at, {"V004": "bounds", "V005": "enum", "V008": "variants", "V010": "format"}.get(code, "any")


def located(schema: dict[str, Any], parts: Parts) -> tuple[Location, dict[str, Any]]:
    """The place of a draft for a path of a value, and the schema just above it.

    >>> located({"properties": {"a": {"items": {}}}}, ("a", 0))[0]
    ('a', '[]')
    >>> located({"additionalProperties": {"type": "integer"}}, ("x",))[0]
    ('{}',)
    """
    at: list[str] = []
    here, above = schema, schema
    for part in parts:
        above = here
        if isinstance(part, int):
            at.append(ITEMS)
            here = _dict(here.get("items"))
            continue
        arms = [here, *(arm for arm in here.get("oneOf", ()) if isinstance(arm, dict))]
        named = next((arm for arm in arms if part in arm.get("properties", {})), None)
        if named is None and isinstance(here.get("additionalProperties"), dict):
            at.append(VALUES)
            here = here["additionalProperties"]
        else:
            at.append(part)
            here = _dict((named or {}).get("properties", {}).get(part))
    return tuple(at), above


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def worst(judged: list[HeldOutReply], relaxed: set[Word]) -> Word | None:
    """The constraint that refuses the most complete replies and is not relaxed yet; None if there is none."""
    counts = Counter(word for one in judged if one.kind == "whole" and not one.ok for word in one.words)
    fresh = [(seen, word) for word, seen in counts.items() if word not in relaxed]
    if not fresh:
        return _bolder(counts, relaxed)
    return max(fresh, key=lambda pair: (pair[0], pair[1]))[1]


def _bolder(counts: "Counter[Word]", relaxed: set[Word]) -> Word | None:
    """The word that frees a whole place, if relaxing one constraint there did not help."""
    for (tool, at, _), _seen in counts.most_common():
        word = (tool, at, "any")
        if at and word not in relaxed:
            return word
    return None
