"""LlamaIndex: the parser and the program with a real model class, over a server on loopback."""

import asyncio
from typing import Any

import httpx
import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.program import LLMTextCompletionProgram
from llama_index.core.prompts import ChatPromptTemplate
from llama_index.llms.openai_like import OpenAILike

from tests.adapters.person import ADA, BROKEN, CONTRACT, GOOD, MISSING, REFUSED, Person
from trueup import Contract, Policy, Rejected, Verdict
from trueup.adapters.llama_index import ContractOutputParser, ContractProgram
from trueup.testing.script import Say
from trueup.testing.server import ScriptedServer


def model_of(server: ScriptedServer) -> OpenAILike:
    return OpenAILike(
        model="m", api_base=f"{server.url}/v1", api_key="none", is_chat_model=True, max_retries=0,
        async_http_client=httpx.AsyncClient(),
    )  # fmt: skip


def run(program: Any, llm: OpenAILike, *, awaited: bool = False, streams: bool = False) -> Any:
    """The result of a program; for a stream, all parts."""

    async def wait() -> Any:
        async with llm._async_http_client:
            return await parts() if streams else await program.acall(who="Ada")

    async def parts() -> list[Any]:
        return [part async for part in await program.astream_call(who="Ada")]

    if awaited:
        return asyncio.run(wait())
    return list(program.stream_call(who="Ada")) if streams else program(who="Ada")


@pytest.mark.parametrize("awaited", [False, True])
def test_llama_indexs_own_program_gives_the_repaired_value(*, awaited: bool) -> None:
    verdicts: list[Verdict] = []
    parser = ContractOutputParser(CONTRACT, on_verdict=verdicts.append)
    with ScriptedServer([BROKEN]) as server:
        llm = model_of(server)
        program = LLMTextCompletionProgram.from_defaults(
            output_parser=parser, output_cls=Person, prompt_template_str="Who is {who}?", llm=llm
        )
        assert run(program, llm, awaited=awaited) == ADA
        prompt = str(server.requests[0].messages[-1]["content"])
    assert prompt.startswith("Who is Ada?")
    assert CONTRACT.instructions() in prompt
    assert verdicts[0].fixes


@pytest.mark.parametrize("reply", [REFUSED, MISSING, "I do not know.", ""])
def test_a_refused_completion_raises_with_the_verdict(reply: str) -> None:
    with pytest.raises(OutputParserException) as caught:
        ContractOutputParser(CONTRACT).parse(reply)
    assert isinstance(caught.value.__cause__, Rejected)
    assert caught.value.__cause__.verdict.reply.text == reply
    assert str(caught.value)


@pytest.mark.parametrize("awaited", [False, True])
def test_the_program_asks_again_with_the_correction(*, awaited: bool) -> None:
    answers: list[Any] = []
    with ScriptedServer([REFUSED, BROKEN]) as server:
        llm = model_of(server)
        program = ContractProgram(CONTRACT, llm, "Who is {who}?", on_answer=answers.append)
        assert run(program, llm, awaited=awaited) == ADA
        sent = [request.messages for request in server.requests]
    assert "Who is Ada?" in str(sent[0])
    assert "age >= 0" in str(sent[1][-1])
    assert answers[0].outcome == "repaired"


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("streams", [False, True])
def test_the_program_raises_when_the_retries_are_used_up(*, awaited: bool, streams: bool) -> None:
    with ScriptedServer([MISSING, MISSING]) as server:
        llm = model_of(server)
        program = ContractProgram(CONTRACT, llm, "Who is {who}?", policy=Policy(repairs=1))
        with pytest.raises(OutputParserException) as caught:
            run(program, llm, awaited=awaited, streams=streams)
    assert isinstance(caught.value.__cause__, Rejected)
    assert caught.value.__cause__.verdict.reply.text == MISSING


@pytest.mark.parametrize("awaited", [False, True])
def test_a_stream_of_the_program_ends_with_the_judged_value(*, awaited: bool) -> None:
    with ScriptedServer([Say(MISSING, piece=4), Say(GOOD, piece=4)]) as server:
        llm = model_of(server)
        parts = run(ContractProgram(Contract(Person), llm, "Who is {who}?"), llm, awaited=awaited, streams=True)
    assert len(parts) > 2
    assert parts[-1] == ADA


def test_options_of_the_model_are_passed_on() -> None:
    with ScriptedServer([GOOD]) as server:
        program = ContractProgram(CONTRACT, model_of(server), "Who is {who}?")
        assert program(who="Ada", llm_kwargs={"seed": 7}) == ADA
        assert b'"seed":7' in server.requests[0].body.replace(b" ", b"")


def test_a_text_under_reply_rules_comes_back_as_text() -> None:
    parser = ContractOutputParser(Contract(reply=True))
    assert parser.parse("Yes, I can help you with that.") == "Yes, I can help you with that."
    assert parser.format("Can you help?") == "Can you help?"
    with pytest.raises(OutputParserException):
        parser.parse("Yes")


def test_the_context_reaches_the_contract() -> None:
    contract = Contract(Person, rules=["age >= least"], input=["least"])
    assert ContractOutputParser(contract, context={"input": {"least": 30}}).parse(GOOD) == ADA
    with pytest.raises(OutputParserException):
        ContractOutputParser(contract, context={"input": {"least": 40}}).parse(GOOD)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_reply_that_was_cut_off_is_refused(*, awaited: bool) -> None:
    answers: list[Any] = []
    with ScriptedServer([Say(GOOD[:-1], finish="length"), GOOD]) as server:
        llm = model_of(server)
        program = ContractProgram(CONTRACT, llm, "Who is {who}?", on_answer=answers.append)
        assert run(program, llm, awaited=awaited) == ADA
        assert len(server.requests) == 2
    assert "P009" in str(answers[0].attempts[0].verdict)


def test_a_prompt_with_an_image_is_an_error() -> None:
    blocks = [ImageBlock(url="https://example.com/ada.png"), TextBlock(text="Who is this?")]
    with ScriptedServer([]) as server:
        program = ContractProgram(
            CONTRACT, model_of(server), ChatPromptTemplate([ChatMessage(role="user", blocks=blocks)])
        )
        with pytest.raises(TypeError, match="sends only text; the prompt has a ImageBlock"):
            program()


def test_a_program_returns_a_text_under_reply_rules() -> None:
    text = "Yes, I can help you with that."
    with ScriptedServer(then=Say(text, piece=4)) as server:
        program = ContractProgram(Contract(reply=True), model_of(server), "Can you help?")
        assert program() == text
        assert list(program.stream_call())[-1] == text
