"""The text of a reply next to its calls."""

import json

import pytest

from tests.growth import assert_linear
from trueup import Contract
from trueup.contract.meaning.meaning import prose
from trueup.contract.tool_calls.rest_of_reply import beside, held, is_written, without_calls

PING = {"name": "ping", "parameters": {"type": "object", "properties": {"host": {"type": "string"}}}}
CONTRACT = Contract(tools=[PING])
CALL = {"name": "ping", "arguments": {"host": "a"}}
HELD = json.dumps({"toolCalls": [CALL], "content": "One moment.", "why": 1})


@pytest.mark.parametrize(
    ("reply", "text", "fields"),
    [
        (HELD, "One moment.", {"why": 1}),
        (f"```json\n{HELD}\n```", "One moment.", {"why": 1}),
        (f"Hello.\n```json\n{HELD}\n```\nBye.", "Hello.\nOne moment.\nBye.", {"why": 1}),
        (f"<function_calls>\n{HELD}\n</function_calls>", "One moment.", {"why": 1}),
        (f"<tool_call>{json.dumps(CALL)}</tool_call>", "", {}),
        (f"Hello. <tool_call>{json.dumps(CALL)}</tool_call> Bye.", "Hello. Bye.", {}),
        ('<function_calls><invoke name="ping"><parameter name="host">a</parameter></invoke></function_calls>', "", {}),
        ('[TOOL_CALLS][{"name": "ping", "arguments": {"host": "a"}}]', "", {}),
        ('{"name": "ping", "arguments": {"host": "a"}, "mood": "kind"}', "", {"mood": "kind"}),
        ('<tool_call>{"name": "ping", "host": "a"}</tool_call>', "", {}),  # these are its arguments
        (f"Hello. {HELD}", "Hello. One moment.", {"why": 1}),
        (f"Hello. {HELD} Bye.", "Hello. One moment. Bye.", {"why": 1}),
        (f"<function_calls>```json\n{HELD}\n```</function_calls> Bye.", "One moment. Bye.", {"why": 1}),
        (f"<answer>\n{HELD}\n</answer>", "One moment.", {"why": 1}),
        (f"<b>{HELD}</i>", "<b> One moment. </i>", {"why": 1}),  # not a wrapper
        (f"\ufeff{HELD}", "One moment.", {"why": 1}),
        (json.dumps(HELD), "One moment.", {"why": 1}),
        (f'{HELD}\n{{"content": "Bye."}}', 'One moment.\n{"content": "Bye."}', {"why": 1}),
        ('ping(host="a")', "", {}),
        ("Nothing is called.", "Nothing is called.", {}),
    ],
)
def test_text_and_fields_next_to_a_call(reply: str, text: str, fields: dict[str, object]) -> None:
    found = beside(CONTRACT.check(reply))
    assert found.text == text
    assert found.fields == fields


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('On it. <tool_call>{"name": "launch", "arguments": {}}</tool_call> Done.', "On it. Done."),
        ('<tool_call>{"name": "launch", "arguments": {}}</tool_call> done', "done"),  # a word after a mark is a word
        ("Action: launch\nAction Input: {}", ""),
        ('Run this:\n```python\nprint({"a": 1})\n```', 'Run this:\n```python\nprint({"a": 1})\n```'),
        ("<b>Hello</b> world", "<b>Hello</b> world"),
    ],
)
def test_a_text_without_the_parts_that_are_written_as_calls(text: str, rest: str) -> None:
    assert without_calls(text) == rest


def test_several_envelopes_are_put_together() -> None:
    other = json.dumps({"toolCalls": [CALL], "content": "And again.", "why": 2})
    found = beside(CONTRACT.check(f"<tool_call>{HELD}</tool_call><tool_call>{other}</tool_call>"))
    assert found == ("One moment. And again.", {"why": 2})


def test_a_native_call_is_not_in_the_text() -> None:
    call = {"id": "c", "function": {"name": "ping", "arguments": '{"host": "a"}'}}
    verdict = CONTRACT.check({"role": "assistant", "content": "Hello.", "tool_calls": [call]})
    assert not is_written(verdict)
    assert not held(verdict)
    assert beside(verdict).text == "Hello."


@pytest.mark.parametrize("content", ["One moment.", "An\\u0061 waits.", 'a "quote"'])
def test_the_content_of_an_object_with_calls_is_judged_like_any_text(content: str) -> None:
    reply = f'Hi. {{"toolCalls": [{json.dumps(CALL)}], "content": {json.dumps(json.loads(json.dumps(content)))}}}'
    verdict = CONTRACT.check(reply)
    assert content in prose(verdict).text
    placed = prose(verdict, keep_places=True).text
    assert len(placed) == len(reply)
    assert content in placed


def test_a_state_forbids_terms_in_such_content() -> None:
    asking = Contract(tools=[PING], states={"ASKING": {"forbid": [{"terms": ["Ana"], "why": "early"}]}})
    hidden = '{"toolCalls": [{"name": "ping", "arguments": {}}], "content": "An\\u0061 is free."}'
    assert [found.code for found in asking.check(hidden, {"state": "ASKING"}).errors] == ["D001"]


@pytest.mark.growth
@pytest.mark.parametrize("mark", ["```json\n", "<json>\n", "<tool_call>", "<a> "])
def test_many_marks_before_a_call_cost_no_more_each(mark: str) -> None:
    def run(text: str) -> None:
        beside(CONTRACT.check(text))
        without_calls(text)

    assert_linear(run, lambda n: mark * n + json.dumps(CALL), 4000)
