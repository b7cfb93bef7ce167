"""LiteLLM, the module and its functions, against the scripted server: in a process of its own, since it leaves loops open."""

import json
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import asyncio, json
import litellm
from tests.ask.stage import BAD, GOOD, SCHEMA, StageClock
from trueup import Contract, Policy
from trueup.ask.aio import aask
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.ask.sync import ask
from trueup.testing.script import Cut, Fail, Say
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


@pytest.mark.spec("X36", "A13")
@pytest.mark.parametrize("name", ["openai", "anthropic"])
@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_stream_that_was_cut_off_is_asked_for_again(found: dict[str, Any], name: str, way: str) -> None:
    assert found[f"{name} {way}"] == ["accepted", {"name": "Ada", "age": 36}, 2]
