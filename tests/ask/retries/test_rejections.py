"""The providers' original messages for rejections, and how long they ask to wait."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, run
from tests.ask.stage import GOOD, SCHEMA
from trueup import Contract, Policy
from trueup.ask.clients.request import failure_in
from trueup.ask.memory import Memory
from trueup.ask.retries.rejections import kind_of
from trueup.ask.retries.waits import retry_after
from trueup.read.reader import read
from trueup.read.waits import wait_in
from trueup.testing.script import Raw
from trueup.testing.server import ScriptedServer


def openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def anthropic(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def google(message: str, status: str = "INVALID_ARGUMENT", code: int = 400) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status}}


MAX = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
HEAT = "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported."
SAID: list[tuple[int, Any, str, str, str]] = [
    # status, body, mode, kind, feature
    (400, openai(MAX, "max_tokens", "unsupported_parameter"), "json_schema", "feature", "max_tokens"),
    (400, openai(HEAT, "temperature", "unsupported_value"), "json_schema", "feature", "temperature"),
    (400, openai("Unsupported parameter: 'parallel_tool_calls' is not supported with this model."), "text", "feature", "parallel"),
    (400, openai("Unrecognized request argument supplied: stream_options"), "text", "feature", "stream_options"),
    (400, openai("Invalid 'tool_choice': required is not supported"), "text", "feature", "tool_choice"),
    (
        400,
        openai("Invalid schema for response_format 'reply': In context=(), 'additionalProperties' is required"),
        "json_schema",
        "feature",
        "strict",
    ),
    (400, openai("Invalid schema for function 'book': In context=('properties',), 'default' is not permitted."), "text", "feature", "strict"),
    (
        400,
        openai("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
        "json_schema",
        "mode",
        "",
    ),
    (400, openai("max_tokens is too large: 50000. This model supports at most 16384 completion tokens."), "text", "fatal", ""),
    (
        400,
        openai("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", code="context_length_exceeded"),
        "text",
        "fatal",
        "",
    ),
    (400, openai("The response was filtered due to the prompt triggering Azure's content management policy", code="content_filter"), "text", "refusal", ""),
    (401, openai("Incorrect API key provided: sk-abcdef0123456789", code="invalid_api_key"), "json_schema", "fatal", ""),
    (404, openai("The model `m` does not exist", code="model_not_found"), "json_schema", "fatal", ""),
    (429, openai("Rate limit reached for m", code="rate_limit_exceeded"), "text", "rate", ""),
    (429, openai("You exceeded your current quota", code="insufficient_quota"), "text", "fatal", ""),
    (400, anthropic("temperature: Extra inputs are not permitted"), "text", "feature", "temperature"),
    (400, anthropic("`temperature` may only be set to 1 when thinking is enabled."), "text", "feature", "temperature"),
    (400, anthropic("Thinking may not be enabled when tool_choice forces tool use."), "text", "feature", "tool_choice"),
    (400, anthropic("output_config.format: this model does not support structured outputs"), "json_schema", "mode", ""),
    (400, anthropic("output_config.format.schema: For 'integer' type, property 'maximum' is not supported"), "json_schema", "mode", "schema"),
    (400, anthropic("tools.0.strict: Extra inputs are not permitted"), "text", "feature", "strict"),
    (400, anthropic("Your credit balance is too low to access the Anthropic API."), "json_schema", "fatal", ""),
    (529, anthropic("Overloaded", "overloaded_error"), "text", "transient", ""),
    (400, google("Function calling with a response mime type: 'application/json' is unsupported"), "json_schema", "mode", ""),
    (400, google("Invalid JSON payload received. Unknown name \"responseJsonSchema\""), "json_schema", "mode", ""),
    (429, google("You exceeded your current quota, please check your plan and billing details.", "RESOURCE_EXHAUSTED", 429), "text", "rate", ""),
    (503, google("The model is overloaded.", "UNAVAILABLE", 503), "text", "transient", ""),
    # vLLM
    (400, {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "code": 400}, "tool", "feature", "tool_choice"),
    (400, {"object": "error", "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]"}, "text", "feature", "stream_options"),
    (400, {"object": "error", "message": "Grammar error: unsupported JSON schema keyword", "code": 400}, "json_schema", "mode", ""),
    # llama.cpp
    (501, {"error": {"code": 501, "message": "tools param requires --jinja flag", "type": "not_supported_error"}}, "tool", "mode", ""),
    (400, {"error": {"code": 400, "message": "failed to parse grammar", "type": "invalid_request_error"}}, "json_schema", "mode", ""),
    # Mistral
    (422, {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "parallel_tool_calls"], "msg": "Extra inputs are not permitted"}]}}, "text", "feature", "parallel"),
    # Groq, DeepSeek, Ollama, LiteLLM, Bedrock
    (400, openai("This model does not support response format `json_schema`."), "json_schema", "mode", ""),
    (400, openai("deepseek-reasoner does not support this tool_choice"), "tool", "feature", "tool_choice"),
    (400, openai("This response_format type is unavailable now"), "json_object", "mode", ""),
    (400, {"error": "registry.ollama.ai/library/m does not support tools"}, "tool", "mode", ""),
    (400, openai("anthropic does not support parameters: ['tool_choice'], for model=m"), "text", "feature", "tool_choice"),
    (400, {"__type": "ThrottlingException", "message": "Too many requests"}, "text", "rate", ""),
    (400, {"__type": "ValidationException", "message": "The model returned the following errors: temperature is deprecated"}, "text", "feature", "temperature"),
    (400, "", "json_schema", "mode", ""),
    (400, "", "text", "fatal", ""),
]  # fmt: skip


@pytest.mark.spec("A9")
@pytest.mark.parametrize(("status", "body", "mode", "kind", "feature"), SAID)
def test_the_words_of_providers(status: int, body: Any, mode: Any, kind: str, feature: str) -> None:
    found = read(body, status).findings[0]
    failure = failure_in(found, mode)
    assert (failure.kind, failure.feature) == (kind, feature)


REASONING = [
    kind
    for kind in KINDS
    if KINDS[kind].protocol == "openai" and not kind.startswith(("mistral", "langchain", "pydantic"))
]


@pytest.mark.spec("A9")
@pytest.mark.parametrize("kind", REASONING)
def test_a_reasoning_model_costs_one_call_for_each_thing_it_rejects_and_only_once(kind: str) -> None:
    memory = Memory()
    policy = Policy(models=("m",), temperature=0.0, max_tokens=500)
    rejecting = [
        Raw(json.dumps(openai(MAX, "max_tokens", "unsupported_parameter")), status=400),
        Raw(json.dumps(openai(HEAT, "temperature", "unsupported_value")), status=400),
    ]
    with ScriptedServer([*rejecting, GOOD, GOOD]) as server:
        first = run(kind, server, Contract(SCHEMA), policy=policy, memory=memory).answer
        second = run(kind, server, Contract(SCHEMA), policy=policy, memory=memory).answer
    assert [len(answer.attempts) for answer in (first, second)] == [3, 1]
    sent = [request.fields for request in server.requests]
    assert [("max_tokens" in one, "max_completion_tokens" in one, "temperature" in one) for one in sent] == [
        (True, False, True),
        (False, True, True),
        (False, True, False),
        (False, True, False),
    ]


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.spec("A8")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:30 GMT"}, 0.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"}, 90.0),
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "1m30s"}, None),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "20ms",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "7.66s",
            },
            7.66,
        ),
        (
            {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:45Z"},
            45.0,
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767225660"}, 60.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767225660000"}, 60.0),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "12"}, 12.0),
        ([(b"retry-after", b"3")], 3.0),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, None),
        (None, None),
        (5, None),
        (["x"], None),
    ],
)
def test_how_long_headers_ask_to_wait(headers: Any, seconds: float | None) -> None:
    assert retry_after(headers, NOW) == (seconds if seconds is None else pytest.approx(seconds))


INFO = "type.googleapis.com/google.rpc.RetryInfo"


def test_an_error_without_a_message_rejects_nothing() -> None:
    assert kind_of(None, "", "", "json_schema", retryable=False) == ("fatal", "")
    assert kind_of(400, "", "", "json_schema", retryable=False) == ("mode", "")


@pytest.mark.spec("A8")
@pytest.mark.parametrize(
    ("body", "said", "seconds"),
    [
        ({"details": [{"@type": INFO, "retryDelay": "37s"}]}, "", 37.0),
        ({"details": [{"@type": "x"}, {"@type": INFO, "retryDelay": "37.25s"}]}, "", 37.25),
        ({"details": [{"@type": INFO, "retryDelay": {"seconds": "4", "nanos": 500_000_000}}]}, "", 4.5),
        ({"details": [{"@type": INFO, "retryDelay": None}]}, "", None),
        ({"details": "none"}, "", None),
        ({"estimated_time": 20.0}, "Model m is currently loading", 20.0),
        ({}, "Please retry in 37.123s.", 37.123),
        ({}, "Rate limit reached. Please try again in 7m12.3s. Visit", 432.3),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please retry after 6 seconds.", 6.0),
        ({}, "Try again in 2 minutes", 120.0),
        ({}, "Gave up: retry after 2 attempts", None),
        ({}, "Please retry after 10 messages", None),
        ({"details": [{"@type": INFO, "retryDelay": {"seconds": "nan"}}]}, "", None),
        ({"details": [{"@type": INFO, "retryDelay": {"seconds": "inf"}}]}, "", None),
        ({"details": [{"@type": INFO, "retryDelay": {"seconds": -5}}]}, "", None),
        ({"details": [{"@type": INFO, "retryDelay": "-5s"}]}, "", None),
        ({}, "Please try again later", None),
    ],
)
def test_how_long_a_body_asks_to_wait(body: Any, said: str, seconds: float | None) -> None:
    assert wait_in(body, said) == (seconds if seconds is None else pytest.approx(seconds))


@pytest.mark.spec("A8")
@pytest.mark.parametrize("kind", ["gemini", "gemini-async", "http", "openai"])
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_googles_retry_info_is_respected(kind: str) -> None:
    body = google("You exceeded your current quota.", "RESOURCE_EXHAUSTED", 429)
    body["error"]["details"] = [{"@type": INFO, "retryDelay": "37s"}]
    with ScriptedServer([Raw(json.dumps(body), status=429), GOOD]) as server:
        asked = run(kind, server, Contract(SCHEMA))
    assert asked.answer.outcome == "accepted"
    assert 37.0 <= asked.clock.waits[0] < 38.1
