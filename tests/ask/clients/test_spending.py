"""The cost of calls for every kind of client: counts in streams, limits in requests, cut streams, and replies from the cache."""

import json
from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, run, run_stream
from tests.ask.stage import GOOD, SCHEMA
from trueup import Contract, Policy, Price
from trueup.ask.cache import MemoryCache
from trueup.ask.memory import Memory
from trueup.testing.script import Cut, Fail, Say
from trueup.testing.server import ScriptedServer

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
CONTRACT = Contract(SCHEMA)
PRICES = {"*": Price(1.0, 2.0)}
every = pytest.mark.parametrize("kind", KINDS)
# Mistral's protocol has no `stream_options`, and pydantic-ai sends them even if the server rejects them.
chat = pytest.mark.parametrize(
    "kind", [k for k, v in KINDS.items() if v.protocol == "openai" and not k.startswith(("mistral", "pydantic-ai"))]
)


@pytest.mark.spec("A11")
@every
def test_streams_are_counted_by_the_provider(kind: str) -> None:
    with ScriptedServer([Say(GOOD, usage=(400, 20))]) as server:
        answer = run_stream(kind, server, CONTRACT, policy=Policy(models=("m",), prices=PRICES)).answer
    assert answer.ok
    assert (answer.usage["input_tokens"], answer.usage["output_tokens"], answer.estimated) == (400, 20, False)
    assert answer.cost == pytest.approx(440e-6)


@pytest.mark.spec("A9", "A11")
@chat
def test_a_server_that_rejects_stream_options_is_asked_without_them_from_then_on(kind: str) -> None:
    memory = Memory()
    rejection = Fail(400, "Unrecognized request argument supplied: stream_options")
    with ScriptedServer([rejection, Say(GOOD), Say(GOOD)]) as server:
        for _ in range(2):
            assert run_stream(kind, server, CONTRACT, memory=memory).answer.ok
        asked = ["stream_options" in request.fields for request in server.requests]
    assert asked == [True, False, False]


@pytest.mark.spec("A11")
@every
def test_the_limit_that_a_budget_leaves_is_sent(kind: str) -> None:
    policy = Policy(models=("m",), tokens=3_000, tokenizer=len)
    with ScriptedServer([Say(GOOD, usage=(400, 20))]) as server:
        assert run(kind, server, CONTRACT, policy=policy).answer.ok
        body = json.dumps(server.requests[0].fields)
    limits = [number for number in _numbers(server.requests[0].fields) if 1_000 < number < 3_000]
    assert limits, body


def _numbers(value: Any) -> list[int]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in _numbers(item)]
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return [value] if type(value) is int else []


@pytest.mark.spec("A11")
@every
def test_a_stream_that_is_cut_is_counted(kind: str) -> None:
    policy = Policy(models=("m",), retries=0, prices=PRICES)
    with ScriptedServer([Cut(Say(GOOD * 20, piece=8), after=300)]) as server:
        answer = run_stream(kind, server, Contract(), policy=policy).answer
    assert not answer.ok
    attempt = answer.attempts[0]
    assert attempt.usage["input_tokens"] > 0
    assert answer.cost
    assert attempt.estimated


@every
def test_a_reply_is_cached_and_used_again(kind: str) -> None:
    cache = MemoryCache()
    with ScriptedServer([Say(GOOD, usage=(400, 20)), Say(GOOD, usage=(400, 20))]) as server:
        whole = [run(kind, server, CONTRACT, cache=cache).answer for _ in range(2)]
        streamed = [run_stream(kind, server, CONTRACT, cache=cache) for _ in range(2)]
    for first, again in (whole, [one.answer for one in streamed]):
        assert first.value == again.value == {"name": "Ada", "age": 36}
        assert (first.attempts[0].cached, again.attempts[0].cached, again.cost) == (False, True, 0.0)
    assert streamed[0].parts == streamed[1].parts


@pytest.mark.spec("A9", "A11")
@pytest.mark.parametrize("kind", ["openai", "openai-async", "http", "azure"])
def test_a_limit_is_lowered_and_renamed_as_the_provider_asks(kind: str) -> None:
    other = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."

    def model(request: Any) -> Any:
        limit = request.fields.get("max_tokens", 0)
        if limit > 16_384:
            return Fail(400, f"max_tokens is too large: {limit}. This model supports at most 16384 completion tokens.")
        return Fail(400, other) if limit else Say(GOOD)

    policy, memory = Policy(models=("m",), tokens=900_000, tokenizer=len), Memory()
    with ScriptedServer(model) as server:
        for _ in range(2):
            assert run(kind, server, CONTRACT, policy=policy, memory=memory).answer.ok
        sent = [{k: v for k, v in request.fields.items() if "tokens" in k} for request in server.requests]
    assert [list(limit) for limit in sent] == [["max_tokens"], ["max_tokens"], *[["max_completion_tokens"]] * 2]
    assert [next(iter(limit.values())) for limit in sent[1:]] == [16_384] * 3
