"""Exceptions of SDKs and HTTP libraries: what each means for the plan, and the reply that it may contain.

Takes an exception; returns a failure, or None if it is a bug in the caller's code. No SDK is imported: exceptions are recognized
by the names of their classes, by their status, body and headers, and by where in an SDK they were raised.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from trueup.ask.clients.request import CallFailure, failure_in
from trueup.ask.loop.plan import FailureKind
from trueup.ask.policy import Mode
from trueup.ask.retries.waits import retry_after
from trueup.read.reader import read
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.secrets import masked

_TRANSPORT = frozenset(
    "APIConnectionError APITimeoutError TransportError TimeoutException ConnectTimeout ConnectionTimeout ReadTimeout"
    " RequestException ServerDisconnectedError ClientConnectionError ClientPayloadError ServiceUnavailableError Timeout"
    " RequestError ClientResponseError NetworkError ProtocolError URLError gaierror IncompleteRead BadStatusLine NoResponseError"
    " EndpointConnectionError HTTPClientError ConnectTimeoutError ReadTimeoutError IncompleteReadError ResponseStreamingError"
    " ModelConnectionError ModelTimeoutError ModelAPIError RetryableError HttpProcessingError".split()
)
_REFUSED = frozenset(
    "ContentFilterFinishReasonError ContentPolicyViolationError OpenAIRefusalError ContentFilterError"
    " GuardrailRaisedException".split()
)
_UNREAD = frozenset(
    "APIResponseValidationError ResponseValidationError UnexpectedModelBehavior IncompleteToolCall ResponseParserError"
    " UnknownApiResponseError ParsingError JSONSchemaValidationError StreamError ParserError".split()
)
_CARRYING = frozenset({"LengthFinishReasonError"})  # they contain the completion that the SDK did not parse
_SDKS = frozenset(
    "openai anthropic google mistralai cohere ollama botocore boto3 pydantic_ai langchain_openai langchain_anthropic"
    " langchain_core litellm".split()
)
# Frames of these packages are skipped: the search is for their caller, which had what the provider sent.
_BELOW = frozenset(
    "httpx httpcore httpx2 httpcore2 urllib3 requests aiohttp h11 anyio pydantic json pydantic_core jiter email codecs encodings".split()
)
# Functions of SDKs that read what a provider sent; an exception from one of them is about the provider's data.
_READING = lazy_regex(
    r"(?i)pars|respon|result|output|chunk|delta|event|construct_type|unmarshal|decod|snapshot|dict_to_message|^_?a?(?:request|iter\w*|stream)$"
    r"|_handle_|^inner$|request_streamed$|^async_generator$|^raise_error|_from_(?:mldev|vertex)$"
)
_HELPING = frozenset({"get_value_by_path", "set_text"})  # functions of SDKs that are used for both requests and replies
# Built-in exceptions that an SDK raises if it cannot read a reply; pydantic's errors are ValueErrors.
_PLAIN = (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, RecursionError)
_UNSENT = frozenset(
    "ConnectError ConnectTimeout ConnectTimeoutError ConnectionRefusedError EndpointConnectionError NewConnectionError gaierror"
    " ClientConnectorError ProxyConnectionError".split()
)  # raised before a connection was made
_SHOWN = 300
_READ = 20_000  # characters of an exception's message that are read; some messages repeat the whole body


def carried_reply(error: BaseException) -> Any:
    """The reply that an exception contains, in the provider's shape; None if there is no reply to judge."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if not names.isdisjoint(_CARRYING):
        return getattr(error, "completion", None)
    if names.isdisjoint(_UNREAD):
        return None
    body = _json(getattr(error, "body", None))
    if not isinstance(body, dict):
        return None
    return body if all(found.code != "R001" for found in read(body).findings) else None


def failure_in_exception(error: BaseException, mode: Mode = "text") -> CallFailure | None:
    """An exception as a failure; None if it is not the failure of a call."""
    if isinstance(error, TimeoutError):
        return CallFailure(masked(str(error)) or "the call took too long", code="timeout")
    if isinstance(error, BaseExceptionGroup):  # several models were asked, and each failed
        found = [failure_in_exception(inner, mode) for inner in error.exceptions]
        return found[-1] if found and all(found) else None
    names = {kind.__name__ for kind in type(error).__mro__}
    if not names.isdisjoint(_REFUSED):
        return CallFailure(_said(error), "refusal", _status(error), code="content_filter")
    status = _status(error)
    if status is not None and status >= 400:
        return failure_in(read(_body(error), status).findings[0], mode, _asked_wait(error))
    if status is not None and status >= 300:
        return CallFailure(f"the server answered with a redirect ({status})", "fatal", status)
    return _without_status(error, names, mode)


def _without_status(error: BaseException, names: set[str], mode: Mode) -> CallFailure | None:
    """An exception that was not caused by an HTTP error."""
    said = _said_inside(error, names)
    if said is not None:
        return _told(error, said, mode)
    if not names.isdisjoint(_UNREAD) or _home(error) in {"mistralai", "cohere"}:
        return CallFailure(f"the SDK could not read the reply: {_said(error)}"[:_SHOWN], code="cut")
    if "TooManyRedirects" in names:
        return CallFailure("the server answered with too many redirects", "fatal")
    if isinstance(error, ConnectionError) or not names.isdisjoint(_TRANSPORT):
        return CallFailure(_said(error), code=type(error).__name__, unsent=_is_unsent(error))
    if "APIError" in names:
        return _told(error, getattr(error, "body", None), mode)
    if isinstance(error, _PLAIN) and _stumbled(error):
        return CallFailure(
            f"the SDK could not read the reply: {type(error).__name__}: {_said(error)}"[:_SHOWN], code="cut"
        )
    return None


def _said_inside(error: BaseException, names: set[str]) -> dict[str, Any] | None:
    """The error object that an exception was made from: AWS's in a stream, Ollama's, or the one in a response with status 200 in LangChain."""
    response = getattr(error, "response", None)
    if isinstance(response, dict) and response.get("Error"):
        return {"Error": response["Error"], "ResponseMetadata": {}}
    if "ResponseError" in names and _home(error) == "ollama":
        return {"error": str(getattr(error, "error", "") or error)}
    first = error.args[0] if error.args else None
    if isinstance(error, ValueError) and isinstance(first, dict) and "message" in first and _stumbled(error):
        return {"error": first}
    return None


def _told(error: BaseException, body: Any, mode: Mode) -> CallFailure:
    """An error without a status. Its message decides; without a message, it may be temporary."""
    findings = read(body).findings if isinstance(body, dict) else ()
    if not findings or findings[0].code != "R002":
        return CallFailure(_said(error), code=type(error).__name__)
    failure = failure_in(findings[0], mode, _asked_wait(error))
    kind: FailureKind = "transient" if failure.kind == "fatal" and failure.status is None else failure.kind
    return msgspec.structs.replace(failure, kind=kind)


def _is_unsent(error: BaseException) -> bool:
    """Whether a call failed before a connection was made, according to the exception or its cause."""
    here: BaseException | None = error
    for _ in range(6):
        if here is None:
            return False
        if any(kind.__name__ in _UNSENT for kind in type(here).__mro__):
            return True
        here = here.__cause__ or here.__context__
    return False


def _home(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _said(error: BaseException) -> str:
    return masked(str(error)[:_READ]) or type(error).__name__


def _status(error: BaseException) -> int | None:
    """The HTTP status of an exception, from the attributes that SDKs and the common HTTP libraries use."""
    response = getattr(error, "response", None)
    met = response.get("ResponseMetadata") if isinstance(response, dict) else None  # AWS
    found = [
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        met.get("HTTPStatusCode") if isinstance(met, dict) else None,
    ]
    if any(kind.__name__ == "HttpProcessingError" for held in (error, error.__cause__) for kind in type(held).__mro__):
        return None  # aiohttp reports bytes that are not HTTP with status 400
    if _home(error) not in {"builtins", "__main__"}:
        found += [getattr(error, name, None) for name in _held(error)]
    numbers = (int(status) for status in found if isinstance(status, int) and not isinstance(status, bool))
    return next((status for status in numbers if 100 <= status < 600), None)


def _held(error: BaseException) -> list[str]:
    """The numbers in an exception; `code` is left out if it only repeats `status` (and in aiohttp causes a warning)."""
    return ["status"] if isinstance(getattr(error, "status", None), int) else ["status", "code"]


def _body(error: BaseException) -> Any:
    """The provider's error: the body that the SDK kept, or the response's body; otherwise the exception's message."""
    body = getattr(error, "body", None) or getattr(error, "details", None)
    response = getattr(error, "response", None)
    if not body and isinstance(response, dict):
        body = {"error": response.get("Error")} if response.get("Error") else None
    elif not body and response is not None:
        try:
            body = response.text
        except Exception:  # noqa: BLE001 - a stream that was not read, a mock, anything: its words are not needed
            body = None
    return body if isinstance(body, str | dict) and body else str(error)


def _asked_wait(error: BaseException) -> float | None:
    """The wait that the headers of a failed call ask for, from any place in which an SDK or its wrapper keeps them."""
    holders = (error, error.__cause__, error.__context__)
    for holder in (holder for holder in holders if holder is not None):
        response = getattr(holder, "response", None) or getattr(holder, "raw_response", None)
        met = response.get("ResponseMetadata") if isinstance(response, dict) else None
        for headers in (
            met.get("HTTPHeaders") if isinstance(met, dict) else None,
            getattr(response, "headers", None),
            getattr(holder, "litellm_response_headers", None),
            getattr(holder, "headers", None),
        ):
            found = retry_after(headers)
            if found is not None:
                return found
    return None


def _stumbled(error: BaseException) -> bool:
    """Whether an SDK raised it while reading what a provider sent, and not the caller's own code."""
    for package, function in reversed(list(_frames(error))):
        if package in _BELOW or function in _HELPING or function.startswith("__"):  # look for its caller
            continue
        if package not in _SDKS:
            return False
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):  # about the provider's data
            return True
        known = package == "langchain_core" and isinstance(error, IndexError) and function in {"invoke", "ainvoke"}
        return known or _READING.search(function) is not None
    return False


def _frames(error: BaseException) -> Iterator[tuple[str, str]]:
    """The package and the function of each frame, outermost first."""
    here = error.__traceback__
    while here is not None:
        name = here.tb_frame.f_globals.get("__name__") or ""
        yield str(name).partition(".")[0], here.tb_frame.f_code.co_name
        here = here.tb_next


def _json(body: Any) -> Any:
    if not isinstance(body, str | bytes):
        return body
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
