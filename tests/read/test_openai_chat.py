"""OpenAI Chat Completions and servers with the same API: strict, lax, refused, cut off, filtered, failed."""

from typing import Any

import pytest

from trueup.ask.policy import Policy, Price
from trueup.read.reader import read
from trueup.verdict.reply import Reply


def body(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "chatcmpl-7", "object": "chat.completion", "model": "tiny-1", "choices": [choice], **more}


def reply(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> Reply:
    reading = read(body(message, finish, **more))
    assert reading.findings == ()
    return reading.reply


def function(name: str, arguments: Any, call_id: str = "call_1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_plain_answer_is_read() -> None:
    counts = {
        "prompt_tokens": 11,
        "completion_tokens": 5,
        "total_tokens": 16,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    source = body({"content": "Tuesday at nine."}, usage=counts)
    found = read(source).reply
    assert found == Reply(
        text="Tuesday at nine.",
        finish="stop",
        usage={
            "input_tokens": 11,
            "output_tokens": 5,
            "total_tokens": 16,
            "reasoning_tokens": 2,
            "cached_tokens": 4,
        },
        model="tiny-1",
        provider="openai",
        raw=source,
    )
    assert found.raw is source


@pytest.mark.spec("T2")
def test_parallel_calls_keep_their_arguments_verbatim() -> None:
    raw = '{ "city":"Oslo",\n "days": 3 }'
    found = reply(
        {"content": None, "tool_calls": [function("forecast", raw), function("clock", "{}", "call_2")]}, "tool_calls"
    )
    first, second = found.calls
    assert (first.name, first.id, first.raw_args, first.args) == (
        "forecast",
        "call_1",
        raw,
        {"city": "Oslo", "days": 3},
    )
    assert (second.name, second.index, second.args, second.origin) == ("clock", 1, {}, "native")
    assert found.finish == "tool"
    assert found.text == ""


@pytest.mark.spec("T2")
@pytest.mark.parametrize(
    ("given", "args", "error"),
    [
        ('{"a": 1}', {"a": 1}, ""),
        ({"a": 1}, {"a": 1}, ""),
        ("", {}, ""),
        ("  \n", {}, ""),
        ("{'a': 1}", None, "malformed"),
        ('{"a": 1', None, "truncated"),
        ("[1]", None, "a list, not an object"),
        ("5", None, "a number, not an object"),
        ("null", None, "null, not an object"),
        (None, None, "null, not an object"),
        ([1], None, "a list, not an object"),
        ('"{}"', None, "a string, not an object"),
        ('{"a": 1, "a": 2}', None, "given twice"),
        ('{"a": NaN}', None, "malformed"),
    ],
)
def test_arguments_of_every_kind_are_read(given: Any, args: dict[str, Any] | None, error: str) -> None:
    (call,) = reply({"content": None, "tool_calls": [function("f", given)]}, "tool_calls").calls
    assert call.args == args
    assert error in call.parse_error
    assert bool(error) == bool(call.parse_error)
    if isinstance(given, str):
        assert call.raw_args == given


def test_missing_arguments_are_empty() -> None:
    (call,) = reply({"tool_calls": [{"function": {"name": "ping"}}]}, "tool_calls").calls
    assert (call.args, call.raw_args, call.id, call.parse_error) == ({}, "", "", "")


def test_long_integers_stay_exact() -> None:
    (call,) = reply({"tool_calls": [function("f", '{"n": 123456789012345678901234567890}')]}).calls
    assert call.args == {"n": 123456789012345678901234567890}


def test_an_escaped_quote_does_not_hide_a_repeated_key() -> None:
    (call,) = reply({"tool_calls": [function("f", '{"a": 1, "a": "\\u0022\\u0022"}')]}).calls
    assert call.args is None
    (call,) = reply({"tool_calls": [function("f", '{"a": "\\u0022"}')]}).calls
    assert call.args == {"a": '"'}


def test_custom_tools_have_text_as_input() -> None:
    item = {"id": "call_9", "type": "custom", "custom": {"name": "sql", "input": "select {"}}
    (call,) = reply({"content": None, "tool_calls": [item]}, "tool_calls").calls
    assert (call.kind, call.name, call.raw_args, call.args, call.parse_error) == ("custom", "sql", "select {", None, "")


def test_the_legacy_function_call_counts() -> None:
    found = reply({"content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}, "function_call")
    assert [(c.name, c.args, c.id) for c in found.calls] == [("f", {"a": 1}, "")]
    assert found.finish == "tool"


def test_an_empty_legacy_call_next_to_an_answer_is_not_a_call() -> None:
    found = reply({"content": "4", "function_call": {"name": "", "arguments": ""}, "tool_calls": []})
    assert found.calls == ()
    assert found.finish == "stop"


def test_calls_with_a_stop_ending_end_with_a_call() -> None:
    assert reply({"content": "", "tool_calls": [function("f", "{}")]}, "stop").finish == "tool"


def test_content_may_be_a_list() -> None:
    found = reply({"content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]})
    assert found.text == "one two"
    blocks = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "so"}]
    found = reply({"content": blocks})
    assert (found.reasoning, found.text) == ("hm", "so")


@pytest.mark.parametrize(
    "extra",
    [
        {"reasoning_content": "because"},
        {"reasoning": "because"},
        {"reasoning": "because", "reasoning_details": [{"type": "reasoning.text", "text": "because"}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "because"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "because"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "because", "signature": "s"}]},
        {"reasoning": "because", "reasoning_content": "because"},
    ],
)
def test_reasoning_is_read_under_every_name(extra: dict[str, Any]) -> None:
    found = reply({"content": "yes", **extra})
    assert (found.text, found.reasoning) == ("yes", "because")


def test_content_that_a_server_has_already_parsed_is_read() -> None:
    assert reply({"content": {"name": "Ada"}}).text == '{"name":"Ada"}'


def test_a_refusal_is_read() -> None:
    found = reply({"content": None, "refusal": "I would rather not."})
    assert (found.finish, found.refusal, found.text) == ("refusal", "I would rather not.", "")


def test_a_truncated_call_stays_truncated() -> None:
    found = reply({"content": None, "tool_calls": [function("f", '{"city": "Os')]}, "length")
    assert found.finish == "length"
    assert found.calls[0].raw_args == '{"city": "Os'
    assert found.calls[0].args is None


def test_filtered_content_is_reported() -> None:
    found = reply({"content": None}, "content_filter", prompt_filter_results=[])
    assert (found.finish, found.text) == ("filter", "")


def test_a_null_message_is_reported() -> None:
    source = {"object": "chat.completion", "choices": [{"message": None, "finish_reason": "content_filter"}]}
    assert read(source).reply.finish == "filter"


def test_audio_answers_are_read_by_their_transcript() -> None:
    assert reply({"content": None, "audio": {"id": "a", "transcript": "Good morning"}}).text == "Good morning"


def test_text_completions_are_read() -> None:
    reading = read({"object": "text_completion", "choices": [{"text": " a cat", "finish_reason": "length"}]})
    assert (reading.reply.text, reading.reply.finish) == (" a cat", "length")


def test_extensions_of_servers_do_no_harm() -> None:
    found = read(
        {
            **body({"content": "ok", "reasoning": None, "tool_calls": []}),
            "timings": {"predicted_ms": 3},
            "__verbose": {"content": "ok"},
            "prompt_logprobs": None,
            "kv_transfer_params": None,
        }
    )
    assert (found.reply.text, found.reply.calls, found.findings) == ("ok", (), ())


def test_an_error_inside_a_choice_keeps_the_text_that_had_arrived() -> None:
    source = body({"content": "Half an ans"}, "error")
    source["choices"][0]["error"] = {"code": 502, "message": "Upstream closed"}
    reading = read(source)
    assert [f.code for f in reading.findings] == ["R002"]
    assert reading.findings[0].data == {
        "status": 502,
        "code": "",
        "message": "Upstream closed",
        "retryable": True,
    }
    assert (reading.reply.text, reading.reply.finish) == ("Half an ans", "error")


def test_a_finish_reason_of_error_alone_is_a_failure() -> None:
    assert [f.code for f in read(body({"content": ""}, "error")).findings] == ["R002"]


def test_a_body_without_choices_has_no_answer() -> None:
    assert [f.code for f in read({"object": "chat.completion", "choices": []}).findings] == ["R004"]
    failed = read({"object": "chat.completion", "choices": [], "error": {"message": "Down", "code": 503}})
    assert [f.code for f in failed.findings] == ["R002"]


def test_an_unknown_ending_is_unknown() -> None:
    assert reply({"content": "x"}, "because").finish == "unknown"
    assert reply({"content": "x"}, None).finish == "unknown"


@pytest.mark.parametrize("claimed", [-1, 10**13, 10**400, 1e300, True, "9", None])
def test_an_impossible_count_is_none(claimed: Any) -> None:
    usage = {"prompt_tokens": claimed, "completion_tokens": 5, "total_tokens": 14}
    found = reply({"content": "hi"}, usage=usage)
    assert found.usage == {"output_tokens": 5, "total_tokens": 14}
    assert Policy(prices={"*": Price(1.0, 1.0)}).cost("m", found.usage) is None
