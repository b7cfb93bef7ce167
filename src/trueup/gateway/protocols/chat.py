"""OpenAI's chat completions: requests, replies, errors and chunks. Unknown fields stay where they are."""

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from trueup.ask.clients.parameters import response_format
from trueup.ask.clients.request import Request
from trueup.gateway.errors import Refused
from trueup.gateway.protocols.protocol import (
    Asked,
    Body,
    Said,
    a_name,
    arguments,
    encode,
    is_leaked,
    kept_tools,
    messages_in,
    model_of,
    offers_functions,
)
from trueup.gateway.sse import written
from trueup.verdict.reply import ToolCall

_ENDS = {"length": "length", "filter": "content_filter", "refusal": "content_filter"}
DONE = written(b"[DONE]")


class Chat:
    """`/v1/chat/completions`."""

    path = "/v1/chat/completions"
    provider = "openai"
    speaks = "openai"
    holds = True

    def read(self, body: Body) -> Asked:
        if body.get("n") not in (None, 1):
            raise Refused(400, "'n' must be 1: one reply is judged at a time", code="unsupported_value")
        form = body.get("response_format")
        own = isinstance(form, dict) and form.get("type") not in (None, "text")
        return Asked(
            model_of(body),
            messages_in(body),
            body.get("stream") is True,
            own,
            a_name(body.get("user"), "user"),
            offers_functions(body) and not own,
        )

    def request(self, body: Body, request: Request, asked: Asked) -> Body:
        new = {**body, "messages": request.messages, "model": request.model or asked.model}
        if request.temperature is not None:
            new["temperature"] = request.temperature
        if request.max_tokens is not None:
            newer = "max_completion_tokens" in body or "max_tokens" in request.without
            new["max_completion_tokens" if newer else "max_tokens"] = request.max_tokens
        form = None if asked.own_format else response_format(request)
        if form is not None:
            new["response_format"] = form
        if body.get("tools"):
            new["tools"] = kept_tools(body["tools"], request, _tool_name)
            if not request.call_tools:
                new["tool_choice"] = "none"
            elif request.must_call and body.get("tool_choice") in (None, "auto"):  # who names a tool wants that one
                new["tool_choice"] = "required"
        # What it cost is needed here, whether the client wants to know or not.
        if asked.stream and "stream_options" not in request.without:
            options = body.get("stream_options")
            new["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        return new

    def mended(self, raw: Body, text: str | None, calls: Sequence[ToolCall] | None) -> Body:
        choices = raw.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return raw
        message = dict(choices[0].get("message") or {})
        finish = choices[0].get("finish_reason")
        if text is not None:
            message["content"] = text or (None if calls else "")
        if calls:
            message["tool_calls"] = [_call(call) for call in calls]
            finish = "tool_calls" if is_leaked(calls) else finish
        elif calls is not None:
            message.pop("tool_calls", None)
            finish = "stop" if finish == "tool_calls" else finish
        return {**raw, "choices": [{**choices[0], "message": message, "finish_reason": finish}]}

    def composed(self, said: Said) -> Body:
        message: Body = {"role": "assistant", "content": said.text or (None if said.calls else ""), "refusal": None}
        if said.calls:
            message["tool_calls"] = [_call(call) for call in said.calls]
        finish = "tool_calls" if said.calls else _ENDS.get(said.finish, "stop")
        raw: Body = {
            "id": said.id or f"chatcmpl-{secrets.token_hex(12)}", "object": "chat.completion",
            "created": said.created or int(time.time()), "model": said.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        }  # fmt: skip
        return self.with_usage(raw, said.usage)

    def with_usage(self, raw: Body, usage: Mapping[str, int]) -> Body:
        if not usage:
            return raw
        taken, given = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
        own = raw.get("usage") if isinstance(raw.get("usage"), dict) else {}
        total = {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given}
        return {**raw, "usage": {**(own or {}), **total}}

    def without_text(self, raw: Body) -> Body:
        choice = raw["choices"][0]
        return {**raw, "choices": [{**choice, "message": {**choice["message"], "content": None}}]}

    def error(self, refused: Refused) -> Body:
        error = {"message": refused.message, "type": refused.kind, "param": None, "code": refused.code or None}
        return {"error": {**error, **refused.more}}

    def error_event(self, refused: Refused) -> bytes:
        return written(encode(self.error(refused)))

    def events(self, reply: Body, body: Body, started: bool = False, in_text: bool = False) -> list[bytes]:  # noqa: ARG002 - as all protocols
        head = {
            "id": reply.get("id"),
            "object": "chat.completion.chunk",
            "created": reply.get("created"),
            "model": reply.get("model"),
        }
        choice = reply["choices"][0]
        message = choice["message"]

        def chunk(delta: Body, finish: Any = None) -> bytes:
            return written(encode({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))

        out = [] if started else [chunk({"role": "assistant", "content": ""})]
        if message.get("content"):
            out.append(chunk({"content": message["content"]}))
        for at, call in enumerate(message.get("tool_calls") or ()):
            out.append(chunk({"tool_calls": [{"index": at, **call}]}))
        out.append(chunk({}, choice.get("finish_reason")))
        options = body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage") and reply.get("usage"):
            out.append(written(encode({**head, "choices": [], "usage": reply["usage"]})))
        if "trueup" in reply:
            out.append(written(encode({**head, "choices": [], "trueup": reply["trueup"]})))
        return [*out, DONE]


def _call(call: ToolCall) -> Body:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments(call)}}


def _tool_name(tool: Any) -> Any:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else None
