"""One request to a model, whoever the provider is, and what may come back in place of a reply.

The loop makes a `Request`; a client turns it into a call and gives the provider's raw reply, or raises. What a client raises
is put into the plan's words by `failure_of`; an exception that is nobody's failure is the caller's own and is left alone.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from trueup.ask.plan import FailureKind
from trueup.ask.policy import Mode
from trueup.read.reader import read
from trueup.verdict.bugs import bug_of
from trueup.verdict.facts import Finding
from trueup.verdict.tool import Tool

_TRANSPORT = frozenset(
    "APIConnectionError APITimeoutError TransportError TimeoutException ConnectTimeout ConnectionTimeout ReadTimeout"
    " RequestException ServerDisconnectedError ClientConnectionError ClientPayloadError ServiceUnavailableError Timeout".split()
)
_MODE = re.compile(
    r"response_?format|json_?schema|json_?object|structured|output_config|output_format|grammar|schema", re.IGNORECASE
)
_REFUSING = frozenset({400, 404, 415, 422, 501})


class Request(msgspec.Struct, frozen=True):
    """What to send: messages, the model, how it is held to the schema, tools, and numbers; `parameters` win over all."""

    messages: list[Any]
    model: str = ""
    mode: Mode = "text"
    schema: dict[str, Any] | None = None
    name: str = "reply"
    tools: tuple[Tool, ...] = ()
    must_call: bool = False  # one of the tools is to be called, whatever else is said
    call_tools: bool = True  # False: tools are named, for the history's sake, but may not be called
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    parameters: Mapping[str, Any] = {}


class Failure(msgspec.Struct, frozen=True):
    """Why there is no reply: what the provider or the line said, its status, and when to come again."""

    reason: str
    kind: FailureKind = "transient"
    status: int | None = None
    retry_after: float | None = None
    code: str = ""


class TransportFailure(Exception):
    """Raised by a client of the house that got no reply; `page` is what the server sent in place of one."""

    def __init__(self, failure: Failure, page: str = "") -> None:
        super().__init__(failure.reason)
        self.failure = failure
        self.page = page


def failure_of(error: BaseException, mode: Mode = "text") -> Failure | None:
    """An exception as a failure, None where it is no failure of a call but a fault of the program.

    >>> failure_of(TimeoutError("late")).kind, failure_of(KeyError("x"))
    ('transient', None)
    """
    if isinstance(error, TransportFailure):
        return error.failure
    if bug_of(error) is not None:  # a check that cannot reach a service of its own
        return None
    if isinstance(error, TimeoutError):
        return Failure(str(error) or "the call took too long", code="timeout")
    names = {kind.__name__ for kind in type(error).__mro__}
    status = _status(error)
    if status is not None and status >= 400:
        return failure_in(read(_body(error), status).findings[0], mode, _asked_wait(error))
    if status is not None and status >= 300:
        return Failure(f"the server answered with a redirect ({status})", "fatal", status)
    if "APIError" in names:
        return _in_stream(error, mode)
    if isinstance(error, ConnectionError) or not names.isdisjoint(_TRANSPORT):
        return Failure(str(error) or type(error).__name__, code=type(error).__name__)
    return None


def _status(error: BaseException) -> int | None:
    """The HTTP status that an exception carries, as SDKs and the common HTTP libraries do."""
    response = getattr(error, "response", None)
    met = response.get("ResponseMetadata") if isinstance(response, dict) else None  # AWS
    found = [
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        met.get("HTTPStatusCode") if isinstance(met, dict) else None,
    ]
    if type(error).__module__.partition(".")[0] not in {"builtins", "__main__"}:
        found += [getattr(error, "status", None), getattr(error, "code", None)]
    return next((status for status in found if type(status) is int and 100 <= status < 600), None)


def _body(error: BaseException) -> Any:
    """What the provider said with it: the body that the SDK kept, or that of the response; else the exception's own words."""
    body = getattr(error, "body", None)
    response = getattr(error, "response", None)
    if not body and isinstance(response, dict):
        body = {"error": response.get("Error")} if response.get("Error") else None
    elif not body and response is not None:
        try:
            body = response.text
        except Exception:  # noqa: BLE001 - a stream that was not read, a mock, anything: its words are not needed
            body = None
    return body if isinstance(body, str | dict) and body else str(error)


def _in_stream(error: BaseException, mode: Mode) -> Failure:
    """An error that an SDK met in a reply under way: what it says decides, and what says nothing may pass."""
    body = getattr(error, "body", None)
    findings = read(body).findings if isinstance(body, dict) else ()
    if not findings or findings[0].code != "R002":
        return Failure(str(error) or type(error).__name__, code=type(error).__name__)
    failure = failure_in(findings[0], mode)
    return msgspec.structs.replace(failure, kind="transient") if failure.kind == "fatal" else failure


def _asked_wait(error: BaseException) -> float | None:
    """The wait that the headers of a failed call ask for, wherever an SDK or a wrapper of one keeps them."""
    holders = (error, error.__cause__, error.__context__)
    for holder in (holder for holder in holders if holder is not None):
        for headers in (
            getattr(getattr(holder, "response", None), "headers", None),
            getattr(holder, "litellm_response_headers", None),
            getattr(holder, "headers", None),
        ):
            found = retry_after(headers)
            if found is not None:
                return found
    return None


def failure_in(found: Finding, mode: Mode = "text", after: float | None = None) -> Failure:
    """A finding R002, an error that came in place of a reply, as a failure."""
    data = found.data
    status, code, said = data.get("status"), str(data.get("code") or ""), str(data.get("message") or "")
    return Failure(
        said or found.message, _kind(status, code, said, bool(data.get("retryable")), mode), status, after, code
    )


def _kind(status: int | None, code: str, said: str, retryable: bool, mode: Mode) -> FailureKind:
    if code == "insufficient_quota":
        return "fatal"
    if status == 429 or (status is None and "rate_limit" in code):
        return "rate"
    if status in _REFUSING or (status is None and not retryable):
        if "temperature" in said or "temperature" in code:
            return "temperature"
        if "tool_choice" in said or "tool_choice" in code or "tool choice" in said:
            return "choice"
        if mode != "text" and (not said or _MODE.search(f"{code} {said}")):
            return "mode"
    return "transient" if retryable else "fatal"


def retry_after(headers: Any, now: datetime | None = None) -> float | None:
    """The seconds that a provider asks to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date.

    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after-ms": "500"}), retry_after({})
    (2.0, 0.5, None)
    """
    get = getattr(headers, "get", None)
    if get is None:
        return None
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0), ("Retry-After", 1.0)):
        said = get(name)
        if not isinstance(said, str) or not said.strip():
            continue
        try:
            seconds = float(said) / unit
        except ValueError:
            seconds = _until(said, now or datetime.now(UTC))
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _until(date: str, now: datetime) -> float:
    try:
        when = parsedate_to_datetime(date)
    except ValueError:
        return -1.0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())
