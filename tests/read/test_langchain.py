"""LangChain messages as dicts: plain, wrapped, dumped, with invalid calls, inside results."""

from typing import Any

import pytest

from trueup.read.reader import read

MESSAGE: dict[str, Any] = {
    "type": "ai",
    "content": "One moment.",
    "additional_kwargs": {},
    "response_metadata": {"finish_reason": "tool_calls", "model_name": "tiny"},
    "id": None,
    "tool_calls": [{"name": "forecast", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
    "invalid_tool_calls": [
        {"type": "invalid_tool_call", "id": "c2", "name": "clock", "args": "{bad", "error": "not JSON"}
    ],
    "usage_metadata": {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
        "input_token_details": {"cache_read": 1},
        "output_token_details": {"reasoning": 2},
    },
}


@pytest.mark.spec("T2")
@pytest.mark.parametrize(
    "source",
    [
        MESSAGE,
        {"type": "ai", "data": MESSAGE},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {k: v for k, v in MESSAGE.items() if k != "type"},
        },
        {"generations": [[{"text": "One moment.", "message": MESSAGE}]], "llm_output": {}},
        {"raw": MESSAGE, "parsed": None, "parsing_error": None},
        [{"type": "human", "content": "?"}, MESSAGE],
    ],
    ids=["plain", "wrapped", "dumpd", "result", "include_raw", "list"],
)
def test_every_form_of_a_message_is_read(source: Any) -> None:
    reading = read(source)
    reply = reading.reply
    assert reading.findings == ()
    assert (reply.text, reply.provider, reply.finish) == ("One moment.", "langchain", "tool")
    assert [(c.name, c.id, c.args, c.raw_args) for c in reply.calls] == [
        ("forecast", "c1", {"city": "Oslo"}, '{"city":"Oslo"}'),
        ("clock", "c2", None, "{bad"),
    ]
    assert reply.calls[1].parse_error
    if not isinstance(source, list):
        assert reply.usage == {
            "input_tokens": 1,
            "output_tokens": 2,
            "total_tokens": 3,
            "reasoning_tokens": 2,
            "cached_tokens": 1,
        }
        assert reply.model == "tiny"


def test_calls_of_the_provider_are_read_once_and_verbatim() -> None:
    raw = '{ "city": "Oslo" }'
    extra = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": raw}}]}
    (call,) = read({**MESSAGE, "invalid_tool_calls": [], "additional_kwargs": extra}).reply.calls
    assert (call.raw_args, call.args) == (raw, {"city": "Oslo"})
    (call,) = read({"type": "ai", "content": "", "additional_kwargs": extra}).reply.calls
    assert (call.id, call.raw_args) == ("c1", raw)


def test_the_legacy_call_in_additional_kwargs_is_read() -> None:
    extra = {"function_call": {"name": "forecast", "arguments": '{"city": "Oslo"}'}}
    (call,) = read({"type": "ai", "content": "", "additional_kwargs": extra}).reply.calls
    assert (call.name, call.args) == ("forecast", {"city": "Oslo"})


def test_blocks_of_content_are_read() -> None:
    blocks = [
        {"type": "reasoning", "reasoning": "Hm."},
        {"type": "text", "text": "Now."},
        {"type": "tool_use", "id": "c1", "name": "forecast", "input": {"city": "Oslo"}},
    ]
    reply = read({**MESSAGE, "content": blocks, "invalid_tool_calls": []}).reply
    assert (reply.text, reply.reasoning, [c.id for c in reply.calls]) == ("Now.", "Hm.", ["c1"])
    reply = read({"type": "ai", "content": blocks}).reply
    assert [(c.id, c.args) for c in reply.calls] == [("c1", {"city": "Oslo"})]


def test_a_plain_generation_is_read() -> None:
    result = {"generations": [[{"text": "Four.", "generation_info": {"finish_reason": "stop"}}]]}
    assert (read(result).reply.text, read(result).reply.finish) == ("Four.", "stop")
    assert read({"generations": []}).findings[0].code == "R004"
