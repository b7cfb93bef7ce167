"""Wrappers and notations of a reply: all of them are read without asking again."""

import json

import pytest

from tests.acceptance.self_repair.assistant import CONTRACT

ENVELOPE = {
    "toolCalls": [{"name": "speak", "arguments": {"text": "Hello"}}],
    "content": "Speaking now",
    "needsMoreWork": True,
}
CLEAN = json.dumps(ENVELOPE)
WRITTEN = {
    "as it should be": CLEAN,
    "the XML wrapper": f"<function_calls>\n{CLEAN}\n</function_calls>",
    "the XML wrapper, with words": f"I will do that.\n<function_calls>{CLEAN}</function_calls>\nDone.",
    "a fence": f"```json\n{CLEAN}\n```",
    "a fence in capitals": f"```JSON\n{CLEAN}\n```",
    "a fence that never closes": f"```json\n{CLEAN}",
    "both": f"<function_calls>\n```json\n{CLEAN}\n```\n</function_calls>",
    "words around": f"Sure, here you are:\n{CLEAN}\nAnything else?",
    "a stray object before": f"{{}} {CLEAN}",
    "a trailing comma": CLEAN[:-1] + ",}",
    "single quotes": CLEAN.replace('"', "'"),
    "another object before": f'Sure! {{"note": 1}} then {CLEAN}',
    "the XML wrapper in capitals": f"<FUNCTION_CALLS>{CLEAN}</FUNCTION_CALLS>",
    "names without quotes": '{toolCalls: [{name: "speak", arguments: {text: "Hello"}}], content: "Speaking now", needsMoreWork: true}',
    "a comment": CLEAN.replace('"content"', '/* what to say */ "content"'),
    "Python's literals": CLEAN.replace("true", "True"),
    "reasoning before it": f"<think>Perhaps {{}}?</think>{CLEAN}",
}


@pytest.mark.spec("A1")
@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_every_way_of_writing_it_gives_the_same_envelope(text: str) -> None:
    verdict = CONTRACT.check(text)
    assert verdict.ok, verdict.errors
    assert verdict.data == ENVELOPE
    assert [call.args for call in verdict.calls] == [{"text": "Hello"}]
    assert bool(verdict.fixes) == (text != CLEAN)  # whatever was done is recorded


@pytest.mark.spec("A2")
def test_braces_in_strings_do_not_count_and_a_raw_line_break_is_read() -> None:
    assert CONTRACT.check('Well: {"content": "use } and { here"} ok').data == {"content": "use } and { here"}
    assert CONTRACT.check('{"content": "one\ntwo"}').data == {"content": "one\ntwo"}


@pytest.mark.parametrize(
    "text",
    [
        '<function_calls><invoke name="speak"><parameter name="text">Hello</parameter></invoke></function_calls>',
        '<tool_call>{"name": "speak", "arguments": {"text": "Hello"}}</tool_call>',
        '[{"name": "speak", "arguments": {"text": "Hello"}}]',
        'speak(text="Hello")',
    ],
)
def test_calls_in_another_notation_become_an_envelope(text: str) -> None:
    verdict = CONTRACT.check(text)
    assert verdict.ok
    assert verdict.data == {"toolCalls": [{"name": "speak", "arguments": {"text": "Hello"}}]}


def test_the_words_next_to_calls_become_the_content_of_the_envelope() -> None:
    call = '{"name": "speak", "arguments": {"text": "Hello"}}'
    verdict = CONTRACT.check(f"One moment.\n<tool_call>{call}</tool_call>\nThere you go.")
    assert verdict.data == {"toolCalls": [json.loads(call)], "content": "One moment.\n\nThere you go."}
