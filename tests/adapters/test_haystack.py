"""Haystack: the component in real pipelines, over the client that Haystack uses and a server on loopback."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.joiners import BranchJoiner
from haystack.dataclasses import ChatMessage, ChatRole, ToolCall
from haystack.utils import Secret

from tests.adapters.person import ADA, BROKEN, CONTRACT, GOOD, MISSING, REFUSED, Person
from trueup import Contract, Verdict
from trueup.adapters.haystack import ContractValidator
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer

QUESTION = [ChatMessage.from_user("Who is Ada?")]


def loop(url: str, validator: ContractValidator, *, history: bool = True) -> Pipeline:
    """A pipeline that asks again: the corrections go back to the generator."""
    pipeline = Pipeline()
    pipeline.add_component("joiner", BranchJoiner(list[ChatMessage]))
    key = Secret.from_token("none")
    llm = OpenAIChatGenerator(api_key=key, model="m", api_base_url=f"{url}/v1", max_retries=0)
    pipeline.add_component("llm", llm)
    pipeline.add_component("validator", validator)
    pipeline.connect("joiner", "llm.messages")
    pipeline.connect("llm.replies", "validator.messages")
    pipeline.connect("validator.validation_error", "joiner")
    if history:
        pipeline.connect("joiner", "validator.history")
    return pipeline


def ask(script: list[Any], validator: ContractValidator, *, awaited: bool = False, history: bool = True) -> Any:
    """The outputs of the validator, and the messages that the generator sent."""
    data = {"joiner": {"value": QUESTION}}

    async def wait(pipeline: Pipeline) -> Any:
        try:
            return await pipeline.run_async(data)
        finally:
            await pipeline.close_async()

    with ScriptedServer(script) as server:
        pipeline = loop(server.url, validator, history=history)
        outputs = asyncio.run(wait(pipeline)) if awaited else pipeline.run(data)
        return outputs["validator"], [request.messages for request in server.requests]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_broken_reply_leaves_repaired(*, awaited: bool) -> None:
    verdicts: list[Verdict] = []
    outputs, sent = ask([BROKEN], ContractValidator(CONTRACT, on_verdict=verdicts.append), awaited=awaited)
    assert outputs["value"] == ADA
    assert outputs["validated"][0].text == '{"name":"Ada","age":36}'
    assert len(sent) == 1
    assert verdicts[0].fixes


@pytest.mark.parametrize("awaited", [False, True])
def test_the_loop_of_a_pipeline_asks_again_with_the_correction(*, awaited: bool) -> None:
    outputs, sent = ask([REFUSED, MISSING, GOOD], ContractValidator(CONTRACT), awaited=awaited)
    assert outputs["value"] == ADA
    assert [message["role"] for message in sent[1]] == ["user", "assistant", "user"]
    assert "Correct it; this is correction 1 of 2." in str(sent[1][-1])
    assert "age >= 0" in str(sent[1][-1])
    assert "this is correction 2 of 2." in str(sent[2][-1])


@pytest.mark.parametrize("awaited", [False, True])
def test_the_verdict_leaves_when_the_corrections_are_used_up(*, awaited: bool) -> None:
    outputs, sent = ask([REFUSED, MISSING], ContractValidator(CONTRACT, retries=1), awaited=awaited)
    assert "validated" not in outputs
    assert isinstance(outputs["refused"], Verdict)
    assert outputs["refused"].reply.text == MISSING
    assert len(sent) == 2


def test_without_the_history_only_the_reply_and_the_correction_are_sent() -> None:
    outputs, sent = ask([REFUSED, GOOD], ContractValidator(CONTRACT), history=False)
    assert outputs["value"] == ADA
    assert [message["role"] for message in sent[1]] == ["assistant", "user"]


def test_a_streamed_reply_is_judged_at_its_end() -> None:
    chunks: list[Any] = []
    with ScriptedServer([Say(REFUSED, piece=4), Say(GOOD, piece=4)]) as server:
        pipeline = loop(server.url, ContractValidator(CONTRACT))
        outputs = pipeline.run({"joiner": {"value": QUESTION}, "llm": {"streaming_callback": chunks.append}})
    assert len(chunks) > 4
    assert outputs["validator"]["value"] == ADA


def test_a_valid_reply_is_passed_through_unchanged() -> None:
    message = ChatMessage.from_assistant(GOOD, meta={"model": "m"})
    assert ContractValidator(CONTRACT).run([message])["validated"] == [message]


def test_a_text_under_reply_rules_is_judged() -> None:
    validator = ContractValidator(Contract(reply=True))
    outputs = validator.run([ChatMessage.from_assistant("Yes, I can help you with that.")])
    assert outputs["value"] == "Yes, I can help you with that."
    assert "validation_error" in validator.run([ChatMessage.from_assistant("Yes")])


def add(a: int, b: int) -> int:
    return a + b


def calling(text: str | None = None, name: str = "add", **arguments: Any) -> ChatMessage:
    call = ToolCall(name, arguments, id="1", extra={"signature": "s"})
    return ChatMessage.from_assistant(text, meta={"model": "m"}, tool_calls=[call])


def test_a_refused_call_is_answered_as_the_provider_expects() -> None:
    outputs = ContractValidator(Contract(tools=[add])).run([calling(a=1, b="x")])
    answer = outputs["validation_error"][-1]
    assert answer.is_from(ChatRole.TOOL)
    assert "The call was not made" in answer.tool_call_result.result
    assert (answer.tool_call_result.origin.id, answer.tool_call_result.error) == ("1", True)


def test_corrections_of_calls_are_counted() -> None:
    validator = ContractValidator(Contract(tools=[add]), retries=1)
    two = ChatMessage.from_assistant(
        tool_calls=[ToolCall("add", {"a": 1}, id="1"), ToolCall("add", {"a": 1, "b": 2}, id="2")]
    )
    history = validator.run([two], QUESTION)["validation_error"]
    assert [message.role.value for message in history] == ["user", "assistant", "tool", "tool"]
    assert "refused" in validator.run([two], history)


SCHEMAS: list[Any] = [None, Person]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize(
    ("message", "text"),
    [
        (calling(a="1", b=2), None),
        (calling("I will add.", a="1", b=2), "I will add."),
        (calling(name="Add", a=1, b=2), None),
        (
            ChatMessage.from_assistant(
                'One moment. <tool_call>{"name": "add", "arguments": {"a": "1", "b": 2}}</tool_call>'
            ),
            "One moment.",
        ),
    ],
)
def test_a_repaired_call_keeps_its_text_and_gets_its_name(schema: Any, message: ChatMessage, text: str | None) -> None:
    (valid,) = ContractValidator(Contract(schema, tools=[add])).run([message])["validated"]
    assert (valid.tool_call.tool_name, valid.tool_call.arguments) == ("add", {"a": 1, "b": 2})
    assert valid.tool_call.extra == (message.tool_call and message.tool_call.extra)
    assert (valid.text, valid.meta) == (text, message.meta)


def test_a_repaired_message_keeps_everything_else() -> None:
    message = ChatMessage.from_assistant(BROKEN, meta={"model": "m"}, name="bot", reasoning="Let me see.")
    (valid,) = ContractValidator(CONTRACT).run([message])["validated"]
    assert (valid.meta, valid.name, valid.reasoning) == (message.meta, "bot", message.reasoning)


def test_a_reply_that_was_cut_off_is_refused() -> None:
    message = ChatMessage.from_assistant(GOOD[:-1], meta={"finish_reason": "length"})
    assert "P009" in ContractValidator(CONTRACT).run([message])["validation_error"][-1].text


def test_no_message_is_an_error() -> None:
    with pytest.raises(ValueError, match="`messages` is empty"):
        ContractValidator(CONTRACT).run([])


def test_the_context_reaches_the_contract() -> None:
    validator = ContractValidator(Contract(Person, rules=["age >= least"], input=["least"]))
    message = ChatMessage.from_assistant(GOOD)
    assert "value" in validator.run([message], context={"input": {"least": 30}})
    assert "value" not in validator.run([message], context={"input": {"least": 40}})


def test_a_pipeline_with_the_path_of_a_contract_is_saved_and_loaded(tmp_path: Path) -> None:
    file = tmp_path / "person.yaml"
    file.write_text("schema: {type: object, required: [name]}\n", "utf-8")
    pipeline = Pipeline()
    pipeline.add_component("validator", ContractValidator(str(file), retries=5))
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["trueup.adapters.haystack"])
    validator = loaded.get_component("validator")
    assert isinstance(validator, ContractValidator)
    assert validator.retries == 5
    assert "validation_error" in validator.run([ChatMessage.from_assistant("{}")])
    with pytest.raises(ValueError, match="path of a contract file"):
        ContractValidator(CONTRACT).to_dict()


def test_calls_without_an_id_keep_what_their_provider_added() -> None:
    calls = [ToolCall("add", {"a": "1", "b": at}, extra={"signature": at}) for at in range(2)]
    (valid,) = ContractValidator(Contract(tools=[add])).run([ChatMessage.from_assistant(tool_calls=calls)])["validated"]
    assert [(call.id, call.arguments, call.extra) for call in valid.tool_calls] == [
        (None, {"a": 1, "b": at}, {"signature": at}) for at in range(2)
    ]


def test_a_missing_state_is_an_error_and_not_a_correction() -> None:
    with pytest.raises(RuntimeError, match="asking again would not help: reply refused: D006"):
        ContractValidator(Contract(states={"IDLE": {}})).run([ChatMessage.from_assistant("Hello.")])
