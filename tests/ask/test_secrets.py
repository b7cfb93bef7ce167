"""Clients' secrets, planted in every message of a provider or an SDK: they are never kept or shown."""

import asyncio
import base64
import json
import logging
import random
import string
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest

from tests.ask.clients import kinds
from tests.ask.clients.kinds import KINDS, run_stream
from tests.ask.stage import SCHEMA, Log, Model, StageClock
from tests.growth import assert_linear
from trueup import Contract, Policy, Rejected
from trueup.ask.clients.find import find_client
from trueup.ask.clients.http import Http
from trueup.ask.clients.request import CallFailure, failure_of
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.sync import ask
from trueup.ask.memory import Memory
from trueup.ask.secrets import Secrets, secrets_in, spellings
from trueup.read.reader import read
from trueup.store.redaction import Redaction
from trueup.testing.script import Erring, Fail, Raw
from trueup.testing.server import ScriptedServer
from trueup.verdict.secrets import masked
from trueup.watch.progress import said

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
CONTRACT = Contract(SCHEMA)
SECRET = "Zq7.hush+hush/42=kX9"  # unlike the keys of all providers
PLAIN = base64.b64encode(SECRET.encode()).decode()
SAID = {
    "as it is": f"Incorrect key provided: {SECRET}",
    "in a header": f"Got headers: Authorization: Bearer {SECRET}, accept: */*",
    "in a header of its own": f"x-api-key: {SECRET}; host: x",
    "in a query": f"No such path: /v1/models?key={quote(SECRET, safe='')}&alt=json",
    "in an address": f"Cannot reach https://me:{SECRET}@host/v1",
    "encoded for an address": f"Bad request line: {quote(SECRET)}",
    "as Basic": f"Authorization: Basic {PLAIN} was refused",
    "in a cookie": f"Set-Cookie: session={SECRET}; Path=/",
    "as a shell sets it": f"environment: SOME_API_KEY={SECRET} PATH=/bin",
    "as JSON": json.dumps({"headers": {"api-key": SECRET, "x-goog-api-key": SECRET}}),
    "twice, in quotes": f"'{SECRET}' and \"{SECRET}\"",
    "beside a key of a provider": f"{SECRET}, sk-proj-abcdefghij0123456789 and AIzaSyA0123456789abcdefghijklmnopqrst",
}


def shown(answer: Any, log: Log | None = None) -> str:
    """Everything that an ask keeps or shows."""
    try:
        answer.unwrap()
    except Rejected as error:
        raised = [str(error), repr(error), *getattr(error, "__notes__", ())]
    attempts = [repr(attempt.failure) for attempt in answer.attempts]
    events = [] if log is None else [json.dumps(log.told), *map(said, log.events)]
    verdict = answer.verdict
    kept = Redaction().clean(answer.to_dict())
    return "\n".join(
        [
            json.dumps(answer.to_dict(), default=str), repr(answer.findings), repr(answer), answer._repr_html_(), str(verdict),
            repr(verdict.reply), repr(answer.next_messages), json.dumps(kept, default=str), *attempts, *events, *raised,
        ]
    )  # fmt: skip


def assert_hidden(text: str) -> None:
    for spelled in spellings(SECRET):
        assert spelled not in text
    assert "abcdefghij0123456789" not in text
    assert "SyA0123456789" not in text


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "KEY", SECRET)
    monkeypatch.setenv("OLLAMA_API_KEY", SECRET)


def bodies(status: int) -> list[Raw]:
    """Bodies that contain the key in every spelling."""
    text = " ".join(SAID.values())
    error = {"error": {"message": text, "code": f"bad {SECRET}", "type": SECRET}}
    page = f"<html><h1>{text}</h1></html>"
    return [
        Raw(json.dumps(error), status=status),
        Raw(page, status=status, content_type="text/html"),
        Raw(text, status=status, content_type="text/plain"),
    ]


STEPS = [
    *(Fail(401, text) for text in SAID.values()),
    *(body for status in (200, 400, 429, 502) for body in bodies(status)),
]


def asked(kind: str, server: ScriptedServer, step: list[Any]) -> Iterator[tuple[Any, Log]]:
    """An ask for each step, all with one client."""
    client, policy = KINDS[kind].make(server), Policy(models=("m",), retries=0, deadline=5)
    with kinds.closing(client) if not KINDS[kind].is_async else asyncio.Runner() as runner:
        for one in STEPS:
            step[0], clock, log = one, StageClock(), Log()
            given: dict[str, Any] = {"clock": clock, "memory": Memory(), "on_event": log}
            if runner is None:
                yield ask(CONTRACT, client, "Who?", policy, wait=clock.wait, **given), log
            else:
                yield runner.run(aask(CONTRACT, client, "Who?", policy, wait=clock.await_, **given)), log
        if runner is not None:
            runner.run(kinds.aclose(client))


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("kind", list(KINDS))
def test_no_client_keeps_or_shows_its_key(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    step: list[Any] = [None]
    answers = 0
    with caplog.at_level(logging.DEBUG, "trueup"), ScriptedServer(lambda _: step[0]) as server:
        for answer, log in asked(kind, server, step):
            answers += 1
            assert not answer.ok
            assert_hidden(shown(answer, log) + caplog.text)
    assert answers == len(STEPS) == 24


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("kind", list(KINDS))
def test_streams_do_not_reveal_the_key(kind: str) -> None:
    text = " ".join(SAID.values())
    for step in (Fail(401, text), Erring('{"name": "Ada", "age": 36}', fail=Fail(500, text))):
        log = Log()
        with ScriptedServer([step], then=step) as server:
            answer = run_stream(kind, server, CONTRACT, policy=Policy(models=("m",), retries=0), on_event=log).answer
        assert_hidden(shown(answer, log))


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("ollama")])  # it has no key
def test_the_key_of_each_client_is_found_where_its_sdk_keeps_it(kind: str) -> None:
    with ScriptedServer(["x"]) as server:
        client = KINDS[kind].make(server)
        assert SECRET in secrets_in(find_client(client))


class Keyed(Model):
    """A callable object that contains its key."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(script)
        self.headers = {"Authorization": f"Bearer {SECRET}"}


def closing_over(script: list[Any]) -> Any:
    api_key, model = SECRET, Model(script)

    def call(messages: Any) -> Any:
        assert api_key
        return model.plain(messages)

    return call


def keyed_function(messages: Any, api_key: str = "") -> Any:
    assert api_key
    raise ConnectionError(f"refused by https://host/?key={api_key} {api_key}")


@pytest.mark.parametrize(
    "call",
    [
        Keyed([CallFailure(f"bad {SECRET}", "fatal", 401)]),
        closing_over([CallFailure(f"bad {SECRET}", "fatal", 401)]),
        partial(keyed_function, api_key=SECRET),
    ],
)
def test_a_function_that_contains_a_key_does_not_show_it(call: Any) -> None:
    clock, log = StageClock(), Log()
    answer = ask(CONTRACT, call, "Who?", clock=clock, wait=clock.wait, memory=Memory(), on_event=log)
    assert answer.attempts[0].failure is not None
    assert_hidden(shown(answer, log))


def test_a_key_in_an_address_is_neither_in_the_attempts_nor_in_an_error() -> None:
    with ScriptedServer([], then=Fail(401, f"bad {SECRET}")) as server:
        url = server.url.replace("://", f"://me:{quote(SECRET, safe='')}@") + f"/v1?key={quote(SECRET, safe='')}"
        clock, log = StageClock(), Log()
        answer = ask(CONTRACT, [url, url], "Who?", clock=clock, wait=clock.wait, memory=Memory(), on_event=log)
    assert "?key=[key]" in answer.attempts[0].client
    assert_hidden(shown(answer, log))
    for wrong in (f"ftp://me:{SECRET}@host", f"host?key={quote(SECRET, safe='')}"):
        with pytest.raises(ValueError, match="cannot ask") as raised:
            find_client(wrong)
        assert_hidden(str(raised.value))
    with pytest.raises(ValueError, match="cannot ask") as raised:
        Http(f"ftp://me:{SECRET}@host")
    assert_hidden(str(raised.value))


def test_an_object_that_cannot_be_inspected_does_no_harm() -> None:
    class Odd(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("no")

    class Slotted:
        __slots__ = ("api_key", "empty")

        def __init__(self) -> None:
            self.api_key = SECRET

    around: dict[str, Any] = {"odd": Odd(a=1), "slotted": Slotted()}
    around["itself"] = around
    assert secrets_in(around) == {SECRET}


def test_keys_of_the_environment_are_masked_for_clients_that_read_them_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    assert Secrets([]).masked(f"bad {SECRET}") == "bad [key]"


def test_a_key_at_the_end_of_a_cut_text_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    for size in range(8, len(SECRET) + 1):
        assert Secrets([]).masked(f"{'x ' * 200}{SECRET[:size]}") == f"{'x ' * 200}[key]"
    assert Secrets([]).masked(f"The {SECRET[:8]}") == f"The {SECRET[:8]}", "a short text is whole"


@pytest.mark.parametrize("word", ["ollama", "not-needed", "LM-Studio", "none", "EMPTY", "x"])
def test_a_placeholder_key_stays_readable(word: str) -> None:
    said = f"{word} is not running; set {word} as the key"
    assert Secrets([{"api_key": word}]).masked(said) == said


def test_a_clients_own_key_is_found_among_many_other_objects() -> None:
    much = {f"a{n}": {f"b{m}": [[m]] for m in range(100)} for n in range(150)}
    assert secrets_in({"api_key": SECRET, "session": much}) == {SECRET}
    assert secrets_in({"session": much, "api_key": SECRET}) == {SECRET}


@pytest.mark.parametrize(
    "text",
    [
        "The constraint pk_customer_order_items is violated",
        "Use sk-learn-compatible-estimators, or sk_learn",
        "The model hf-internal-testing/tiny-random-gpt2 was not found",
        "The model fw-llama-3-70b-instruct is not available; xai-grok-vision-beta is",
        "id 550e8400-e29b-41d4-a716-446655440000, sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Invalid value for max_token: 40960; primary_key: customer_id; sort_key=created_at",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "Basic authentication is required; the bearer of good-news has a request id req_011CSHoEeqs5C35K2UUqR7Fy",
        "http://host:8080/path?keyword=hello&page=2 failed",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert masked(text) == text
    assert Redaction().clean({"text": text}) == {"text": text}


@pytest.mark.parametrize(
    "prefix", ["sk-", "sk-proj-", "sk-ant-api03-", "sk_live_", "rk_live_", "gsk_", "hf_", "xai-", "nvapi-"]
)
def test_keys_of_random_letters_are_masked(prefix: str) -> None:
    letters = random.Random(7)
    for _ in range(500):
        key = prefix + "".join(letters.choices(string.ascii_letters + string.digits, k=24))
        assert key not in masked(f"bad {key}.")
        assert key not in Redaction().clean({"text": f"bad {key}."})["text"]


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefghij0123456789.",
        "Incorrect API key provided: sk-abcd************wxyz.",
        "gsk_abcdefghij0123456789 hf_abcdefghij0123456789 xai-abcdefghij0123456789",
        "API key not valid: AIzaSyA0123456789abcdefghijklmnopqrst",
        "AKIAIOSFODNN7EXAMPLE and ASIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer abc.DEF-123_456",
        "Authorization: Basic dXNlcjpwYXNzd29yZA==",
        "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4",
        "https://user:passw0rd@host/path",
        "GET /v1beta/models?key=abc123secret&alt=sse",
        "https://host/x?api-version=1&subscription-key=abc123secret",
        "OPENAI_API_KEY=abc123secret",
        '{"api_key": "abc123secret", "password": "abc123secret"}',
        "aws_secret_access_key = abc123secret",
        "Cookie: a=b; session=abc123secret",
        "-----BEGIN PRIVATE KEY-----\nabc123secret\n-----END PRIVATE KEY-----",
    ],
)
def test_texts_that_look_like_secrets_are_masked(text: str) -> None:
    found = masked(text)
    assert "[key]" in found
    for secret in (
        "abc123secret",
        "passw0rd",
        "0123456789",
        "wxyz",
        "IOSFODNN",
        "DEF-123",
        "dXNlcjp",
        "SflKxw",
        "eyJz",
    ):
        assert secret not in found
    assert masked(found) == found
    assert_masked_in_findings(text, found)


def assert_masked_in_findings(text: str, found: str) -> None:
    finding = read({"error": {"message": text, "type": "x"}}).findings[0]
    assert finding.data["message"] == found
    failure = failure_of(ConnectionError(text))
    assert failure is not None
    assert failure.reason == found


@pytest.mark.parametrize(
    "text",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "This model's maximum context length is 8192 tokens; you requested 9000 (token limit: 8192).",
        "The skeleton_of_the_schema is invalid; missing key: temperature",
        "You must use basic authentication, or a bearer token.",
        "Invalid value for 'tool_choice': expected a string. See https://host/docs/errors?page=2",
        "Rate limit reached for tokens per min. Limit: 40000 / min. Please try again in 20s.",
    ],
)
def test_the_rest_of_an_error_is_not_masked(text: str) -> None:
    assert masked(text) == text


@pytest.mark.growth
@pytest.mark.parametrize(
    "piece", ["a-", "eyJ-", "sk-", "api_key", "?key", "://a:", "bearer ", "A_KEY=", "cookie: a", "x" * 7, "-----BEGIN "]
)
def test_masking_takes_time_in_proportion(piece: str) -> None:
    assert_linear(masked, lambda n: piece * n, 8000)
