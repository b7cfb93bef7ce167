"""Every variant of an output item, block, part or event that the installed SDKs define is known and can be read.

The objects are made by the SDKs' own classes, each member from its annotation.
"""

import enum
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from trueup.read.reader import read
from trueup.read.reading import Reading

_PLAIN: dict[Any, Any] = {str: "word", bool: True, int: 7, float: 0.5, bytes: b"x", Any: {"k": "v"}, object: {"k": "v"}}


def arms(kind: Any) -> Iterator[Any]:
    """The members of a union."""
    if isinstance(kind, typing.TypeVar):
        return
    origin = get_origin(kind)
    if origin is typing.Annotated:
        yield from arms(get_args(kind)[0])
    elif origin in (Union, types.UnionType):
        for arm in get_args(kind):
            yield from arms(arm)
    elif inspect.isclass(kind) and issubclass(kind, BaseModel):
        yield kind


def make(kind: Any, depth: int) -> Any:
    """A value of a type."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, args = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        return make(args[0], depth)
    if origin is Literal:
        return args[0]
    if origin in (Union, types.UnionType):
        return make(next(arm for arm in args if arm is not type(None)), depth)
    if origin is list:
        return [make(args[0], depth + 1)] if depth < 5 else []
    if origin is dict:
        return {"k": make(args[1], depth + 1)} if depth < 5 else {}
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    return build(kind, depth + 1) if inspect.isclass(kind) and issubclass(kind, BaseModel) else None


def build(kind: type[BaseModel], depth: int = 0) -> Any:
    """An object of a model: all members near the top, those that are required below."""
    fields = {name: f for name, f in kind.model_fields.items() if f.is_required() or depth < 3}
    return kind.model_construct(**{name: make(f.annotation, depth) for name, f in fields.items()})


def known(reading: Reading) -> Reading:
    assert not [f for f in reading.findings if f.code == "R001"]
    return reading


@pytest.mark.spec("T2")
def test_items_and_events_of_openai_responses() -> None:
    from openai.types.responses import Response, ResponseOutputItem, ResponseStreamEvent

    items = [build(kind) for kind in arms(ResponseOutputItem)]
    assert len(items) > 25
    for item in items:
        whole = Response.model_construct(object="response", status="completed", output=[item], error=None)
        reading = known(read(whole))
        assert reading.findings == ()
        assert known(read(whole.model_dump(warnings=False))).reply.calls == reading.reply.calls
        waits = item.type in ("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call",
                              "apply_patch_call", "mcp_approval_request")  # fmt: skip
        assert (reading.reply.finish == "tool") == waits, item.type
    for kind in arms(ResponseStreamEvent):
        if kind.__name__ != "ResponseErrorEvent":
            known(read([build(kind)]))


@pytest.mark.spec("T2")
def test_blocks_and_events_of_anthropic() -> None:
    import anthropic.types as stable
    import anthropic.types.beta as beta

    for union, message, events in (
        (stable.ContentBlock, stable.Message, stable.RawMessageStreamEvent),
        (beta.BetaContentBlock, beta.BetaMessage, beta.BetaRawMessageStreamEvent),
    ):
        for kind in arms(union):
            block = build(kind)
            made = message.model_construct(type="message", role="assistant", content=[block], stop_reason="end_turn")
            reading = known(read(made))
            assert reading.findings == ()
            assert [call.name for call in reading.reply.calls] == (["word"] if block.type == "tool_use" else [])
            assert bool(reading.reply.turns) == block.type.endswith("_tool_result")
        for kind in arms(events):
            known(read([build(kind)]))


@pytest.mark.spec("T2")
def test_parts_of_gemini() -> None:
    from google.genai import types as genai

    for name, field in genai.Part.model_fields.items():
        part = genai.Part.model_construct(**{name: make(field.annotation, 0)})
        content = genai.Content.model_construct(role="model", parts=[part])
        candidate = genai.Candidate.model_construct(content=content, finish_reason=genai.FinishReason.STOP)
        reading = known(read(genai.GenerateContentResponse.model_construct(candidates=[candidate])))
        assert reading.findings == ()
        assert len(reading.reply.calls) == (name == "function_call")
        assert bool(reading.reply.turns) == (name in ("code_execution_result", "function_response", "tool_response"))


@pytest.mark.spec("T2")
def test_chunks_outputs_and_events_of_mistral() -> None:
    import mistralai.client.models as mistral

    for kind in arms(mistral.ContentChunk):
        message = mistral.AssistantMessage.model_construct(role="assistant", content=[build(kind)], tool_calls=None)
        assert known(read(message)).findings == ()
    for kind in arms(mistral.ConversationEvents.model_fields["data"].annotation):
        if not kind.__name__.startswith("Unknown"):
            known(read([mistral.ConversationEvents.model_construct(event="x", data=build(kind))]))


@pytest.mark.spec("T2")
def test_events_of_cohere_and_replies_of_ollama() -> None:
    import cohere
    import ollama

    for kind in arms(cohere.V2ChatStreamResponse):
        if not kind.__name__.startswith("Debug"):
            known(read([build(kind)]))
    assert known(read(build(ollama.ChatResponse))).findings == ()
    assert known(read(build(ollama.GenerateResponse))).findings == ()


@pytest.mark.spec("T2")
def test_blocks_of_langchain() -> None:
    from langchain_core.messages import AIMessage, AIMessageChunk

    def reply(*content: Any, **more: Any) -> Any:
        reading = read(AIMessage(content=[*content], **more))
        assert reading.findings == ()
        return reading.reply

    text = {"type": "text", "text": "done"}
    found = reply({"type": "server_tool_call", "id": "s", "name": "web", "args": {}},
                  {"type": "server_tool_result", "tool_call_id": "s", "status": "success"}, text)  # fmt: skip
    assert (found.calls, found.messages[0].outputs, found.messages[0].after) == ((), 1, "done")
    found = reply({"type": "executable_code", "executable_code": "1"}, {"type": "code_execution_result"}, "done")
    assert (found.calls, found.messages[0].outputs, found.messages[0].after) == ((), 1, "done")
    found = reply(
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c1", "id": "fc"},
        {"type": "custom_tool_call", "name": "g", "input": "x", "call_id": "c2"},
        tool_calls=[{"name": "f", "args": {}, "id": "c1", "type": "tool_call"}],
    )
    assert [(c.name, c.id, c.kind, c.raw_args) for c in found.calls] == [
        ("f", "c1", "function", "{}"),
        ("g", "c2", "custom", "x"),
    ]
    for name in ("reasoning", "thinking"):
        pieces = [{"type": name, name: piece, "index": 0} for piece in ("he", "llo")]
        chunks = [AIMessageChunk(content=[piece]) for piece in pieces]
        reading = read([*chunks, AIMessageChunk(content=[text], chunk_position="last")])
        assert (reading.reply.text, reading.reply.reasoning, reading.findings) == ("done", "hello", ())


@pytest.mark.spec("T2", "T10")
def test_a_reply_that_waits_for_a_click_is_not_empty() -> None:
    from trueup import Contract

    item = {"type": "computer_call", "id": "cu", "call_id": "c1", "action": {"type": "click", "x": 1, "y": 2}}
    verdict = Contract(tools=[{"name": "ping"}]).check({"object": "response", "output": [item]})
    assert verdict.findings == ()
