"""Messages in Anthropic's form.

Takes messages of any family; returns the blocks of the `system` parameter, and the messages. Every system message is moved to `system`,
wherever it was. Consecutive tool outputs become one user message, as the protocol requires.
"""

from collections.abc import Sequence
from typing import Any

from trueup.ask.shapes.neutral import CallPart, NeutralMessage, Output, Part, PlainText
from trueup.ask.shapes.openai import text_of
from trueup.ask.shapes.parts import Media, refused
from trueup.ask.shapes.walking import is_system, walk
from trueup.read.objects import Row, record
from trueup.verdict.patterns import lazy_regex

_FIELDS = frozenset(("role", "content"))
_IDS = lazy_regex(r"[A-Za-z0-9_-]{1,64}\Z")
_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


def as_anthropic(messages: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The system blocks, and the messages.

    >>> as_anthropic([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}])
    ([{'type': 'text', 'text': 'Be kind.'}], [{'role': 'user', 'content': 'Hi'}])
    """
    system: list[Any] = []
    out: list[Any] = []
    for message, said in walk(messages, "anthropic", unless=is_system, fields=_FIELDS, ids=_IDS):
        if said is None:
            out.append(message)
        elif said.role == "system":
            system += system_blocks(message, said)
        else:
            content = _content(said)
            if content:
                role = "assistant" if said.role == "assistant" else "user"
                out.append({"role": role, "content": _brief(content)})
    return system, out


def system_blocks(message: Any, said: NeutralMessage) -> list[Any]:
    """The blocks of a system message. Anthropic's own blocks keep their other members, such as a cache mark."""
    held = record(message).get("content")
    if isinstance(held, list) and all(record(block).get("type") == "text" for block in held):
        return list(held)
    return [{"type": "text", "text": said.text}] if said.text else []


def _brief(content: list[Any]) -> Any:
    only = content[0] if len(content) == 1 else {}
    return only["text"] if only.keys() == {"type", "text"} else content


def _content(said: NeutralMessage) -> list[Any]:
    at = f"messages[{said.at}].content"
    blocks = [_block(part, f"{at}[{n}]") for n, part in enumerate(said.parts)]
    outputs = [block for block in blocks if block["type"] == "tool_result"]
    return outputs + [block for block in blocks if block["type"] != "tool_result"]  # outputs come first


def _block(part: Part, where: str) -> Row:
    if isinstance(part, PlainText):
        return {"type": "text", "text": part.text}
    if isinstance(part, CallPart):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.args}
    if isinstance(part, Output):
        return _result(part, where)
    return _media(part, where)


def _result(output: Output, where: str) -> Row:
    parts = output.content
    content: Any = output.text
    if any(isinstance(part, Media) for part in parts):
        content = [_block(part, where) for part in parts]
    block = {"type": "tool_result", "tool_use_id": output.id, "content": content}
    return {**block, "is_error": True} if output.is_error else block


def _media(part: Media, where: str) -> Row:
    if part.kind == "image":
        if part.media_type and part.media_type not in _IMAGES:
            raise refused(where, f"Anthropic does not accept {part.media_type}", "give a PNG, JPEG, GIF or WebP")
        return {"type": "image", "source": _source(part)}
    if part.media_type == "application/pdf" or (part.url and part.kind == "file"):
        return {"type": "document", "source": _source(part), **({"title": part.name} if part.name else {})}
    if part.kind == "text" and part.data is not None:
        source = {"type": "text", "media_type": "text/plain", "data": text_of(part)}
        return {"type": "document", "source": source}
    raise refused(where, f"Anthropic does not accept {part!r}", "give an image, a PDF or a text")


def _source(part: Media) -> Row:
    if part.data is None:
        return {"type": "url", "url": part.url}
    return {"type": "base64", "media_type": part.media_type, "data": part.base64}
