"""Callables and the exceptions that they raise: connection failures are retried, bugs are not hidden."""

import asyncio
import functools
from types import SimpleNamespace
from typing import Any

import pytest

from tests.ask.stage import GOOD, SCHEMA, StageClock
from trueup import Contract, Policy
from trueup.ask.clients.call import CallableClient
from trueup.ask.clients.find import find_client
from trueup.ask.clients.request import CallFailure, TransportFailure, failure_of, retry_after
from trueup.ask.drivers.sync import ask
from trueup.ask.memory import Memory

CONTRACT = Contract(SCHEMA)


def asked(call: Any, **options: Any) -> Any:
    clock = StageClock()
    return ask(CONTRACT, call, "Who?", clock=clock, wait=clock.wait, memory=Memory(), **options)


class Object:
    def __call__(self, messages: Any, response_format: Any = None) -> str:
        self.form = response_format
        return GOOD

    def method(self, messages: Any, *, temperature: float | None = None, model: str = "") -> str:
        self.model = model
        return GOOD


def test_a_callable_gets_what_its_signature_names() -> None:
    seen: dict[str, Any] = {}

    def anything(messages: Any, **given: Any) -> str:
        seen.update(given)
        return GOOD

    def by_name(*, messages: Any, timeout: float) -> str:
        seen["timeout"] = timeout
        return GOOD

    def second(tools: Any = None, messages: Any = None) -> str:
        seen["messages"] = messages
        return GOOD

    thing = Object()
    for call in (anything, by_name, second, thing, thing.method, functools.partial(anything, extra=1)):
        assert asked(call, policy=Policy(models=("m",))).outcome == "accepted"
    assert seen["model"] == "m"
    assert seen["extra"] == 1
    assert 0 < seen["timeout"] <= 60
    assert seen["messages"][-1] == {"role": "user", "content": "Who?"}
    assert thing.form["type"] == "json_schema"
    assert thing.model == "m"
    assert CallableClient(print).modes in (("text",), ("json_schema", "json_object", "text"))


def test_tools_are_described_in_words_to_a_callable_that_does_not_take_them() -> None:
    def ping(host: str, times: int = 1) -> str:
        """Reach a host."""
        return host

    seen: list[Any] = []

    def model(messages: Any) -> str:
        seen.append(messages)
        return '<tool_call>{"name": "ping", "arguments": {"host": "a"}}</tool_call>'

    contract = Contract(tools=[ping])
    answer = contract.ask(model, "Ping a.")
    assert [call.args for call in answer.calls] == [{"host": "a"}]
    assert '- ping {"host": "<text>", "times": <integer>} Reach a host.' in seen[0][0]["content"]
    contract.ask(model, "Ping a.", Policy(instruct="never"))
    assert len(seen[1]) == 1
    contract.ask(lambda messages, tools: seen.append(messages) or "Fine.", "Ping a.")
    assert len(seen[2]) == 1, "who takes tools is told of them there"


def test_an_object_that_is_not_a_client_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match="give a callable"):
        find_client(None)
    with pytest.raises(ValueError, match="must start with http"):
        find_client("gpt-4.1")
    with pytest.raises(ValueError, match="name a host"):
        find_client("http://")


@pytest.mark.parametrize("messages", [[], b"x", 5])
def test_invalid_messages_are_refused(messages: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"messages (is empty|must be)"):
        CONTRACT.ask(lambda messages: GOOD, messages)


def test_a_synchronous_callable_is_awaited_in_a_thread() -> None:
    answer = asyncio.run(CONTRACT.aask(lambda messages: GOOD, "Who?"))
    assert answer.outcome == "accepted"


class Status(Exception):
    def __init__(self, status: int, body: Any = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"status {status}")
        self.status_code, self.body = status, body
        self.response = SimpleNamespace(headers=headers or {}, status_code=status, text="")


class RequestException(OSError):
    """Like the exception of the requests library."""


@pytest.mark.spec("A8")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Status(429, {"error": {"message": "slow"}}), "rate"),
        (Status(429, {"error": {"message": "pay", "code": "insufficient_quota"}}), "fatal"),
        (Status(500), "transient"),
        (Status(529, {"type": "error", "error": {"type": "overloaded_error"}}), "transient"),
        (Status(408), "transient"),
        (Status(401), "fatal"),
        (Status(404, {"error": {"message": "no such model"}}), "fatal"),
        (Status(400, {"error": {"message": "temperature is not supported"}}), "feature"),
        (Status(302), "fatal"),
        (TimeoutError(), "transient"),
        (ConnectionResetError("gone"), "transient"),
        (RequestException("gone"), "transient"),
        (TransportFailure(CallFailure("x", "mode")), "mode"),
    ],
)
def test_exceptions_become_failures(error: BaseException, kind: str) -> None:
    failure = failure_of(error)
    assert failure is not None
    assert failure.kind == kind
    assert failure.reason


def test_a_mode_is_refused_only_where_one_was_asked_for() -> None:
    error = Status(400, {"error": {"message": "Invalid parameter: response_format json_schema"}})
    assert failure_of(error, "json_schema").kind == "mode"  # type: ignore[union-attr]
    assert failure_of(error, "text").kind == "fatal"  # type: ignore[union-attr]
    other = Status(400, {"error": {"message": "context length exceeded"}})
    assert failure_of(other, "json_schema").kind == "fatal"  # type: ignore[union-attr]


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), ZeroDivisionError(), AttributeError("x")])
def test_bugs_are_not_failures(error: BaseException) -> None:
    assert failure_of(error) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Wed, 21 Oct 99999999999999999999999 07:28:00 GMT"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 +99999999999999999999"}, None),
        (None, None),
    ],
)
def test_how_long_a_provider_asks_to_wait(headers: Any, seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_an_http_error_of_a_callables_own_client_is_understood() -> None:
    import httpx

    from trueup.testing.script import Fail
    from trueup.testing.server import ScriptedServer

    def call(messages: Any) -> Any:
        with httpx.Client(verify=False) as client:
            response = client.post(f"{server.url}/v1/chat/completions", json={"model": "m", "messages": messages})
            return response.raise_for_status().json()

    with ScriptedServer([Fail(429, "slow down", retry_after=4), Fail(503), GOOD]) as server:
        answer = asked(call)
    assert answer.outcome == "accepted"
    assert [a.failure.kind for a in answer.attempts[:2]] == ["rate", "transient"]
    assert answer.attempts[0].failure.retry_after == 4.0
    assert answer.attempts[0].failure.reason == "slow down"


def test_an_empty_reply_is_never_accepted() -> None:
    contract, clock = Contract(), StageClock()
    answer = ask(contract, lambda messages: " ", "Who?", clock=clock, wait=clock.wait, memory=Memory())
    assert (answer.outcome, answer.reason, len(answer.attempts)) == ("failed", "retries", 4)
    assert "P002" in {found.code for found in answer.findings}
    refused = {"choices": [{"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}]}
    answer = ask(contract, lambda messages: refused, "Who?", clock=clock, wait=clock.wait, memory=Memory())
    assert (answer.outcome, answer.reason, len(answer.attempts)) == ("failed", "refusal", 1)


@pytest.mark.spec("A9")
def test_rejections_of_one_callable_do_not_apply_to_another() -> None:
    def model(messages: Any, model: str = "", response_format: Any = None) -> str:
        if model == "weak" and response_format:
            raise TransportFailure(CallFailure("response_format is not supported", "mode", 400))
        return GOOD

    memory, clock = Memory(), StageClock()

    def modes(call: Any) -> list[str]:
        answer = ask(CONTRACT, call, "Who?", clock=clock, wait=clock.wait, memory=memory)
        return [attempt.mode for attempt in answer.attempts]

    weak, strong = functools.partial(model, model="weak"), functools.partial(model, model="strong")
    assert modes(weak) == ["json_schema", "json_object", "text"]
    assert (modes(weak), modes(strong)) == (["text"], ["json_schema"])
    assert modes(functools.partial(model, model="weak")) == ["text"]
    one, other = Object(), Object()
    assert len({CallableClient(call).key for call in (one, other, one.method, other.method, one.__call__)}) == 5
    assert CallableClient(one).key == CallableClient(one).key
    assert CallableClient(one.method).key == CallableClient(one.method).key
    assert len({CallableClient(call).key for call in (lambda messages: GOOD, print, model)}) == 3
