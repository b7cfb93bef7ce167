"""The ready-made envelope contract: text and calls in one JSON object, for models without native calls."""

import json
from typing import Any

import pytest

from trueup import Contract
from trueup.verdict.reply import Reply, ToolCall

TOOLS = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]
PLAIN = Contract.envelope()
TOOLED = Contract.envelope(TOOLS)


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    "text",
    [
        '{"content": "Done."}',
        '{"content": "use } here"}',
        '{"toolCalls": [{"name": "ping", "arguments": {}}]}',
        '{"toolCalls": [{"name": "ping", "arguments": {}}], "content": "One moment.", "needsMoreWork": true}',
        '{"toolCalls": [], "content": "Nothing to call.", "needsMoreWork": false}',
        '```json\n{"content": "fenced"}\n```',
    ],
)
def test_an_envelope_passes(text: str) -> None:
    assert PLAIN.check(text).ok
    assert TOOLED.check(text).ok


@pytest.mark.spec("A3")
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"content": ""}',
        '{"answer": 42}',
        '{"needsMoreWork": true}',
        '{"toolCalls": []}',
        "[]",
        "no JSON at all",
        '"text"',
    ],
)
def test_an_object_without_content_or_calls_is_not_an_envelope(text: str) -> None:
    for contract in (PLAIN, TOOLED):
        verdict = contract.check(text)
        assert not verdict.ok
        assert "T013" not in {f.code for f in verdict.findings}


@pytest.mark.spec("A3", "A4")
def test_a_fault_inside_is_named_by_its_field() -> None:
    verdict = Contract.envelope(coerce="off").check('{"toolCalls": [{"name": 5, "arguments": {}}]}')
    assert [(f.path, f.message) for f in verdict.findings] == [
        ("$.toolCalls[0].name", 'Field "toolCalls.0.name": Expected string, got number')
    ]


@pytest.mark.spec("A2", "A3")
def test_the_envelope_is_found_next_to_a_stray_object() -> None:
    verdict = PLAIN.check('Sure! {} here it is: {"content": "hi", "needsMoreWork": false}')
    assert verdict.ok
    assert verdict.data == {"content": "hi", "needsMoreWork": False}


@pytest.mark.spec("A3", "T3", "T5")
def test_calls_inside_are_judged_like_native_ones() -> None:
    good = TOOLED.check('{"toolCalls": [{"name": "get_weather", "arguments": {"city": "Oslo", "days": "3"}}]}')
    assert good.ok
    assert [(c.name, c.args, c.origin) for c in good.calls] == [
        ("get_weather", {"city": "Oslo", "days": 3}, "envelope")
    ]
    unknown = TOOLED.check('{"toolCalls": [{"name": "get_wether", "arguments": {}}], "content": "…"}')
    assert [f.code for f in unknown.errors] == ["T001"]
    assert unknown.errors[0].data["closest"] == "get_weather"
    assert not unknown.calls
    assert len(unknown.refused) == 1


def test_spellings_of_the_keys_and_arguments_as_text_are_read() -> None:
    verdict = TOOLED.check('{"tool_calls": [{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}]}')
    assert verdict.ok
    assert verdict.calls[0].args == {"city": "Oslo"}
    assert {"C005", "C010"} <= {fix.code for fix in verdict.fixes}


def test_native_calls_pass_by_the_envelope() -> None:
    native: dict[str, Any] = {
        "choices": [{
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant", "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "ping", "arguments": "{}"}}],
            },
        }]
    }  # fmt: skip
    verdict = TOOLED.check(native)
    assert verdict.ok
    assert verdict.calls[0].origin == "native"


def test_a_value_the_schema_describes_is_data_even_in_the_shape_of_a_call() -> None:
    shape = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
        "required": ["name"],
    }
    text = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
    verdict = Contract(shape, tools=TOOLS).check(text)
    assert verdict.data == {"name": "get_weather", "arguments": {"city": "Oslo"}}
    assert not verdict.calls
    called = Contract({"type": "object", "properties": {"total": {"type": "number"}}}, tools=TOOLS).check(text)
    assert called.calls[0].name == "get_weather"
    assert called.data is None


def test_a_context_that_is_not_a_dict_is_refused() -> None:
    with pytest.raises(TypeError, match="context must be a dict such as"):
        TOOLED.check("{}", ["state"])  # type: ignore[arg-type]


PING = {"name": "ping", "arguments": {}}
OSLO = {"name": "get_weather", "arguments": {"city": "Oslo"}}


@pytest.mark.spec("A1", "T2")
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<tool_call>{"name": "ping", "arguments": {}}</tool_call>', [PING]),
        ('<invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke>', [OSLO]),
        ('<|tool_call_begin|>functions.ping:0<|tool_call_argument_begin|>{}<|tool_call_end|>', [PING]),
        ('<function_calls>[{"name": "ping", "arguments": {}}]</function_calls>', [PING]),
        (
            "\n".join(f"<function_calls>{json.dumps({'toolCalls': [call]})}</function_calls>" for call in (PING, OSLO)),
            [PING, OSLO],
        ),
        ('{"tool_calls": [{"type": "function", "function": {"name": "ping", "arguments": "{}"}}]}', [PING]),
    ],
)  # fmt: skip
def test_calls_of_offered_tools_in_another_form_are_the_envelope(text: str, calls: list[dict[str, Any]]) -> None:
    verdict = TOOLED.check(text)
    assert verdict.ok
    assert verdict.data == {"toolCalls": calls}
    assert [(call.name, call.args) for call in verdict.calls] == [(c["name"], c["arguments"]) for c in calls]
    assert {fix.code for fix in verdict.fixes} == {"K001"}
    assert not Contract.envelope(TOOLS, calls={"from_text": False}).check(text.replace("toolCalls", "other")).ok


@pytest.mark.spec("A2", "A3")
def test_a_call_that_is_refused_in_another_form_says_why() -> None:
    verdict = TOOLED.check('<tool_call>{"name": "get_weather", "arguments": {"days": 3}}</tool_call>')
    assert ([f.code for f in verdict.errors], verdict.data, verdict.calls) == (["V002"], None, ())


_PING = {"name": "ping", "arguments": {}}
_WRITTEN = json.dumps(_PING)


@pytest.mark.spec("A2", "A3")
@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (f'{{"toolCalls": [{_WRITTEN}]}}\n{{"content": "Done."}}', {"content": "Done."}),
        (f'```json\n{{"toolCalls": [{_WRITTEN}], "mood": "kind"}}\n```\n```json\n{{"content": "Done."}}\n```', {"content": "Done.", "mood": "kind"}),
        (f'<tool_call>{_WRITTEN}</tool_call>\n{{"content": "Done.", "needsMoreWork": true}}', {"content": "Done.", "needsMoreWork": True}),
        (f'{{"content": "Done."}} <tool_call>{_WRITTEN}</tool_call>', {"content": "Done."}),
        (f'{{"tool_calls": [{_WRITTEN}], "content": "Done.", "mood": "kind"}}', {"content": "Done.", "mood": "kind"}),
        (json.dumps({"content": f"Wait. <tool_call>{_WRITTEN}</tool_call> Done.", "mood": "kind"}), {"content": "Wait. Done.", "mood": "kind"}),
        (json.dumps({"toolCalls": [], "content": f"<tool_call>{_WRITTEN}</tool_call>"}), {"content": ""}),
    ],
)  # fmt: skip
def test_a_call_outside_the_list_of_calls_is_added_and_nothing_is_lost(text: str, rest: dict[str, Any]) -> None:
    verdict = TOOLED.check(text)
    assert verdict.ok
    assert verdict.data == {**rest, "toolCalls": [_PING]}
    assert [call.name for call in verdict.calls] == ["ping"]


def test_a_call_in_reasoning_is_not_made() -> None:
    assert not TOOLED.check(f'<think><tool_call>{_WRITTEN}</tool_call></think>{{"content": "No."}}').calls


def test_an_envelope_that_is_built_keeps_the_schema_of_its_author() -> None:
    schema = {"type": "object", "required": ["mood"], "properties": {"toolCalls": {"type": "array"}, "mood": {"enum": ["kind"]}}}  # fmt: skip
    contract = Contract(schema, tools=TOOLS, calls={"envelope": True})
    bare = contract.check(f"<tool_call>{_WRITTEN}</tool_call>")
    assert [(f.code, f.path) for f in bare.errors] == [("V002", "$.mood")]
    assert contract.check(f'<tool_call>{_WRITTEN}</tool_call>\n{{"mood": "kind"}}').ok


def test_a_native_call_and_an_envelope_next_to_it_are_one_reply() -> None:
    made = ToolCall("ping", {}, "call_7", "{}")
    both = TOOLED.check(
        Reply(text=json.dumps({"toolCalls": [_PING], "content": "Wait."}), calls=(made,), finish="tool")
    )
    assert (both.ok, both.data) == (True, {"toolCalls": [_PING], "content": "Wait."})
    assert [call.id for call in both.calls] == ["call_7"]
    apart = TOOLED.check(Reply(text='{"content": "Wait.", "needsMoreWork": true}', calls=(made,), finish="tool"))
    assert apart.data == {"content": "Wait.", "needsMoreWork": True, "toolCalls": [_PING]}
    words = TOOLED.check(Reply(text="I use {braces}.", calls=(made,), finish="tool"))
    assert (words.ok, words.data, len(words.calls)) == (True, None, 1)


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ('{"toolCalls": [{"name": "get_weather", "arguments": {"city": "Os', 0),
        ('{"toolCalls": [{"name": "ping", "arguments": {}}, {"name": "get_weather", "arguments": {"city": "Os', 1),
    ],
)
def test_a_call_that_was_cut_off_does_not_pass(text: str, passed: int) -> None:
    verdict = TOOLED.check(text)
    assert ([f.code for f in verdict.errors], len(verdict.calls), len(verdict.refused)) == (["G001"], passed, 1)


def test_a_call_of_a_reply_that_the_provider_cut_does_not_pass() -> None:
    verdict = TOOLED.check(Reply(text='{"toolCalls": [{"name": "ping", "arguments": {}', finish="length"))
    assert ([f.code for f in verdict.errors], verdict.calls) == (["P009"], ())


@pytest.mark.spec("A3")
def test_content_next_to_a_call_may_be_null() -> None:
    text = '{"toolCalls": [{"name": "ping", "arguments": {}}], "content": null}'
    for contract in (PLAIN, TOOLED):
        assert (contract.check(text).ok, contract.check(text).fixes) == (True, ())
        assert not contract.check('{"content": null}').ok
        assert not contract.check('{"content": null, "toolCalls": []}').ok
