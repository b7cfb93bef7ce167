"""The entry point of this package: any provider's reply, in any form, becomes one Reply.

`read` takes text, bytes, a dict, an SDK's object, a list of messages or of stream chunks. `read_document` takes a file's
text, `read_line` a line of a batch, `read_stream` something known to be a stream. None of them raises for a bad shape: the
Reading says what is wrong.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from trueup.read import anthropic, batch, detect, messages, openai_responses, streams, text, vercel
from trueup.read.events import (
    Events,
    from_frames,
    from_lines,
    from_sse,
    looks_like_data_lines,
    looks_like_frames,
    looks_like_lines,
    looks_like_sse,
    value,
)
from trueup.read.incremental import Arriving
from trueup.read.objects import Row, as_dict, record, word
from trueup.read.reading import ProviderFailure, Reading, failed, failure_of, silent, unknown
from trueup.verdict.reply import Reply

_BLOCKS = frozenset(("text", "tool_use", "thinking", "redacted_thinking", "server_tool_use", "refusal", "output_text"))
_SERVER_BLOCKS = ("_tool_use", "_tool_result", "container_upload")


def read(source: Any, status: int | None = None) -> Reading:
    """Read a reply of any provider; `status` is the HTTP status it came with, if known.

    >>> reading = read({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]})
    >>> reading.reply.text, reading.reply.finish, reading.findings
    ('hi', 'stop', ())
    >>> read({"nothing": "known"}).findings[0].code
    'R001'
    """
    if status is not None and status >= 400:
        return _refused(source, status)
    if type(source) is dict:
        return _read_dict(source, source)
    if isinstance(source, str):
        return _read_text(str.__str__(source), source)  # the plain text of a subclass
    if isinstance(source, Reply):
        return Reading(source)
    if isinstance(source, Reading):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        return _read_bytes(source)
    if isinstance(source, list | tuple) and not hasattr(source, "_asdict"):
        return _read_list(source)
    if isinstance(source, BaseException):
        return _raised(source)
    body = as_dict(source)
    reading = unknown(source) if body is None else _read_dict(body, source)
    if isinstance(source, Iterator | AsyncIterator) and reading.findings and reading.findings[0].code == "R001":
        return unknown(source, body, hint="Pass the stream to `check`, or the list of its chunks.")
    if body is not None and "status_code" in body and reading.findings and reading.findings[0].code == "R001":
        return unknown(source, body, hint="Pass the body of the HTTP response: response.json() or response.text.")
    return reading


def read_document(source: str | bytes, status: int | None = None) -> Reading:
    """Read the text of a file: a response as JSON, a stream's body, or otherwise the reply's own text.

    >>> read_document('{"choices": [{"message": {"content": "hi"}}]}').reply.text
    'hi'
    >>> read_document('{"name": "Ada"}').reply.text
    '{"name": "Ada"}'
    """
    if isinstance(source, bytes) and looks_like_frames(source[:256].decode("latin-1")):
        return streams.read(from_frames(source), source)
    plain, sound = (source, True) if isinstance(source, str) else text.decoded(source)
    reading = _read_document(plain, source, status)
    return reading if sound else text.damaged(reading)


def _read_document(plain: str, raw: Any, status: int | None) -> Reading:
    found = value(plain.lstrip("\ufeff")) if plain.lstrip("\ufeff \r\n\t")[:1] in {"{", "["} else None
    if isinstance(found, dict | list):
        reading = read(found, status)
        own = isinstance(found, dict) and detect.may_be_error(found) and not detect.is_error(found)
        if status is not None or not (own or any(f.code == "R001" for f in reading.findings)):
            return reading
    elif status is not None and status >= 400:
        return _refused(plain, status)
    else:
        reading = _read_text(plain, raw)
        if reading.reply.provider or reading.findings:
            return reading
    return text.read(plain, raw)


def read_stream(source: str | bytes | list[Any] | tuple[Any, ...]) -> Reading:
    """Read the body or the chunks of a stream.

    >>> read_stream('data: {"choices": [{"delta": {"content": "h').findings[0].code
    'R003'
    """
    if isinstance(source, list | tuple):
        return streams.read(Events([streams.unpacked(item) for item in source]), source)
    if isinstance(source, bytes) and looks_like_frames(source[:256].decode("latin-1")):
        return streams.read(from_frames(source), source)
    plain = source if isinstance(source, str) else text.decoded(source)[0]
    events = from_frames(plain) if looks_like_frames(plain) else from_sse(plain)
    if not events.items and not events.done:
        events = vercel.from_data_lines(plain) or events
    if not events.items and not events.done:
        events = from_lines(plain)
    if not events.items and events.broken:
        return streams.torn(source)
    return streams.read(events, source)


def read_line(line: str | bytes) -> Reading:
    """Read one line of a batch's output; a line that is not JSON gives R001 and, if it can be found, its key.

    >>> read_line('{"custom_id": "r2", "result": {"type": "expired"}}').findings[0].data["retryable"]
    True
    """
    plain = line if isinstance(line, str) else text.decoded(line)[0]
    body = value(plain)
    if not isinstance(body, dict):
        return unknown(line, key=batch.salvage_key(plain), hint="The line is not a JSON object.")
    return _read_dict(body, line)


def _read_dict(body: Row, raw: Any) -> Reading:
    reader = detect.family(body)
    if reader is not None:
        return reader(body, raw)
    if batch.is_line(body):
        return _read_batch(body, raw)
    if detect.stream(body) is not None:
        return streams.read(Events([body]), raw)
    if detect.is_error(body):
        return failed(failure_of(body), raw=raw)
    if detect.may_be_error(body):
        return failed(failure_of(body), raw=raw, unsure=True)
    inner = body.get("messages")
    if isinstance(inner, list | tuple) and inner and messages.role_of(record(inner[0])):
        return messages.read_many(inner, raw)
    return unknown(raw, body)


def _read_batch(body: Row, raw: Any) -> Reading:
    line = batch.unwrap(body)
    if line.failure is not None:
        return failed(line.failure, raw=raw, key=line.key)
    inner = as_dict(line.body)
    reader = None if inner is None else detect.family(inner)
    if inner is None or reader is None:
        if inner is not None and (detect.is_error(inner) or detect.may_be_error(inner)):
            return failed(failure_of(inner), raw=raw, key=line.key)
        return unknown(raw, inner, line.key)
    return reader(inner, raw)._replace(key=line.key)


def _read_text(plain: str, raw: Any) -> Reading:
    """Text, unless it clearly is the body of a stream: it must contain an event of a known provider, or only its end."""
    events: Events | None = None
    if looks_like_sse(plain):
        events = from_sse(plain)
    elif looks_like_lines(plain):
        events = from_lines(plain)
    elif looks_like_frames(plain):
        events = from_frames(plain)
    elif looks_like_data_lines(plain):
        events = vercel.from_data_lines(plain)
    if events is not None and (streams.recognized(events.items) or any(map(detect.is_error, events.items))):
        return streams.read(events, raw)
    ended = events is not None and events.done and not events.items and not events.broken
    return text.read("" if ended else plain, raw)


def _read_bytes(source: bytes | bytearray | memoryview) -> Reading:
    data = bytes(source)
    if looks_like_frames(data[:256].decode("latin-1")):
        return streams.read(from_frames(data), source)
    plain, sound = text.decoded(data)
    reading = _read_text(plain, source)
    return reading if sound else text.damaged(reading)


def _read_list(source: Any) -> Reading:
    """A list: pieces of text, events, messages, output items, content blocks, or tool calls."""
    if not source:
        return silent(source)
    if all(isinstance(item, str | bytes) for item in source):
        return _read_pieces(source)
    items = [streams.unpacked(item) for item in source]
    if streams.recognized(items[:4]) is not None:
        return streams.read(Events(items), source)
    kinds = {word(item.get("type")) for item in items if "role" not in item}
    if kinds & _BLOCKS or any(kind.endswith(_SERVER_BLOCKS) for kind in kinds):
        return anthropic.read({"content": items}, source)
    if kinds & openai_responses.ITEMS:
        return openai_responses.read_items(items, source)
    if any(map(messages.role_of, items)):
        return messages.read_many(items, source)
    if all(isinstance(item.get("function"), dict) or ("name" in item and "arguments" in item) for item in items):
        return messages.read({"tool_calls": items}, source)
    return _read_dict(items[0], source) if len(items) == 1 else unknown(source)


def _read_pieces(source: Any) -> Reading:
    """Pieces of the reply's text, or of a stream's body; its lines may come without line ends."""
    arriving = Arriving()
    for piece in source:
        arriving.feed(piece)
    whole = arriving.whole()
    reading = _read_text(whole, source) if isinstance(whole, str) else _read_bytes(whole)
    return reading._replace(reply=msgspec.structs.replace(reading.reply, raw=source))


def _refused(source: Any, status: int) -> Reading:
    """A response with an HTTP status that means failure is not a reply, whatever it contains."""
    if isinstance(source, bytes | bytearray | memoryview):
        source = text.decoded(source)[0]
    body = value(source) if isinstance(source, str) else source
    if isinstance(body, list) and body:
        body = body[0]
    found = as_dict(body)
    failure = failure_of(found if found is not None else source if isinstance(source, str) else "", status)
    return failed(failure._replace(status=status), raw=source)


def _raised(error: BaseException) -> Reading:
    """An SDK's exception, passed in place of a reply."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    status = status if type(status) is int else None
    body = getattr(error, "body", None) or as_dict(getattr(error, "response", None) if not status else None)
    failure = failure_of(body, status) if body else ProviderFailure(str(error), type(error).__name__, status)
    if not failure.message:
        failure = failure._replace(message=str(error))
    return failed(failure, raw=error)
