"""LiteLLM's module and functions against the scripted server, in a separate process because LiteLLM leaves event loops open."""

import json
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import asyncio, json
from functools import partial
import litellm
from tests.ask.stage import BAD, GOOD, SCHEMA, StageClock
from trueup import Contract, Policy
from trueup.ask.drivers.aio import aask
from trueup.ask.clients.find import find_client
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.ask.drivers.sync import ask
from trueup.testing.script import Cut, Fail, KeepAlive, Say
from trueup.testing.server import ScriptedServer

contract = Contract(SCHEMA)
found = {}
for name in ("litellm", "litellm.completion", "litellm.acompletion"):
    call = litellm if name == "litellm" else getattr(litellm, name.partition(".")[2])
    clock = StageClock()
    with ScriptedServer([Fail(429, "busy", retry_after=3), BAD, GOOD]) as server:
        given = {"api_base": f"{server.url}/v1", "api_key": "none"}
        policy = Policy(models=("openai/m",), parameters=given)
        if name.endswith("acompletion"):
            answer = asyncio.run(
                aask(contract, call, "Who?", policy, clock=clock, wait=clock.await_, memory=Memory())
            )
        else:
            answer = ask(contract, call, "Who?", policy, clock=clock, wait=clock.wait, memory=Memory())
    forms = [request.fields["response_format"]["type"] for request in server.requests]
    found[name] = {"outcome": answer.outcome, "value": answer.value, "waits": clock.waits, "forms": forms}
reply = Say(GOOD, piece=1)
for name in ("openai", "anthropic"):
    for way in ("stream", "astream"):
        clock = StageClock()
        with ScriptedServer([Cut(reply, events=-5, silent=True), reply]) as server:
            address = server.url if name == "anthropic" else f"{server.url}/v1"
            policy = Policy(models=(f"{name}/m",), parameters={"api_base": address, "api_key": "none"})
            options = {"clock": clock, "memory": Memory()}
            if way == "stream":
                asked = AskStream(contract, litellm, "Who?", policy, wait=clock.wait, **options)
                list(asked)
            else:
                asked = AsyncAskStream(contract, litellm, "Who?", policy, wait=clock.await_, **options)

                async def taken():
                    return [part async for part in asked]

                asyncio.run(taken())
        found[f"{name} {way}"] = [asked.answer.outcome, asked.answer.value, len(server.requests)]
with ScriptedServer([Say(GOOD, usage=(21, 9))]) as server:
    asked = AskStream(
        contract, litellm, "Who?", Policy(models=("openai/m",), parameters={"api_base": f"{server.url}/v1", "api_key": "none"}),
        memory=Memory(),
    )
    list(asked)
    found["usage"] = [asked.answer.usage["total_tokens"], server.requests[0].fields["stream_options"]]
with ScriptedServer([Fail(503, "down"), GOOD]) as server:
    given = {"model": "openai/m", "api_base": f"{server.url}/v1", "api_key": "none"}
    router = litellm.Router(model_list=[{"model_name": "small", "litellm_params": given}], num_retries=5)
    clock = StageClock()
    answer = ask(contract, router, "Who?", Policy(models=("small",)), clock=clock, wait=clock.wait, memory=Memory())
    found["router"] = [answer.outcome, len(server.requests), len(clock.waits)]
with ScriptedServer(then=Say(GOOD, piece=4)) as server:
    given = {"model": "openai/m", "api_base": f"{server.url}/v1", "api_key": "none"}
    router = litellm.Router(model_list=[{"model_name": "small", "litellm_params": given}])
    asked = AskStream(contract, router, "Who?", Policy(models=("small",)), memory=Memory())
    list(asked)
    found["router stream"] = [asked.answer.outcome, len(server.requests)]
    asked = AsyncAskStream(contract, router, "Who?", Policy(models=("small",)), memory=Memory())
    asyncio.run(taken())
    found["router astream"] = [asked.answer.outcome, len(server.requests)]
    found["router key"] = server.url in find_client(router).key
with ScriptedServer([Fail(503, "down"), GOOD]) as server:
    bound = partial(litellm.completion, model="openai/m", api_base=f"{server.url}/v1", api_key="none")
    clock = StageClock()
    answer = ask(contract, bound, "Who?", clock=clock, wait=clock.wait, memory=Memory())
    form = server.requests[0].fields["response_format"]["type"]
    found["partial"] = [answer.outcome, len(server.requests), len(clock.waits), form, server.url in find_client(bound).key]
for way in ("ask", "ask_stream", "aask", "aask_stream"):
    with ScriptedServer(then=KeepAlive(GOOD, every=0.02)) as server:
        policy = Policy(models=("openai/m",), deadline=2.0, parameters={"api_base": f"{server.url}/v1", "api_key": "none"})
        begun = getattr(contract, way)(litellm.completion, "Who?", policy, memory=Memory())

        async def ended():
            if way == "aask":
                return await begun
            async for _ in begun:
                pass
            return begun.answer

        if way == "ask_stream":
            list(begun)
        answer = begun if way == "ask" else begun.answer if way == "ask_stream" else asyncio.run(ended())
        left = server.wait_until(lambda all: bool(all) and {one.ended for one in all} == {"client left"}, 60)
        found[f"late {way}"] = [answer.reason, left]
for name, wrong in (("completion", Policy()), ("acompletion", Policy(models=("openai/m",)))):
    try:
        contract.ask(getattr(litellm, name), "Who?", wrong)
    except (ValueError, TypeError) as error:
        found[name] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    pytest.importorskip("litellm")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


@pytest.mark.spec("A13")
@pytest.mark.parametrize("name", ["litellm", "litellm.completion", "litellm.acompletion"])
def test_the_module_and_its_functions(found: dict[str, Any], name: str) -> None:
    result = found[name]
    assert (result["outcome"], result["value"]) == ("repaired", {"name": "Ada", "age": 36})
    assert result["forms"] == ["json_schema"] * 3, "LiteLLM retried by itself"
    assert len(result["waits"]) == 1
    assert result["waits"][0] >= 3.0


def test_a_model_must_be_named_and_the_asynchronous_one_awaited(found: dict[str, Any]) -> None:
    assert "needs a model" in found["completion"]
    assert "aask" in found["acompletion"]


def test_a_stream_is_asked_for_its_usage(found: dict[str, Any]) -> None:
    assert found["usage"] == [30, {"include_usage": True}]


@pytest.mark.spec("A8", "A11")
@pytest.mark.parametrize("way", ["ask", "ask_stream", "aask", "aask_stream"])
def test_the_synchronous_function_ends_at_its_deadline(found: dict[str, Any], way: str) -> None:
    assert found[f"late {way}"] == ["deadline", True]


def test_a_router_is_asked_and_sends_once(found: dict[str, Any]) -> None:
    assert found["router"] == ["accepted", 2, 1]


def test_the_streams_of_a_router_are_whole(found: dict[str, Any]) -> None:
    assert [found["router stream"], found["router astream"]] == [["accepted", 1], ["accepted", 2]]
    assert found["router key"], "two routers are told apart by their addresses"


def test_a_function_with_options_bound_is_asked_as_litellm(found: dict[str, Any]) -> None:
    assert found["partial"] == ["accepted", 2, 1, "json_schema", True]


@pytest.mark.spec("X36", "A13")
@pytest.mark.parametrize("name", ["openai", "anthropic"])
@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_stream_that_was_cut_off_is_asked_for_again(found: dict[str, Any], name: str, way: str) -> None:
    assert found[f"{name} {way}"] == ["accepted", {"name": "Ada", "age": 36}, 2]
