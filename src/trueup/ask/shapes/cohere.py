"""Messages in the form of Cohere's chat, version 2.

Takes messages of any family; returns messages. Cohere takes texts and images. A text file is sent as text; other files raise an error.
"""

from collections.abc import Sequence
from typing import Any

from trueup.ask.shapes.ids import ANY
from trueup.ask.shapes.neutral import NeutralMessage, Part, PlainText
from trueup.ask.shapes.openai import parts_of, text_of, written_as
from trueup.ask.shapes.parts import Media, refused
from trueup.ask.shapes.walking import walk
from trueup.read.objects import Row, record, word

_FIELDS = frozenset(("role", "content", "tool_calls", "tool_plan", "citations", "tool_call_id"))


def as_cohere(messages: Sequence[Any]) -> list[Any]:
    """The messages of a chat.

    >>> as_cohere([{"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "f"}}]}])
    [{'role': 'assistant', 'tool_calls': [{'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}]}]
    """
    out: list[Any] = []
    for message, said in walk(messages, "openai", "cohere", unless=_differs, fields=_FIELDS, ids=ANY):
        plan = message.get("tool_plan") if isinstance(message, dict) else None
        out += [message] if said is None else [_brief(found, plan) for found in written_as(_textual(said))]
    return out


def _differs(message: Row) -> bool:
    """Whether a message in OpenAI's form contains something that Cohere writes in another way, or does not take."""
    kinds = {word(record(part).get("type")) for part in parts_of(message)}
    return (
        "tool_calls" in message
        or message["role"] == "developer"
        or not kinds <= {"text", "image_url", "thinking", "document"}
    )


def _brief(message: Row, plan: Any) -> Row:
    """A message without empty content, and with its original plan."""
    found = {name: value for name, value in message.items() if value is not None}
    return {**found, "tool_plan": plan} if plan and "tool_calls" in message else found


def _textual(said: NeutralMessage) -> NeutralMessage:
    """The message with text files as text; raises an error for files that Cohere does not take."""
    parts: list[Part] = []
    for n, part in enumerate(said.parts):
        if isinstance(part, Media) and part.kind == "text" and part.data is not None:
            parts.append(PlainText(text_of(part)))
            continue
        if isinstance(part, Media) and part.kind != "image":
            raise refused(
                f"messages[{said.at}].content[{n}]", f"Cohere does not accept {part!r}", "give its text, or an image"
            )
        parts.append(part)
    return said._replace(parts=tuple(parts))
