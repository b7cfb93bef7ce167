"""OpenAI's responses: requests, replies, errors and events. Unknown fields of a request are kept, those of a reply are
dropped.
"""

import secrets
import time
from collections.abc import Mapping
from typing import Any

from trueup.ask.clients.request import Request
from trueup.gateway.errors import RefusedRequest
from trueup.gateway.protocols.field_filter import keep
from trueup.gateway.protocols.fields import RESPONSE
from trueup.gateway.protocols.protocol import (
    Body,
    OutgoingReply,
    RequestParts,
    a_name,
    arguments,
    encode,
    is_on,
    kept_tools,
    messages_in,
    model_of,
    offers_functions,
)
from trueup.gateway.protocols.sse import written
from trueup.verdict.reply import ToolCall

_ENDS = {"length": "max_output_tokens", "filter": "content_filter", "refusal": "content_filter"}


class Responses:
    """`/v1/responses`."""

    path = "/v1/responses"
    provider = "openai_responses"
    speaks = "openai"
    holds = False  # its events number each other, so they are kept until the reply is complete

    def read(self, body: Body) -> RequestParts:
        given = body.get("input")
        if isinstance(given, str) and given:
            items: list[Any] = [{"role": "user", "content": given}]
        elif isinstance(given, list) and given:
            items = messages_in(body, "input")
        else:
            raise RefusedRequest(400, "'input' must be a string or a list with at least one item", code="invalid_value")
        if is_on(body, "background"):
            raise RefusedRequest(
                400, "'background' must be false: a reply is judged before it is returned", code="unsupported_value"
            )
        form = body.get("text")
        inner = form.get("format") if isinstance(form, dict) else None
        own = isinstance(inner, dict) and inner.get("type") not in (None, "text")
        named = a_name(body.get("user"), "user")
        return RequestParts(
            model_of(body), items, is_on(body, "stream"), own, named, offers_functions(body) and not own
        )

    def request(self, body: Body, request: Request, asked: RequestParts) -> Body:
        new = {**body, "input": [item for message in request.messages for item in _items(message)]}
        new["model"] = request.model or asked.model
        if request.temperature is not None:
            new["temperature"] = request.temperature
        if request.max_tokens is not None:
            new["max_output_tokens"] = request.max_tokens
        form = None if asked.own_format else _format(request)
        if form is not None:
            text = body.get("text")
            new["text"] = {**(text if isinstance(text, dict) else {}), "format": form}
        if body.get("tools"):
            new["tools"] = kept_tools(
                body["tools"], request, lambda tool: tool.get("name") if isinstance(tool, dict) else None
            )
            if not request.call_tools:
                new["tool_choice"] = "none"
            elif request.must_call and body.get("tool_choice") in (None, "auto"):  # naming a tool means choosing it
                new["tool_choice"] = "required"
        return new

    def frame(self, raw: Body, body: Body, dropped: set[str]) -> Body:
        kept: Body = keep(RESPONSE, raw, dropped, body)
        return {**kept, "output_text": ""} if "output_text" in raw else kept

    def says(self, raw: Body, text: str) -> bool:  # noqa: ARG002 - as all protocols
        return False  # most text repeats the request

    def composed(self, said: OutgoingReply, frame: Body | None = None) -> Body:
        kept = {} if frame is None else frame
        items = [_message(said.text)] if said.text or not said.calls else []
        cut = _ENDS.get(said.finish)
        raw: Body = {
            "incomplete_details": None if cut is None else {"reason": cut}, "instructions": None, "parallel_tool_calls": True,
            "metadata": {}, **kept, "id": said.id or kept.get("id") or f"resp_{secrets.token_hex(12)}", "object": "response",
            "created_at": said.created or kept.get("created_at") or int(time.time()), "error": None,
            "status": kept.get("status") or ("completed" if cut is None else "incomplete"), "model": kept.get("model") or said.model,
            "tool_choice": kept.get("tool_choice") or "auto", "tools": kept.get("tools") or [],
            "output": [*items, *map(_call, said.calls)],
        }  # fmt: skip
        if "output_text" in kept:
            raw["output_text"] = said.text
        return self.with_usage(raw, said.usage)

    def with_usage(self, raw: Body, usage: Mapping[str, int]) -> Body:
        if not usage:
            return raw
        own = raw.get("usage") if isinstance(raw.get("usage"), dict) else {}
        taken, given = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
        total = {"input_tokens": taken, "output_tokens": given, "total_tokens": taken + given}
        details: Body = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {**raw, "usage": {**details, **(own or {}), **total}}

    def without_text(self, raw: Body) -> Body:
        return {**raw, "output": [item for item in raw["output"] if item.get("type") != "message"]}

    def error(self, refused: RefusedRequest) -> Body:
        error = {"message": refused.message, "type": refused.kind, "param": None, "code": refused.code or None}
        return {"error": {**error, **refused.more}}

    def error_event(self, refused: RefusedRequest) -> bytes:
        body = {
            "type": "error",
            "code": refused.code or None,
            "message": refused.message,
            "param": None,
            "sequence_number": 0,
        }
        return written(encode({**body, **refused.more}), "error")

    def events(self, reply: Body, body: Body, *, started: bool = False, in_text: bool = False) -> list[bytes]:  # noqa: ARG002 - as all protocols
        out: list[bytes] = []

        def event(kind: str, more: Body) -> None:
            out.append(written(encode({"type": kind, "sequence_number": len(out), **more}), kind))

        begun = {**reply, "status": "in_progress", "output": []}
        begun.pop("trueup", None)
        begun.pop("usage", None)
        event("response.created", {"response": begun})
        event("response.in_progress", {"response": begun})
        for at, item in enumerate(reply["output"]):
            _item(event, at, item)
        event(
            "response.incomplete" if reply.get("status") == "incomplete" else "response.completed", {"response": reply}
        )
        return out


def _item(event: Any, at: int, item: Body) -> None:
    ident = item.get("id", "")
    place = {"item_id": ident, "output_index": at}
    if item.get("type") == "message":
        event(
            "response.output_item.added", {"output_index": at, "item": {**item, "status": "in_progress", "content": []}}
        )
        for index, part in enumerate(item.get("content") or ()):
            inner = {**place, "content_index": index}
            text = part.get("text", "")
            event("response.content_part.added", {**inner, "part": {**part, "text": ""}})
            if text:
                event("response.output_text.delta", {**inner, "delta": text, "logprobs": []})
            event("response.output_text.done", {**inner, "text": text, "logprobs": []})
            event("response.content_part.done", {**inner, "part": part})
    elif item.get("type") == "function_call":
        event(
            "response.output_item.added",
            {"output_index": at, "item": {**item, "status": "in_progress", "arguments": ""}},
        )
        event("response.function_call_arguments.delta", {**place, "delta": item["arguments"]})
        event("response.function_call_arguments.done", {**place, "arguments": item["arguments"], "name": item["name"]})
    else:
        event("response.output_item.added", {"output_index": at, "item": item})
    event("response.output_item.done", {"output_index": at, "item": item})


def _message(text: str) -> Body:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _call(call: ToolCall) -> Body:
    if call.kind == "custom":
        return {
            "id": f"ctc_{secrets.token_hex(12)}", "type": "custom_tool_call", "call_id": call.id, "name": call.name,
            "input": call.raw_args,
        }  # fmt: skip
    return {
        "id": f"fc_{secrets.token_hex(12)}", "type": "function_call", "status": "completed", "call_id": call.id,
        "name": call.name, "arguments": arguments(call),
    }  # fmt: skip


def _items(message: Any) -> list[Any]:
    """A message of the loop as items of an input; an assistant's calls are separate items here."""
    if not isinstance(message, dict) or not message.get("tool_calls"):
        return [message]
    items: list[Any] = [{"role": "assistant", "content": message["content"]}] if message.get("content") else []
    for call in message["tool_calls"]:
        function = call["function"]
        items.append(
            {
                "type": "function_call",
                "call_id": call["id"],
                "name": function["name"],
                "arguments": function["arguments"],
            }
        )
    return items


def _format(request: Request) -> Body | None:
    from trueup.ask.clients.parameters import response_format

    form = response_format(request)
    if form is None or form["type"] != "json_schema":
        return form
    return {"type": "json_schema", **form["json_schema"]}
