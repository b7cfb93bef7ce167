"""OpenAI's /v1/responses: turns a Say into a response object or its events. Errors are the same as for chat
completions.
"""

from collections.abc import Iterator
from typing import Any

from trueup.testing.protocols.chat import Chat
from trueup.testing.protocols.shapes import CREATED, event, event_body, json_body, pieces_of, tokens_of
from trueup.testing.script import Say
from trueup.testing.wire import Request, Response

_WHY = {"length": "max_output_tokens", "filter": "content_filter"}


class Responses(Chat):
    """The protocol of the responses API."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """A response, or its events."""
        items = list(_items(say, number))
        whole = _response(say, request, number, items)
        if request.streams:
            return event_body(_numbered(say, whole, items), say.headers)
        return json_body(whole, headers=say.headers)


def _items(say: Say, number: int) -> Iterator[dict[str, Any]]:
    if say.thinking:
        summary = [{"type": "summary_text", "text": say.thinking}]
        yield {"type": "reasoning", "id": f"rs_{number:04}", "summary": summary, "encrypted_content": "scripted"}
    if say.refusal:
        part: dict[str, Any] = {"type": "refusal", "refusal": say.refusal}
    else:
        part = {"type": "output_text", "text": say.text or "", "annotations": [], "logprobs": []}
    if say.refusal or (say.text is not None and (say.text or not say.calls)):
        yield {
            "type": "message",
            "id": f"msg_{number:04}",
            "status": "completed",
            "role": "assistant",
            "content": [part],
        }
    for index, call in enumerate(say.calls):
        ident = call.id or f"call_{number:04}_{index}"
        named = {"call_id": ident, "name": call.name, "arguments": call.text, "status": "completed"}
        yield {"type": "function_call", "id": f"fc_{number:04}_{index}", **named}


def _response(say: Say, request: Request, number: int, items: list[dict[str, Any]]) -> dict[str, Any]:
    into, out = tokens_of(say, request)
    why = _WHY.get(say.ending)
    return {
        "id": f"resp_{number:04}",
        "object": "response",
        "created_at": CREATED,
        "status": "incomplete" if why else "completed",
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "model": request.model,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": request.fields.get("tool_choice", "auto"),
        "tools": request.fields.get("tools", []),
        "usage": {
            "input_tokens": into,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": into + out,
        },
    }


def _numbered(say: Say, whole: dict[str, Any], items: list[dict[str, Any]]) -> Iterator[bytes]:
    for number, value in enumerate(_events(say, whole, items)):
        yield event({**value, "sequence_number": number}, value["type"])


def _events(say: Say, whole: dict[str, Any], items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    start = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": start}
    yield {"type": "response.in_progress", "response": start}
    for at, item in enumerate(items):
        spot = {"output_index": at, "item_id": item["id"]}
        if item["type"] == "function_call":
            yield {
                "type": "response.output_item.added",
                "output_index": at,
                "item": {**item, "arguments": "", "status": "in_progress"},
            }
            for piece in pieces_of(item["arguments"], say.piece):
                yield {"type": "response.function_call_arguments.delta", **spot, "delta": piece}
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **spot, **done}
        elif item["type"] == "message":
            yield {
                "type": "response.output_item.added",
                "output_index": at,
                "item": {**item, "content": [], "status": "in_progress"},
            }
            yield from _part_events(say, spot, item["content"][0])
        else:
            yield {"type": "response.output_item.added", "output_index": at, "item": {**item, "summary": []}}
            for piece in pieces_of(say.thinking, say.piece):
                yield {"type": "response.reasoning_summary_text.delta", **spot, "summary_index": 0, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _part_events(say: Say, spot: dict[str, Any], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    spot = {**spot, "content_index": 0}
    kind, word = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
    also: dict[str, Any] = {} if kind == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **spot, "part": {**part, word: ""}}
    for piece in pieces_of(part[word], say.piece):
        yield {"type": f"response.{kind}.delta", **spot, "delta": piece, **also}
    yield {"type": f"response.{kind}.done", **spot, word: part[word], **also}
    yield {"type": "response.content_part.done", **spot, "part": part}
