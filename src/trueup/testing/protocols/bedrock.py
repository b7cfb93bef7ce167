"""Bedrock's Converse and ConverseStream: turns a Say into a response or the frames of AWS's event stream.

A frame is binary: its lengths and their checksum, headers, a JSON payload, and a checksum of everything.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Any

from trueup.testing.encoding import dump
from trueup.testing.protocols.shapes import arguments_of, failure_headers, json_body, pieces_of, tokens_of
from trueup.testing.script import Fail, Say
from trueup.testing.wire import Request, Response

_ENDINGS = {
    "stop": "end_turn", "length": "max_tokens", "tool": "tool_use", "filter": "content_filtered",
    "refusal": "guardrail_intervened",
}  # fmt: skip
_ERRORS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_FRAMES = "application/vnd.amazon.eventstream"


class Bedrock:
    """The Converse protocol."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """A response, or its frames."""
        into, out = tokens_of(say, request)
        usage = {"inputTokens": into, "outputTokens": out, "totalTokens": into + out}
        blocks = list(_blocks(say, number))
        about = {"usage": usage, "metrics": {"latencyMs": 1}}
        stop = {"stopReason": _ENDINGS[say.ending]}
        headers = {"x-amzn-RequestId": f"req-{number:04}", **say.headers}
        if request.streams:
            events = (frame(name, value) for name, value in _events(say, blocks, stop, about))
            return Response(200, (("Content-Type", _FRAMES), *headers.items()), tuple(events), "chunked")
        message = {"role": "assistant", "content": blocks}
        return json_body({"output": {"message": message}, **stop, **about}, headers=headers)

    def failure(self, fail: Fail, number: int) -> Response:
        """AWS's error: its name in a header, its message in the body."""
        kind = fail.code if fail.code and fail.code.endswith("Exception") else _ERRORS.get(fail.status)
        headers = {
            "x-amzn-RequestId": f"req-{number:04}",
            "x-amzn-ErrorType": kind or "InternalServerException",
            **failure_headers(fail),
        }
        return json_body({"message": fail.message}, fail.status, headers)

    def error_event(self, fail: Fail) -> bytes:
        """A frame with an exception."""
        kind = _ERRORS.get(fail.status, "ServiceUnavailableException")
        return frame(kind[0].lower() + kind[1:], {"message": fail.message}, exception=True)


def frame(name: str, value: Any, *, exception: bool = False) -> bytes:
    """One message of AWS's event stream.

    >>> len(frame("messageStop", {"stopReason": "end_turn"}))
    122
    """
    kind = "exception" if exception else "event"
    headers = b"".join(
        struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(text)) + text.encode()
        for key, text in ((f":{kind}-type", name), (":content-type", "application/json"), (":message-type", kind))
    )
    payload = dump(value)
    lengths = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    whole = lengths + struct.pack("!I", zlib.crc32(lengths)) + headers + payload
    return whole + struct.pack("!I", zlib.crc32(whole))


def _blocks(say: Say, number: int) -> Iterator[dict[str, Any]]:
    if say.thinking:
        yield {"reasoningContent": {"reasoningText": {"text": say.thinking, "signature": "scripted"}}}
    text = say.text or say.refusal
    if text or not say.calls:
        yield {"text": text}
    for index, call in enumerate(say.calls):
        ident = call.id or f"tooluse_{number:04}_{index}"
        yield {"toolUse": {"toolUseId": ident, "name": call.name, "input": arguments_of(call)}}


def _events(
    say: Say, blocks: list[dict[str, Any]], stop: dict[str, Any], about: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "messageStart", {"role": "assistant"}
    calls = iter(say.calls)
    for index, block in enumerate(blocks):
        spot = {"contentBlockIndex": index}
        if "toolUse" in block:
            begun = {name: block["toolUse"][name] for name in ("toolUseId", "name")}
            yield "contentBlockStart", {"start": {"toolUse": begun}, **spot}
            for piece in pieces_of(next(calls).text, say.piece):
                yield "contentBlockDelta", {"delta": {"toolUse": {"input": piece}}, **spot}
        elif "reasoningContent" in block:
            thought = block["reasoningContent"]["reasoningText"]
            for piece in pieces_of(thought["text"], say.piece):
                yield "contentBlockDelta", {"delta": {"reasoningContent": {"text": piece}}, **spot}
            signed = {"reasoningContent": {"signature": thought["signature"]}}
            yield "contentBlockDelta", {"delta": signed, **spot}
        else:
            for piece in pieces_of(block["text"], say.piece):
                yield "contentBlockDelta", {"delta": {"text": piece}, **spot}
        yield "contentBlockStop", spot
    yield "messageStop", stop
    yield "metadata", about
