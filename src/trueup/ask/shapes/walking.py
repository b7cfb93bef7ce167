"""Messages one after the other, for a target: those in its own shape as they came, the others read.

A list of messages enters and is not changed. An SDK's object is taken for the dict it stands for. What belongs to one turn is joined: outputs
of tools that follow each other, and items of the Responses API. An output learns the name of its call from the messages before it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from trueup.ask.shapes.ids import Ids, Pattern
from trueup.ask.shapes.neutral import WITH_CALLS, Call, Family, Output, Said, kept
from trueup.ask.shapes.reading import read_one
from trueup.read.messages import role_of
from trueup.read.native_messages import cleaned
from trueup.read.objects import Row, record, rows, word
from trueup.read.openai_responses import ITEMS


def walk(
    messages: Sequence[Any], own: Family, *more: Family, unless: Callable[[Row], bool] | None = None,
    fields: frozenset[str] = frozenset(), ids: Pattern | None = None,
) -> Iterator[tuple[Any, Said | None]]:  # fmt: skip
    """Each message as it came, and read where it is not in its own family's shape, or where `unless` says so.

    Outputs know the name of their call. Outputs that follow each other are one message, and so are items that are no messages. Where the
    provider refuses `fields` that it does not know, a message is passed on without them. Ids of calls match `ids`, if that is given.
    """
    joined: tuple[Any, Said] | None = None
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
    """Whether this is an item of the Responses API that is no message."""
    return isinstance(message, dict) and "role" not in message and message.get("type") in ITEMS


def as_message(given: Any) -> Any:
    """A message as it came, or the dict that an SDK's object stands for, without empty members.

    Anthropic's response is a message itself: what it says about the call is left out. Reasoning in a field of its own goes back with calls only.
    """
    if isinstance(given, dict | str | tuple):
        return given
    found: Row = cleaned(record(given))
    if found.get("type") == "message" and "usage" in found:
        return {name: found[name] for name in ("role", "content")}
    if found.get("tool_calls"):
        return {"content": None, **found}  # some servers miss it
    return {name: held for name, held in found.items() if name not in WITH_CALLS}


def _only(message: Row, fields: frozenset[str]) -> Row:
    if not fields or "role" not in message or message.keys() <= fields:
        return message
    return {name: held for name, held in message.items() if name in fields}


def _each(
    messages: Iterable[Any], families: tuple[Family, ...], unless: Callable[[Row], bool] | None, ids: Ids
) -> Iterator[tuple[Any, Said | None]]:
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
        names |= {part.id: part.name for part in parts if isinstance(part, Call) and part.id}
        yield message, said._replace(parts=tuple(map(ids.on, parts)))


def is_system(message: Row) -> bool:
    """Whether a message is one of the system."""
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
