"""Errors that providers send instead of a reply, through every real client: a verdict or a retry, never an exception."""

import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, run, run_stream
from tests.ask.stage import GOOD, SCHEMA
from trueup import Contract, Policy
from trueup.ask.clients.request import failure_of, reply_in
from trueup.testing.script import Fail, Raw, Say
from trueup.testing.server import ScriptedServer

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
CONTRACT = Contract(SCHEMA)
every = pytest.mark.parametrize("kind", list(KINDS))
CHAT = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
ODD: dict[str, Any] = {
    "no choices": {**CHAT, "choices": []},
    "null choices": {**CHAT, "choices": None},
    "no message": {**CHAT, "choices": [{"index": 0, "message": None, "finish_reason": "stop"}]},
    "no choice": {**CHAT, "choices": [None]},
    "an error": {"error": {"message": "boom", "type": "server_error", "code": 500}},
    "an error beside choices": {**CHAT, "choices": None, "error": {"message": "boom", "code": 502}},
    "an error of Anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "an error of Google": {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
    "an empty object": {},
    "null": None,
    "an empty list": [],
    "a text": "x",
    "null content": {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": None, "usage": None},
    "null text": {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": None}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "no candidates": {"candidates": []},
    "null candidates": {"candidates": None},
}
BODIES = {name: Raw(json.dumps(body)) for name, body in ODD.items()}
BODIES["a page"] = Raw("<html><body><h1>Welcome</h1></body></html>", content_type="text/html")
BODIES["nothing"] = Raw(b"")
BODIES["half a body"] = Raw('{"choices": [{"mess')


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Pause the garbage collector: another test's client that is finalised deep inside a recursion cannot close itself, and warns."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.spec("A8")
@pytest.mark.usefixtures("uncollected")
@every
@pytest.mark.parametrize(
    "body",
    ['{"error": null}', '{"error": "boom"}', '{"error": {"message": null, "code": null}}', "NaN", '{"a":' + "[" * 2000],
    ids=["no error", "a text", "nothing said", "no object", "too deep"],
)
def test_no_body_makes_a_client_raise(kind: str, body: str) -> None:
    policy = Policy(models=("m",), retries=0, repairs=0)
    for ask in (run, run_stream):
        with ScriptedServer([Raw(body)]) as server:
            assert not ask(kind, server, CONTRACT, policy=policy).answer.ok  # type: ignore[operator]


@pytest.mark.spec("A8")
@every
@pytest.mark.parametrize("name", list(BODIES))
def test_a_response_that_is_not_a_reply_is_followed_by_another_call(kind: str, name: str) -> None:
    with ScriptedServer([BODIES[name], GOOD]) as server:
        answer = run(kind, server, CONTRACT).answer
    if answer.reason != "unreadable":  # a body of unknown shape: another one would have the same result
        assert (answer.ok, answer.repairs) == (True, 0)
        assert len(answer.attempts) == 2
    first = answer.attempts[0]
    assert first.failure is not None or not first.verdict.ok  # type: ignore[union-attr]


FILTERED = Say("", finish="filter")
REFUSED = Say("", finish="refusal", refusal="I cannot help with that.")
# Mistral and Ollama report neither, and only OpenAI and Anthropic report a refusal by the model.
REFUSING = [
    (kind, step)
    for kind in KINDS
    if not kind.startswith(("mistral", "ollama"))
    for step in ((FILTERED, REFUSED) if KINDS[kind].protocol in {"openai", "anthropic"} else (FILTERED,))
]


@pytest.mark.spec("A9")
@pytest.mark.parametrize(("kind", "step"), REFUSING)
def test_after_a_refusal_the_model_is_not_asked_again(kind: str, step: Say) -> None:
    with ScriptedServer([step, GOOD]) as server:
        answer = run(kind, server, CONTRACT).answer
    assert (answer.outcome, answer.reason, len(server.requests)) == ("failed", "refusal", 1)


@pytest.mark.parametrize("kind", ["anthropic", "anthropic-async", "langchain-anthropic"])
@pytest.mark.parametrize("blocks", [[], [{"type": "text", "text": "I would"}]])
def test_a_refusal_of_anthropic_without_words_or_amid_a_reply_is_a_refusal(kind: str, blocks: list[Any]) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    body = {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": "refusal",
    }
    for contract in (CONTRACT, Contract()):
        with ScriptedServer([Raw(json.dumps({**body, "usage": usage})), GOOD]) as server:
            answer = run(kind, server, contract).answer
        assert (answer.ok, answer.reason, len(server.requests)) == (False, "refusal", 1)


@pytest.mark.parametrize("kind", ["gemini", "gemini-async"])
@pytest.mark.parametrize(
    "body",
    [
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"promptFeedback": {"blockReason": "OTHER"}},
        {"candidates": [{"finishReason": "SAFETY", "index": 0}]},
        {"candidates": [{"finishReason": "PROHIBITED_CONTENT", "index": 0}]},
    ],
)
def test_a_prompt_that_gemini_blocks_is_a_refusal(kind: str, body: dict[str, Any]) -> None:
    with ScriptedServer([Raw(json.dumps(body)), GOOD]) as server:
        answer = run(kind, server, CONTRACT).answer
    assert (answer.reason, len(server.requests)) == ("refusal", 1)
    assert answer.verdict.errors[0].code == "P010"


@pytest.mark.parametrize("kind", ["bedrock", "bedrock-async"])
def test_a_guardrail_of_bedrock_is_a_refusal_though_it_says_something(kind: str) -> None:
    message = {"role": "assistant", "content": [{"text": "Sorry, I cannot answer that."}]}
    body = {
        "output": {"message": message},
        "stopReason": "guardrail_intervened",
        "usage": {},
        "metrics": {"latencyMs": 1},
    }
    with ScriptedServer([Raw(json.dumps(body)), GOOD]) as server:
        answer = run(kind, server, CONTRACT).answer
    assert (answer.reason, len(server.requests)) == ("refusal", 1)


AZURE = {
    "error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
    }
}


@pytest.mark.parametrize("kind", ["openai", "azure", "http", "langchain-openai", "pydantic-ai"])
def test_a_prompt_that_azure_filters_is_a_refusal(kind: str) -> None:
    with ScriptedServer([Raw(json.dumps(AZURE), status=400), GOOD]) as server:
        answer = run(kind, server, CONTRACT).answer
    assert (answer.reason, len(server.requests)) == ("refusal", 1)


@pytest.mark.parametrize("kind", ["langchain-openai", "langchain-openai-async"])
def test_a_reply_that_langchain_refuses_to_parse_is_judged(kind: str) -> None:
    with ScriptedServer([Say('{"name": "Ada", "age"', finish="length"), GOOD]) as server:
        answer = run(kind, server, CONTRACT, policy=Policy(models=("m",), max_tokens=50)).answer
    assert (answer.outcome, answer.repairs) == ("repaired", 1)
    first = answer.attempts[0].verdict
    assert first is not None
    assert first.reply.finish == "length"


def test_the_reply_in_an_exception_is_found() -> None:
    from openai import ContentFilterFinishReasonError, LengthFinishReasonError
    from openai.types.chat import ChatCompletion

    choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "{"}}
    completion = ChatCompletion.model_validate({**CHAT, "choices": [choice]})
    assert reply_in(LengthFinishReasonError(completion=completion)) is completion
    assert reply_in(ContentFilterFinishReasonError()) is None
    failure = failure_of(ContentFilterFinishReasonError())
    assert failure is not None
    assert failure.kind == "refusal"
    assert reply_in(ValueError("x")) is None


# Exceptions of every SDK, made in the same way as in the SDK.


def _mistral(status: int, body: str, headers: dict[str, str] | None = None) -> Exception:
    import httpx
    from mistralai.client.errors import SDKError

    return SDKError("API error occurred", httpx.Response(status, headers=headers, text=body), body)


def _cohere(status: int, body: Any) -> Exception:
    from cohere.core.api_error import ApiError

    return ApiError(status_code=status, body=body, headers={"retry-after": "7"})


def _boto(code: str, status: int | None = None, operation: str = "Converse") -> Exception:
    from botocore.exceptions import ClientError

    met: dict[str, Any] = {"ResponseMetadata": {"HTTPStatusCode": status}} if status else {}
    return ClientError({"Error": {"Code": code, "Message": "no"}, **met}, operation)  # type: ignore[arg-type]


def _boto_stream(code: str) -> Exception:
    from botocore.exceptions import EventStreamError

    return EventStreamError({"Error": {"Code": code, "Message": "no"}}, "ConverseStream")  # type: ignore[arg-type]


def _gemini(code: int, body: Any) -> Exception:
    from google.genai.errors import ClientError

    return ClientError(code, body)


def _pydantic_ai(name: str, *given: Any) -> Exception:
    from pydantic_ai import exceptions

    error: Exception = getattr(exceptions, name)(*given)
    return error


def _litellm(name: str) -> Exception:
    from litellm import exceptions

    error: Exception = getattr(exceptions, name)(message="no", model="m", llm_provider="openai")
    return error


def _ollama(said: str, status: int = -1) -> Exception:
    from ollama import ResponseError

    return ResponseError(said, status)


def _botocore(name: str, **given: Any) -> Exception:
    from botocore import exceptions

    error: Exception = getattr(exceptions, name)(**given)
    return error


def _group(*errors: Exception) -> Exception:
    return ExceptionGroup("all models failed", errors)


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
QUOTA = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": [RETRY],
    }
}
RAISED: list[tuple[Any, str | None]] = [
    (lambda: _mistral(429, '{"message": "Requests rate limit exceeded"}'), "rate"),
    (lambda: _mistral(500, "oops"), "transient"),
    (lambda: _mistral(401, '{"detail": "Unauthorized"}'), "fatal"),
    (lambda: _mistral(200, "<html>"), "transient"),
    (lambda: _cohere(429, {"message": "slow down"}), "rate"),
    (lambda: _cohere(503, None), "transient"),
    (lambda: _cohere(200, "<html>"), "transient"),
    (lambda: _cohere(422, {"message": "no"}), "fatal"),
    (lambda: _ollama("model is loading", 503), "transient"),
    (lambda: _ollama("an error was encountered while running the model"), "transient"),
    (lambda: _ollama("model 'm' not found", 404), "fatal"),
    (lambda: _boto("ThrottlingException", 429), "rate"),
    (lambda: _boto("ThrottlingException", 400), "rate"),
    (lambda: _boto("ServiceUnavailableException", 503), "transient"),
    (lambda: _boto("ModelTimeoutException", 408), "transient"),
    (lambda: _boto("AccessDeniedException", 403), "fatal"),
    (lambda: _boto_stream("throttlingException"), "rate"),
    (lambda: _boto_stream("modelStreamErrorException"), "transient"),
    (lambda: _botocore("EndpointConnectionError", endpoint_url="http://x"), "transient"),
    (lambda: _botocore("ReadTimeoutError", endpoint_url="http://x"), "transient"),
    (lambda: _botocore("ConnectionClosedError", endpoint_url="http://x"), "transient"),
    (lambda: _botocore("NoCredentialsError"), None),
    (lambda: _botocore("ParamValidationError", report="x"), None),
    (lambda: _gemini(429, QUOTA), "rate"),
    (lambda: _gemini(503, {"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}), "transient"),
    (lambda: _gemini(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "bad"}}), "fatal"),
    (lambda: _pydantic_ai("ModelHTTPError", 429, "m", {"message": "slow"}), "rate"),
    (lambda: _pydantic_ai("ModelHTTPError", 500, "m", None), "transient"),
    (lambda: _pydantic_ai("ModelAPIError", "m", "Connection error."), "transient"),
    (lambda: _pydantic_ai("UnexpectedModelBehavior", "Invalid response"), "transient"),
    (lambda: _pydantic_ai("ContentFilterError", "Content filter triggered"), "refusal"),
    (lambda: _pydantic_ai("UserError", "bad settings"), None),
    (lambda: _group(_pydantic_ai("ModelHTTPError", 500, "a"), _pydantic_ai("ModelHTTPError", 429, "b")), "rate"),
    (lambda: _group(_pydantic_ai("ModelHTTPError", 500, "a"), KeyError("x")), None),
    (lambda: _litellm("RateLimitError"), "rate"),
    (lambda: _litellm("Timeout"), "transient"),
    (lambda: _litellm("APIConnectionError"), "transient"),
    (lambda: _litellm("ServiceUnavailableError"), "transient"),
    (lambda: _litellm("AuthenticationError"), "fatal"),
    (lambda: _litellm("ContentPolicyViolationError"), "refusal"),
    (lambda: _litellm("ContextWindowExceededError"), "fatal"),
    (lambda: ConnectionRefusedError("no"), "transient"),
    (lambda: KeyError("x"), None),
    (lambda: ValueError({"message": "mine"}), None),
]


@pytest.mark.spec("A8")
@pytest.mark.parametrize(("make", "kind"), RAISED)
def test_exceptions_of_sdks_become_failures(make: Any, kind: str | None) -> None:
    error = make()
    failure = failure_of(error)
    assert (failure and failure.kind) == kind, repr(error)


@pytest.mark.spec("A8")
def test_the_wait_that_google_asks_for_is_read() -> None:
    failure = failure_of(_gemini(429, QUOTA))
    assert failure is not None
    assert failure.retry_after == 37.0
    assert failure_of(_cohere(429, {"message": "slow"})).retry_after == 7.0  # type: ignore[union-attr]
    assert failure_of(_mistral(429, "{}", {"retry-after": "9"})).retry_after == 9.0  # type: ignore[union-attr]


@pytest.mark.spec("A8")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("ollama")])  # its SDK keeps no headers
def test_the_wait_that_a_provider_asks_for_is_respected(kind: str) -> None:
    with ScriptedServer([Fail(429, "slow down", retry_after=3), GOOD]) as server:
        asked = run(kind, server, CONTRACT)
    assert asked.answer.outcome == "accepted"
    assert 3.0 <= asked.clock.waits[0] < 4.1


def test_unsent_calls_are_recognized() -> None:
    import httpx

    outer = type("APIConnectionError", (RuntimeError,), {})("Connection error.")
    outer.__cause__ = httpx.ConnectError("refused")
    for error, unsent in ((outer, True), (httpx.ConnectError("x"), True), (httpx.ReadError("x"), False)):
        failure = failure_of(error)
        assert failure is not None
        assert failure.unsent is unsent


class _Bad:
    """A body that an SDK cannot read, in a module with the SDK's name."""

    @staticmethod
    def raised(package: str, function: str, error: str = "KeyError('x')") -> BaseException:
        space: dict[str, Any] = {"__name__": f"{package}.models"}
        exec(f"def {function}():\n    raise {error}\n", space)
        try:
            space[function]()
        except Exception as found:  # noqa: BLE001 - it is looked at
            return found
        raise AssertionError


@pytest.mark.parametrize(
    ("package", "function", "kind"),
    [
        ("langchain_openai", "_create_chat_result", "transient"),
        ("openai", "parse_chat_completion", "transient"),
        ("langchain_openai", "_convert_message_to_dict", None),
        ("openai", "required_args", None),
        ("mine", "parse_response", None),
    ],
)
def test_an_sdks_error_about_a_reply_is_not_a_bug(package: str, function: str, kind: str | None) -> None:
    failure = failure_of(_Bad.raised(package, function))
    assert (failure and failure.kind) == kind


def test_bytes_that_are_not_http_are_not_a_rejection() -> None:
    """aiohttp's errors about such bytes have the status 400."""
    from aiohttp.http_exceptions import LineTooLong, TransferEncodingError

    for error in (LineTooLong(b"x" * 100, 10), TransferEncodingError("zz")):
        failure = failure_of(error)
        assert failure is not None
        assert (failure.kind, failure.status) == ("transient", None)
