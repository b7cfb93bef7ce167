"""History: the model's earlier messages and calls, and the result of each call.

Takes the messages of a conversation in any provider's shape, and returns the model's messages, with their calls marked as
answered or failed. Outputs may be separate messages, parts of the user's messages, or next to the calls.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from trueup.read.messages import outputs_in, role_of
from trueup.read.objects import Row, record, word
from trueup.read.outcomes import is_failure
from trueup.read.reading import Reading
from trueup.read.waiting import WaitingCalls
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Reply

# How the output of a call that was written into the text comes back in a user's message.
_RESPONSE = lazy_regex(
    r"<(?:tool_response|tool_result|function_results?|function_response)\b|\[TOOL_RESULTS\]|^Observation:"
)


class Earlier(NamedTuple):
    """A message of the model before the reply; `written` says whether calls written in its text have an output without an
    error.
    """

    reply: Reply
    written: bool = False


def earlier(history: Any, read: Callable[[Any], Reading]) -> list[Earlier]:
    """The messages of the model in a history, in order.

    >>> from trueup.read.reader import read
    >>> asked = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "pay", "arguments": "{}"}}]}
    >>> said = {"role": "tool", "tool_call_id": "a", "content": "Error: no credit"}
    >>> [(call.name, call.answered, call.failed) for call in earlier([asked, said], read)[0].reply.calls]
    [('pay', True, True)]
    """
    if not history or not isinstance(history, list | tuple):
        return []
    waiting = WaitingCalls()
    spoken: list[tuple[Reply, list[int]]] = []
    worked: dict[
        int, bool
    ] = {}  # the messages whose written calls have outputs, and whether all of these are without an error
    for message in history:
        if isinstance(message, str):
            continue
        body = record(message)
        role = role_of(body)
        outputs = _outputs(body, role)
        if outputs:
            answered = [waiting.answer(output) for output in outputs]
            if spoken and not all(answered):
                at = len(spoken) - 1
                worked[at] = worked.get(at, True) and not any(map(is_failure, outputs))
            continue
        if role in {"user", "system"}:
            continue
        reply = read([message]).reply
        if reply.calls or reply.text:
            spoken.append((reply, waiting.add(reply.calls)))
    return [
        Earlier(_settled(reply, waiting, places), worked.get(at, False)) for at, (reply, places) in enumerate(spoken)
    ]


def _outputs(message: Row, role: str) -> Sequence[Row]:
    """The outputs of calls in a message that is not the model's."""
    if role == "tool":
        return outputs_in(message)
    if not role and word(message.get("type")).endswith("_call_output"):  # an item of the Responses API
        return [message]
    content = message.get("content")
    if role != "user" or not isinstance(content, str):
        return ()
    found = _RESPONSE.search(content)
    return () if found is None else [{"content": content[found.end() :].partition("</")[0].lstrip("> \n")}]


def _settled(reply: Reply, waiting: WaitingCalls, places: list[int]) -> Reply:
    """A reply with its calls as of the end of the history; calls that repeat an earlier one are left out."""
    if not reply.calls:
        return reply
    return msgspec.structs.replace(reply, calls=tuple(waiting.calls[place] for place in places))
