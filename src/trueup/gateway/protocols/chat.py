"""OpenAI's chat completions: requests, replies, errors and chunks. Unknown fields of a request are kept, those of a reply are
dropped.
"""

import secrets
import time
from collections.abc import Mapping
from typing import Any

from trueup.ask.clients.parameters import response_format
from trueup.ask.clients.request import Request
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.protocols.field_filter import clean, keep
from trueup.gateway.protocols.fields import CHAT
from trueup.gateway.protocols.protocol import (
    Body,
    OutgoingReply,
    RequestParts,
    a_name,
    arguments,
    encode,
    is_leaked,
    is_on,
    kept_tools,
    messages_in,
    model_of,
    offers_functions,
)
from trueup.gateway.protocols.sse import written
from trueup.verdict.reply import ToolCall

_ENDS = {"length": "length", "filter": "content_filter", "refusal": "content_filter"}
DONE = written(b"[DONE]")
_is_clean = clean(CHAT)
_IN_CHUNKS = ("id", "created", "model", "service_tier", "system_fingerprint")


class Chat:
    """`/v1/chat/completions`."""

    path = "/v1/chat/completions"
    provider = "openai"
    speaks = "openai"
    holds = True

    def read(self, body: Body) -> RequestParts:
        if body.get("n") not in (None, 1):
            raise RefusedRequest(400, "'n' must be 1: one reply is judged at a time", code="unsupported_value")
        form = body.get("response_format")
        own = isinstance(form, dict) and form.get("type") not in (None, "text")
        return RequestParts(
            model_of(body),
            messages_in(body),
            is_on(body, "stream"),
            own,
            a_name(body.get("user"), "user"),
            offers_functions(body) and not own,
        )

    def request(self, body: Body, request: Request, asked: RequestParts) -> Body:
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
            elif request.must_call and body.get("tool_choice") in (None, "auto"):  # naming a tool means choosing it
                new["tool_choice"] = "required"
        # The cost is needed here, whether the client asks for it or not.
        if asked.stream and "stream_options" not in request.without:
            options = body.get("stream_options")
            new["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        return new

    def frame(self, raw: Body, body: Body, dropped: set[str]) -> Body:
        kept: Body = keep(CHAT, raw, dropped, body)
        return kept

    def says(self, raw: Body, text: str) -> bool:
        if not _is_clean(raw) or not raw.get("choices"):
            return False
        message = raw["choices"][0].get("message")
        return (
            bool(message)
            and message.get("content") == text
            and not message.get("tool_calls")
            and not message.get("function_call")
        )

    def composed(self, said: OutgoingReply, frame: Body | None = None) -> Body:
        kept = {} if frame is None else frame
        choices = kept.get("choices")
        choice: Body = {"index": 0, "logprobs": None, **((choices[0] if choices else None) or {})}
        was = choice.pop("message", None) or {}
        message: Body = {"role": "assistant", "content": said.text or (None if said.calls else ""), "refusal": None}
        finish = choice.get("finish_reason")
        if said.calls:
            if was.get("function_call") is not None and len(said.calls) == 1:  # the form from before there were tools
                message["function_call"] = _call(said.calls[0])["function"]
            else:
                message["tool_calls"] = [_call(call) for call in said.calls]
            finish = "tool_calls" if not finish or is_leaked(said.calls) else finish
        elif not finish or finish in ("tool_calls", "function_call"):
            finish = _ENDS.get(said.finish, "stop")
        choice["index"], choice["message"], choice["finish_reason"] = 0, message, finish
        raw: Body = {
            **kept, "id": said.id or kept.get("id") or f"chatcmpl-{secrets.token_hex(12)}", "object": "chat.completion",
            "created": said.created or kept.get("created") or int(time.time()), "model": kept.get("model") or said.model,
            "choices": [choice],
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

    def error(self, refused: RefusedRequest) -> Body:
        error = {"message": refused.message, "type": refused.kind, "param": None, "code": refused.code or None}
        return {"error": {**error, **refused.more}}

    def error_event(self, refused: RefusedRequest) -> bytes:
        return written(encode(self.error(refused)))

    def events(self, reply: Body, body: Body, *, started: bool = False, in_text: bool = False) -> list[bytes]:  # noqa: ARG002 - as all protocols
        head = {"object": "chat.completion.chunk", **{name: reply[name] for name in _IN_CHUNKS if name in reply}}
        choice = reply["choices"][0]
        message = choice["message"]

        def chunk(delta: Body, finish: Any = None) -> bytes:
            return written(encode({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))

        out = [] if started else [chunk({"role": "assistant", "content": ""})]
        if message.get("content"):
            out.append(chunk({"content": message["content"]}))
        if "function_call" in message:
            out.append(chunk({"function_call": message["function_call"]}))
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
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.raw_args}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments(call)}}


def chunk_of(head: Body, delta: Body) -> bytes:
    """A chunk with only `delta` and the kept fields of `head`."""
    kept = {name: head[name] for name in _IN_CHUNKS if name in head}
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return written(encode({"object": "chat.completion.chunk", **kept, "choices": [choice]}))


def _tool_name(tool: Any) -> Any:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else None
