"""Google's generateContent and streamGenerateContent: turns a Say into a response or its stream."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from trueup.testing.protocols.shapes import (
    arguments_of,
    event,
    event_body,
    failure_headers,
    json_body,
    pieces_of,
    tokens_of,
)
from trueup.testing.script import Fail, Say
from trueup.testing.wire import Request, Response

FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "tool": "STOP", "filter": "SAFETY", "refusal": "SAFETY"}
STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
}


class Gemini:
    """The generateContent protocol. Streams are server-sent events, or a JSON array without `alt=sse`."""

    def reply(self, say: Say, request: Request, number: int) -> Response:
        """One response, or a stream of them."""
        into, out = tokens_of(say, request)
        usage = {"promptTokenCount": into, "candidatesTokenCount": out, "totalTokenCount": into + out}
        head = {"usageMetadata": usage, "modelVersion": request.model, "responseId": f"resp-{number:04}"}
        if not request.streams:
            return json_body({"candidates": [_candidate(list(_parts(say, None)), say)], **head}, headers=say.headers)
        parts = list(_parts(say, say.piece)) or [{"text": ""}]
        values = [
            {"candidates": [_candidate([part], say if at == len(parts) - 1 else None)], **head}
            for at, part in enumerate(parts)
        ]
        if request.query.get("alt") == "sse":
            return event_body((event(value) for value in values), say.headers)
        return json_body(values, headers=say.headers)

    def failure(self, fail: Fail, number: int) -> Response:  # noqa: ARG002 - the same for every protocol
        """Google's error object. It requests a wait in its details, not in a header."""
        unsaid = replace(fail, retry_after=None) if isinstance(fail.retry_after, float | int) else fail
        return json_body(_error(fail), fail.status, failure_headers(unsaid))

    def error_event(self, fail: Fail) -> bytes:
        """An error instead of a response."""
        return event(_error(fail))


def _error(fail: Fail) -> dict[str, Any]:
    word = fail.code or STATUS.get(fail.status, "UNAVAILABLE" if fail.status == 503 else "INTERNAL")
    error: dict[str, Any] = {"code": fail.status, "message": fail.message, "status": word}
    if isinstance(fail.retry_after, float | int):
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        error["details"] = [{"@type": kind, "retryDelay": f"{fail.retry_after}s"}]
    return {"error": error}


def _candidate(parts: list[dict[str, Any]], say: Say | None) -> dict[str, Any]:
    value: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if say is not None:
        value["finishReason"] = FINISH[say.ending]
    return value


def _parts(say: Say, piece: int | None) -> Iterator[dict[str, Any]]:
    text = say.text or say.refusal
    for thought in pieces_of(say.thinking, piece or len(say.thinking)):
        yield {"text": thought, "thought": True}
    for words in pieces_of(text, piece or len(text)):
        yield {"text": words}
    for index, call in enumerate(say.calls):
        signed = (
            {"thoughtSignature": "c2NyaXB0ZWQ="} if say.thinking and index == 0 else {}
        )  # one signature for all calls
        yield {"functionCall": {"name": call.name, "args": arguments_of(call)}, **signed}
