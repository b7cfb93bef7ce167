"""The shape of a client's reply: the one that the client asked for, with everything that the model said.

Takes an exchange and an answer; gives the text, the calls and the other fields, each None if the model's own are passed on unchanged.
Under an envelope contract, a client gets the envelope as text. A client that offers tools gets native calls, the words beside them
as text, and every other field in the reply's `trueup` extension.
"""

import secrets
from typing import Any, NamedTuple

import msgspec

from trueup.ask.answer import Answer
from trueup.contract.beside import beside, is_written, parted
from trueup.contract.contract import Contract
from trueup.contract.holder import spoken
from trueup.gateway.exchange import Exchange
from trueup.verdict.codec import written
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Verdict

_OURS = frozenset({"fallback", "degraded"})  # the client gets something else than the model's last reply

_CALL = frozenset({"name", "arguments", "id"})


class Shape(NamedTuple):
    """Text, calls and other fields for a client; None passes the model's own on."""

    text: str | None = None
    calls: tuple[ToolCall, ...] | None = None
    fields: dict[str, Any] = {}

    @property
    def is_own(self) -> bool:
        """Whether the client gets what the model sent."""
        return self.text is None and self.calls is None and not self.fields


def holds_calls(contract: Contract | None) -> bool:
    """Whether a contract's replies hold their calls in an envelope."""
    options = None if contract is None else contract.call_options
    return options is not None and options.envelope


def shape_of(exchange: Exchange, answer: Answer) -> Shape:
    """The shape of an answer for the client of an exchange."""
    contract, verdict = exchange.contract, answer.verdict
    inside, data = holds_calls(contract), verdict.data
    if inside and not exchange.native and verdict.reply.calls and verdict.calls:
        return Shape(written(_enclosed(verdict) if data is None else data).decode(), ())
    if inside and exchange.native and isinstance(data, dict):
        text, fields = parted(data)
        return Shape(text, _named(verdict.calls), fields | _in_calls(data))
    if contract is not None and contract.schema is not None and data is not None:
        anew = bool(verdict.fixes) or answer.outcome == "degraded"
        return Shape(written(data).decode() if anew else None)
    if is_written(verdict):
        text, fields = beside(verdict)
        return Shape(spoken(text), _named(verdict.calls), fields)
    return Shape(None, _changed(verdict))


def composed_text(exchange: Exchange, answer: Answer, shape: Shape) -> str:
    """The text of a reply that the gateway writes itself."""
    if shape.text is not None:
        return shape.text
    text = answer.verdict.reply.text
    is_value = exchange.contract is not None and exchange.contract.schema is not None
    return text if is_value or answer.outcome == "fallback" else spoken(text)


def composed_calls(answer: Answer, shape: Shape) -> tuple[ToolCall, ...]:
    """The calls of a reply that the gateway writes itself."""
    if shape.calls is not None or answer.outcome == "fallback":
        return shape.calls or ()
    return tuple(call for call in answer.verdict.calls or answer.verdict.reply.calls if call.origin == "native")


def is_ours(answer: Answer) -> bool:
    """Whether the client gets something else than the model's last reply."""
    return answer.outcome in _OURS


def _enclosed(verdict: Verdict) -> dict[str, Any]:
    """Native calls of the model as the envelope that the contract asks for."""
    data: dict[str, Any] = {"toolCalls": [{"name": call.name, "arguments": call.args} for call in verdict.calls]}
    return {**data, **({"content": verdict.reply.text} if verdict.reply.text else {})}


def _in_calls(data: dict[str, Any]) -> dict[str, Any]:
    """Other keys of the calls in an envelope, in a list with an object for each call; nothing if there are none."""
    listed = data.get("toolCalls")
    if not isinstance(listed, list):
        return {}
    more = [
        {key: value for key, value in call.items() if key not in _CALL} for call in listed if isinstance(call, dict)
    ]
    return {"toolCalls": more} if any(more) else {}


def _changed(verdict: Verdict) -> tuple[ToolCall, ...] | None:
    """The calls for a client; None if they are the model's own."""
    calls = verdict.calls
    if not calls and not verdict.reply.calls:
        return None
    if len(calls) == len(verdict.reply.calls) and not verdict.fixes:
        return None
    return _named(calls)


def _named(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls, each with an id to answer it by."""
    return tuple(
        call if call.id else msgspec.structs.replace(call, id=f"call_{secrets.token_hex(12)}") for call in calls
    )
