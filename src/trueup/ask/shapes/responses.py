"""Messages as the `input` of OpenAI's Responses API: messages with typed parts, and calls and outputs as separate items.

Takes messages of any family; returns items. The API's own items, including encrypted reasoning, are returned unchanged.
"""

from collections.abc import Sequence
from typing import Any

from trueup.ask.shapes.neutral import CallPart, NeutralMessage, Output, Part, PlainText
from trueup.ask.shapes.openai import text_of
from trueup.ask.shapes.parts import Media, refused
from trueup.ask.shapes.walking import walk
from trueup.read.objects import Row, record, rows
from trueup.read.openai_responses import ITEMS
from trueup.verdict.codec import written
from trueup.verdict.patterns import lazy_regex

_FIELDS = frozenset(("role", "content", "type", "id", "status", "phase"))
_IDS = lazy_regex(r".{1,64}\Z")


def as_responses(messages: Sequence[Any]) -> list[Any]:
    """The items of the input.

    >>> as_responses([{"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "c1", "content": "4"}])
    [{'role': 'user', 'content': 'Hi'}, {'type': 'function_call_output', 'call_id': 'c1', 'output': '4'}]
    """
    out: list[Any] = []
    for message, said in walk(messages, "responses", unless=_is_chat, fields=_FIELDS, ids=_IDS):
        out += [message] if said is None or is_item(message) else _written(said)
    return out


def is_item(message: Any) -> bool:
    """Whether this is an item of the API, and not a chat message."""
    return isinstance(message, dict) and message.get("type") in ITEMS and message.get("type") != "message"


def _is_chat(message: Row) -> bool:
    """Whether the parts are written as in chat completions."""
    return any(record(part).get("type") == "text" for part in rows(message.get("content")))


def _written(said: NeutralMessage) -> list[Row]:
    where = f"messages[{said.at}].content"
    found: list[Row] = []
    spoken: list[Row] = []
    for n, part in enumerate(said.parts):
        if isinstance(part, Output):
            found.append({"type": "function_call_output", "call_id": part.id, "output": part.text})
        elif not isinstance(part, CallPart):
            spoken.append(_block(part, said.role, f"{where}[{n}]"))
    if spoken:
        only = spoken[0]["text"] if len(spoken) == 1 and "text" in spoken[0] else spoken
        found.append({"role": said.role, "content": only})
    return [*found, *(_call(part) for part in said.parts if isinstance(part, CallPart))]


def _call(call: CallPart) -> Row:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": written(call.args).decode()}


def _block(part: Part, role: str, where: str) -> Row:
    if isinstance(part, PlainText):
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part.text}
    assert isinstance(part, Media)
    if part.kind == "image":
        return {"type": "input_image", "image_url": part.data_url, "detail": "auto"}
    if part.kind == "text" and part.data is not None:
        return {"type": "input_text", "text": text_of(part)}
    if part.url:
        return {"type": "input_file", "file_url": part.url}
    if part.kind == "file":
        return {"type": "input_file", "filename": part.name or "file", "file_data": part.data_url}
    raise refused(where, f"the Responses API does not accept {part!r}", "give an image, a PDF or another document")
