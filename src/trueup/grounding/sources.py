"""Sources: what a reply is grounded in. The context of a check enters; documents leave, and what only the prompt said.

The context's `source` is a text, documents by name, or a list of texts, documents, messages or results of tools. Without one, the fields of the unit
or the conversation are the source. Instructions, worked examples and the examples of the schema are kept apart: a value that stands only there was
copied, not read.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

import msgspec
import orjson

from trueup.grounding.documents import Document, Text, text_of
from trueup.grounding.vocabulary import listed
from trueup.read.messages import role_of, text_in
from trueup.read.objects import record
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

SOURCE = "source"  # the field of a unit that holds it, unless a contract names another one
ROLES = ("user", "assistant", "tool")
_TEXTS = ("text", "content", "page_content", "body")
_NAMES = ("name", "title", "id", "document_id", "filename", "source")
_OWN = frozenset({"unit_id", "error", "retry_count"})  # of a unit, and not of what it is about
_BLANK = lazy_regex(r"\n[ \t]*\n")


class BadSource(TypeError):
    """The context's `source` or `today` cannot be used; the message says what it takes."""


class Sources(NamedTuple):
    """What a reply is grounded in, what only the prompt said, and the day that relative dates count from."""

    documents: tuple[Document, ...]
    prompts: tuple[Document, ...]
    today: date | None


def sources_in(context: Mapping[str, Any], field: str, roles: Iterable[str], *, data: bool) -> Sources | None:
    """The sources of a check; None if the context has none. `data`: the reply is a value, so an earlier turn that is one is an example.

    >>> found = sources_in({"source": {"mail": "Hello"}}, "source", ROLES, data=True)
    >>> [(document.name, document.text) for document in found.documents]
    [('mail', 'Hello')]
    """
    history = context.get("history")
    messages = list(_messages(history)) if isinstance(history, list | tuple) else []
    documents, prompts = _from_messages(messages, frozenset(roles), data=data)
    given = context.get("source")
    if given is None:
        fields = context.get("input")
        if lacking_in(fields, field):
            return None  # the conversation is no substitute: it may hold nothing but the instructions
        if not documents or (isinstance(fields, Mapping) and (field or SOURCE) in fields):
            given = source_of_unit(fields, field)
    if given is not None:
        documents, told = _given(given, frozenset(roles))
        prompts = [*told, *prompts]
    elif not documents and isinstance(context.get("question"), str) and context["question"].strip():
        documents = [_prompted("question", context["question"])]
    prompts += _prompts(context.get("prompt"))
    documents = [document for document in documents if document.text.strip()]
    return Sources(tuple(documents), tuple(prompts), _day(context.get("today"))) if documents else None


def lacking_in(fields: Any, name: str) -> str:
    """Why a unit has no source in its field of a name; empty if it has one, or may have it in all its fields, as when no `name` is given.

    >>> lacking_in({"mail": 7}, "mail"), lacking_in({"note": "Hello"}, "mail"), lacking_in({"note": "Hello"}, "")
    ("the field 'mail' of the unit is a number", "the unit has no field 'mail'", '')
    """
    if not isinstance(fields, Mapping):
        return ""
    field = name or SOURCE
    if field not in fields:
        return f"the unit has no field {field!r}" if name else ""
    given = fields[field]
    if given is None or isinstance(given, bool | int | float):
        kind = "null" if given is None else "a boolean" if isinstance(given, bool) else "a number"
        return f"the field {field!r} of the unit is {kind}"
    if not given or (isinstance(given, str) and not given.strip()):
        return f"the field {field!r} of the unit is empty"
    return ""


def source_of_unit(fields: Any, name: str) -> Any:
    """The source among the fields of a unit: the one of that name, or all of them; None if there are none."""
    if not isinstance(fields, Mapping):
        return None
    name = name or SOURCE
    if fields.get(name) is not None:
        return fields[name]
    kept = {key: part for key, part in fields.items() if key not in _OWN and str(key)[:1] != "_" and part is not None}
    if "messages" in kept:
        return kept["messages"]
    return kept or None


def _given(given: Any, roles: frozenset[str]) -> tuple[list[Document], list[Document]]:
    """The documents of a source that the caller gave, and what of it only instructs."""
    if isinstance(given, str):
        return [Document("source", text_of(given))], []
    if isinstance(given, bytes | bytearray):
        raise BadSource("source is text, not bytes; decode it first")
    if isinstance(given, Mapping):
        if _is_message(given) or _text_in(given) is not None:
            given = [given]
        else:
            return [Document(str(name), text_of(_as_text(part))) for name, part in given.items()], []
    if not isinstance(given, list | tuple):
        return [Document("source", text_of(_as_text(given)))], []
    documents: list[Document] = []
    prompts: list[Document] = []
    for index, part in enumerate(given):
        document, is_prompt = _document(part, index, roles)
        (prompts if is_prompt else documents).append(document)
    return documents, prompts


def _document(part: Any, index: int, roles: frozenset[str]) -> tuple[Document, bool]:
    """One part of a list of sources, and whether it only instructs."""
    if isinstance(part, str):
        return Document(f"source[{index}]", text_of(part)), False
    row = _row(part)
    if _is_message(row):
        role = role_of(row)
        return Document(f"messages[{index}]", text_of(text_in(row))), role == "system" or role not in roles
    text = _text_in(row)
    name = next(
        (str(row[key]) for key in _NAMES if isinstance(row.get(key), str | int) and row[key] != text),
        f"source[{index}]",
    )
    return Document(name, text_of(_as_text(part) if text is None else text)), False


def _row(part: Any) -> dict[str, Any]:
    found: dict[str, Any] = record(part)
    if "page_content" not in found and isinstance(getattr(part, "page_content", None), str):
        return {
            "page_content": part.page_content,
            **(getattr(part, "metadata", None) or {}),
        }
    return found


def _is_message(row: Mapping[str, Any]) -> bool:
    return ("role" in row or "type" in row) and role_of(record(row)) != ""


def _text_in(row: Mapping[str, Any]) -> str | None:
    return next((row[key] for key in _TEXTS if isinstance(row.get(key), str)), None)


def _as_text(part: Any) -> str:
    """A result of a tool, or any other data, as text."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and (text := _text_in(part)) is not None and len(part) <= 2:
        return text
    try:
        return orjson.dumps(part, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str).decode()
    except TypeError:
        return str(part)


class _Said(NamedTuple):
    """One message of the conversation."""

    name: str
    role: str
    text: str


def _messages(history: Iterable[Any]) -> Iterator[_Said]:
    for index, message in enumerate(history):
        if isinstance(message, str):
            yield _Said(f"messages[{index}]", "user", message)
        else:
            row = record(message)
            yield _Said(f"messages[{index}]", role_of(row), text_in(row))


def _from_messages(
    messages: list[_Said], roles: frozenset[str], *, data: bool
) -> tuple[list[Document], list[Document]]:
    """What a conversation says, and what of it instructs or shows an example."""
    shown = _worked_examples(messages) if data else frozenset()
    documents: list[Document] = []
    prompts: list[Document] = []
    for index, said in enumerate(messages):
        if said.role == "system" or index in shown:
            prompts.append(Document(said.name, text_of(said.text)))
        elif said.role in roles:
            documents.append(
                _prompted(said.name, said.text)
                if said.role == "user"
                else Document(said.name, text_of(said.text), role=said.role)
            )
    return documents, prompts


def _worked_examples(messages: list[_Said]) -> frozenset[int]:
    """The turns before the last question in which the model answers with a value: they show how, and are about something else."""
    last = max((index for index, said in enumerate(messages) if said.role == "user"), default=0)
    found: set[int] = set()
    for index, said in enumerate(messages[:last]):
        if said.role == "assistant" and _is_value(said.text):
            found.add(index)
            if index and messages[index - 1].role == "user":
                found.add(index - 1)
    return frozenset(found)


def _is_value(text: str) -> bool:
    text = text.strip()
    if text[:1] not in ("{", "["):
        return False
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return False
    return True


def _prompted(name: str, text: str) -> Document:
    """A message of the user, which may hold an example beside what it is about."""
    return Document(name, text_of(text), tuple(example_spans(text)))


def example_spans(text: str) -> Iterator[Span]:
    """The stretches of a prompt that show an example: from the word for it to the next blank line, or to the end of its code block.

    >>> text = 'Extract the name.\\nExample: {"name": "Ada"}\\n\\nText: Grace called.'
    >>> [text[start:end] for start, end in example_spans(text)]
    ['Example: {"name": "Ada"}']
    """
    at = 0
    for found in _EXAMPLE.finditer(text):
        if found.start() < at:
            continue
        blank = _BLANK.search(text, found.end())
        at = blank.start() if blank else len(text)
        fence = text.find("```", found.end(), at + 80)
        if fence >= 0 and not text[found.end() : fence].strip(" \t\r\n:*"):
            closed = text.find("```", fence + 3)
            at = closed + 3 if closed >= 0 else len(text)
        yield found.start(), at


_EXAMPLE = lazy_regex(
    lambda: (
        r"(?im)^[ \t#>*_-]*(?:"
        + "|".join(map(_pattern, listed("examples")))
        + r")(?:[ \t]+\w+)?[ \t*_]*\d*[ \t*_]*[:：\n]"
    )
)


def _pattern(word: str) -> str:
    return "".join(f"\\{sign}" if sign in ".()" else r"[ \t]+" if sign == " " else sign for sign in word)


def _prompts(given: Any) -> list[Document]:
    """The instructions that the context names."""
    if given is None:
        return []
    parts = given if isinstance(given, list | tuple) else [given]
    texts = [part if isinstance(part, str) else text_in(record(part)) for part in parts]
    return [Document("prompt", text_of(text)) for text in texts if text]


def _day(given: Any) -> date | None:
    """The day that relative dates count from."""
    if given is None or (isinstance(given, date) and not isinstance(given, datetime)):
        return given
    if isinstance(given, datetime):
        return given.date()
    try:
        return date.fromisoformat(str(given)[:10])
    except ValueError:
        raise BadSource(f"today is a date such as '2026-03-01'; got {given!r}"[:200]) from None


def prompt_text(text: str) -> tuple[Document, ...]:
    """The examples and descriptions of a schema, as something that only the prompt says."""
    return (Document("schema", Text(text)),) if text else ()
