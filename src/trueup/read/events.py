"""The body of a stream as a list of events: SSE, lines of JSON, and Amazon's binary frames.

Returns dicts, with a count of the events that could not be read and whether `[DONE]` was seen. Lines end as SSE defines and
nowhere else: U+2028 inside a string is text. Time is linear in the length.
"""

import base64
import binascii
import json
import struct
from typing import Any, NamedTuple

import msgspec

from trueup.read.objects import Row
from trueup.verdict.patterns import lazy_regex

_decode = msgspec.json.Decoder().decode
_FIELD = ("data:", "event:", "id:", "retry:", ":")
_FRAME = lazy_regex(r":(event|exception)-type\x07[^a-zA-Z]{1,4}([A-Za-z]+)")
# Found in the first line of a stream of JSON lines, and rarely in a model's own text.
_LINES = lazy_regex(
    r'"chat\.completion\.chunk"|"type"\s*:\s*"(?:message_start|message-start|response\.[a-z_.]+)"'
    r'|"event_type"\s*:\s*"stream-start"|"messageStart"\s*:\s*\{|"choices"\s*:\s*\[\s*\{[^{}]*"delta"\s*:'
    r'|"candidates"\s*:\s*\[\s*\{\s*"(?:content|finishReason|index)"'
    r'|"model"\s*:\s*"[^"]*"\s*,\s*"created_at"\s*:\s*"[^"]*"\s*,[^\n]*"done"\s*:\s*false'
)
_DATA_LINE = lazy_regex(r'(?:f:\{"messageId"|[0g]:"(?:[^"\\\n]|\\.)*"\n[0-9a-k]:|9:\{"toolCallId"|b:\{"toolCallId")')
_LOOKED_AT = 4096
_SURROGATE = lazy_regex("[\ud800-\udfff]")


class Events(NamedTuple):
    """The content of a stream's body."""

    items: list[Row]
    broken: int = 0
    done: bool = False


def looks_like_sse(text: str) -> bool:
    """Whether a text begins like a stream of server-sent events. Cheap: it checks only the start.

    >>> looks_like_sse('data: {"id": 1}\\n\\n'), looks_like_sse('{"data": 1}')
    (True, False)
    """
    return text.startswith(_FIELD) or (text[:1] in "\ufeff\r\n " and text[:64].lstrip("\ufeff\r\n ").startswith(_FIELD))


def looks_like_lines(text: str) -> bool:
    """Whether a text begins like a stream of JSON lines: its first line is a whole event, and another follows."""
    if text[:1] != "{":
        return False
    end = text.find("\n")
    return 0 < end < len(text) - 1 and _LINES.search(text, 0, min(end, _LOOKED_AT)) is not None


def looks_like_data_lines(text: str) -> bool:
    """Whether a text begins like the data stream of the Vercel AI SDK 3 and 4.

    >>> looks_like_data_lines('f:{"messageId":"m"}\\n0:"Hi"\\n'), looks_like_data_lines("0: zero")
    (True, False)
    """
    return _DATA_LINE.match(text) is not None


def looks_like_frames(text: str) -> bool:
    """Whether a text is Amazon's binary framing, decoded or not."""
    return text[:1] == "\0" and _FRAME.search(text, 0, 200) is not None


def value(text: str) -> Any:
    """The JSON value that a provider wrote, or None. Values that strict JSON refuses (NaN) are accepted."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        pass
    except RecursionError:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def from_sse(text: str) -> Events:
    """The events of an SSE body."""
    items: list[Row] = []
    data: list[str] = []
    broken = 0
    done = failing = False
    for line in [*_split(text.lstrip("\ufeff")), ""]:
        if line.startswith("data:"):
            data.append(line[6:] if line[5:6] == " " else line[5:])
            continue
        if line.startswith("event:"):
            failing = line[6:].strip() == "error"
        if line or not data:
            continue
        if failing and len(data) == 1:
            items.append(_failure(data[0]))
        elif len(data) == 1 and data[0].strip() == "[DONE]":
            done = True
        else:
            broken += _dispatch(data, items)
            done = done or data[-1].strip() == "[DONE]"
        data = []
        failing = False
    return Events(items, broken, done)


def _failure(data: str) -> Row:
    """The content of an event named `error`, in the shape of all errors."""
    body = value(data)
    if isinstance(body, dict):
        return body if body.get("error") or body.get("type") == "error" else {"type": "error", "error": body}
    return {"type": "error", "error": {"message": data.strip()}}


def _split(text: str) -> list[str]:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def _dispatch(data: list[str], items: list[Row]) -> int:
    """Read one event's data lines; if they are not one value, each line is its own event. Returns the count of faults."""
    whole = value(data[0] if len(data) == 1 else "\n".join(data))
    if isinstance(whole, dict):
        items.append(whole)
        return 0
    if isinstance(whole, list):
        items += (item for item in whole if isinstance(item, dict))
        return 0
    if len(data) == 1:
        return 1 if data[0].strip() else 0
    return sum(_dispatch([line], items) for line in data if line.strip() != "[DONE]")


def from_lines(text: str) -> Events:
    """The events of a body of JSON lines; `data:` before a line is accepted."""
    items: list[Row] = []
    broken = 0
    done = False
    for line in _split(text):
        stripped = line.strip().removeprefix("data:").strip()
        if stripped == "[DONE]":
            done = True
        elif stripped:
            broken += _dispatch([stripped], items)
    return Events(items, broken, done)


def from_frames(source: str | bytes) -> Events:
    """The events of Amazon's event stream, each under the name of its type.

    Bytes are split by their lengths. Text, which has lost some bytes, is searched for the names and the JSON after them.
    """
    items: list[Row] = []
    broken = 0
    pairs = _frames(source) if isinstance(source, bytes) else _found(source)
    for name, payload in pairs:
        body = value(payload)
        if not isinstance(body, dict):
            broken += 1
        elif name == "chunk":
            broken += _chunk(body.get("bytes"), items)
        elif name.lower().endswith(("exception", "error")):
            items.append({"type": "error", "error": {"type": name, **body}})
        else:
            items.append({name: body})
    return Events(items, broken)


def _frames(data: bytes) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at + 16 <= len(data):
        total, headers = struct.unpack_from(">II", data, at)
        if total < 16 + headers or at + total > len(data):
            break
        head = data[at + 12 : at + 12 + headers].decode("latin-1")
        name = _FRAME.search(head)
        found.append((name[2] if name else "", data[at + 12 + headers : at + total - 4].decode("utf-8", "replace")))
        at += total
    if at < len(data):
        found.append(("", ""))
    return found


def _found(text: str) -> list[tuple[str, str]]:
    marks = list(_FRAME.finditer(text))
    found: list[tuple[str, str]] = []
    read = json.JSONDecoder().raw_decode
    for i, mark in enumerate(marks):
        end = marks[i + 1].start() if i + 1 < len(marks) else len(text)
        start = text.find("{", mark.end(), end)
        piece = text[start:end] if start >= 0 else ""
        try:
            _, stop = read(piece)
        except (ValueError, RecursionError):
            stop = 0
        found.append((mark[2], piece[:stop]))
    return found


def _chunk(encoded: Any, items: list[Row]) -> int:
    """An event of InvokeModel's stream: JSON in bytes, or in base64."""
    try:
        plain = base64.b64decode(encoded) if isinstance(encoded, str) else bytes(encoded)
    except (TypeError, ValueError, binascii.Error):
        return 1
    return _dispatch([plain.decode("utf-8", "replace")], items)


def healed(text: str) -> str:
    """Text in which two halves of a surrogate pair, sent in two pieces, are joined."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
