"""T2, A1, X16: calls written into the text, in every dialect; and text that only talks about calls."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recover.calls.dialects import DIALECTS, Call, Dialect
from trueup import Contract
from trueup.recover.calls.search import _calls_nothing, _Search, _searchable
from trueup.recover.calls.values import CALL_KEYS

WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "where": {"type": "object"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "exact": {"type": "boolean"},
            "note": {"type": ["string", "null"]},
            "ratio": {"type": "number"},
        },
        "required": ["city"],
    },
}
CONTRACT = Contract(
    tools=[WEATHER, {"name": "ping", "parameters": [{"name": "host", "type": "string"}]}, {"name": "now"}]
)
ONE: list[Call] = [("get_weather", {"city": "Oslo", "days": 31})]
TWO: list[Call] = [*ONE, ("ping", {"host": "10.0.0.1"})]
NESTED: list[Call] = [
    (
        "get_weather",
        {
            "city": "São Paulo 東京",
            "days": 3,
            "where": {"a": {"b": [1, 2, {"c": None}]}, "s": 'it\'s "x", {y} [z]'},
            "tags": ["a", "b, c"],
            "exact": True,
            "ratio": 0.5,
        },
    )
]
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=[d.name for d in DIALECTS])


def found(text: str) -> list[Call]:
    """The calls of a text that may be run; there may be no other findings."""
    verdict = CONTRACT.check(text)
    assert verdict.findings == (), verdict.findings
    assert all(fix.code == "K001" or fix.path.startswith("$.calls[") for fix in verdict.fixes)
    return [(call.name, call.args or {}) for call in verdict.calls]


@pytest.mark.spec("T2", "A1")
@each_dialect
@pytest.mark.parametrize("calls", [ONE, TWO, NESTED], ids=["single", "parallel", "nested"])
def test_every_dialect_is_read(dialect: Dialect, calls: list[Call]) -> None:
    text = dialect.write(calls)
    assert found(text) == calls
    assert found(f"\n\n  {text}  \n\n") == calls


@pytest.mark.spec("T2")
@each_dialect
def test_calls_with_text_before_and_after_are_read(dialect: Dialect) -> None:
    text = dialect.write(TWO)
    assert found(f"I'll check that for you.\n\n{text}\n\nPlease hold on.") == TWO
    assert found(f"Voy a comprobarlo.\n\n{text}\n\nUn momento.") == TWO


@pytest.mark.spec("T2", "A1")
@each_dialect
def test_a_call_after_reasoning_that_drafts_one_is_read(dialect: Dialect) -> None:
    draft = dialect.write([("ping", {"host": "draft"})])
    text = dialect.write(ONE)
    assert found(f"<think>\nMaybe\n{draft}\nNo.\n</think>\n\n{text}") == ONE
    assert found(f"Maybe\n{draft}\nNo.\n</think>\n\n{text}") == ONE
    assert found(f"<think>\nMaybe\n{draft}\nNo.\n</think>\n\nIt is fine.") == []


@pytest.mark.spec("T2")
@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d.literal], ids=lambda d: d.name)
def test_a_literal_closing_mark_inside_an_argument_does_not_end_the_call(dialect: Dialect) -> None:
    calls = [("get_weather", {"city": f"a {dialect.literal} b", "days": 1}), *TWO]
    assert found(dialect.write(calls[:1])) == calls[:1]
    assert found(dialect.write(calls)) == calls


@pytest.mark.spec("T2", "T4")
@each_dialect
def test_a_truncated_call_is_found_and_never_accepted(dialect: Dialect) -> None:
    text = dialect.write(TWO)
    first, last = text.find("Oslo") + 2, text.rfind("10.0") + 2
    for stop in range(1, len(text)):
        verdict = CONTRACT.check(text[:stop])
        calls = [(call.name, call.args) for call in verdict.calls]
        assert calls in ([], TWO[:1], TWO), text[:stop]
        assert {f.code for f in verdict.errors} <= {"T006"}, text[:stop]
        count = len(verdict.calls) + len(verdict.refused)
        assert count >= (stop >= first) + (stop >= last), text[:stop]


@pytest.mark.spec("T2")
@each_dialect
def test_only_offered_tools_are_read(dialect: Dialect) -> None:
    assert CONTRACT.check(dialect.write([("fire_missiles", {"city": "Oslo"})])).calls == ()


@pytest.mark.spec("T2")
@each_dialect
def test_reading_calls_from_text_can_be_switched_off(dialect: Dialect) -> None:
    off = Contract(tools=[WEATHER], calls={"from_text": False, "mentions": False})
    verdict = off.check(dialect.write(ONE))
    assert (verdict.calls, verdict.refused, verdict.fixes) == ((), (), ())


OSLO: list[Call] = [("get_weather", {"city": "Oslo"})]
OSLO_3: list[Call] = [("get_weather", {"city": "Oslo", "days": 3})]
NOW: list[Call] = [("now", {})]
W, W3, N = OSLO, OSLO_3, NOW

# Variations of dialects by their own models: spaces, missing ends, faulty JSON, other names for the same keys.
VARIANTS: list[tuple[str, list[Call]]] = [
    ('<tool_call>\n{{"name": "get_weather", "arguments": {"city": "Oslo"}}}\n</tool_call>', W),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo",},}\n</tool_call>', W),
    (
        "<tool_call>\n{'name': 'get_weather', 'arguments': {'city': 'Oslo', 'exact': True}}\n</tool_call>",
        [("get_weather", {"city": "Oslo", "exact": True})],
    ),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}\n</tool_call>', W),
    (
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}\n</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
        W + N,
    ),
    ('<tool_call>\n{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}\n</tool_call>', W),
    ('<tool_call>\n{"name": "get_weather", "arguments": {"arguments": {"city": "Oslo"}}}\n</tool_call>', W),
    ('<tool_call>\n{"arguments": {"city": "Oslo"}, "name": "get_weather"}\n</tool_call>', W),
    ('<tool_call>get_weather(city="Oslo")</tool_call>', W),
    ('<tool_call>\n{"name": "now"}\n</tool_call>', N),
    ('<tool_call>\n{"name": "now", "arguments": null}\n</tool_call>', N),
    ('<tool_call>\n{"name": "now", "arguments": ""}\n</tool_call>', N),
    ('<tool_call>\n{"name": "get_weather", "city": "Oslo"}\n</tool_call>', W),
    ('<TOOL_CALL>{"name": "get_weather", "arguments": {"city": "Oslo"}}</TOOL_CALL>', W),
    ('<tool_call>\n```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```\n</tool_call>', W),
    ("<invoke name='get_weather'><parameter name='city'>Oslo</parameter></invoke>", W),
    (
        '<invoke name="get_weather">\n<parameter name="city" type="string">Oslo</parameter>\n<parameter name="days" type="int">3</parameter>\n</invoke>',
        W3,
    ),
    ('<function name="get_weather"><parameter name="city">Oslo</parameter></function>', W),
    ("<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n3\n</function>", W3),
    (
        "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</function>\n</tool_call>",
        W3,
    ),
    ("<tool_call>\n<function=now>\n</function>\n</tool_call>", N),
    ("<function=now></function>", N),
    ("<tool_call>now\n</tool_call>", N),
    ("<tool_call>now</tool_call>", N),
    ("[TOOL_CALLS]now{}", N),
    ("[now()]", N),
    ("now()", N),
    (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Oslo"}\n```<｜tool▁call▁end｜>',
        W,
    ),
    (
        '<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>get_weather\n```json\n{"city": "Oslo"}\n```<|tool▁call▁end|>',
        W,
    ),
    (
        '<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>get_weather\n```json\n{"city": "Oslo"}\n```<|tool_call_end|>',
        W,
    ),
    ('<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n{"city": "Oslo"}', W),
    (
        '<|tool_call_section_begin|><|tool_call_begin|>get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_call_section_end|>',
        W,
    ),
    ('<|tool_call_begin|>functions.get_weather:12<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>', W),
    ('<|tool_call_begin|>get_weather<|tool_call_argument_begin|>{"city": "Oslo"}', W),
    ('Hi! [TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}}]</s>', W),
    ('[TOOL_CALLS]get_weather {"city": "Oslo"}</s>', W),
    ('{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}<|eot_id|>', W),
    ('{"function": "get_weather", "parameters": {"city": "Oslo"}}', W),
    ('{"type": "function", "function": {"name": "get_weather", "parameters": {"city": "Oslo"}}}', W),
    ('{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Oslo"}}', W),
    ('{"action": "get_weather", "action_input": {"city": "Oslo"}}', W),
    ('{"tool_call": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', W),
    ('{"tool_calls": [{"name": "get_weather", "args": {"city": "Oslo"}}]}', W),
    ('{"thought": "I need it", "tool": "get_weather", "tool_input": {"city": "Oslo"}}', W),
    ('<think>I should look\n<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('<think>hm</think>\n\n{"name": "get_weather", "arguments": {"city": "Oslo"}}', W),
    ('hm</think>\n\n[get_weather(city="Oslo")]', W),
    (
        '<tool_call>{"name": "get_weather", "arguments": {"city": "</think>"}}</tool_call>',
        [("get_weather", {"city": "</think>"})],
    ),
    ('<|tool_call_start|>{"name": "get_weather", "arguments": {"city": "Oslo"}}<|tool_call_end|>', W),
    ('Action: get_weather(city="Oslo")', W),
    ("Action: get_weather\nAction Input: Oslo", W),
    ('Action: get_weather\nAction Input: "Oslo"', W),
    ('Action: get_weather\nAction Input: "city": "Oslo"', W),
    ("Action: get_weather\nAction Input: {'city': 'Oslo'}\nObservation", W),
    ('Action: get_weather\nAction Input:\n```json\n{"city": "Oslo"}\n```', W),
    ('<|python_tag|>get_weather.call(city="Oslo")', W),
    ('<|python_tag|>get_weather(city="Oslo")<|eom_id|>', W),
    ('get_weather("Oslo", 3)', W3),
    ('get_weather("Oslo", days=3)', W3),
    ('get_weather({"city": "Oslo"})', W),
    (
        "[get_weather(city='Oslo', days=3, tags=['a'], where={'x': None}, exact=True), now()]",
        [("get_weather", {"city": "Oslo", "days": 3, "tags": ["a"], "where": {"x": None}, "exact": True}), ("now", {})],
    ),
    ("[get_weather(\n    city='Oslo',\n    days=3,\n)]", W3),
    ("get_weather(city='Martha's Vineyard')", [("get_weather", {"city": "Martha's Vineyard"})]),
    (
        "[get_weather(city='Martha\\'s Vineyard', note='\"cool\"')]",
        [("get_weather", {"city": "Martha's Vineyard", "note": '"cool"'})],
    ),
    (
        '<|channel|>analysis<|message|>I should call get_weather {"name": "now"}<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
        W,
    ),
    ('<|channel|>commentary to=functions.get_weather<|message|>{"city": "Oslo"}', W),
    ('<|start|>assistant<|channel|>analysis to=functions.get_weather code<|message|>{"city": "Oslo"}<|call|>', W),
    ('<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>', W3),
    ("<|tool_call>call:now{}<tool_call|>", N),
    ('```tool_code\nget_weather(city="Oslo")\n```', W),
    ('```tool_code\nresult = get_weather(city="Oslo")\n```', W),
    ('functools[{"name": "get_weather", "arguments": {"city": "Oslo"}}]', W),
    (' functools[{"name": "get_weather", "arguments": {"city": "Oslo"}}]', W),
    ('<tools>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tools>', W),
    ('<tool>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool>', W),
    ('<function-call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</function-call>', W),
    ('<functioncall> {"name": "get_weather", "arguments": \'{"city": "Oslo"}\'} </functioncall>', W),
    ('<tool_call name="get_weather">{"city": "Oslo"}</tool_call>', W),
    ('<tool_use><name>get_weather</name><arguments>{"city": "Oslo"}</arguments></tool_use>', W),
    ("<tool_call><name>get_weather</name><arguments><city>Oslo</city></arguments></tool_call>", W),
    ('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call></tool_call>', W),
    ('</tool_call><tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('<tool_call><tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('<tool_call>\n{"name": "get_weather",\n "arguments":\n {"city": "Oslo"}\n}\n</tool_call>\n\n\n', W),
    ('\ufeff<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('<tool_call>\r\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\r\n</tool_call>', W),
    (
        '<tool_call>{"name": "get_weather", "arguments": {"city": "O\nslo"}}</tool_call>',
        [("get_weather", {"city": "O\nslo"})],
    ),
    (
        '<tool_call>{"name": "get_weather", "arguments": {"city": "\\u00c5s"}}</tool_call>',
        [("get_weather", {"city": "Ås"})],
    ),
    ('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": "3"}}</tool_call>', W3),
    (
        '<function=get_weather><parameter=city>Oslo</parameter><parameter=exact>True</parameter><parameter=note>null</parameter><parameter=ratio>1.5</parameter><parameter=tags>["a"]</parameter><parameter=where>{"x": 1}</parameter></function>',
        [
            (
                "get_weather",
                {"city": "Oslo", "exact": True, "note": None, "ratio": 1.5, "tags": ["a"], "where": {"x": 1}},
            )
        ],
    ),
    (
        "<function=get_weather><parameter=city>5</parameter><parameter=days>5</parameter></function>",
        [("get_weather", {"city": "5", "days": 5})],
    ),
    (
        "<function=get_weather><parameter=city>\nline 1\n  line 2\n</parameter></function>",
        [("get_weather", {"city": "line 1\n  line 2"})],
    ),
    (
        '<｜DSML｜function_calls><｜DSML｜invoke name="get_weather"><｜DSML｜parameter name="city" string="true">5</｜DSML｜parameter><｜DSML｜parameter name="days" string="false">5</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>',
        [("get_weather", {"city": "5", "days": 5})],
    ),
    (
        '<function_calls><invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke></function_calls> and <function_calls><invoke name="now"></invoke></function_calls>',
        W + N,
    ),
    ('{"name": "get_weather", "arguments": {"city": "Oslo"}}\n\n{"name": "now", "arguments": {}}', W + N),
    ('{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "now", "arguments": {}}', W + N),
    ('{"name": "now"}', N),
    (
        '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```\n```json\n{"name": "now", "arguments": {}}\n```',
        W + N,
    ),
    (
        'I need two things.\n```json\n[{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "now", "arguments": {}}]\n```\nDone.',
        W + N,
    ),
    ('proxy_get_weather(city="Oslo")', W),
    ('<tool_call>{"name": "GetWeather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('<tool_call>{"name": "weather__get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    (
        '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>\n</minimax:tool_call>',
        W,
    ),
    ('<function=get_weather{"city": "Oslo"}</function>', W),
    ('<function=get_weather{"city": "Oslo"}></function>', W),
    ('<function=get_weather, {"city": "Oslo"}</function>', W),
    ('<function=get_weather({"city": "Oslo"})</function>', W),
    ('<function=get_weather{"city": "Oslo"}</function><function=now>{}</function>', W + N),
    ('>>>all\nLet me look.>>>get_weather\n{"city": "Oslo"}', W),
    ('>>>all\nLet me look.\n>>>get_weather\n{"city": "Oslo"}\n>>>now\n{}', W + N),
    ('<tool_call>get_weather: {"city": "Oslo"}</tool_call>', W),
    ('<tool_call>get_weather, {"city": "Oslo"}</tool_call>', W),
    ('<tool_call id="1">{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('<tool_call type="function">{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('<tool_call >{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>', W),
    ('[TOOL_CALL]{"name": "get_weather", "arguments": {"city": "Oslo"}}[/TOOL_CALL]', W),
    ('[tool_call]{"name": "get_weather", "arguments": {"city": "Oslo"}}[/tool_call]', W),
    ('[THINK]hm[/THINK][TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}', W),
    (
        "<tool_calls:x>\n<tool_call:x>get_weather\n<arg_key:x>city</arg_key:x>\n<arg_value:x>Oslo</arg_value:x>\n</tool_call:x>\n</tool_calls:x>",
        W,
    ),
    (
        '<|DSML|function_calls>\n<|DSML|invoke name="get_weather">\n<|DSML|parameter name="city" string="true">Oslo</|DSML|parameter>\n</|DSML|invoke>\n</|DSML|function_calls>',
        W,
    ),
    (
        '<|START_THINKING|>I could use <|START_ACTION|>[{"tool_name": "now", "parameters": {}}]<|END_ACTION|><|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}}]<|END_ACTION|>',
        W,
    ),
    ("<|channel|>commentary to=functions.now <|constrain|>json<|message|><|call|>", N),
    ('**Action:** get_weather\n**Action Input:** {"city": "Oslo"}', W),
    ('action: get_weather\naction input: {"city": "Oslo"}', W),
    ('Tool: get_weather\nTool Input: {"city": "Oslo"}', W),
    ("Thought: I need it.\nAction: get_weather[Oslo]", W),
    ('{"tool": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', W),
]


@pytest.mark.spec("T2")
@pytest.mark.parametrize(("text", "calls"), VARIANTS)
def test_variants_and_mistakes_are_read(text: str, calls: list[Call]) -> None:
    assert found(text) == calls


# -- X16 -----------------------------------------------------------------------------------------

J = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
H = f"<tool_call>{J}</tool_call>"
P = 'get_weather(city="Oslo")'
TALK = [
    "now {\n  color: red;\n}",
    "ping {\n  host: 5px\n}",
    f"For example, you could call {J} to get the weather.",
    f"For example:\n{J}",
    f"For example:\n\n```json\n{J}\n```",
    f"A tool call looks like {H} and is parsed by the server.",
    f"A tool call looks like this:\n\n{H}",
    f"You can call the tool like this:\n```json\n{J}\n```\nThis will return the weather.",
    f"The syntax is `{P}`.",
    f"Use `{H}` to call a tool.",
    f"Here is an example of a function call:\n\n{H}\n\nLet me know if you have questions.",
    f'- `{P}`: gives the weather\n- `ping(host="a")`: pings',
    f'- {P}: gives the weather\n- ping(host="a"): pings',
    f"* {J}\n* another",
    f'The calls are:\n1. {P}\n2. ping(host="x")',
    f"> {J}\n\nThis is what you sent.",
    f'The user wrote: "{H}" and I do not know why.',
    f"You said “{J}”.",
    f"Por ejemplo:\n{J}",
    f"Por ejemplo, puedes llamar a {P}.",
    f"El formato de una llamada es:\n{H}",
    f"Para consultar el tiempo, usa:\n```json\n{J}\n```",
    f"Puedes usar la herramienta así:\n{P}",
    f'## Usage\n\n```json\n{J}\n```\n\n## Response\n\n```json\n{{"temp": 3}}\n```',
    f"### Example\n{H}",
    f"**Example request:**\n{J}",
    'Available tools:\n[{"name": "get_weather", "description": "Gives weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]',
    f'{{"examples": [\n  {J}\n]}}',
    f'{{"examples": [\n  {J},\n]}}',
    f"The call {J} failed because the city is unknown.",
    f"I called {P} and it said 3 degrees.",
    f"The result of {P} is 3.",
    f"```python\n# how to\ndef f():\n    {P}\n```",
    f"If you want the weather, you should send:\n{H}",
    f"To call the weather tool, write:\n\n{H}",
    f"Did you mean {J}?",
    f"The documentation says:\n\n{J}",
    f"{J}\n\nThis is just an example of how a call would look.",
    f"{H}\n\nThe above is an example.",
    f"Never call {P} without a city.",
    f"In the previous turn the call was {H}.",
    f"<think>I could call {H}</think>\nNo need to call anything.",
    f"I could call {H}\n</think>\nNo need to call anything.",
    f"Tools are invoked as follows: {H}",
    f"(e.g. {H})",
    '{"name": "get_weather", "city": "Oslo", "population": 700000}',
    '{"name": "ping", "type": "dog"}',
    'My dog is called ping:\n{"name": "ping"}',
    'The tool returns:\n{"name": "get_weather", "result": "3 C"}',
    f"<tool_response>{J}</tool_response>",
    '"get_weather" takes a city. {"name": "get_weather"} is not enough.',
    f"You would write\n\n    {P}\n\nin your prompt.",
    f"| call | meaning |\n|---|---|\n| {P} | weather |",
    f'{{"user": "bob", "text": "{P}"}}',
    f"The model replied with: {J}",
    f"Un ejemplo de llamada sería:\n\n```\n{P}\n```",
    f"No llames a {P} dos veces.",
    f"This function is called as {P}",
    f"<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>{J}<｜tool▁output▁end｜><｜tool▁outputs▁end｜>",
    f"<|START_THINKING|>I could send <|START_ACTION|>[{J}]<|END_ACTION|><|END_THINKING|>No need to.",
    f"A city is asked for. {J}",
    f"I will explain. {J} is what the server reads.",
    f"I will show you an example. {J}",
    "Tool: get_weather\nPurpose: gives the weather",
    f"Here's how the API works. You call `get_weather` with a JSON body:\n```json\n{J}\n```\nIt returns a text.",
    f"In Python you'd write:\n```python\nresult = {P}\n```",
    f"Make sure your JSON has this shape:\n```json\n{J}\n```",
    f"A valid payload is:\n```json\n{J}\n```",
    f"Aquí tienes una plantilla:\n```json\n{J}\n```",
    f"When prompted, respond with:\n```json\n{J}\n```",
    f"Simply send this:\n```json\n{J}\n```",
    f"The following tool calls are forbidden:\n```json\n{J}\n```",
    f'Available functions:\n\n{P}\nping(host="a")\n\nWhich one should I use?',
    f"No ejecutes esto: {J}",
    f"Do not run this:\n{H}",
    f"Esta es la llamada que haría: {J}",
    f"Earlier call: {H}\nResult: 3\n\nIt is 3 degrees.",
    "Action: get_weather\nOutcome: 3 degrees",
]
ACT = [
    f"I will look it up. {J}",
    f"Sure, let me check that for you! {J}",
    f"Sure! {J}",
    f"¡Hola! Claro! {J}",
    f"Looking up the template:\n{H}",
    f"Retrying the previous call:\n{H}",
    f"Checking the available functions:\n{H}",
    f"Since you'd like to know the weather:\n{H}",
    f"As you use Celsius, one moment:\n{H}",
    f"Me haría falta el tiempo:\n{H}",
    f"{J}",
    f"{H}",
    f"{P}",
    f"[{P}]",
    f"I'll check the weather.\n{H}",
    f"Let me look that up for you.\n\n{P}",
    f"I don't have that information, let me check:\n{H}",
    f"Sure! {H}",
    f"Voy a consultar el tiempo.\n{H}",
    f"Voy a consultar el tiempo:\n{J}",
    f"Déjame comprobarlo.\n{P}",
    f"Here is the result: {J} Would you like to know more?",
    f"I will call the get_weather tool:\n```json\n{J}\n```",
    f"{H}\nI will tell you the weather once I have it.",
    f"The user wants the weather in Oslo.\n{H}",
    f"I'll call the tool like this:\n{H}",
    f"I would like to check the weather first.\n{H}",
    f"Let me check the date format for you.\n{H}",
    f"To answer this, I need the weather.\n{J}",
    f"<think>For example, {J}</think>{J}",
    f"The previous attempt failed, trying again:\n{H}",
    f"Okay, calling the function now: {J}",
    'Thought: I need the weather\nAction: get_weather\nAction Input: {"city": "Oslo"}',
    f"{H}\n\nPlease wait.",
    f"**Checking the weather**\n{H}",
    f"First, the weather.\n\n{H}\n\nThen I will tell you.",
    f"Weather check: {H}",
    f"assistant\n{H}",
    f"{J}<|im_end|>",
    f"```\n{H}\n```",
    f"```xml\n{H}\n```",
    f"I understand that you want the weather, for example for your trip. Let me check.\n{H}",
    f"Para ayudarte, necesito consultar el tiempo en Oslo.\n\n{J}",
    f"<answer>{J}</answer>",
    f"<output>\n{J}\n</output>",
    f"json\n{J}",
    f"Tool call:\n{J}",
    f"Response: {J}",
    f"```json\n{J}\n```\n",
    f"Output:\n```json\n{J}\n```",
    f"<|im_start|>assistant\n{J}",
]


@pytest.mark.spec("X16", "T2")
@pytest.mark.parametrize("text", TALK)
def test_text_that_talks_about_a_call_is_not_a_call(text: str) -> None:
    verdict = CONTRACT.check(text)
    assert (verdict.calls, verdict.refused) == ((), ())
    assert "K001" not in [fix.code for fix in verdict.fixes]


@pytest.mark.spec("X16", "T2")
@pytest.mark.parametrize("text", ACT)
def test_text_that_acts_is_a_call(text: str) -> None:
    assert found(text) == OSLO


@pytest.mark.spec("X16")
@each_dialect
def test_an_example_is_not_a_call_in_any_dialect(dialect: Dialect) -> None:
    text = dialect.write(ONE)
    for words in ("For example, you can write:", "Here is an example of a tool call:", "Por ejemplo, puedes escribir:"):
        assert CONTRACT.check(f"{words}\n\n{text}").calls == ()
        assert CONTRACT.check(f"{words}\n\n```\n{text}\n```\nThat is all.").calls == ()
    if "\n" not in text and "`" not in text:
        assert CONTRACT.check(f"You can write `{text}` there.").calls == ()
        assert CONTRACT.check(f'He said "{text}" to me.').calls == ()
    quoted = "\n".join(f"> {line}" for line in text.split("\n"))
    assert CONTRACT.check(f"You wrote:\n\n{quoted}\n\nWhy?").calls == ()


@pytest.mark.spec("T2")
@pytest.mark.parametrize(
    "name",
    ["calendar.create-event", "ns/tool", "3d_render", "weather:now", "Ünïcode_tööl", "天気", "_own", "tool_result"],
)
def test_names_of_every_kind_are_read(name: str) -> None:
    schema = WEATHER["parameters"]
    contract = Contract(tools=[{"name": name, "parameters": schema}, {"name": "other_tool", "parameters": schema}])
    calls: list[Call] = [(name, {"city": "Oslo"}), ("other_tool", {"city": "Rome", "days": 3})]
    for dialect in DIALECTS:
        if dialect.name == "elements" and not name.replace("_", "a").isidentifier():
            continue  # not the name of an element
        verdict = contract.check(dialect.write(calls))
        assert [(c.name, c.args) for c in verdict.calls] == calls, dialect.name
        assert verdict.findings == (), dialect.name


# -- typing, properties ----------------------------------------------------------------------------


@pytest.mark.spec("T2", "T5")
def test_parameters_without_types_get_the_schemas_types_even_without_coercion() -> None:
    contract = Contract(tools=[WEATHER], coerce="off")
    text = (
        "<function=get_weather><parameter=city>5</parameter><parameter=days>3</parameter><parameter=exact>true</parameter>"
        "<parameter=tags>['a']</parameter><parameter=where>{\"x\": 1}</parameter><parameter=note>null</parameter></function>"
    )
    verdict = contract.check(text)
    assert verdict.ok
    assert verdict.calls[0].args == {
        "city": "5",
        "days": 3,
        "exact": True,
        "tags": ["a"],
        "where": {"x": 1},
        "note": None,
    }


@pytest.mark.spec("T2")
def test_dsml_marks_text_explicitly() -> None:
    free = Contract(tools=[{"name": "f", "parameters": {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}}}])
    row = '<｜DSML｜parameter name="{}" string="{}">{}</｜DSML｜parameter>'.format
    text = f'<｜DSML｜invoke name="f">{row("a", "true", "1")}{row("b", "false", "1")}{row("c", "false", "[1]")}</｜DSML｜invoke>'
    assert free.check(text).calls[0].args == {"a": "1", "b": 1, "c": [1]}


@pytest.mark.spec("T2")
def test_too_many_positional_arguments_are_an_error() -> None:
    verdict = CONTRACT.check('ping("a", "b")')
    assert [f.code for f in verdict.errors] == ["T003"]
    assert "by position" in verdict.errors[0].message


@pytest.mark.spec("T2")
def test_a_call_without_its_closing_tag_is_complete_if_the_provider_says_so() -> None:
    text = "<function=get_weather><parameter=city>Oslo</parameter>"
    message = {"object": "chat.completion", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    assert CONTRACT.check(message).calls[0].args == {"city": "Oslo"}
    message["choices"][0]["finish_reason"] = "length"  # type: ignore[index]
    assert [f.code for f in CONTRACT.check(message).errors] == ["T006"]
    assert [f.code for f in CONTRACT.check(text).errors] == ["T006"]


@pytest.mark.spec("T2")
def test_fixes_of_a_leaked_call_have_their_position() -> None:
    text = "<tool_call>[{'name': 'now', 'arguments': {}}, {'name': 'get_weather', 'arguments': {'city': 'Oslo',}}]</tool_call>"
    verdict = CONTRACT.check(text)
    assert verdict.ok
    last = [(f.code, f.path) for f in verdict.fixes if f.code == "S001"]
    assert last == [("S001", "$.calls[1].args")]
    assert all(text[slice(*f.span)] == f.before for f in verdict.fixes if f.span and f.code == "S008")


def test_a_lossy_reading_is_refused() -> None:
    verdict = CONTRACT.check(
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "tags": ["a", ...]}}</tool_call>'
    )
    assert [f.code for f in verdict.errors] == ["G001"]
    assert not verdict.calls


SCALARS = st.sampled_from(
    ["Oslo", "it's", 'say "hi"', "a\nb", "C:\\new", "", "😀 é", "{x}", "[1]", "a=1, b=2", "f(x)", "# no", "`x`"]
) | st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=10)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6) | SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["k", "k_2", "K3"]), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.fixed_dictionaries(
    {"city": SCALARS},
    optional={
        "days": st.integers(-(10**9), 10**9),
        "where": st.dictionaries(st.sampled_from(["k", "k2"]), VALUES),
        "tags": st.lists(SCALARS, max_size=3),
        "exact": st.booleans(),
        "ratio": st.floats(-1e6, 1e6),
    },
)
UNTYPED = (
    "qwen3",
    "longcat-pairs",
    "seed",
    "invoke",
    "minimax-m2",
    "step3",
    "dsml",
    "glm",
    "claude",
    "xai",
    "elements",
)
EXACT = [d for d in DIALECTS if not d.name.startswith(UNTYPED)]


@pytest.mark.spec("T2")
@given(ARGUMENTS, ARGUMENTS)
def test_any_arguments_are_read_back_equal(first: dict[str, Any], second: dict[str, Any]) -> None:
    calls = [("get_weather", first)] + [("get_weather", second)] * (json.dumps(first) != json.dumps(second))
    for dialect in EXACT:
        verdict = CONTRACT.check(dialect.write(calls))
        assert [(c.name, c.args) for c in verdict.calls] == calls, dialect.name


@given(
    st.lists(
        st.sampled_from(
            [piece for d in DIALECTS for piece in (d.write(ONE), d.write(ONE)[:25], d.write(ONE)[25:], d.literal)]
            + ["{", "[", "(", "<", "\n", "`", "'", '"', "for example: ", "get_weather"]
        ),
        max_size=8,
    )
)
def test_no_text_raises(pieces: list[str]) -> None:
    verdict = CONTRACT.check("".join(pieces))
    for call in verdict.calls:
        assert call.name in ("get_weather", "ping", "now")
    json.dumps(verdict.to_dict())


# -- without a search ------------------------------------------------------------------------------

_keys = st.sampled_from([*sorted(CALL_KEYS), "x", "book", "properties", "description"])
_leaves = st.sampled_from(
    ["book", "cancel", "object", "function", "book_it", "hi there", 5, None, "Action: book", "<a>"]
)
_values = st.recursive(_leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_keys, inner, max_size=3))


@given(st.dictionaries(_keys, _values, max_size=4), st.sampled_from([None, 1, 2]))
def test_the_quick_look_never_misses_a_match_of_the_search(value: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    for offered in ({"book", "cancel"}.__contains__, str.isidentifier):
        found = _Search(_searchable(text), offered, 500).run()
        assert not (_calls_nothing(text, offered) and found)
