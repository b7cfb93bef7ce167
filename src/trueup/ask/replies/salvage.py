"""The part of a refused reply that may still be given to the caller: its text, and the calls that passed.

Takes a contract and a verdict; returns a verdict on that part, or None. Only faults of form are forgiven. A reply is never given if it
was cut off, or if it breaks a rule of the state, a limit, a custom check or a rule on the reply's quality; the part is checked for
these again. Text that is written as a call is removed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trueup.ask.drivers.awaiting import finish
from trueup.ask.replies.faults import is_usable
from trueup.contract.streaming.holding_back import spoken
from trueup.contract.tool_calls.rest_of_reply import beside, parted, without_calls
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import AS_DATA, Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

# Faults of form: in the value, in its calls and in how they are written. Replies with findings of other families must not be shown.
_FORM = frozenset("VGBPT")
_NEVER = frozenset({"B008", "P002", "P006", "P007", "P009", "P010", "T006", "T012", "T013", "T017", "T018"})
_CUT = frozenset({"length", "filter", "error"})  # finish reasons of a reply that is incomplete
_CUT_INSIDE = frozenset({"S028", "S029", "S030"})  # fixes for a text that ends inside a string, a member or a word


def salvage(contract: "Contract", verdict: Verdict, context: Mapping[str, Any]) -> Verdict | None:
    """The part of a refused reply that may be given.

    >>> from trueup import Contract
    >>> person = Contract({"type": "object", "required": ["name"]})
    >>> salvage(person, person.check("Ada Lovelace wrote it."), {}).reply.text
    'Ada Lovelace wrote it.'
    """
    if _is_cut(verdict) or any(f.code[0] not in _FORM or f.code in _NEVER for f in verdict.errors):
        return None
    calls = contract.call_options
    inside = calls is not None and calls.envelope
    if is_usable(verdict) and not inside:
        return verdict
    said = parted(verdict.data) if inside and _is_envelope(verdict.data) else beside(verdict)
    text = without_calls(spoken(said.text))
    if not text.strip() and not verdict.calls:
        return None
    data = _enclosed(contract, verdict.calls, text, said.fields, dict(context)) if inside else None
    reply = replace(verdict.reply, text=text, calls=verdict.calls)
    if _forbids(contract, Verdict(reply, data, calls=verdict.calls), context):
        return None
    return Verdict(
        reply,
        data,
        verdict.findings,
        verdict.fixes,
        AS_DATA,
        verdict.calls,
        metrics=verdict.metrics,
        refused=verdict.refused,
        evidence=verdict.evidence,
    )


def _is_cut(verdict: Verdict) -> bool:
    return verdict.reply.finish in _CUT or any(fix.code in _CUT_INSIDE for fix in verdict.fixes)


def _is_envelope(data: Any) -> bool:
    return isinstance(data, dict) and not data.keys().isdisjoint({"content", "toolCalls"})


def _enclosed(
    contract: "Contract", calls: tuple[ToolCall, ...], text: str, fields: dict[str, Any], context: dict[str, Any]
) -> dict[str, Any]:
    """The part as an envelope, with the other fields that are valid."""
    data: dict[str, Any] = {"content": text} if text else {}
    if calls:
        data["toolCalls"] = [{"name": call.name, "arguments": call.args} for call in calls]
    right = {key: value for key, value in fields.items() if contract.check_value({**data, key: value}, context).ok}
    return {**data, **right}


def _forbids(contract: "Contract", part: Verdict, context: Mapping[str, Any]) -> bool:
    """Whether the part breaks a requirement of the contract that is not about form, or claims a call that it does not make."""
    meaning = contract.meaning
    if contract.claims(part.reply.text, part.calls, context):
        return True
    return meaning is not None and not meaning.judge(part, context, finish).ok
