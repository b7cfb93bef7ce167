"""Cohere's /v2/chat: turns a Say into a response or its events."""

from collections.abc import Iterator
from typing import Any

from trueup.testing.protocols.shapes import event, event_body, failure_headers, json_body, pieces_of, tokens_of
from trueup.testing.script import Fail, Say
from trueup.testing.wire import Request, Response

_ENDINGS = {
    "stop": "COMPLETE",
    "length": "MAX_TOKENS",
    "tool": "TOOL_CALL",
    "filter": "ERROR_TOXIC",
    "refusal": "COMPLETE",
}


class Cohere:
    """Version 2 of Cohere's chat protocol."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """A response, or its events."""
        into, out = tokens_of(say, request)
        counted = {"input_tokens": into, "output_tokens": out}
        ending = {"finish_reason": _ENDINGS[say.ending], "usage": {"billed_units": counted, "tokens": counted}}
        calls = [
            {
                "id": call.id or f"call_{number:04}_{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.text},
            }
            for index, call in enumerate(say.calls)
        ]
        ident = f"{number:08}-cohere"
        if request.streams:
            return event_body(_events(say, ident, calls, ending), say.headers)
        message: dict[str, Any] = {"role": "assistant", "content": _content(say)}
        if calls:
            message["tool_calls"] = calls
        return json_body({"id": ident, "message": message, **ending}, headers=say.headers)

    def failure(self, fail: Fail, number: int) -> Response:
        """Cohere's error object."""
        return json_body({"id": f"{number:08}-cohere", "message": fail.message}, fail.status, failure_headers(fail))

    def error_event(self, fail: Fail) -> bytes:
        """The end of a message that failed."""
        return event({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": fail.message}}, "message-end")


def _content(say: Say) -> list[dict[str, str]]:
    blocks = [{"type": "thinking", "thinking": say.thinking}] if say.thinking else []
    text = say.text or say.refusal
    return [*blocks, {"type": "text", "text": text}] if text or not say.calls else blocks


def _events(say: Say, ident: str, calls: list[dict[str, Any]], ending: dict[str, Any]) -> Iterator[bytes]:
    def named(kind: str, message: dict[str, Any] | None = None, **more: Any) -> bytes:
        body = {"type": kind, **more} if message is None else {"type": kind, **more, "delta": {"message": message}}
        return event(body, kind)

    yield named("message-start", {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}, id=ident)
    for index, block in enumerate(_content(say)):
        name = block["type"]
        yield named("content-start", {"content": {"type": name, name: ""}}, index=index)
        for piece in pieces_of(block[name], say.piece):
            yield named("content-delta", {"content": {name: piece}}, index=index)
        yield named("content-end", index=index)
    for index, call in enumerate(calls):
        empty = {**call, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield named("tool-call-start", {"tool_calls": empty}, index=index)
        for piece in pieces_of(call["function"]["arguments"], say.piece):
            yield named("tool-call-delta", {"tool_calls": {"function": {"arguments": piece}}}, index=index)
        yield named("tool-call-end", index=index)
    yield event({"type": "message-end", "delta": ending}, "message-end")
