"""Joins the events of any provider's stream into the Reply that the response would have given without streaming.

A stream that broke off without the provider's sign of completion gives R003, an error event R002; everything that had arrived
is kept in both cases.
"""

from typing import Any

import msgspec

from trueup.read import detect
from trueup.read.events import Events, healed, value
from trueup.read.objects import Row, as_dict, record, word
from trueup.read.reading import Reading, cut, failed, failure_of, unknown
from trueup.verdict.reply import Reply


def unpacked(event: Any) -> Row:
    """An event without its possible wrappers: the SDK's `data`, Bedrock's `chunk.bytes`, the name of an exception."""
    body = as_dict(event)
    if body is None:
        return {}
    if len(body) == 1:
        name, said = next(iter(body.items()))
        if word(name).endswith("Exception"):
            return {"type": "error", "error": {"type": name, **record(said)}}
    for name in ("chunk", "data"):
        inner = body.get(name)
        if inner is None or (name == "data" and len(body) > 3):
            continue
        if name == "chunk" and "bytes" in record(inner):
            inner = record(inner)["bytes"]
        if isinstance(inner, bytes):
            inner = inner.decode("utf-8", "replace")
        found = value(inner) if isinstance(inner, str) else as_dict(inner)
        if isinstance(found, dict) and detect.stream(found) is not None:
            return found
    return body


def recognized(items: list[Row]) -> tuple[detect.Joiner, detect.Reader] | None:
    """The family of the first event that has one."""
    for item in items:
        found = detect.stream(item)
        if found is not None:
            return found
    return None


def read(events: Events, raw: Any) -> Reading:
    """Join the events of one stream and read the whole."""
    error = next((item for item in events.items if _is_failure(item)), None)
    found = recognized(events.items)
    if found is None:
        if error is not None:
            return failed(failure_of(error), raw=raw)
        return unknown(raw, events.items[0] if events.items else None)
    join, reader = found
    body, ended = join(events.items, done=events.done)
    reading = reader(body, raw)
    if events.items:
        reading = _healed(reading)
    if error is not None:
        reading = failed(failure_of(error), reading.reply)
    elif events.broken or not ended:
        codes = {f.code for f in reading.findings}
        if not codes & {"R002", "R003"}:
            reading = cut(reading, events.broken)
    return reading


def torn(raw: Any) -> Reading:
    """A stream that broke off inside its first event."""
    return cut(Reading(Reply(raw=raw)))


def _is_failure(event: Row) -> bool:
    if event.get("type") in ("error", "conversation.response.error") or event.get("object") == "error":
        return True
    error = event.get("error")
    return bool(error) and "choices" not in event and isinstance(error, dict | str) and "candidates" not in event


def _healed(reading: Reading) -> Reading:
    """Join the halves of characters that a provider split between two events."""
    reply = reading.reply
    text = healed(reply.text)
    if text is reply.text or text == reply.text:
        return reading
    return reading._replace(reply=msgspec.structs.replace(reply, text=text))
