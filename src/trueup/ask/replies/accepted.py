"""An accepted reply as part of a conversation: the model's messages, and its calls in a form that can be answered.

Takes a verdict; returns messages in the provider's shape, with every call that needs a result. Calls that the model wrote
into its text become calls of the conversation; only the rest of the text is kept as text.
"""

from typing import Any, NamedTuple

import msgspec

from trueup.ask.requests.messages import said
from trueup.contract.tool_calls.rest_of_reply import beside, parted
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Refusal, Verdict

_BY_NAME = frozenset({"gemini", "ollama"})  # results are matched by name and order, so no id is needed


class Taken(NamedTuple):
    """A reply as part of a conversation: its messages, the calls that may run, and the refused calls."""

    messages: list[Any]
    reply: Reply
    calls: tuple[ToolCall, ...] = ()
    refused: tuple[Refusal, ...] = ()
    given: tuple[ToolCall, ...] = ()  # as the model wrote them

    def original(self, call: ToolCall) -> ToolCall:
        """A call as the model wrote it."""
        return next((one for one in self.given if one.index == call.index), call)

    def recorded(self, call: ToolCall) -> ToolCall:
        """A call as it is written in the conversation."""
        return next((one for one in self.reply.calls if one.index == call.index), call)


def taken(verdict: Verdict, provider: str, number: int) -> Taken:
    """A verdict as part of a conversation. `number` makes the ids of calls without one different from those in other replies.

    >>> from trueup import Contract
    >>> verdict = Contract(tools=[{"name": "ping"}]).check('<tool_call>{"name": "ping", "arguments": {}}</tool_call>')
    >>> taken(verdict, "openai", 1).messages[0]["tool_calls"][0]["function"]["name"]
    'ping'
    """
    calls = tuple(_named(call, provider, number) for call in verdict.calls if not call.answered)
    refused = tuple(
        Refusal(_named(refusal.call, provider, number), refusal.findings)
        for refusal in verdict.refused
        if not refusal.call.answered
    )
    answered = [call for call in verdict.reply.calls if call.answered]  # by the provider itself
    every = sorted((*calls, *(refusal.call for refusal in refused), *answered), key=lambda call: call.index)
    reply = msgspec.structs.replace(verdict.reply, calls=tuple(every))
    if any(call.origin != "native" for call in every):
        text = (parted(verdict.data) if isinstance(verdict.data, dict) else beside(verdict)).text
        reply = Reply(text=text, calls=tuple(every), provider=provider)
    known = {call.index: call.id for call in verdict.calls}
    given = tuple(call for call in verdict.reply.calls if known.get(call.index) == call.id)
    return Taken(said(reply, provider), reply, calls, refused, given)


def _named(call: ToolCall, provider: str, number: int) -> ToolCall:
    """A call with an id for its result, if the provider needs one."""
    if call.id or (provider in _BY_NAME and call.origin == "native"):
        return call
    named = msgspec.structs.replace(call, id=f"call_{number}_{call.index}")
    named.__dict__.update(call.__dict__)  # the repaired arguments
    return named
