"""Anthropic's messages: requests, replies, errors and events. Unknown fields of a request are kept, those of a reply are
dropped.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from trueup.ask.clients.request import Request
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.protocols.field_filter import clean, keep
from trueup.gateway.protocols.fields import MESSAGE
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
    refuse_odd_blocks,
)
from trueup.gateway.protocols.sse import written
from trueup.verdict.reply import ToolCall

_KINDS = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 503: "overloaded_error", 529: "overloaded_error",
}  # fmt: skip

_ENDS = {"length": "max_tokens", "filter": "refusal", "refusal": "refusal", "pause": "pause_turn"}
_is_clean = clean(MESSAGE)


class Messages:
    """`/v1/messages`."""

    path = "/v1/messages"
    provider = "anthropic"
    speaks = "anthropic"
    holds = True

    def read(self, body: Body) -> RequestParts:
        messages = messages_in(body)
        system = body.get("system")
        if system is not None and type(system) is not str:
            refuse_odd_blocks(system, "system")
        if system:
            messages = [{"role": "system", "content": system}, *messages]
        metadata = body.get("metadata")
        named = a_name(metadata.get("user_id") if isinstance(metadata, dict) else None, "metadata.user_id")
        config = body.get("output_config")
        own = bool(body.get("output_format") or (isinstance(config, dict) and config.get("format")))
        return RequestParts(
            model_of(body), messages, is_on(body, "stream"), own, named, offers_functions(body) and not own
        )

    def request(self, body: Body, request: Request, asked: RequestParts) -> Body:
        system = [m for m in request.messages if isinstance(m, dict) and m.get("role") == "system"]
        rest = [m for m in request.messages if not (isinstance(m, dict) and m.get("role") == "system")]
        new = {**body, "messages": rest, "model": request.model or asked.model}
        if len(system) == 1 and "system" in body and system[0].get("content") == body["system"]:
            new["system"] = body["system"]
        elif system:
            new["system"] = [block for message in system for block in _blocks(message.get("content"))]
        if request.temperature is not None:
            new["temperature"] = request.temperature
        if request.max_tokens is not None:
            new["max_tokens"] = request.max_tokens
        if body.get("tools"):
            new["tools"] = kept_tools(
                body["tools"], request, lambda tool: tool.get("name") if isinstance(tool, dict) else None
            )
            if not request.call_tools:
                new["tool_choice"] = {"type": "none"}
            elif request.must_call:
                choice = body.get("tool_choice") or {"type": "auto"}
                if isinstance(choice, dict) and choice.get("type") == "auto":  # naming a tool means choosing it
                    new["tool_choice"] = {**choice, "type": "any"}
        return new

    def frame(self, raw: Body, body: Body, dropped: set[str]) -> Body:
        kept: Body = keep(MESSAGE, raw, dropped, own_stop(raw, body))
        return kept

    def says(self, raw: Body, text: str) -> bool:
        content = raw.get("content")
        if type(content) is not list or len(content) != 1 or not _is_clean(raw):
            return False
        return bool(content[0]["type"] == "text" and content[0].get("text") == text)

    def composed(self, said: OutgoingReply, frame: Body | None = None) -> Body:
        kept = {} if frame is None else frame
        blocks: list[Body] = [{"type": "text", "text": said.text}] if said.text or not said.calls else []
        stop = kept.get("stop_reason")
        if said.calls:
            stop = "tool_use" if not stop or is_leaked(said.calls) else stop
        elif not stop or stop == "tool_use":
            stop = _ENDS.get(said.finish, "end_turn")
        raw: Body = {
            "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0}, **kept,
            "id": said.id or kept.get("id") or f"msg_{secrets.token_hex(12)}", "type": "message", "role": "assistant",
            "model": kept.get("model") or said.model, "content": [*blocks, *map(_call, said.calls)], "stop_reason": stop,
        }  # fmt: skip
        return self.with_usage(raw, said.usage)

    def with_usage(self, raw: Body, usage: Mapping[str, int]) -> Body:
        if not usage:
            return raw
        own = raw.get("usage") if isinstance(raw.get("usage"), dict) else {}
        total = {"input_tokens": usage.get("input_tokens", 0), "output_tokens": usage.get("output_tokens", 0)}
        return {**raw, "usage": {**(own or {}), **total}}

    def without_text(self, raw: Body) -> Body:
        return {**raw, "content": [block for block in raw["content"] if block.get("type") != "text"]}

    def error(self, refused: RefusedRequest) -> Body:
        kind = _KINDS.get(refused.status, "api_error" if refused.status >= 500 else "invalid_request_error")
        code = {"code": refused.code} if refused.code else {}
        return {"type": "error", "error": {"type": kind, "message": refused.message, **code, **refused.more}}

    def error_event(self, refused: RefusedRequest) -> bytes:
        return written(encode(self.error(refused)), "error")

    def events(self, reply: Body, body: Body, *, started: bool = False, in_text: bool = False) -> list[bytes]:  # noqa: ARG002 - as all protocols
        """The reply as events; `started` means that the message has begun, `in_text` that its block 0 is an open text."""
        usage = reply.get("usage") or {}
        begun = {**reply, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
        begun.pop("trueup", None)
        out = [] if started else [event_of("message_start", {"message": begun})]
        blocks = list(reply["content"])
        if in_text and not (blocks and blocks[0].get("type") == "text"):
            blocks.insert(0, {"type": "text", "text": ""})
        for at, block in enumerate(blocks):
            out += _block(at, block, started=in_text and at == 0)
        delta = {"stop_reason": reply.get("stop_reason"), "stop_sequence": reply.get("stop_sequence")}
        more = {"trueup": reply["trueup"]} if "trueup" in reply else {}
        out.append(
            event_of(
                "message_delta", {"delta": delta, "usage": {"output_tokens": usage.get("output_tokens", 0)}, **more}
            )
        )
        return [*out, event_of("message_stop", {})]


def own_stop(said: Any, body: Body) -> Body:
    """The sequence that ended a reply, if it is one of those in the client's request."""
    listed = body.get("stop_sequences")
    stop = said.get("stop_sequence") if isinstance(said, dict) else None
    return {"stop_sequence": stop if isinstance(listed, list) and stop in listed else None}


def event_of(kind: str, body: Body) -> bytes:
    return written(encode({"type": kind, **body}), kind)


def _block(at: int, block: Body, *, started: bool) -> list[bytes]:
    kind = block.get("type")
    if kind == "tool_use":
        opened, delta = (
            {**block, "input": {}},
            {"type": "input_json_delta", "partial_json": encode(block["input"]).decode()},
        )
    elif kind == "text":
        opened, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        opened, delta = block, {}
    out = [] if started else [event_of("content_block_start", {"index": at, "content_block": opened})]
    if delta and delta.get("text") != "":
        out.append(event_of("content_block_delta", {"index": at, "delta": delta}))
    return [*out, event_of("content_block_stop", {"index": at})]


def _call(call: ToolCall) -> Body:
    given = call.args if call.args is not None else {"input": arguments(call)}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
