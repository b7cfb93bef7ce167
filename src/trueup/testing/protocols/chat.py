"""OpenAI's /v1/chat/completions: turns a Say into a chat completion or its chunks."""

from collections.abc import Iterator
from typing import Any

from trueup.testing.protocols.shapes import (
    CREATED,
    event,
    event_body,
    failure_headers,
    json_body,
    pieces_of,
    tokens_of,
)
from trueup.testing.script import Call, Fail, Say
from trueup.testing.wire import Request, Response

FINISH = {"stop": "stop", "length": "length", "tool": "tool_calls", "filter": "content_filter", "refusal": "stop"}
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}


def usage_of(say: Say, request: Request) -> dict[str, int]:
    """Token counts in OpenAI's format."""
    into, out = tokens_of(say, request)
    return {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}


def call_of(call: Call, number: int, index: int) -> dict[str, Any]:
    """A tool call in OpenAI's format."""
    ident = call.id or f"call_{number:04}_{index}"
    return {"id": ident, "type": "function", "function": {"name": call.name, "arguments": call.text}}


class Chat:
    """The chat completions protocol."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """A chat completion, or its chunks."""
        head = {"id": f"chatcmpl-{number:04}", "created": CREATED, "model": request.model}
        if request.streams:
            return event_body(self._events(say, request, number, head), say.headers)
        content = None if say.refusal and not say.text else say.text
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": say.refusal or None}
        if say.thinking:
            message["reasoning_content"] = say.thinking
        if say.calls:
            message["content"] = say.text or None
            message["tool_calls"] = [call_of(call, number, index) for index, call in enumerate(say.calls)]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": FINISH[say.ending]}
        value = {**head, "object": "chat.completion", "choices": [choice], "usage": usage_of(say, request)}
        return json_body(value, headers=say.headers)

    def _events(self, say: Say, request: Request, number: int, head: dict[str, Any]) -> Iterator[bytes]:
        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return event({**head, "object": "chat.completion.chunk", "choices": [choice]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces_of(say.thinking, say.piece):
            yield chunk({"reasoning_content": piece})
        for piece in pieces_of(say.text or "", say.piece):
            yield chunk({"content": piece})
        for piece in pieces_of(say.refusal, say.piece):
            yield chunk({"refusal": piece})
        for index, call in enumerate(say.calls):
            whole = call_of(call, number, index)
            whole["function"]["arguments"] = ""
            yield chunk({"tool_calls": [{"index": index, **whole}]})
            for piece in pieces_of(call.text, say.piece):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, FINISH[say.ending])
        if (request.fields.get("stream_options") or {}).get("include_usage"):
            yield event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage_of(say, request)})
        yield b"data: [DONE]\n\n"

    def failure(self, fail: Fail, number: int) -> Response:
        """OpenAI's error object."""
        headers = {"x-request-id": f"req_{number:04}", **failure_headers(fail)}
        return json_body(_error(fail), fail.status, headers)

    def error_event(self, fail: Fail) -> bytes:
        """An error instead of a chunk."""
        return event(_error(fail))


def _error(fail: Fail) -> dict[str, Any]:
    kind = TYPES.get(fail.status, "server_error")
    return {"error": {"message": fail.message, "type": kind, "param": fail.param, "code": fail.code}}
