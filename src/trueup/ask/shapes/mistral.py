"""Messages in Mistral's form: OpenAI's form, with documents by URL, and the function's name in each result.

Takes messages of any family; returns messages. A PDF is sent as a document, a text file as text; other files raise an error.
"""

from collections.abc import Sequence
from typing import Any

from trueup.ask.shapes.ids import accepted
from trueup.ask.shapes.neutral import CallPart, NeutralMessage, Output, Part, PlainText
from trueup.ask.shapes.openai import call_as, parts_of, text_of
from trueup.ask.shapes.parts import Media, refused
from trueup.ask.shapes.walking import walk
from trueup.read.objects import Row, record, rows
from trueup.verdict.patterns import lazy_regex

_IDS = lazy_regex(r"[A-Za-z0-9]{9}\Z")  # Mistral refuses other providers' ids
_OPENAI_ONLY = frozenset(("file", "input_audio", "refusal", "video_url"))


def as_mistral(messages: Sequence[Any]) -> list[Any]:
    """The messages of a chat.

    >>> as_mistral([{"role": "developer", "content": "Be kind."}])
    [{'role': 'system', 'content': 'Be kind.'}]
    """
    out: list[Any] = []
    for message, said in walk(messages, "openai", "mistral", unless=_differs, ids=_IDS):
        out += [_with_ids(message)] if said is None else _written(said)
    return out


def _differs(message: Row) -> bool:
    """Whether a message in OpenAI's form contains something that Mistral writes in another way."""
    return message["role"] == "developer" or any(record(part).get("type") in _OPENAI_ONLY for part in parts_of(message))


def _with_ids(message: Row) -> Row:
    """A message in Mistral's own form, with ids that Mistral accepts."""
    calls = [record(call) for call in rows(message.get("tool_calls"))]
    if calls and not all(_IDS.match(call["id"]) for call in calls):
        return {**message, "tool_calls": [{**call, "id": accepted(call["id"], _IDS)} for call in calls]}
    if message["role"] == "tool" and not _IDS.match(message["tool_call_id"]):
        return {**message, "tool_call_id": accepted(message["tool_call_id"], _IDS)}
    return message


def _written(said: NeutralMessage) -> list[Row]:
    where = f"messages[{said.at}].content"
    found: list[Row] = [
        {"role": "tool", "tool_call_id": part.id, **({"name": part.name} if part.name else {}), "content": part.text}
        for part in said.parts
        if isinstance(part, Output)
    ]
    calls = [part for part in said.parts if isinstance(part, CallPart)]
    rest = [(n, part) for n, part in enumerate(said.parts) if not isinstance(part, CallPart | Output)]
    if found and not calls and not rest:
        return found
    content: Any = said.text
    if any(isinstance(part, Media) for _, part in rest):
        content = [_block(part, f"{where}[{n}]") for n, part in rest]
    message: Row = {"role": said.role, "content": content}
    if calls:
        message["tool_calls"] = [call_as(call) for call in calls]
    return [*found, message]


def _block(part: Part, where: str) -> Row:
    if isinstance(part, PlainText):
        return {"type": "text", "text": part.text}
    assert isinstance(part, Media)
    if part.kind == "image":
        return {"type": "image_url", "image_url": part.data_url}
    if part.kind == "text" and part.data is not None:
        return {"type": "text", "text": text_of(part)}
    if part.kind == "audio":
        return {"type": "input_audio", "input_audio": part.url or part.base64}
    if part.media_type == "application/pdf" or part.url:
        return {"type": "document_url", "document_url": part.data_url}
    raise refused(where, f"Mistral does not accept {part!r}", "give an image, a PDF, audio or a text")
