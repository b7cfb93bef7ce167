"""The envelope: one JSON object in which a model without native calls writes its text and its tool calls.

`{"toolCalls": [{"name", "arguments"}], "content": "…", "needsMoreWork": false}`. This module has its schema, reads calls from
a judged envelope, and builds an envelope from calls that were written in another way. Every field may be left out or null, but an
envelope has `content` or a call.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from trueup.contract.judging.merge import JudgedCalls
from trueup.verdict.codec import written
from trueup.verdict.reply import Reply, ToolCall
from trueup.verdict.verdict import Verdict

SCHEMA: Final[dict[str, Any]] = {
    "title": "Envelope",
    "type": "object",
    "properties": {
        "toolCalls": {
            "type": ["array", "null"],
            "description": "The tools to call, in order.",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string", "minLength": 1}, "arguments": {"type": "object"}},
                "required": ["name", "arguments"],
            },
        },
        # prose: allow starts-with-what (models get this description with the schema)
        "content": {"type": ["string", "null"], "description": "What to say to the user."},
        "needsMoreWork": {
            "type": ["boolean", "null"],
            "description": "Whether another step is needed after these calls.",
        },
    },
    "anyOf": [
        {"required": ["content"], "properties": {"content": {"type": "string", "minLength": 1}}},
        {"required": ["toolCalls"], "properties": {"toolCalls": {"type": "array", "minItems": 1}}},
    ],
}


WITH_CALL: Final[dict[str, Any]] = {  # the same, if a call is required
    **{key: value for key, value in SCHEMA.items() if key != "anyOf"},
    "properties": {
        **SCHEMA["properties"],
        "toolCalls": {**SCHEMA["properties"]["toolCalls"], "type": "array", "minItems": 1},
    },
    "required": ["toolCalls"],
}


def enclosed(
    reply: Reply, judged: JudgedCalls, read: Callable[[str], dict[str, Any] | None] | None = None
) -> dict[str, Any]:
    """An envelope around calls that a model wrote in another form or in several envelopes, with all text around them.

    `read` finds an envelope without calls in the text between them.

    >>> enclosed(Reply(), JudgedCalls((ToolCall("ping", {}),), (), [], []))
    {'toolCalls': [{'name': 'ping', 'arguments': {}}]}
    """
    from trueup.contract.tool_calls.rest_of_reply import beside  # needed only if a call was written into a text

    data: dict[str, Any] = {"toolCalls": [{"name": call.name, "arguments": call.args} for call in judged.calls]}
    verdict = Verdict(reply, None, fixes=tuple(judged.fixes), calls=judged.calls, refused=judged.refused)
    text, fields = beside(verdict, read)
    return {**data, "content": text, **fields} if text and judged.fixes else {**data, **fields}


def encloses(calls: Any) -> bool:
    """Whether options of calls put calls into the reply's value."""
    return bool(calls.get("envelope") if isinstance(calls, dict) else getattr(calls, "envelope", False))


def lists_calls(data: Any) -> bool:
    """Whether a value has the envelope's own list of calls, valid or not."""
    return isinstance(data, dict) and isinstance(data.get("toolCalls"), list)


def with_passed(data: Any, judged: JudgedCalls) -> Any:
    """An envelope with only the calls that passed, each with the tool's own name, and arguments that fit its schema.

    Native calls next to the envelope are added.

    >>> from trueup.verdict.facts import fix
    >>> changes = [fix("C001", "$.calls[0].args.n", None, "1", 1)]
    >>> passed = JudgedCalls((ToolCall("ping", {"n": 1}),), (), [], changes)
    >>> with_passed({"toolCalls": [{"name": "ping", "arguments": {"n": "1"}}]}, passed)
    {'toolCalls': [{'name': 'ping', 'arguments': {'n': 1}}]}
    """
    if not isinstance(data, dict):
        return data
    listed = _listed(data)
    native = [call for call in judged.calls if call.index >= len(listed)]
    if not native and not (listed and judged.fixes):
        return data
    passed = {call.index: call for call in judged.calls}
    calls = [
        {**call, "name": passed[at].name, "arguments": passed[at].args} if at in passed else call
        for at, call in enumerate(listed)
    ]
    return {**data, "toolCalls": calls + [{"name": call.name, "arguments": call.args} for call in native]}


def opened(reply: Reply, data: Any) -> Reply:
    """A reply with the text and the calls of its envelope `data`; unchanged if `data` is not an object.

    A native call that the envelope repeats counts once.

    >>> opened(Reply(text="…"), {"toolCalls": [{"name": "ping", "arguments": {}}]}).calls[0].name
    'ping'
    """
    if not isinstance(data, dict):
        return reply
    listed = _listed(data)
    native = list(reply.calls)
    calls: list[ToolCall] = []
    for index, call in enumerate(listed):
        if isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(call.get("arguments"), dict):
            name, args = call["name"], call["arguments"]
            alike = next((made for made in native if made.name == name and made.args == args), None)
            if alike is not None:
                native.remove(alike)
                calls.append(msgspec.structs.replace(alike, index=index))
            else:
                calls.append(ToolCall(name, args, raw_args=written(args).decode(), origin="envelope", index=index))
    calls += [msgspec.structs.replace(call, index=index) for index, call in enumerate(native, len(listed))]
    content = data.get("content")
    return msgspec.structs.replace(reply, text=content if isinstance(content, str) else "", calls=tuple(calls))


def _listed(data: dict[str, Any]) -> list[Any]:
    listed = data.get("toolCalls")
    return listed if isinstance(listed, list) else []
