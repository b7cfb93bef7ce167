"""The envelope: one JSON object in which a model without native calls says its text and its tool calls.

`{"toolCalls": [{"name", "arguments"}], "content": "…", "needsMoreWork": false}`; the schema is here, and the way from
judged data to calls, and back from calls that were written in another way. An object with neither `content` nor a call
in it is no envelope.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from trueup.verdict.codec import written
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Verdict

SCHEMA: Final[dict[str, Any]] = {
    "title": "Envelope",
    "type": "object",
    "properties": {
        "toolCalls": {
            "type": "array",
            "description": "The tools to call, in order.",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string", "minLength": 1}, "arguments": {"type": "object"}},
                "required": ["name", "arguments"],
            },
        },
        "content": {"type": ["string", "null"], "description": "What to say to the user."},
        "needsMoreWork": {"type": "boolean", "description": "Whether another step is needed after these calls."},
    },
    "anyOf": [
        {"required": ["content"], "properties": {"content": {"type": "string"}}},
        {"required": ["toolCalls"], "properties": {"toolCalls": {"minItems": 1}}},
    ],
}


def enclosed(reply: Reply, calls: Sequence[ToolCall]) -> Verdict:
    """The verdict of an envelope around calls that a model wrote in another way, or in several envelopes.

    >>> enclosed(Reply(), [ToolCall("ping", {})]).data
    {'toolCalls': [{'name': 'ping', 'arguments': {}}]}
    """
    return Verdict(reply, {"toolCalls": [{"name": call.name, "arguments": call.args} for call in calls]})


def opened(reply: Reply, data: Any) -> Reply:
    """A reply with the text and the calls that its envelope holds; as it was where `data` is none.

    >>> opened(Reply(text="…"), {"toolCalls": [{"name": "ping", "arguments": {}}]}).calls[0].name
    'ping'
    """
    if not isinstance(data, dict):
        return reply
    listed = data.get("toolCalls")
    calls = tuple(
        ToolCall(
            name=call["name"], args=call["arguments"], raw_args=written(call["arguments"]).decode(), origin="envelope",
            index=index,
        )
        for index, call in enumerate(listed if isinstance(listed, list) else ())
        if isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(call.get("arguments"), dict)
    )  # fmt: skip
    content = data.get("content")
    return msgspec.structs.replace(reply, text=content if isinstance(content, str) else "", calls=calls)
