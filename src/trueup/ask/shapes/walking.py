"""Messages one after the other, for a target: messages in its own shape unchanged, the others in the neutral form.

Takes a list of messages, which is not changed. An SDK's object is read as a dict. Parts of one turn are joined: consecutive
tool outputs, and items of the Responses API. An output gets the name of its call from the messages before it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from trueup.ask.shapes.ids import CompiledPattern, Ids
from trueup.ask.shapes.neutral import WITH_CALLS, CallPart, Family, NeutralMessage, Output, kept
from trueup.ask.shapes.reading import read_one
from trueup.read.messages import role_of
from trueup.read.native_messages import cleaned
from trueup.read.objects import Row, record, rows, word
from trueup.read.openai_responses import ITEMS


def walk(
    messages: Sequence[Any], own: Family, *more: Family, unless: Callable[[Row], bool] | None = None,
    fields: frozenset[str] = frozenset(), ids: CompiledPattern | None = None,
) -> Iterator[tuple[Any, NeutralMessage | None]]:  # fmt: skip
    """Each message with its neutral form, or with None if it is in its own family's shape and `unless` returns False.

    Outputs have the name of their call. Consecutive outputs become one message, and so do items that are not messages. If the
    provider refuses unknown fields, a message is passed on with only the known `fields`. Call ids match `ids`, if given.
    """
    joined: tuple[Any, NeutralMessage] | None = None
    for message, said in _each(map(as_message, messages), (own, *more), unless, Ids(ids)):
        if said is None:
            message = _only(message, fields)
        if said is not None and said.role in ("assistant", "tool") and (said.role == "tool" or _is_item(message)):
            before = joined[1] if joined is not None and joined[1].role == said.role else None
            if joined is not None and before is None:
                yield joined
            joined = message, said if before is None else before._replace(parts=(*before.parts, *said.parts))
            continue
        if joined is not None:
            yield joined
            joined = None
        yield message, said
    if joined is not None:
        yield joined


def _is_item(message: Any) -> bool:
    """Whether this is an item of the Responses API that is not a message."""
    return isinstance(message, dict) and "role" not in message and message.get("type") in ITEMS


def as_message(given: Any) -> Any:
    """A message unchanged, or an SDK's object as a dict without empty members.

    Anthropic's response is itself a message; its data about the call is left out. Reasoning in a separate field is kept only next to calls.
    """
    if isinstance(given, dict | str | tuple):
        return given
    found: Row = cleaned(record(given))
    if found.get("type") == "message" and "usage" in found:
        return {name: found[name] for name in ("role", "content")}
    if found.get("tool_calls"):
        return {"content": None, **found}  # some servers leave it out
    return {name: held for name, held in found.items() if name not in WITH_CALLS}


def _only(message: Row, fields: frozenset[str]) -> Row:
    if not fields or "role" not in message or message.keys() <= fields:
        return message
    return {name: held for name, held in message.items() if name in fields}


def _each(
    messages: Iterable[Any], families: tuple[Family, ...], unless: Callable[[Row], bool] | None, ids: Ids
) -> Iterator[tuple[Any, NeutralMessage | None]]:
    names: dict[str, str] = {}
    for at, message in enumerate(messages):
        if kept(message, *families) and not (unless is not None and unless(message)):
            names |= _called(message)
            yield message, None
            continue
        said = read_one(message, at)
        parts = tuple(
            part._replace(name=names.get(part.id, "")) if isinstance(part, Output) and not part.name else part
            for part in said.parts
        )
        names |= {part.id: part.name for part in parts if isinstance(part, CallPart) and part.id}
        yield message, said._replace(parts=tuple(map(ids.on, parts)))


def is_system(message: Row) -> bool:
    """Whether a message is a system message."""
    return role_of(message) == "system"


def _called(message: Row) -> dict[str, str]:
    """The names of the calls in a message, by their ids."""
    if isinstance(message.get("content"), str) and "tool_calls" not in message:
        return {}
    found: dict[str, str] = {}
    for item in (*rows(message.get("tool_calls")), *rows(message.get("content")), *rows(message.get("parts")), message):
        block = record(item)
        inner = record(block.get("toolUse") or block.get("functionCall") or block.get("function_call")) or block
        call_id = word(inner.get("call_id") or inner.get("id") or inner.get("toolUseId"))
        name = word(inner.get("name")) or word(record(inner.get("function")).get("name"))
        if call_id and name:
            found[call_id] = name
    return found
