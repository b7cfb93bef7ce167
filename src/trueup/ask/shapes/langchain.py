"""Messages for LangChain's models: its own objects unchanged, everything else in OpenAI's form, which all of its models understand.

Takes messages of any family; returns messages. trueup's images and files become LangChain's standard blocks.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from trueup.ask.shapes.ids import ANY
from trueup.ask.shapes.neutral import CallPart, Family, NeutralMessage, Output, Part, PlainText
from trueup.ask.shapes.openai import written_as
from trueup.ask.shapes.parts import Media
from trueup.ask.shapes.walking import walk
from trueup.read.objects import Row
from trueup.read.openai_responses import ITEMS

_FAMILIES: tuple[Family, ...] = ("openai", "langchain", "anthropic")


def as_langchain(messages: Sequence[Any]) -> list[Any]:
    """The messages for `invoke`.

    >>> as_langchain([("human", "Hi"), {"role": "user", "content": "Ho"}])
    [('human', 'Hi'), {'role': 'user', 'content': 'Ho'}]
    """
    found: list[Any] = []
    for own, run in groupby(messages, _is_own):
        found += (
            run if own else [new for given, said in walk([*run], *_FAMILIES, ids=ANY) for new in _form(given, said)]
        )
    return found


def _form(given: Any, said: NeutralMessage | None) -> list[Any]:
    return [given] if said is None else _written(said)


def _is_own(message: Any) -> bool:
    """Whether this is a pair, a text, or one of LangChain's messages, as an object or a dict."""
    if isinstance(message, dict):
        return "role" not in message and "type" in message and message["type"] not in ITEMS
    return isinstance(message, str | tuple) or hasattr(message, "additional_kwargs")


def _written(said: NeutralMessage) -> list[Row]:
    media = [part for part in said.parts if isinstance(part, Media)]
    if not media:
        return written_as(said)
    return [
        {"role": said.role, "content": [_block(part) for part in said.parts if not isinstance(part, CallPart | Output)]}
    ]


def _block(part: Part) -> Row:
    if isinstance(part, PlainText):
        return {"type": "text", "text": part.text}
    assert isinstance(part, Media)
    if part.kind == "image":
        return {"type": "image_url", "image_url": {"url": part.data_url}}
    held: Row = {"url": part.url} if part.data is None else {"base64": part.base64}
    kind = part.kind if part.kind in ("audio", "video") else "file"
    return {"type": kind, "mime_type": part.media_type, **held, **({"filename": part.name} if part.name else {})}
