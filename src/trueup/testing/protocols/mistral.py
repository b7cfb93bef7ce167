"""Mistral's /v1/chat/completions: OpenAI's format with two differences. Usage is always last; errors are flat
objects.
"""

from collections.abc import Iterator
from typing import Any

from trueup.testing.protocols.chat import FINISH, Chat, call_of, usage_of
from trueup.testing.protocols.shapes import CREATED, event, event_body, failure_headers, json_body, pieces_of
from trueup.testing.script import Fail, Say
from trueup.testing.wire import Request, Response

_ENDINGS = {**FINISH, "filter": "error", "refusal": "stop"}
_TYPES = {400: "invalid_request_message", 401: "unauthorized", 404: "invalid_model", 429: "rate_limited"}


class Mistral(Chat):
    """Mistral's variant of chat completions."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """A chat completion, or its chunks."""
        head = {"id": f"cmpl-{number:04}", "created": CREATED, "model": request.model}
        calls = [{**call_of(call, number, at), "index": at} for at, call in enumerate(say.calls)]
        usage = usage_of(say, request)
        if request.streams:
            return event_body(_events(say, head, calls, usage), say.headers)
        message = {"role": "assistant", "content": _content(say), "tool_calls": calls or None}
        choice = {"index": 0, "message": message, "finish_reason": _ENDINGS[say.ending]}
        return json_body(
            {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, headers=say.headers
        )

    def failure(self, fail: Fail, number: int) -> Response:
        """Mistral's error object."""
        headers = {"mistral-correlation-id": f"req-{number:04}", **failure_headers(fail)}
        return json_body(_error(fail), fail.status, headers)

    def error_event(self, fail: Fail) -> bytes:
        """An error instead of a chunk."""
        return event(_error(fail))


def _content(say: Say) -> Any:
    """Text, or blocks if the model has reasoned."""
    text = say.text or say.refusal
    if not say.thinking:
        return text
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": say.thinking}]}
    return [thought, {"type": "text", "text": text}]


def _events(say: Say, head: dict[str, Any], calls: list[dict[str, Any]], usage: dict[str, int]) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event({**head, "object": "chat.completion.chunk", "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces_of(say.thinking, say.piece):
        yield chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]})
    for piece in pieces_of(say.text or say.refusal, say.piece):
        yield chunk({"content": piece})
    last: dict[str, Any] = {"content": "", "tool_calls": calls} if calls else {"content": ""}
    yield chunk(last, _ENDINGS[say.ending], usage=usage)
    yield b"data: [DONE]\n\n"


def _error(fail: Fail) -> dict[str, Any]:
    kind = fail.code or _TYPES.get(fail.status, "internal_server_error")
    return {"object": "error", "message": fail.message, "type": kind, "param": fail.param, "code": fail.code}
