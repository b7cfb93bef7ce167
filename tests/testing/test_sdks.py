"""The real SDKs against the scripted server: sync, async, streams, tools, models, errors."""

import asyncio
import threading
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from trueup import Contract
from trueup.testing.script import Call, Erring, Fail, Say
from trueup.testing.server import ScriptedServer

ASK: Any = [{"role": "user", "content": "¿Qué tal?"}]
TEXT = '¡Muy bien! 😀 Y {"a": [1, 2]} también.'
FULL = Say(TEXT, (Call("book", {"day": 3, "name": "María"}), Call("cancel", {})), usage=(21, 9), piece=5)
SCHEMA = {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}


def openai_client(server: ScriptedServer, **more: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", **more)


def anthropic_client(server: ScriptedServer, **more: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="none", **more)


def test_chat_completions() -> None:
    with ScriptedServer([FULL, FULL]) as server, openai_client(server) as client:
        whole = client.chat.completions.create(model="m", messages=ASK)
        message = whole.choices[0].message
        assert message.content == TEXT
        assert [call.function.name for call in message.tool_calls or () if call.type == "function"] == [
            "book",
            "cancel",
        ]
        assert whole.choices[0].finish_reason == "tool_calls"
        assert whole.usage is not None
        assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (21, 9)

        with client.chat.completions.stream(model="m", messages=ASK, stream_options={"include_usage": True}) as stream:
            for _ in stream:
                pass
            last = stream.get_final_completion()
        assert last.choices[0].message.content == TEXT
        calls = last.choices[0].message.tool_calls or []
        assert [call.function.arguments for call in calls] == ['{"day":3,"name":"María"}', "{}"]
        assert last.usage == whole.usage
        assert Contract(tools=[]).check(last).reply.text == TEXT
    assert server.requests[0].messages == ASK
    assert server.requests[0].headers["authorization"] == "Bearer none"
    assert server.left == 0


def test_chat_completions_async() -> None:
    async def run(server: ScriptedServer) -> str:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="none") as client:
            whole, other = await asyncio.gather(
                client.chat.completions.create(model="a", messages=ASK),
                client.chat.completions.create(model="b", messages=ASK),
            )
            assert (whole.choices[0].message.content, other.choices[0].message.content) == ("of a", "of b")
            pieces = await client.chat.completions.create(model="a", messages=ASK, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in pieces])

    with ScriptedServer({"a": ["of a", FULL], "*": ["of b"]}) as server:
        assert asyncio.run(run(server)) == TEXT


def test_responses() -> None:
    with ScriptedServer([FULL, FULL, Say("cut", finish="length")]) as server, openai_client(server) as client:
        whole = client.responses.create(model="m", input="hi")
        assert whole.output_text == TEXT
        assert [item.name for item in whole.output if item.type == "function_call"] == ["book", "cancel"]
        with client.responses.stream(model="m", input="hi") as stream:
            deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
            last = stream.get_final_response()
        assert "".join(deltas) == last.output_text == TEXT
        assert last.status == "completed"
        short = client.responses.create(model="m", input="hi")
        assert short.status == "incomplete"
        assert short.incomplete_details is not None
        assert short.incomplete_details.reason == "max_output_tokens"


def test_messages() -> None:
    thought = Say(FULL.text, FULL.calls, usage=(21, 9), thinking="Let me think.", piece=5)
    with ScriptedServer([thought, thought]) as server, anthropic_client(server) as client:
        whole = client.messages.create(model="m", max_tokens=99, messages=ASK)
        assert [block.type for block in whole.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert (whole.stop_reason, whole.usage.output_tokens) == ("tool_use", 9)
        with client.messages.stream(model="m", max_tokens=99, messages=ASK) as stream:
            assert "".join(stream.text_stream) == TEXT
            last = stream.get_final_message()
        assert [block.type for block in last.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert last.content[2].input == {"day": 3, "name": "María"}  # type: ignore[union-attr]
        assert last.stop_reason == "tool_use"
    headers = server.requests[0].headers
    assert "none" in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))


def test_messages_async() -> None:
    async def run(server: ScriptedServer) -> str:
        async with (
            anthropic.AsyncAnthropic(base_url=server.url, api_key="none") as client,
            client.messages.stream(model="m", max_tokens=99, messages=ASK) as stream,
        ):
            return "".join([text async for text in stream.text_stream])

    with ScriptedServer([FULL]) as server:
        assert asyncio.run(run(server)) == TEXT


def test_gemini() -> None:
    with ScriptedServer([FULL, FULL, Fail(400, "no such thing")]) as server:
        client = genai.Client(api_key="none", http_options=genai_types.HttpOptions(base_url=server.url))
        whole = client.models.generate_content(model="gemini-x", contents="hi")
        assert whole.candidates is not None
        assert whole.candidates[0].finish_reason == genai_types.FinishReason.STOP
        assert [call.name for call in whole.function_calls or []] == ["book", "cancel"]
        parts = [
            part
            for chunk in client.models.generate_content_stream(model="gemini-x", contents="hi")
            for candidate in chunk.candidates or []
            for part in (candidate.content.parts if candidate.content else None) or []
        ]
        assert "".join(part.text or "" for part in parts) == TEXT
        with pytest.raises(genai_errors.ClientError, match="no such thing"):
            client.models.generate_content(model="gemini-x", contents="hi")
        client.close()
    assert server.requests[0].model == "gemini-x"


def test_models_and_keys() -> None:
    with ScriptedServer(models=("a", "b"), key="secret") as server:
        with openai_client(server) as client, pytest.raises(openai.AuthenticationError):
            client.models.list()
        with openai.OpenAI(base_url=server.url, api_key="secret") as client:
            assert [model.id for model in client.models.list()] == ["a", "b"]
            assert client.models.retrieve("b").id == "b"
            with pytest.raises(openai.NotFoundError):
                client.models.retrieve("c")
            with pytest.raises(openai.NotFoundError, match="does not exist"):
                client.chat.completions.create(model="c", messages=ASK)
        with anthropic.Anthropic(base_url=server.url, api_key="secret") as other:
            assert [model.id for model in other.models.list()] == ["a", "b"]


def test_errors_have_the_shape_of_the_provider() -> None:
    with ScriptedServer([Fail(429, "slow down", retry_after=0.01), "fine"]) as server, openai_client(server) as client:
        assert client.chat.completions.create(model="m", messages=ASK).choices[0].message.content == "fine"
        assert [exchange.status for exchange in server.exchanges] == [429, 200]
    with ScriptedServer(then=Fail(429, "slow down")) as server:
        with openai_client(server, max_retries=0) as client, pytest.raises(openai.RateLimitError, match="slow down"):
            client.chat.completions.create(model="m", messages=ASK)
        with (
            anthropic_client(server, max_retries=0) as other,
            pytest.raises(anthropic.RateLimitError, match="slow down"),
        ):
            other.messages.create(model="m", max_tokens=9, messages=ASK)


def test_an_error_in_the_middle_of_a_stream() -> None:
    with ScriptedServer(then=Erring(FULL, 4, Fail(529, "Overloaded"))) as server:
        with openai_client(server) as client, pytest.raises(openai.APIError, match="Overloaded"):
            list(client.chat.completions.create(model="m", messages=ASK, stream=True))
        with anthropic_client(server) as other, pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            list(other.messages.create(model="m", max_tokens=9, messages=ASK, stream=True))


def test_rejected_parameters_do_not_use_a_step() -> None:
    text: Any = {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}
    form: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    with ScriptedServer(["fine"], reject={"json_schema", "temperature"}) as server, openai_client(server) as client:
        with pytest.raises(openai.BadRequestError, match="response_format"):
            client.chat.completions.create(model="m", messages=ASK, response_format=form)
        with pytest.raises(openai.BadRequestError, match="temperature"):
            client.chat.completions.create(model="m", messages=ASK, temperature=0)
        with pytest.raises(openai.BadRequestError, match="json_schema"):
            client.responses.create(model="m", input="hi", text=text)
        assert server.left == 1
        done = client.chat.completions.create(model="m", messages=ASK, response_format={"type": "json_object"})
        assert done.choices[0].message.content == "fine"


def test_refusals_and_empty_replies() -> None:
    with ScriptedServer([Say(refusal="I will not."), Say(None), Say("")]) as server, openai_client(server) as client:
        refused, none, empty = (
            client.chat.completions.create(model="m", messages=ASK).choices[0].message for _ in range(3)
        )
        assert (refused.refusal, refused.content) == ("I will not.", None)
        assert none.content is None
        assert empty.content == ""


def test_no_thread_outlives_the_server() -> None:
    before = set(threading.enumerate())
    with ScriptedServer(["x"]) as server, openai_client(server) as client:
        client.chat.completions.create(model="m", messages=ASK)
        assert {thread.name for thread in set(threading.enumerate()) - before} == {"scripted-server"}
    assert not set(threading.enumerate()) - before
