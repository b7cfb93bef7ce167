"""Sources: takes the context of a check; returns the documents to ground a reply in, and the texts of the prompt.

The context's `source` is a text, documents by name, or a list of texts, documents, messages or tool results. Otherwise
the unit's fields or the conversation are the source. Instructions, worked examples and the schema's examples are kept
apart: a value that is only there was copied, not read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import orjson

from trueup.grounding.documents import IndexedText, SourceDocument, text_of
from trueup.grounding.vocabulary import listed
from trueup.read.messages import role_of, text_in
from trueup.read.objects import record
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

SOURCE = "source"  # the field of a unit, unless a contract names another one
ROLES = ("user", "assistant", "tool")
_TEXTS = ("page_content", "text", "content", "body")
_NAMES = ("name", "title", "filename", "file_name", "source", "document_id", "doc_id", "id", "id_", "url", "uri")
_INNER = ("node", "document")  # a retriever's result has its document in one of these
# Fields that a document may have besides its text. A mapping with any other field is used as a whole.
_ABOUT = frozenset(_NAMES) | set(
    """metadata meta type kind class_name score page chunk relevance_score rank distance similarity embedding index page_number chunk_id
    language lang mimetype mime_type media_type hash tokens token_count cache_control citations excluded_embed_metadata_keys
    excluded_llm_metadata_keys relationships metadata_template metadata_separator metadata_seperator text_template start_char_idx
    end_char_idx text_resource image_resource audio_resource video_resource""".split()
)
_LONGEST_NAME = 200
_MOST_LINES, _MOST_STEPS = 200_000, 200_000  # for data that is nested too deeply for JSON
_ESCAPE = lazy_regex(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[0-9a-fA-F]{4}|\\[\"\\/bfnrt]")
_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": "\n"}
_OWN = frozenset({"unit_id", "error", "retry_count"})  # fields of every unit, not part of its text
_BLANK = lazy_regex(r"\n[ \t]*\n")


class BadSource(TypeError):
    """The context's `source` or `today` is invalid; the message lists the accepted types."""


class Sources(NamedTuple):
    """The documents to ground a reply in, the texts of the prompt, and the day from which relative dates count."""

    documents: tuple[SourceDocument, ...]
    prompts: tuple[SourceDocument, ...]
    today: date | None


def sources_in(context: Mapping[str, Any], field: str, roles: Iterable[str], *, data: bool) -> Sources | None:
    """The sources of a check; None if there are none. With `data`, the reply is a value: earlier values are examples.

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
            return None  # not the conversation: it may contain only instructions
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
    """Why a unit has no source in a field; empty if it has one, or if `name` is empty and all fields are the source.

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
    """The source among the fields of a unit: the named one, or all of them; None if there are none."""
    if not isinstance(fields, Mapping):
        return None
    name = name or SOURCE
    if fields.get(name) is not None:
        return fields[name]
    kept = {key: part for key, part in fields.items() if key not in _OWN and str(key)[:1] != "_" and part is not None}
    if "messages" in kept:
        return kept["messages"]
    return kept or None


def _given(given: Any, roles: frozenset[str]) -> tuple[list[SourceDocument], list[SourceDocument]]:
    """The documents of a given source, and the parts of it that only instruct."""
    if isinstance(given, str):
        return [_made("source", given)], []
    if isinstance(given, Mapping) and not _is_message(given) and _held(given) is None:
        return [_made(str(name), _text_of(part, f"source[{str(name)!r}]")) for name, part in given.items()], []
    if not isinstance(given, list | tuple):
        if not isinstance(given, Mapping) and _held(_row(given)) is None:
            raise _not_a_source("source", given)
        given = [given]
    documents: list[SourceDocument] = []
    prompts: list[SourceDocument] = []
    for index, part in enumerate(given):
        document, is_prompt = _document(part, index, roles)
        (prompts if is_prompt else documents).append(document)
    return documents, prompts


def _document(part: Any, index: int, roles: frozenset[str]) -> tuple[SourceDocument, bool]:
    """One part of a list of sources, and whether it only instructs."""
    place = f"source[{index}]"
    if isinstance(part, str):
        return _made(place, part), False
    row = _row(part)
    if _is_message(row):
        role = role_of(row)
        return _made(f"messages[{index}]", text_in(row)), role == "system" or role not in roles
    text = _held(row)
    if text is None:
        return _made(place, _text_of(part, place)), False
    return _made(_name_of(row) or place, text), False


def _made(name: str, text: str, role: str = "") -> SourceDocument:
    return SourceDocument(name, text_of(unescaped(text)), role=role)


def _not_a_source(place: str, given: Any) -> BadSource:
    if isinstance(given, bytes | bytearray | memoryview):
        return BadSource(f"{place} is text, not bytes; decode it first")
    takes = "a text, documents by name, or a list of texts, documents, messages or results of tools"
    return BadSource(f"{place} is {takes}; got {type(given).__name__}")


def _row(part: Any) -> dict[str, Any]:
    """A document or a message as a mapping, from any class. A retriever's result becomes its document."""
    found: dict[str, Any] = record(part)
    for name in _INNER:
        inner = found.get(name, getattr(part, name, None))
        if inner is not None and not isinstance(inner, str) and _held(_row(inner)) is not None:
            return _row(inner)
    for name in _TEXTS:
        said = getattr(part, name, None) if name not in found and not isinstance(part, Mapping) else None
        if isinstance(said, str):
            return {**found, name: said, "metadata": getattr(part, "metadata", None)}
    return found


def _is_message(row: Mapping[str, Any]) -> bool:
    return ("role" in row or "type" in row) and role_of(record(row)) != ""


def _held(row: Mapping[str, Any]) -> str | None:
    """The text of a document; None if the mapping is other data that only contains some text."""
    text = next((row[key] for key in _TEXTS if isinstance(row.get(key), str)), None)
    if text is None:
        return None
    is_document = all(
        key in _ABOUT or key in _TEXTS or part is None or str(key).startswith("_") for key, part in row.items()
    )
    return text if is_document or "page_content" in row else None


def _name_of(row: Mapping[str, Any]) -> str:
    """The name of a document, from its own keys or its metadata; empty if it has no name."""
    metadata = row.get("metadata")
    for holder in (row, metadata if isinstance(metadata, Mapping) else {}):
        for key in _NAMES:
            name = holder.get(key)
            if isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip():
                return str(name)[:_LONGEST_NAME]
    return ""


def _text_of(part: Any, place: str) -> str:
    """A document, a tool result, or any other data, as text."""
    if isinstance(part, str):
        return part
    if part is None:
        return ""
    row = {} if isinstance(part, int | float | list | tuple) else _row(part)
    if _is_message(row):
        return text_in(row)
    text = _held(row)
    if text is not None:
        return text
    if not row and not isinstance(part, int | float | list | tuple | Mapping | date | Decimal | set | frozenset):
        raise _not_a_source(place, part)
    return _as_json(row or part)


def _as_json(part: Any) -> str:
    try:
        return orjson.dumps(part, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str).decode()
    except TypeError:  # too deep, a lone surrogate, or an integer of more than 64 bits
        return "\n".join(islice(_lines(part), _MOST_LINES))


def _lines(data: Any) -> Iterator[str]:
    """The values of data that JSON cannot encode, one per line, with their names."""
    stack: list[tuple[str, Any]] = [("", data)]
    for _ in range(_MOST_STEPS):
        if not stack:
            return
        name, part = stack.pop()
        if isinstance(part, Mapping):
            stack += [(str(key), value) for key, value in reversed(list(part.items()))]
        elif isinstance(part, list | tuple | set | frozenset):
            stack += [(name, value) for value in reversed(list(part))]
        elif part is not None:
            yield f"{name}: {part}" if name else str(part)


def unescaped(text: str) -> str:
    """A JSON text with its escapes resolved, so that its words can be read. Any other text is returned unchanged.

    >>> unescaped('{"name": "Garc\\\\u00eda"}'), unescaped("García")
    ('{"name": "García"}', 'García')
    """
    if "\\" not in text or not _is_value(text):
        return text
    return _ESCAPE.sub(_resolved, text)


def _resolved(found: "re.Match[str]") -> str:
    sign = found[0]
    if sign[1] == "u":
        codes = bytes.fromhex(sign.replace("\\u", ""))
        return codes.decode("utf-16-be", "surrogatepass")
    return _SIGNS.get(sign[1], sign[1])


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
) -> tuple[list[SourceDocument], list[SourceDocument]]:
    """The documents of a conversation, and the messages that instruct or show an example."""
    shown = _worked_examples(messages) if data else frozenset()
    documents: list[SourceDocument] = []
    prompts: list[SourceDocument] = []
    for index, said in enumerate(messages):
        if said.role == "system" or index in shown:
            prompts.append(SourceDocument(said.name, text_of(said.text)))
        elif said.role in roles:
            documents.append(
                _prompted(said.name, said.text) if said.role == "user" else _made(said.name, said.text, said.role)
            )
    return documents, prompts


def _worked_examples(messages: list[_Said]) -> frozenset[int]:
    """Earlier turns in which the model answers with a value: they are examples about something else."""
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


def _prompted(name: str, text: str) -> SourceDocument:
    """A user message, which may contain an example as well as its subject."""
    return SourceDocument(name, text_of(text), tuple(example_spans(text)))


def example_spans(text: str) -> Iterator[Span]:
    """The spans of a prompt that show an example: from the word for it to a blank line or the end of its code block.

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


def _prompts(given: Any) -> list[SourceDocument]:
    """The instructions in the context."""
    if given is None:
        return []
    parts = given if isinstance(given, list | tuple) else [given]
    texts = [part if isinstance(part, str) else text_in(record(part)) for part in parts]
    return [SourceDocument("prompt", text_of(text)) for text in texts if text]


def _day(given: Any) -> date | None:
    """The day from which relative dates count."""
    if given is None or (isinstance(given, date) and not isinstance(given, datetime)):
        return given
    if isinstance(given, datetime):
        return given.date()
    try:
        return date.fromisoformat(str(given)[:10])
    except ValueError:
        raise BadSource(f"today is a date such as '2026-03-01'; got {given!r}"[:200]) from None


def prompt_text(text: str) -> tuple[SourceDocument, ...]:
    """The examples and descriptions of a schema, as a text of the prompt."""
    return (SourceDocument("schema", IndexedText(text)),) if text else ()
