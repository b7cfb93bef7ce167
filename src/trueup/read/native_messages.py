"""Turns a reply back into the pieces of the model's own message, as its provider sent them.

Returns the content blocks, parts, items or the message of a Reply's family, with thinking, signatures and encrypted items
unchanged and in order, so that they can be sent back. Empty members that an SDK adds are left out. Nothing is invented: a
reply that was not read from a provider gives None.
"""

import base64
from collections.abc import Iterable
from typing import Any

from trueup.read import streams
from trueup.read.gemini_calls import whole_calls
from trueup.read.objects import Row, as_dict, record, rows, word
from trueup.read.reader import read
from trueup.verdict.reply import Reply

# Members that SDKs add for their own use; no provider accepts them back.
_OURS = frozenset({"parsed", "parsed_output", "parsed_arguments"})
_TEXT = frozenset({"text", "thought"})
_CAMEL = {
    "function_call": "functionCall", "function_response": "functionResponse", "inline_data": "inlineData",
    "file_data": "fileData", "thought_signature": "thoughtSignature", "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult", "mime_type": "mimeType", "file_uri": "fileUri",
}  # fmt: skip


def body_of(raw: Any) -> Row | None:
    """The body of the response that was read; the events of a stream are joined into one."""
    if isinstance(raw, list | tuple) and not hasattr(raw, "_asdict"):
        items = [streams.unpacked(item) for item in raw if not isinstance(item, str | bytes)]
        family = streams.recognized(items[:4])
        return None if family is None else family[0](items, done=True)[0]
    return None if isinstance(raw, str | bytes) else as_dict(raw)


def is_intact(reply: Reply) -> bool:
    """Whether a reply is the one that was read: the same text and the same calls, complete and unreplaced.

    Arguments may have been converted to their types; the model's own are sent back.
    """
    again = read(reply.raw).reply
    return again.text == reply.text and _called(again) == _called(reply)


def _called(reply: Reply) -> list[tuple[str, str]]:
    return [(call.name, call.id) for call in reply.calls]


def message_in(body: Row) -> Row:
    """The message of a chat completion, or of a similar body."""
    choices = rows(body.get("choices"))
    found = record(choices[0]).get("message") if choices else body.get("message")
    return cleaned(record(found)) if found is not None else cleaned(body) if "role" in body else {}


def blocks_in(body: Row) -> list[Row]:
    """The content blocks of Anthropic's message; a blank text cannot be sent back."""
    blocks = [cleaned(record(block)) for block in rows(body.get("content"))]
    return [block for block in blocks if block.get("type") != "text" or word(block.get("text")).strip()]


def parts_in(body: Row) -> list[Row]:
    """The parts of Gemini's first candidate, in REST's notation."""
    candidates = rows(body.get("candidates"))
    content = record(record(candidates[0]).get("content")) if candidates else body
    return _joined(_camel(cleaned(part)) for part in whole_calls(rows(content.get("parts"))))


def _joined(parts: Iterable[Row]) -> list[Row]:
    """The parts, with pieces of one text or one thought joined; a part with a signature stays separate."""
    found: list[Row] = []
    for part in parts:
        before = found[-1] if found else {}
        is_text = part.keys() <= _TEXT and "text" in part
        if is_text and before.keys() == part.keys() and before.get("thought") == part.get("thought"):
            found[-1] = {**part, "text": word(before["text"]) + word(part["text"])}
        else:
            found.append(part)
    return found


def items_in(body: Row) -> list[Row]:
    """The output items of the Responses API."""
    return [cleaned(record(item)) for item in rows(body.get("output"))]


def keyed_in(body: Row) -> list[Row]:
    """The blocks of Converse."""
    return [cleaned(record(block)) for block in rows(record(record(body.get("output")).get("message")).get("content"))]


def cleaned(part: Any) -> Any:
    """A part without the empty members that an SDK adds."""
    if isinstance(part, dict):
        return {name: cleaned(held) for name, held in part.items() if held is not None and name not in _OURS}
    if isinstance(part, list):
        return [cleaned(item) for item in part]
    return part if part is None or isinstance(part, str | bytes | int | float) else cleaned(record(part)) or word(part)


def _camel(part: Row) -> Row:
    """A part in REST's notation, with bytes in base64: it can be stored as JSON."""
    return {_CAMEL.get(name, name): _written(name, held) for name, held in part.items()}


def _written(name: str, held: Any) -> Any:
    if isinstance(held, bytes):
        return base64.b64encode(held).decode()
    if isinstance(held, dict) and name in ("inline_data", "file_data", "inlineData", "fileData"):
        return _camel(held)
    return held
