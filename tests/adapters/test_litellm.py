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
from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices

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


LEAKED = '<tool_call>{"name": "add", "arguments": {"a": "1", "b": 2}}</tool_call>'
SCHEMAS: list[Any] = [None, Person]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Say("I will add.", (Call("add", '{"a": "1", "b": 2,}'),)), "I will add."),
        (Say(None, (Call("Add", '{"a": 1, "b": 2}'),)), None),
        (Say(f"One moment. {LEAKED}"), "One moment."),
    ],
)
def test_a_repaired_call_keeps_its_text_and_gets_its_name(schema: Any, reply: Say, text: str | None) -> None:
    (choice,) = ask(reply, ContractGuardrail(Contract(schema, tools=[add])), tools=TOOLS).choices
    (call,) = choice.message.tool_calls
    assert (call.function.name, orjson.loads(call.function.arguments)) == ("add", {"a": 1, "b": 2})
    assert (choice.message.content, choice.finish_reason) == (text, "tool_calls")


def test_a_reply_that_was_cut_off_is_refused() -> None:
    with pytest.raises(ReplyRefused, match="P009"):
        ask(Say(GOOD[:-1], finish="length"), ContractGuardrail(CONTRACT))


def streamed(guardrail: ContractGuardrail, *pieces: tuple[int, str | None, str | None]) -> list[Any]:
    """The choices that leave the guardrail for a stream of pieces: the number of the choice, its text, why it ended."""

    async def stream() -> Any:
        for index, text, finish in pieces:
            choice = StreamingChoices(index=index, delta=Delta(content=text), finish_reason=finish)
            yield ModelResponseStream(id="1", model="openai/m", choices=[choice])

    async def run() -> list[Any]:
        judged = guardrail.async_post_call_streaming_iterator_hook(None, stream(), {})
        return [chunk.choices[0] async for chunk in judged]

    return asyncio.run(run())


def test_each_choice_of_a_stream_is_judged() -> None:
    guardrail = ContractGuardrail(CONTRACT)
    ends = [(0, None, "stop"), (1, None, "stop")]
    out = streamed(guardrail, (0, GOOD[:9], None), (1, BROKEN, None), (0, GOOD[9:], None), *ends)
    texts = ["".join(choice.delta.content or "" for choice in out if choice.index == index) for index in (0, 1)]
    assert texts[0] == GOOD
    assert Person.model_validate_json(texts[1]) == ADA
    with pytest.raises(ReplyRefused, match="age >= 0"):
        streamed(guardrail, (0, GOOD, None), (1, REFUSED, None), *ends)


def test_a_call_in_the_text_of_a_stream_becomes_a_tool_call() -> None:
    first, *rest, last = streamed(
        ContractGuardrail(Contract(tools=[add])), (0, LEAKED[:20], None), (0, LEAKED[20:], None), (0, None, "stop")
    )
    assert orjson.loads(first.delta.tool_calls[0].function.arguments) == {"a": 1, "b": 2}
    assert not any(choice.delta.content for choice in (first, *rest, last))
    assert last.finish_reason == "tool_calls"


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
