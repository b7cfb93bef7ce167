"""Messages in Ollama's form: content is one text, images are in their own field, and arguments are objects.

Takes messages of any family; returns messages. Ollama does not fetch URLs or take files: a text file is sent as text, others raise an error.
"""

from collections.abc import Sequence
from typing import Any

from trueup.ask.shapes.neutral import CallPart, NeutralMessage, Output, PlainText, body_of
from trueup.ask.shapes.openai import text_of
from trueup.ask.shapes.parts import Media, refused
from trueup.ask.shapes.walking import walk
from trueup.read.objects import Row


def as_ollama(messages: Sequence[Any]) -> list[Any]:
    """The messages of a chat.

    >>> as_ollama([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}])
    [{'role': 'user', 'content': 'Hi'}]
    """
    out: list[Any] = []
    for message, said in walk(messages, "ollama", unless=_has_parts):
        out += [message] if said is None else _written(said, body_of(message))
    return out


def _has_parts(message: Row) -> bool:
    return isinstance(message.get("content"), list) or "tool_calls" in message


def _written(said: NeutralMessage, body: Row) -> list[Row]:
    where = f"messages[{said.at}].content"
    outputs = [
        {"role": "tool", "content": part.text, **({"tool_name": part.name} if part.name else {})}
        for part in said.parts
        if isinstance(part, Output)
    ]
    texts: list[str] = []
    images: list[str] = []
    calls: list[Row] = []
    for n, part in enumerate(said.parts):
        if isinstance(part, PlainText):
            texts.append(part.text)
        elif isinstance(part, CallPart):
            calls.append({"function": {"name": part.name, "arguments": part.args}})
        elif isinstance(part, Media):
            _add(part, f"{where}[{n}]", texts, images)
    if outputs and not texts and not images and not calls:
        return outputs
    message: Row = {"role": said.role, "content": "\n\n".join(texts)}
    if body.get("thinking"):
        message["thinking"] = body["thinking"]
    if images:
        message["images"] = images
    if calls:
        message["tool_calls"] = calls
    return [*outputs, message]


def _add(part: Media, where: str, texts: list[str], images: list[str]) -> None:
    if part.data is None:
        raise refused(where, f"Ollama does not fetch {part!r}", "give the bytes or a path")
    if part.kind == "image":
        images.append(part.base64)
    elif part.kind == "text":
        texts.append(text_of(part))
    else:
        raise refused(where, f"Ollama does not accept {part!r}", "give its text, or an image")
