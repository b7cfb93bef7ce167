"""Reading: the result of reading one source, and the findings about the reading itself (R001 to R004).

A source that is not a reply gives an empty Reply with `finish` "error" and a finding that says why; whatever could be read is
kept. A provider's messages are quoted with anything that looks like a key masked.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from trueup.read.objects import Row, record, word
from trueup.read.waits import wait_in
from trueup.verdict.facts import Finding, finding
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Finish, Reply
from trueup.verdict.secrets import masked

_SHOWN_KEYS = 8
_PARSED = "If this is parsed data, use check_value(…)."
# Keys that identify messages and responses; one alone may be a field of the user's own.
_LABELS = ({"role", "content"}, {"role", "parts"}, {"object", "id"}, {"object", "data"})
_SHOWN = 500
_TRANSIENT = lazy_regex(
    r"overloaded|rate_?limit|timeout|timed_out|unavailable|server_?error|internal|throttl|expired|cancell?ed"
    r"|resource_exhausted|deadline|too_many_requests|api_error|bad_gateway|model_not_ready|aborted|tool_use_failed"
    r"|is_(?:currently_)?loading|connection|connect_?error|disconnected|remote_?protocol|stream_?error",
    re.IGNORECASE,
)
_LASTING = lazy_regex(r"insufficient_quota|invalid|authentication|permission|not_found|billing", re.IGNORECASE)
# gRPC's numbers, which Gemini's batch lines have where others have an HTTP status
_GRPC = {1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 13: 500}
_GRPC |= {14: 503, 15: 500, 16: 401}


class Reading(NamedTuple):
    """A reply and what was wrong with its transport; `key` is the id of its batch line."""

    reply: Reply
    findings: tuple[Finding, ...] = ()
    key: str = ""


class ProviderFailure(NamedTuple):
    """A provider's error instead of a reply, or in the middle of one."""

    message: str
    code: str = ""
    status: int | None = None
    failed_generation: str = ""
    retry_after: float | None = None  # seconds that it asks to wait

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        if self.code == "tool_use_failed":
            return True
        if self.status is not None:
            return self.status in {408, 409, 425, 429, 499} or self.status >= 500
        if _LASTING.search(self.code):
            return False
        return bool(_TRANSIENT.search(self.code or self.message.replace(" ", "_")))


def unknown(source: Any, body: Row | None = None, key: str = "", hint: str = "") -> Reading:
    """A source of an unknown shape; if it looks like parsed data, the finding says how to judge that."""
    kind = type(source).__name__
    data: Row = {"type": kind}
    message = f"No provider's reply has the shape of this {kind}"
    if body is not None:
        data["keys"] = [str(name)[:40] for name in list(body)[:_SHOWN_KEYS]]
        if data["keys"]:
            message += f" (keys: {', '.join(data['keys'])})"
    labelled = body is not None and any(label <= body.keys() for label in _LABELS)
    if not hint and not labelled and _is_data(source):
        message += "; it looks like parsed data"
        hint = f"{_PARSED} Otherwise pass the provider's whole response, or its text."
    found = finding("R001", "$", message, None, data, hint or "Pass the provider's whole response, or its text.")
    return Reading(Reply(finish="error", raw=source, turns=()), (found,), key)


def _is_data(source: Any) -> bool:
    """Whether a source is a JSON value, or an instance of a type that contracts can be made of."""
    typed = any(hasattr(type(source), name) for name in ("model_fields", "__struct_fields__", "__dataclass_fields__"))
    return typed or isinstance(source, Mapping | list | tuple | int | float)


def failed(
    failure: ProviderFailure, reply: Reply | None = None, raw: Any = None, key: str = "", *, unsure: bool = False
) -> Reading:
    """A transport failure, with as much of a reply as had arrived; if `unsure`, it may also be parsed data."""
    finish: Finish = "filter" if failure.code == "content_filter" else "error"
    if reply is None:
        reply = Reply(finish=finish, raw=raw, turns=())
    elif reply.finish != finish:
        reply = msgspec.structs.replace(reply, finish=finish)
    said, code = masked(failure.message[: 8 * _SHOWN])[:_SHOWN], masked(failure.code)
    data: Row = {
        "status": failure.status,
        "code": code,
        "message": said,
        "retryable": failure.retryable,
    }
    if failure.failed_generation:
        data["failed_generation"] = masked(failure.failed_generation)
    if failure.retry_after is not None:
        data["retry_after"] = failure.retry_after
    label = " ".join(str(part) for part in (failure.status, code) if part)
    message = f"The provider failed{f' ({label})' if label else ''}: {said or 'it did not say why'}"
    hints = ["Send the same request again later."] if failure.retryable else []
    if unsure and _is_data(raw):
        hints.append(_PARSED)
    found = finding("R002", "$", message, None, data, " ".join(hints))
    return Reading(reply, (found,), key)


def cut(reading: Reading, broken: int = 0) -> Reading:
    """The reading of a stream that ended early, or lost an event on the way."""
    if broken:
        message = f"The stream contains {broken} event{'s' * (broken > 1)} that cannot be read"
    else:
        message = "The reply ends before the provider said that it was complete"
    found = finding("R003", "$", message, None, {"broken_events": broken}, "Ask again: part of the reply is missing.")
    return reading._replace(findings=(*reading.findings, found))


def silent(raw: Any, key: str = "", provider: str = "") -> Reading:
    """A conversation or a response in which the model has not answered."""
    message = "There is no message of the model to judge"
    found = finding("R004", "$", message, None, {}, "Pass the messages with the model's answer at the end.")
    return Reading(Reply(finish="error", raw=raw, provider=provider, turns=()), (found,), key)


def failure_of(error: Any, status: int | None = None) -> ProviderFailure:
    """Read an error object of any provider: a dict, a string, or one inside the other.

    >>> failure_of({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}})
    ProviderFailure(message='Busy', code='overloaded_error', status=None, failed_generation='', retry_after=None)
    """
    if isinstance(error, str):
        return ProviderFailure(error, "", status, "", wait_in({}, error))
    body = record(error)
    for _ in range(4):
        inner = body.get("error", body.get("Error"))
        if isinstance(inner, str) and inner:
            code = word(body.get("code") or body.get("error_type") or body.get("type"))
            status = status or _status(body)
            return ProviderFailure(inner, "" if code == "error" else code, status, "", wait_in(body, inner))
        if not isinstance(inner, dict) or not inner:
            break
        status = status or _status(body)
        body = inner
    get = body.get
    said = get("message") or get("errorMessage") or get("Message") or get("detail") or get("msg")
    said = said or get("errorText") or ""
    if not isinstance(said, str):
        said = str(said)[:_SHOWN]
    label = get("code", get("Code"))
    if not isinstance(label, str) or label.isdigit():
        label = get("status") if isinstance(get("status"), str) else get("type") or get("__type") or get("errorCode")
    code = word(label)
    generation = get("failed_generation")
    return ProviderFailure(
        said,
        "" if code == "error" or code.isdigit() else code,
        status or _status(body),
        generation if isinstance(generation, str) else "",
        wait_in(body, said),
    )


def _status(body: Row) -> int | None:
    """The HTTP status in an error body, if it has one."""
    held = record(body.get("ResponseMetadata")) or body
    for name in ("status_code", "statusCode", "status", "code", "errorCode", "HTTPStatusCode"):
        value = held.get(name)
        if isinstance(value, str) and value.isdigit() and len(value) < 5:
            value = int(value)
        if type(value) is int:
            if 100 <= value < 600:
                return value
            if name == "code" and value in _GRPC:
                return _GRPC[value]
    return None
