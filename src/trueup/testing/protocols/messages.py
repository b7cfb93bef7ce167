"""Anthropic's /v1/messages: turns a Say into a message or its events."""

from collections.abc import Iterator
from typing import Any

from trueup.testing.encoding import load
from trueup.testing.protocols.shapes import event, event_body, failure_headers, json_body, pieces_of, tokens_of
from trueup.testing.script import Call, Fail, Say
from trueup.testing.wire import Request, Response

STOP = {"stop": "end_turn", "length": "max_tokens", "tool": "tool_use", "filter": "refusal", "refusal": "refusal"}
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Messages:
    """The messages protocol."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """A message, or its events."""
        blocks = list(_blocks(say, number))
        into, out = tokens_of(say, request)
        whole = {
            "id": f"msg_{number:04}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": blocks,
            "stop_reason": STOP[say.ending],
            "stop_sequence": None,
            "usage": {"input_tokens": into, "output_tokens": out},
        }
        headers = {"request-id": f"req_{number:04}", **say.headers}
        if request.streams:
            return event_body(_events(say, whole), headers)
        return json_body(whole, headers=headers)

    def failure(self, fail: Fail, number: int) -> Response:
        """Anthropic's error object."""
        headers = {"request-id": f"req_{number:04}", **failure_headers(fail)}
        return json_body({**error_of(fail), "request_id": f"req_{number:04}"}, fail.status, headers)

    def error_event(self, fail: Fail) -> bytes:
        """An error event."""
        return event(error_of(fail), "error")


def error_of(fail: Fail) -> dict[str, Any]:
    """An error in Anthropic's format."""
    kind = fail.code or TYPES.get(fail.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": fail.message}}


def _arguments(call: Call) -> Any:
    """The object in a whole message. Arguments that are not JSON can only be streamed."""
    try:
        return load(call.text)
    except ValueError:
        return call.text


def _blocks(say: Say, number: int) -> Iterator[dict[str, Any]]:
    if say.thinking:
        yield {"type": "thinking", "thinking": say.thinking, "signature": "scripted"}
    text = say.text or say.refusal
    if text or (say.text is not None and not say.calls):
        yield {"type": "text", "text": text}
    for index, call in enumerate(say.calls):
        ident = call.id or f"toolu_{number:04}_{index}"
        yield {"type": "tool_use", "id": ident, "name": call.name, "input": _arguments(call)}


def _events(say: Say, whole: dict[str, Any]) -> Iterator[bytes]:
    usage = {**whole["usage"], "output_tokens": 1}
    start = {**whole, "content": [], "stop_reason": None, "usage": usage}
    yield event({"type": "message_start", "message": start}, "message_start")
    yield event({"type": "ping"}, "ping")
    calls = iter(say.calls)
    for index, block in enumerate(whole["content"]):
        if block["type"] == "tool_use":
            empty, word, text = {**block, "input": {}}, ("input_json_delta", "partial_json"), next(calls).text
        elif block["type"] == "thinking":
            empty, word, text = (
                {**block, "thinking": "", "signature": ""},
                ("thinking_delta", "thinking"),
                block["thinking"],
            )
        else:
            empty, word, text = {**block, "text": ""}, ("text_delta", "text"), block["text"]
        spot = {"index": index}
        yield event({"type": "content_block_start", **spot, "content_block": empty}, "content_block_start")
        for piece in pieces_of(text, say.piece):
            delta = {"type": word[0], word[1]: piece}
            yield event({"type": "content_block_delta", **spot, "delta": delta}, "content_block_delta")
        if block["type"] == "thinking":
            delta = {"type": "signature_delta", "signature": block["signature"]}
            yield event({"type": "content_block_delta", **spot, "delta": delta}, "content_block_delta")
        yield event({"type": "content_block_stop", **spot}, "content_block_stop")
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    last = {"type": "message_delta", "delta": ending, "usage": whole["usage"]}
    yield event(last, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")
