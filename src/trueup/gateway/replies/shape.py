"""The shape of a client's reply: the one that the client requested, with everything in the model's reply.

Returns the text, the calls and the other fields for a client, each None if the model's own are passed on unchanged. Under an
envelope contract, a client gets the envelope as text. A client that offers tools gets native calls, the words beside them as
text, and every other field in the reply's `trueup` extension.
"""

import secrets
from typing import Any, NamedTuple

import msgspec

from trueup.ask.answer import Answer
from trueup.contract.contract import Contract
from trueup.contract.streaming.holding_back import spoken
from trueup.contract.tool_calls.rest_of_reply import beside, is_written, parted
from trueup.gateway.door.exchange import Exchange
from trueup.gateway.protocols.field_filter import is_name
from trueup.verdict.codec import written
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Verdict

_OURS = frozenset({"fallback", "degraded"})  # the client gets something other than the model's last reply

_CALL = frozenset({"name", "arguments", "id"})


class ReplyShape(NamedTuple):
    """Text, calls and other fields for a client; None passes the model's own on."""

    text: str | None = None
    calls: tuple[ToolCall, ...] | None = None
    fields: dict[str, Any] = {}


OWN = ReplyShape()  # the model's own text and calls


def holds_calls(contract: Contract | None) -> bool:
    """Whether a contract's replies have their calls in an envelope."""
    options = None if contract is None else contract.call_options
    return options is not None and options.envelope


def shape_of(exchange: Exchange, answer: Answer) -> ReplyShape:
    """The shape of an answer for the client of an exchange."""
    contract, verdict = exchange.contract, answer.verdict
    inside, data = holds_calls(contract), verdict.data
    if inside and not exchange.native and verdict.reply.calls and verdict.calls:
        return ReplyShape(written(_enclosed(verdict) if data is None else data).decode(), ())
    if inside and exchange.native and isinstance(data, dict):
        text, fields = parted(data)
        return ReplyShape(text, _named(verdict.calls), fields | _in_calls(data))
    if contract is not None and contract.schema is not None and data is not None:
        anew = bool(verdict.fixes) or answer.outcome == "degraded"
        return ReplyShape(written(data).decode()) if anew else OWN
    if is_written(verdict):
        text, fields = beside(verdict)
        return ReplyShape(spoken(text), _named(verdict.calls), fields)
    return OWN


def composed_text(exchange: Exchange, answer: Answer, shape: ReplyShape) -> str:
    """The text of a reply that the gateway writes itself."""
    if shape.text is not None:
        return shape.text
    verdict = answer.verdict
    text = verdict.reply.text
    is_value = verdict.data is not None and exchange.contract is not None and exchange.contract.schema is not None
    return text if is_value or answer.outcome == "fallback" else spoken(text)


def composed_calls(exchange: Exchange, answer: Answer, shape: ReplyShape) -> tuple[ToolCall, ...]:
    """The calls of a reply that the gateway writes itself: those that passed and wait for the client."""
    if shape.calls is not None or answer.outcome == "fallback":
        return shape.calls or ()
    verdict = answer.verdict
    calls = verdict.calls
    if not calls:
        if not verdict.reply.calls:
            return ()
        judged = exchange.contract is not None and exchange.contract.call_options is not None
        refused = {refusal.call.index for refusal in verdict.refused}
        calls = () if judged else tuple(call for call in verdict.reply.calls if call.index not in refused)
    return _named(tuple(call for call in calls if call.origin == "native" and not call.answered))


def is_ours(answer: Answer) -> bool:
    """Whether the client gets something other than the model's last reply."""
    return answer.outcome in _OURS


def _enclosed(verdict: Verdict) -> dict[str, Any]:
    """The model's native calls as the envelope that the contract requires."""
    data: dict[str, Any] = {"toolCalls": [{"name": call.name, "arguments": call.args} for call in verdict.calls]}
    return {**data, **({"content": verdict.reply.text} if verdict.reply.text else {})}


def _in_calls(data: dict[str, Any]) -> dict[str, Any]:
    """Extra keys of the calls in an envelope, in a list with an object for each call; nothing if there are none."""
    listed = data.get("toolCalls")
    if not isinstance(listed, list):
        return {}
    more = [
        {key: value for key, value in call.items() if key not in _CALL} for call in listed if isinstance(call, dict)
    ]
    return {"toolCalls": more} if any(more) else {}


def judged_fields(exchange: Exchange, fields: dict[str, Any], dropped: set[str]) -> dict[str, Any]:
    """Other fields of a reply's object; if the contract's states forbid something in their words, only fields without words."""
    states = (
        None if exchange.contract is None or exchange.contract.meaning is None else exchange.contract.meaning.states
    )
    words = [] if states is None else [word for value in fields.values() for word in _words(value)]
    if states is None or not words:
        return fields
    found = states.check(Reply(text="\n".join((*fields, *words))), (), exchange.context)
    if not any(finding.level == "error" for finding in found):
        return fields
    dropped.add("trueup.fields")
    return {}


def _words(value: Any) -> list[str]:
    """All text in a value."""
    if isinstance(value, dict):
        return [*value, *(word for each in value.values() for word in _words(each))]
    if isinstance(value, list):
        return [word for each in value for word in _words(each)]
    return [value] if isinstance(value, str) else []


def _named(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls, each with an id for its answer; an invalid identifier is replaced."""
    return tuple(
        call if is_name(call.id) else msgspec.structs.replace(call, id=f"call_{secrets.token_hex(12)}")
        for call in calls
    )
