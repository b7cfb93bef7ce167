"""Ollama's /api/chat: turns a Say into a JSON object or lines of objects. Arguments are objects, and calls have no
ids.
"""

from collections.abc import Iterator
from typing import Any

from trueup.testing.encoding import dump
from trueup.testing.protocols.shapes import CREATED_TEXT, arguments_of, failure_headers, json_body, pieces_of, tokens_of
from trueup.testing.script import Fail, Say
from trueup.testing.wire import Request, Response

_ENDINGS = {"stop": "stop", "length": "length", "tool": "stop", "filter": "stop", "refusal": "stop"}


class Ollama:
    """Ollama's chat protocol."""

    def reply(self, say: Say, request: Request, number: int) -> Response:  # noqa: ARG002 - the same for every protocol
        """One object, or one object per piece."""
        into, out = tokens_of(say, request)
        head = {"model": request.model, "created_at": CREATED_TEXT}
        last = {
            "done": True, "done_reason": _ENDINGS[say.ending], "total_duration": 3_000_000, "load_duration": 1_000_000,
            "prompt_eval_count": into, "prompt_eval_duration": 1_000_000, "eval_count": out, "eval_duration": 1_000_000,
        }  # fmt: skip
        calls = [{"function": {"name": call.name, "arguments": arguments_of(call)}} for call in say.calls]
        if request.streams:
            lines = tuple(_line({**head, **part}) for part in _parts(say, calls, last))
            named = (("Content-Type", "application/x-ndjson"), *say.headers.items())
            return Response(200, named, lines, "chunked")
        message: dict[str, Any] = {"role": "assistant", "content": say.text or say.refusal}
        if say.thinking:
            message["thinking"] = say.thinking
        if calls:
            message["tool_calls"] = calls
        return json_body({**head, "message": message, **last}, headers=say.headers)

    def failure(self, fail: Fail, number: int) -> Response:  # noqa: ARG002 - as above
        """Ollama's error object."""
        return json_body({"error": fail.message}, fail.status, failure_headers(fail))

    def error_event(self, fail: Fail) -> bytes:
        """An error instead of a line."""
        return _line({"error": fail.message})


def _line(value: Any) -> bytes:
    return dump(value) + b"\n"


def _parts(say: Say, calls: list[dict[str, Any]], last: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for piece in pieces_of(say.thinking, say.piece):
        yield {"message": {"role": "assistant", "content": "", "thinking": piece}, "done": False}
    for piece in pieces_of(say.text or say.refusal, say.piece):
        yield {"message": {"role": "assistant", "content": piece}, "done": False}
    if calls:
        yield {"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False}
    yield {"message": {"role": "assistant", "content": ""}, **last}
