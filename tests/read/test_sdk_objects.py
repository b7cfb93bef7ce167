"""The response objects of the real SDKs, built by the SDKs themselves, read without importing them."""

import json
import subprocess
import sys
from typing import Any

import pytest

from trueup.read.reader import read
from trueup.verdict.reply import Reply

FUNCTION = {"name": "forecast", "arguments": '{"city": "Oslo"}'}
CALL = {"id": "c1", "type": "function", "function": FUNCTION}


def check(reply: Reply, call_id: str = "c1", text: str = "One moment.", *, answered: bool = False) -> None:
    assert reply.text == text
    assert reply.finish == "tool"
    assert [(c.name, c.id, c.args, c.answered) for c in reply.calls] == [
        ("forecast", call_id, {"city": "Oslo"}, answered)
    ]


def good(source: Any) -> Reply:
    reading = read(source)
    assert reading.findings == ()
    assert reading.reply.raw is source
    return reading.reply


CHAT = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "tiny",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "One moment.", "tool_calls": [CALL]},
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}


@pytest.mark.spec("T2")
class TestOpenAI:
    def test_chat_completion(self) -> None:
        from openai.types.chat import ChatCompletion

        reply = good(ChatCompletion.model_validate(CHAT))
        check(reply)
        assert reply.usage["total_tokens"] == 5

    def test_a_message_and_a_history_of_messages(self) -> None:
        from openai.types.chat import ChatCompletion

        message = ChatCompletion.model_validate(CHAT).choices[0].message
        check(good(message))
        reply = read([{"role": "user", "content": "?"}, message]).reply
        check(reply)

    def test_chat_chunks(self) -> None:
        from openai.types.chat import ChatCompletionChunk
        from openai.types.chat.chat_completion_chunk import (
            Choice,
            ChoiceDelta,
            ChoiceDeltaToolCall,
            ChoiceDeltaToolCallFunction,
        )

        def chunk(delta: ChoiceDelta, finish: Any = None) -> ChatCompletionChunk:
            choice = Choice(index=0, delta=delta, finish_reason=finish)
            return ChatCompletionChunk(
                id="x", object="chat.completion.chunk", created=1, model="tiny", choices=[choice]
            )

        def part(arguments: str, name: str | None = None) -> ChoiceDelta:
            function = ChoiceDeltaToolCallFunction(name=name, arguments=arguments)
            return ChoiceDelta(tool_calls=[ChoiceDeltaToolCall(index=0, id="c1" if name else None, function=function)])

        chunks = [
            chunk(ChoiceDelta(role="assistant", content="One ")),
            chunk(ChoiceDelta(content="moment.")),
            chunk(part("", "forecast")),
            chunk(part('{"city": "Oslo"}')),
            chunk(ChoiceDelta(), "tool_calls"),
        ]
        check(good(chunks))

    def test_response_and_its_events(self) -> None:
        from openai.types.responses import Response, ResponseCompletedEvent, ResponseTextDeltaEvent

        response = Response.model_validate(
            {
                "id": "r",
                "object": "response",
                "created_at": 1,
                "model": "tiny",
                "status": "completed",
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
                "output": [
                    {
                        "type": "message",
                        "id": "m",
                        "role": "assistant",
                        "status": "completed",
                        "content": [{"type": "output_text", "text": "One moment.", "annotations": []}],
                    },
                    {"type": "function_call", "id": "fc", "call_id": "c1", **FUNCTION},
                ],
            }
        )
        check(good(response))
        check(good(response.output))
        events = [
            ResponseTextDeltaEvent.model_construct(
                type="response.output_text.delta", output_index=0, item_id="m", delta="One moment."
            ),
            ResponseCompletedEvent(type="response.completed", sequence_number=2, response=response),
        ]
        check(good(events))

    def test_an_error(self) -> None:
        import httpx
        from openai import RateLimitError

        answer = httpx.Response(429, request=httpx.Request("POST", "http://localhost"))
        error = RateLimitError(
            "Slow down", response=answer, body={"message": "Slow down", "code": "rate_limit_exceeded"}
        )
        (found,) = read(error).findings
        assert (found.code, found.data["status"], found.data["retryable"]) == ("R002", 429, True)


MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "tiny",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "One moment.", "citations": None},
        {"type": "tool_use", "id": "c1", "name": "forecast", "input": {"city": "Oslo"}},
    ],
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


@pytest.mark.spec("T2")
class TestAnthropic:
    def test_message(self) -> None:
        from anthropic.types import Message

        message = Message.model_validate(MESSAGE)
        reply = good(message)
        check(reply)
        assert reply.reasoning == "Hm."
        check(good(message.content))
        check(read([{"role": "user", "content": "?"}, {"role": "assistant", "content": message.content}]).reply)

    def test_events(self) -> None:
        from anthropic.types import (
            InputJSONDelta,
            Message,
            RawContentBlockDeltaEvent,
            RawContentBlockStartEvent,
            RawMessageDeltaEvent,
            RawMessageStartEvent,
            RawMessageStopEvent,
            TextBlock,
            TextDelta,
            ToolUseBlock,
        )

        start = Message.model_validate({**MESSAGE, "content": [], "stop_reason": None})
        ending = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}
        tool = ToolUseBlock(type="tool_use", id="c1", name="forecast", input={})
        events = [
            RawMessageStartEvent(type="message_start", message=start),
            RawContentBlockStartEvent(
                type="content_block_start", index=0, content_block=TextBlock(type="text", text="")
            ),
            RawContentBlockDeltaEvent(
                type="content_block_delta", index=0, delta=TextDelta(type="text_delta", text="One moment.")
            ),
            RawContentBlockStartEvent(type="content_block_start", index=1, content_block=tool),
            RawContentBlockDeltaEvent(
                type="content_block_delta",
                index=1,
                delta=InputJSONDelta(type="input_json_delta", partial_json='{"city": "Oslo"}'),
            ),
            RawMessageDeltaEvent.model_validate(ending),
            RawMessageStopEvent(type="message_stop"),
        ]
        reply = good(events)
        check(reply)
        assert reply.calls[0].raw_args == '{"city": "Oslo"}'
        assert [f.code for f in read(events[:-2]).findings] == ["R003"]

    def test_batch_results(self) -> None:
        from anthropic.types.messages import MessageBatchIndividualResponse

        line = MessageBatchIndividualResponse.model_validate(
            {"custom_id": "u-1", "result": {"type": "succeeded", "message": MESSAGE}}
        )
        assert read(line).key == "u-1"
        check(read(line).reply)
        line = MessageBatchIndividualResponse.model_validate({"custom_id": "u-1", "result": {"type": "expired"}})
        assert read(line).findings[0].data["retryable"] is True


@pytest.mark.spec("T2")
class TestGemini:
    def test_response(self) -> None:
        from google.genai import types

        parts = [
            types.Part(text="Hm.", thought=True, thought_signature=b"\x00\xff"),
            types.Part(text="One "),
            types.Part(text="moment."),
            types.Part(function_call=types.FunctionCall(name="forecast", args={"city": "Oslo"})),
        ]
        candidate = types.Candidate(
            content=types.Content(role="model", parts=parts), finish_reason=types.FinishReason.STOP
        )
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=3, candidates_token_count=2)
        response = types.GenerateContentResponse(candidates=[candidate], usage_metadata=usage, model_version="tiny")
        reply = good(response)
        check(reply, "")
        assert (reply.reasoning, reply.usage["total_tokens"], reply.model) == ("Hm.", 5, "tiny")
        check(good([response]), "")

    def test_history(self) -> None:
        from google.genai import types

        call = types.Part(function_call=types.FunctionCall(name="forecast", args={"city": "Oslo"}))
        history = [
            types.Content(role="user", parts=[types.Part(text="?")]),
            types.Content(role="model", parts=[types.Part(text="One moment."), call]),
        ]
        check(good(history), "")

    def test_a_blocked_prompt(self) -> None:
        from google.genai import types

        feedback = types.GenerateContentResponsePromptFeedback(block_reason=types.BlockedReason.SAFETY)
        assert good(types.GenerateContentResponse(prompt_feedback=feedback)).finish == "filter"

    @pytest.mark.parametrize(
        ("reason", "finish"),
        [("MAX_TOKENS", "length"), ("SAFETY", "filter"), ("MALFORMED_FUNCTION_CALL", "malformed_tool")],
    )
    def test_endings(self, reason: str, finish: str) -> None:
        from google.genai import types

        candidate = types.Candidate(finish_reason=types.FinishReason(reason))
        assert good(types.GenerateContentResponse(candidates=[candidate])).finish == finish


@pytest.mark.spec("T2")
class TestLangChain:
    def message(self) -> Any:
        from langchain_core.messages import AIMessage

        return AIMessage(
            content="One moment.",
            tool_calls=[{"name": "forecast", "args": {"city": "Oslo"}, "id": "c1"}],
            response_metadata={"finish_reason": "tool_calls", "model_name": "tiny"},
            usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        )

    def test_every_form(self) -> None:
        from langchain_core.load import dumpd
        from langchain_core.messages import HumanMessage, message_to_dict, messages_to_dict
        from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult

        message = self.message()
        generation = ChatGeneration(message=message)
        for source in (
            message,
            message_to_dict(message),
            dumpd(message),
            ChatResult(generations=[generation]),
            LLMResult(generations=[[generation]]),
            [HumanMessage("?"), message],
            messages_to_dict([HumanMessage("?"), message]),
            {"messages": [HumanMessage("?"), message]},
        ):
            check(good(source))
        assert good(message).usage["total_tokens"] == 5

    def test_invalid_calls_are_not_lost(self) -> None:
        from langchain_core.messages import AIMessage

        message = AIMessage(
            content="", invalid_tool_calls=[{"name": "forecast", "args": "{bad", "id": "c1", "error": "no"}]
        )
        (call,) = good(message).calls
        assert (call.name, call.raw_args, call.args) == ("forecast", "{bad", None)

    def test_tool_messages(self) -> None:
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

        reply = good(
            [
                HumanMessage("?"),
                self.message(),
                ToolMessage("3", tool_call_id="c1"),
                AIMessage("Three degrees."),
            ]
        )
        assert (reply.text, [c.answered for c in reply.calls]) == ("Three degrees.", [True])

    def test_chunks(self) -> None:
        from langchain_core.messages import AIMessageChunk

        def piece(args: str, name: str | None = None) -> AIMessageChunk:
            call = {"name": name, "args": args, "id": "c1" if name else None, "index": 0, "type": "tool_call_chunk"}
            return AIMessageChunk(content="", tool_call_chunks=[call])

        chunks = [
            AIMessageChunk(content="One "),
            AIMessageChunk(content="moment."),
            piece('{"city": ', "forecast"),
            piece('"Oslo"}'),
            AIMessageChunk(content="", response_metadata={"finish_reason": "tool_calls"}),
        ]
        check(good(chunks))
        assert [f.code for f in read(chunks[:-1]).findings] == ["R003"]


@pytest.mark.spec("T2")
class TestOllama:
    CALL = {"function": {"name": "forecast", "arguments": {"city": "Oslo"}}}

    def test_chat(self) -> None:
        from ollama import ChatResponse

        body = {
            "model": "tiny",
            "created_at": "2026-01-01T00:00:00Z",
            "done": True,
            "done_reason": "stop",
            "message": {"role": "assistant", "content": "One moment.", "tool_calls": [self.CALL]},
        }
        check(good(ChatResponse.model_validate(body)), "")

    def test_generate_and_chunks(self) -> None:
        from ollama import ChatResponse, GenerateResponse

        assert (
            good(GenerateResponse(model="tiny", response="Four.", done=True, done_reason="length")).finish == "length"
        )
        messages: list[dict[str, Any]] = [
            {"role": "assistant", "content": "One "},
            {"role": "assistant", "content": "moment.", "tool_calls": [self.CALL]},
        ]
        chunks = [ChatResponse.model_validate({"message": m, "done": False}) for m in messages]
        chunks.append(
            ChatResponse.model_validate({"message": {"role": "assistant"}, "done": True, "done_reason": "stop"})
        )
        check(good(chunks), "")
        assert [f.code for f in read(chunks[:-1]).findings] == ["R003"]


@pytest.mark.spec("T2")
class TestMistral:
    def test_chat(self) -> None:
        from mistralai.client.models import ChatCompletionResponse

        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
        content = [thinking, {"type": "text", "text": "One moment."}]
        body = json.loads(json.dumps(CHAT))
        body["choices"][0]["message"]["content"] = content
        reply = good(ChatCompletionResponse.model_validate(body))
        check(reply)
        assert reply.reasoning == "Hm."

    def test_stream(self) -> None:
        from mistralai.client.models import CompletionEvent

        def event(delta: dict[str, Any], finish: str | None = None) -> CompletionEvent:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return CompletionEvent.model_validate({"data": {"id": "x", "model": "tiny", "choices": [choice]}})

        events = [
            event({"content": "One "}),
            event({"content": "moment."}),
            event({"tool_calls": [CALL]}, "tool_calls"),
        ]
        check(good(events))


@pytest.mark.spec("T2")
class TestCohere:
    def test_chat(self) -> None:
        from cohere import V2ChatResponse

        body = {
            "id": "x",
            "finish_reason": "TOOL_CALL",
            "message": {
                "role": "assistant",
                "tool_plan": "Ask.",
                "content": [{"type": "text", "text": "One moment."}],
                "tool_calls": [CALL],
            },
            "usage": {"tokens": {"input_tokens": 3, "output_tokens": 2}},
        }
        reply = good(V2ChatResponse.model_validate(body))
        check(reply)
        assert (reply.reasoning, reply.usage["total_tokens"]) == ("Ask.", 5)

    def test_stream(self) -> None:
        import cohere

        def delta(**message: Any) -> dict[str, Any]:
            return {"index": 0, "delta": {"message": message}}

        start = {"tool_calls": {"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": ""}}}
        more = {"tool_calls": {"function": {"arguments": FUNCTION["arguments"]}}}
        events = [
            cohere.MessageStartV2ChatStreamResponse.model_validate({"id": "x"}),
            cohere.ContentDeltaV2ChatStreamResponse.model_validate(delta(content={"text": "One moment."})),
            cohere.ToolCallStartV2ChatStreamResponse.model_validate(delta(**start)),
            cohere.ToolCallDeltaV2ChatStreamResponse.model_validate(delta(**more)),
            cohere.MessageEndV2ChatStreamResponse.model_validate({"delta": {"finish_reason": "TOOL_CALL"}}),
        ]
        check(good(events))
        assert [f.code for f in read(events[:-1]).findings] == ["R003"]


def test_no_sdk_is_imported() -> None:
    code = "import sys, trueup.read.reader; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    names = {name.partition(".")[0] for name in loaded}
    assert not names & {"openai", "anthropic", "google", "langchain_core", "ollama", "mistralai", "cohere", "pydantic"}
