"""`on_request`: a hook sees every request before it is sent, and may replace it."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.ask.stage import BAD, GOOD, SCHEMA, Model, StageClock
from trueup import Contract, Policy
from trueup.ask.clients.request import CallFailure, Request
from trueup.ask.conversation import Conversation
from trueup.ask.memory import Memory
from trueup.watch.observe import observed

CONTRACT = Contract(SCHEMA)


def louder(request: Request) -> Request:
    said = {"role": "user", "content": "Please."}
    return msgspec.structs.replace(request, messages=[*request.messages, said], temperature=0.7)


def asked_in_every_way(model: Any, on_request: Any) -> None:
    """Ask with every method that takes a hook."""
    CONTRACT.ask(model, "Who?", on_request=on_request)
    asyncio.run(CONTRACT.aask(model, "Who?", on_request=on_request))
    list(CONTRACT.ask_stream(model, "Who?", on_request=on_request))
    Conversation(CONTRACT, model).ask("Who?", on_request=on_request)
    asyncio.run(Conversation(CONTRACT, model).aask("Who?", on_request=on_request))
    watched = observed(CONTRACT)
    watched.ask(model, "Who?", on_request=on_request)
    asyncio.run(watched.aask(model, "Who?", on_request=on_request))
    list(watched.ask_stream(model, "Who?", on_request=on_request))

    async def streamed() -> None:
        for contract in (CONTRACT, watched):
            async for _ in contract.aask_stream(model, "Who?", on_request=on_request):
                pass

    asyncio.run(streamed())


def test_a_hook_sees_and_changes_requests_in_every_method() -> None:
    model = Model([GOOD])
    seen: list[Request] = []

    def hook(request: Request) -> Request:
        seen.append(request)
        return louder(request)

    asked_in_every_way(model, hook)
    assert len(seen) == len(model.seen) == 10
    assert all(given["messages"][-1]["content"] == "Please." for given in model.seen)
    assert all(given["temperature"] == 0.7 for given in model.seen)


def test_none_leaves_a_request_unchanged() -> None:
    model = Model([GOOD])
    CONTRACT.ask(model, "Who?", on_request=lambda request: None)
    CONTRACT.ask(model, "Who?")
    assert model.seen[0] == model.seen[1]


def test_a_hook_sees_repairs_and_retries() -> None:
    seen: list[Request] = []
    clock = StageClock()
    model = Model([CallFailure("overloaded", "transient", 503), BAD, GOOD], clock)
    answer = CONTRACT.ask(model, "Who?", on_request=seen.append, clock=clock, wait=clock.wait, memory=Memory())
    assert answer.outcome == "repaired"
    assert len(seen) == 3
    assert seen[0] == msgspec.structs.replace(seen[1], timeout=seen[0].timeout)
    assert "age" in str(seen[2].messages[-1])


@pytest.mark.parametrize("policy", [Policy(), Policy(tokens=10_000)])
def test_an_error_in_a_hook_reaches_the_caller_and_nothing_is_sent(policy: Policy) -> None:
    def hook(request: Request) -> None:
        raise KeyError("no such tenant")

    model = Model([GOOD])
    with pytest.raises(KeyError, match="no such tenant"):
        CONTRACT.ask(model, "Who?", policy, on_request=hook)
    with pytest.raises(KeyError, match="no such tenant"):
        asyncio.run(CONTRACT.aask(model, "Who?", policy, on_request=hook))
    with pytest.raises(KeyError, match="no such tenant"):
        list(CONTRACT.ask_stream(model, "Who?", policy, on_request=hook))
    assert model.seen == []


def test_a_hook_returns_a_request() -> None:
    with pytest.raises(TypeError, match="on_request must return a Request, or None"):
        CONTRACT.ask(Model([GOOD]), "Who?", on_request=lambda request: request.messages)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_request": "log"}, "on_request must be a function that takes a Request; got str"),
        ({"cache": "replies.db"}, r"cache must be a cache, such as FileCache\(path\) or MemoryCache\(\); got str"),
        ({"cache": {}}, "got dict"),
    ],
)
def test_an_invalid_hook_or_cache_is_refused_before_anything_is_sent(options: dict[str, Any], said: str) -> None:
    asked: list[Any] = []
    with pytest.raises(TypeError, match=said):
        CONTRACT.ask(lambda messages: asked.append(messages), "Hi", **options)
    assert asked == []


def test_a_hook_is_not_asynchronous() -> None:
    async def hook(request: Request) -> Request:
        return request

    with pytest.raises(TypeError, match="on_request must be a plain function"):
        asyncio.run(CONTRACT.aask(lambda messages: GOOD, "Hi", on_request=hook))  # type: ignore[arg-type]


def test_the_model_that_a_hook_chose_is_the_one_that_is_named_and_priced() -> None:
    reply = {"choices": [{"message": {"content": GOOD}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10**6, "completion_tokens": 0}}  # fmt: skip
    answer = CONTRACT.ask(
        Model([reply]), "Who?", Policy(models=("gpt-4o",)),
        on_request=lambda request: msgspec.structs.replace(request, model="gpt-4o-mini"),
    )  # fmt: skip
    assert answer.model == "gpt-4o-mini"
    assert answer.cost == pytest.approx(0.15)


def test_budgets_see_the_hooks_request() -> None:
    answer = CONTRACT.ask(
        Model([GOOD]), "Who?", Policy(tokens=500, tokenizer=len),
        on_request=lambda request: msgspec.structs.replace(request, messages=[{"role": "user", "content": "x" * 900}]),
    )  # fmt: skip
    assert (answer.reason, answer.attempts) == ("tokens", ())
