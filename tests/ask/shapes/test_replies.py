"""Replies that are sent back: thinking, signatures and encrypted items stay unchanged in repairs, histories and next messages."""

import asyncio
import base64
import copy
import json
import pickle
from typing import Any

import pytest

from tests.ask.clients.kinds import KINDS, aclose, closing, run
from tests.ask.stage import StageClock
from trueup import Contract, Conversation, Policy, Reply, ToolCall, execute
from trueup.ask.memory import Memory
from trueup.ask.requests.messages import assistant, said
from trueup.ask.shapes.anthropic import as_anthropic
from trueup.ask.shapes.mistral import as_mistral
from trueup.ask.shapes.openai import as_openai
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.read.reader import read
from trueup.testing.script import Call, Say
from trueup.testing.server import ScriptedServer

pytestmark = [
    pytest.mark.spec("A14"),
    # google-genai's aiohttp session causes a warning
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]
PING = {
    "name": "ping",
    "parameters": {"type": "object", "properties": {"host": {"type": "string", "minLength": 3}}, "required": ["host"]},
}
CONTRACT = Contract(tools=[PING])
THOUGHT = "The user wants a host."
WRONG = Say("I look.", (Call("ping", {"host": "a"}, id="call_1"),), thinking=THOUGHT, piece=6)
RIGHT = Say("", (Call("ping", {"host": "abc"}, id="call_2"),), thinking=THOUGHT, piece=6)
# The parts that must be sent back unchanged, by provider.
MARKS = {
    "anthropic": {"type": "thinking", "thinking": THOUGHT, "signature": "scripted"},
    "gemini": "c2NyaXB0ZWQ=",
    "responses": "scripted",
    "bedrock": {"reasoningContent": {"reasoningText": {"text": THOUGHT, "signature": "scripted"}}},
}
THINKING = [kind for kind in KINDS if not kind.startswith(("cohere", "langchain-openai", "mistral", "pydantic-ai"))]


def sent_back(kind: str, body: dict[str, Any]) -> bool:
    """Whether a request contains the thinking of the previous reply in the place that its provider requires."""
    protocol = KINDS[kind].protocol
    if protocol == "anthropic":
        spoken = next(message for message in body["messages"] if message["role"] == "assistant")
        kinds = [block["type"] for block in spoken["content"]]
        return spoken["content"][0] == MARKS["anthropic"] and kinds == ["thinking", "text", "tool_use"]
    if protocol == "gemini":
        parts = next(content for content in body["contents"] if content["role"] == "model")["parts"]
        call = next(part for part in parts if "functionCall" in part)
        return base64.urlsafe_b64decode(call["thoughtSignature"]) == b"scripted"
    if protocol == "responses":
        kinds = [item.get("type", "") for item in body["input"]]
        at = kinds.index("reasoning")
        return body["input"][at]["encrypted_content"] == "scripted" and "function_call" in kinds[at:]
    if protocol == "bedrock":
        spoken = next(message for message in body["messages"] if message["role"] == "assistant")
        return spoken["content"][0] == MARKS["bedrock"]
    spoken = next(message for message in body["messages"] if message["role"] == "assistant")
    if protocol == "ollama":
        return spoken["thinking"] == THOUGHT
    return spoken["reasoning_content"] == THOUGHT


@pytest.mark.parametrize("kind", THINKING)
def test_a_refused_call_goes_back_with_the_thinking_before_it(kind: str) -> None:
    with ScriptedServer([WRONG, RIGHT]) as server:
        asked = run(kind, server, CONTRACT, "Ping a host.")
        bodies = [json.loads(request.body) for request in server.requests]
    assert (asked.answer.outcome, asked.answer.calls[0].args) == ("repaired", {"host": "abc"})
    assert sent_back(kind, bodies[1])


# Only the whole reply can have this fault, so the stream is read to its end.
ORDERED = Contract(tools=[PING, {"name": "login"}], order={"requires": {"ping": ["login"]}})
EARLY = Say("I look.", (Call("ping", {"host": "abc"}, id="call_1"),), thinking=THOUGHT, piece=6)
FIRST = Say("", (Call("login", {}, id="call_2"),), thinking=THOUGHT, piece=6)


def stream(kind: str, server: ScriptedServer) -> Any:
    client, clock = KINDS[kind].make(server), StageClock()
    policy = Policy(models=("m",))
    if not KINDS[kind].is_async:
        with (
            closing(client),
            AskStream(ORDERED, client, "Ping.", policy, clock=clock, wait=clock.wait, memory=Memory()) as parts,
        ):
            list(parts)
            return parts.answer

    async def going() -> Any:
        try:
            parts = AsyncAskStream(ORDERED, client, "Ping.", policy, clock=clock, wait=clock.await_, memory=Memory())
            async for _ in parts:
                pass
            return parts.answer
        finally:
            await aclose(client)

    return asyncio.run(going())


@pytest.mark.parametrize("kind", THINKING)
def test_a_stream_is_put_together_with_its_signatures(kind: str) -> None:
    with ScriptedServer([EARLY, FIRST]) as server:
        answer = stream(kind, server)
        bodies = [json.loads(request.body) for request in server.requests]
    assert (answer.outcome, answer.calls[0].name) == ("repaired", "login")
    assert sent_back(kind, bodies[1])


@pytest.mark.parametrize("kind", [kind for kind in THINKING if not kind.endswith("-async")])
def test_a_conversation_keeps_them_over_its_turns(kind: str) -> None:
    first = Say("I look.", (Call("ping", {"host": "abc"}, id="call_1"),), thinking=THOUGHT)
    with ScriptedServer([first, Say("It answers.")]) as server:
        client = KINDS[kind].make(server)
        with closing(client):
            talk = Conversation(CONTRACT, client, policy=Policy(models=("m",)))
            talk.ask("Ping abc.")
            talk.run({"ping": lambda host: f"{host} is up"})
            assert talk.ask().text == "It answers."
        body = json.loads(server.requests[1].body)
    assert sent_back(kind, body)
    assert "abc is up" in json.dumps(body)


@pytest.mark.parametrize("kind", [kind for kind in THINKING if not kind.endswith("-async")])
def test_next_messages_can_be_sent_with_the_results(kind: str) -> None:
    first = Say("I look.", (Call("ping", {"host": "abc"}, id="call_1"),), thinking=THOUGHT)
    with ScriptedServer([first, Say("It answers.")]) as server:
        answer = run(kind, server, CONTRACT, "Ping abc.").answer
        done = execute(answer.verdict, {"ping": lambda host: f"{host} is up"})
        assert run(kind, server, CONTRACT, [*answer.next_messages, *done.messages]).answer.text == "It answers."
        body = json.loads(server.requests[1].body)
    assert sent_back(kind, body)


def test_blocks_go_back_unchanged_and_in_their_order() -> None:
    from anthropic.types import Message

    content: list[Any] = [
        {"type": "thinking", "thinking": "One.", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "I look."},
        {"type": "thinking", "thinking": "Two.", "signature": "s2"},
        {"type": "tool_use", "id": "t1", "name": "ping", "input": {"host": "abc"}},
    ]
    body = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": content,
            "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    for raw in (body, Message.model_validate(body)):
        verdict = CONTRACT.check(raw)
        (message,) = said(verdict.reply, "anthropic")
        assert message == {"role": "assistant", "content": content}
        assert as_anthropic([message])[1] == [message]
        json.dumps(message)


def test_a_replacement_of_a_reply_keeps_the_thinking_before_it() -> None:
    raw = {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "One.", "signature": "s1"},
        {"type": "tool_use", "id": "t1", "name": "ping", "input": {"host": "abc"}}]}  # fmt: skip
    reply = read(raw).reply
    changed = Reply(text="Done.", provider="anthropic", raw=reply.raw)
    (message,) = said(changed, "anthropic")
    assert [block["type"] for block in message["content"]] == ["thinking", "text"]


def test_gemini_parts_are_json_and_signatures_stay_where_they_were() -> None:
    from google.genai import types

    parts = [
        types.Part(text="Hm.", thought=True),
        types.Part(text="I look."),
        types.Part(function_call=types.FunctionCall(name="ping", args={"host": "abc"}), thought_signature=b"sig"),
        types.Part(function_call=types.FunctionCall(name="ping", args={"host": "abd"})),
    ]
    raw = types.GenerateContentResponse(
        candidates=[
            types.Candidate(content=types.Content(role="model", parts=parts), finish_reason=types.FinishReason.STOP)
        ]
    )
    (message,) = said(CONTRACT.check(raw).reply, "gemini")
    assert [next(iter(part.keys() - {"thought"})) for part in message["parts"][:2]] == ["text", "text"]
    signatures = [part.get("thoughtSignature") for part in message["parts"]]
    assert signatures == [None, None, base64.b64encode(b"sig").decode(), None]
    assert json.loads(json.dumps(message)) == message


def test_a_corrected_name_keeps_the_signature_of_its_call() -> None:
    part = {"functionCall": {"name": "Ping", "args": {"host": "abc"}}, "thoughtSignature": "YWJj"}
    raw = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    reply = read(raw).reply
    changed = Reply(calls=(ToolCall("ping", {"host": "abc"}),), provider="gemini", raw=reply.raw)
    assert said(changed, "gemini")[0]["parts"][0]["thoughtSignature"] == "YWJj"


def chat(**message: Any) -> dict[str, Any]:
    ending = "tool_calls" if "tool_calls" in message else "stop"
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": ending}]}


CALLS = [{"id": "c1", "type": "function", "function": {"name": "ping", "arguments": '{"host": "abc"}'}}]


def test_reasoning_goes_back_with_calls_and_not_without() -> None:
    (with_call,) = said(read(chat(content=None, reasoning_content="", tool_calls=CALLS)).reply, "openai")
    assert with_call["reasoning_content"] == ""  # an empty one is also required
    (plain,) = said(read(chat(content="Hi", reasoning_content="Hm.")).reply, "openai")
    assert plain == {"role": "assistant", "content": "Hi"}
    details = [{"type": "reasoning.encrypted", "data": "x"}]
    (open_router,) = said(read(chat(content="Hi", reasoning_details=details)).reply, "openai")
    assert open_router["reasoning_details"] == details


def test_additional_members_of_a_call_are_sent_back_also_from_a_stream() -> None:
    signed = {"extra_content": {"google": {"thought_signature": "abc"}}}
    (message,) = said(read(chat(content=None, tool_calls=[{**CALLS[0], **signed}])).reply, "openai")
    assert message["tool_calls"] == [{**CALLS[0], **signed}]
    begun = {"index": 0, "id": "c1", "type": "function", "function": {"name": "ping", "arguments": ""}, **signed}
    more = {"index": 0, "function": {"arguments": '{"host": "abc"}'}}
    chunks = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        for call in (begun, more)
    ]
    chunks.append(
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    )
    assert said(read(chunks).reply, "openai") == [message]


def test_mistrals_thinking_is_in_the_content() -> None:
    from mistralai.client.models import ChatCompletionResponse

    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "I look."}]
    calls = [{**CALLS[0], "id": "D681PevKs"}]  # nine letters and digits, as Mistral writes and requires
    body = {**chat(content=content, tool_calls=calls), "id": "1", "object": "chat.completion", "model": "m",
            "created": 1, "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}  # fmt: skip
    body["choices"][0]["index"] = 0
    (message,) = said(read(ChatCompletionResponse.model_validate(body)).reply, "mistral")
    assert [part["type"] for part in message["content"]] == ["thinking", "text"]
    assert message["content"][0]["thinking"][0]["text"] == "Hm."
    assert as_mistral([message]) == [message]


def test_a_langchain_message_is_sent_back_itself() -> None:
    from langchain_core.messages import AIMessage, AIMessageChunk

    blocks: list[Any] = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Hi"}]
    raw = AIMessage(blocks)
    assert said(read(raw).reply, "langchain") == [raw]
    chunks = [AIMessageChunk("Hel"), AIMessageChunk("lo")]
    (whole,) = said(read(chunks).reply, "langchain")
    assert whole.content == "Hello"


def test_the_raw_reply_is_not_changed_and_an_answer_can_be_pickled() -> None:
    raw = {"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [
        {"type": "thinking", "thinking": "One.", "signature": "s1"}, {"type": "text", "text": "Hi."}]}  # fmt: skip
    before = copy.deepcopy(raw)
    answer = Contract().ask(lambda messages: raw, "Hi")
    assert raw == before
    assert pickle.loads(pickle.dumps(answer)).next_messages == answer.next_messages


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ("openai", {"role": "assistant", "content": "Hi"}),
        ("anthropic", {"role": "assistant", "content": "Hi"}),
        ("gemini", {"role": "model", "parts": [{"text": "Hi"}]}),
        ("bedrock", {"role": "assistant", "content": [{"text": "Hi"}]}),
        ("cohere", {"role": "assistant", "content": "Hi"}),
        ("ollama", {"role": "assistant", "content": "Hi"}),
        ("openai-responses", {"role": "assistant", "content": "Hi"}),
    ],
)
def test_a_reply_made_by_hand_is_a_plain_message(provider: str, message: dict[str, Any]) -> None:
    assert said(Reply(text="Hi"), provider) == [message]
    assert assistant(Reply(text="Hi"), provider) == message


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.endswith("-async")])
def test_a_text_in_pieces_is_one_text_for_every_provider(kind: str) -> None:
    text = "Somewhere in the middle of a word."
    with ScriptedServer([Say(text, thinking=THOUGHT, piece=5)]) as server:
        client, clock = KINDS[kind].make(server), StageClock()
        options: dict[str, Any] = {"clock": clock, "wait": clock.wait, "memory": Memory()}
        with closing(client), AskStream(Contract(), client, "Where?", Policy(models=("m",)), **options) as parts:
            list(parts)
    history = parts.answer.next_messages
    assert text in json.dumps(as_anthropic(history)[1])
    assert text in json.dumps(as_openai(history), default=str)
    if not kind.startswith("langchain"):
        assert json.dumps(history).count("Somewhere") == json.dumps(history).count(text) == 1
