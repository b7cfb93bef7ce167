"""LiteLLM: the guardrail in calls of the SDK and in a real proxy, over a server on loopback."""

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import litellm
import openai
import orjson
import pytest

from tests.adapters.person import ADA, BROKEN, CONTRACT, GOOD, REFUSED, Person
from trueup import Contract, Rejected, Verdict
from trueup.adapters.litellm import ContractGuardrail, ReplyRefused
from trueup.contract.files.faults import ContractError
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


STEPS = {
    "broken": Say(BROKEN, piece=4),
    "good": Say(GOOD, piece=4),
    "refused": Say(REFUSED, piece=4),
    "call": Say(None, (Call("add", '{"a": "1", "b": 2,}'),), piece=4),
    "bad call": Say(None, (Call("add", {"a": 1, "b": "x"}),), piece=4),
}
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {
    "a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}]  # fmt: skip


def ask(reply: Any, guardrail: ContractGuardrail, **options: Any) -> Any:
    """A completion by LiteLLM's SDK, with the guardrail requested by name."""

    async def run(url: str) -> Any:
        try:
            return await litellm.acompletion(
                "openai/m", [{"role": "user", "content": "Who is Ada?"}], api_base=f"{url}/v1", api_key="none",
                **{"guardrails": ["contract"], **options},
            )  # fmt: skip
        finally:
            await litellm.close_litellm_async_clients()

    litellm.callbacks = [guardrail]
    try:
        with ScriptedServer([reply]) as server:
            return asyncio.run(run(server.url))
    finally:
        litellm.callbacks = []


def test_a_broken_completion_of_the_sdk_is_repaired() -> None:
    verdicts: list[Verdict] = []
    completion = ask(BROKEN, ContractGuardrail(CONTRACT, on_verdict=verdicts.append))
    assert Person.model_validate_json(completion.choices[0].message.content) == ADA
    assert verdicts[0].fixes


def test_a_refused_completion_of_the_sdk_raises_with_the_verdict() -> None:
    with pytest.raises(ReplyRefused) as caught:
        ask(REFUSED, ContractGuardrail(CONTRACT))
    assert isinstance(caught.value, Rejected)
    assert caught.value.verdict.data == {"name": "Ada", "age": -5}
    assert "Your reply was not valid." in caught.value.message
    assert "age >= 0" in caught.value.message


def test_the_guardrail_only_judges_requests_that_name_it() -> None:
    assert ask(REFUSED, ContractGuardrail(CONTRACT), guardrails=["other"]).choices[0].message.content == REFUSED
    with pytest.raises(ReplyRefused):
        ask(REFUSED, ContractGuardrail(CONTRACT, "person"), guardrails=["person"])


def test_a_valid_completion_is_passed_through_unchanged() -> None:
    assert ask(GOOD, ContractGuardrail(CONTRACT)).choices[0].message.content == GOOD


def test_arguments_of_tool_calls_are_repaired() -> None:
    completion = ask(STEPS["call"], ContractGuardrail(Contract(tools=[add])), tools=TOOLS)
    assert orjson.loads(completion.choices[0].message.tool_calls[0].function.arguments) == {"a": 1, "b": 2}
    with pytest.raises(ReplyRefused, match=r"\$\.calls\[0\]\.args\.b"):
        ask(STEPS["bad call"], ContractGuardrail(Contract(tools=[add])), tools=TOOLS)


def test_the_context_reaches_the_contract() -> None:
    contract = Contract(Person, rules=["age >= least"], input=["least"])
    assert ask(GOOD, ContractGuardrail(contract, context={"input": {"least": 30}}))
    with pytest.raises(ReplyRefused):
        ask(GOOD, ContractGuardrail(contract, context={"input": {"least": 40}}))


PROXY = """\
model_list:
  - model_name: m
    litellm_params: {model: openai/m, api_base: URL/v1, api_key: none}
guardrails:
  - guardrail_name: person
    litellm_params:
      guardrail: trueup.adapters.litellm.ContractGuardrail
      mode: post_call
      contract: person.yaml
  - guardrail_name: tools
    litellm_params:
      guardrail: trueup.adapters.litellm.ContractGuardrail
      mode: post_call
      contract: tools.yaml
general_settings: {master_key: sk-test}
litellm_settings: {telemetry: false}
"""
PERSON = """\
schema: {type: object, properties: {name: {type: string}, age: {type: integer}}, required: [name, age]}
rules: ["age >= 0"]
"""


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health/liveliness", timeout=10) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of LiteLLM's proxy, in front of a model that answers each question by its name in `STEPS`."""
    folder = tmp_path_factory.mktemp("proxy")
    (folder / "person.yaml").write_text(PERSON, "utf-8")
    (folder / "tools.yaml").write_text(f"tools: {orjson.dumps(TOOLS).decode()}\n", "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, log = f"http://127.0.0.1:{port}", folder / "log.txt"
    command = [
        Path(sys.executable).with_name("litellm"),
        "--config",
        "proxy.yaml",
        "--port",
        str(port),
        "--host",
        "127.0.0.1",
    ]
    with ScriptedServer(lambda request: STEPS[request.messages[0]["content"]]) as server, log.open("wb") as out:
        (folder / "proxy.yaml").write_text(PROXY.replace("URL", server.url), "utf-8")
        process = subprocess.Popen(
            command, cwd=folder, stdout=out, stderr=out, env={**os.environ, "NO_PROXY": "127.0.0.1"}
        )
        try:
            while not answers(url):
                assert process.poll() is None, log.read_text("utf-8", "replace")[-3000:]
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def completed(url: str, question: str, guardrail: str = "person", *, streams: bool = False) -> Any:
    """A completion that OpenAI's client gets from the proxy: its content, or the pieces of a stream."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="sk-test", max_retries=0) as client:
        completion = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": question}], stream=streams, tools=TOOLS if "call" in question else [],
            extra_body={"guardrails": [guardrail]},
        )  # type: ignore[call-overload]  # fmt: skip
        return [chunk.choices[0].delta for chunk in completion if chunk.choices] if streams else completion


def test_the_proxy_answers_with_the_repaired_reply(proxy: str) -> None:
    assert Person.model_validate_json(completed(proxy, "broken").choices[0].message.content) == ADA


def test_the_proxy_answers_a_refused_reply_with_the_correction(proxy: str) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        completed(proxy, "refused")
    assert caught.value.type == "reply_refused"
    assert "age >= 0" in str(caught.value)


def test_a_client_of_the_proxy_asks_again_with_the_correction(proxy: str) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        completed(proxy, "refused")
    with openai.OpenAI(base_url=f"{proxy}/v1", api_key="sk-test", max_retries=0) as client:
        correction = caught.value.body["message"]  # type: ignore[index]
        messages: Any = [{"role": "user", "content": "good"}, {"role": "user", "content": correction}]
        completion = client.chat.completions.create(model="m", messages=messages, extra_body={"guardrails": ["person"]})
    assert completion.choices[0].message.content == GOOD


def test_a_stream_of_the_proxy_is_repaired(proxy: str) -> None:
    deltas = completed(proxy, "broken", streams=True)
    assert Person.model_validate_json("".join(delta.content or "" for delta in deltas)) == ADA


def test_a_valid_stream_of_the_proxy_is_passed_through_unchanged(proxy: str) -> None:
    deltas = completed(proxy, "good", streams=True)
    assert len(deltas) > 4
    assert "".join(delta.content or "" for delta in deltas) == GOOD


def test_a_refused_stream_of_the_proxy_ends_in_an_error(proxy: str) -> None:
    with pytest.raises(openai.APIError, match="age >= 0"):
        completed(proxy, "refused", streams=True)


@pytest.mark.parametrize("streams", [False, True])
def test_arguments_of_tool_calls_are_repaired_in_the_proxy(proxy: str, *, streams: bool) -> None:
    completion = completed(proxy, "call", "tools", streams=streams)
    if streams:
        arguments = "".join(call.function.arguments for delta in completion for call in delta.tool_calls or ())
    else:
        arguments = completion.choices[0].message.tool_calls[0].function.arguments
    assert orjson.loads(arguments) == {"a": 1, "b": 2}


def test_the_path_of_a_contract_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="there is no such file"):
        ContractGuardrail(str(tmp_path / "person.yaml"))
