"""T2, T4, T5, T8 to T10: the calls of a reply under a contract, and contradictions in the sources."""

import json
from random import Random
from typing import Any, Literal

import pytest

from tests.growth import assert_at_most, assert_linear
from trueup import Contract, Reply, ToolCall, Verdict

WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "default": 1},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            "ratio": {"type": "number"},
            "exact": {"type": "boolean", "default": False},
            "tags": {"type": "array", "items": {"type": "string"}},
            "where": {"type": "object", "properties": {"lat": {"type": "number"}}},
        },
        "required": ["city"],
    },
}
TOOLS = [WEATHER, {"name": "now"}]
CONTRACT = Contract(tools=TOOLS)
STRICT = Contract(tools=TOOLS, strict=True)


def message(args: Any, name: str = "get_weather", finish: str = "tool_calls") -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": args}}
    return {"object": "chat.completion", "choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": finish}]}  # fmt: skip


def judged(args: Any, contract: Contract = CONTRACT, finish: str = "tool_calls") -> Verdict:
    return contract.check(message(args, finish=finish))


# -- T2: calls from every shape ----------------------------------------------------------------

REPLIES: dict[str, Any] = {
    "openai": message('{"city": "Oslo"}'),
    "lax server": message({"city": "Oslo"}),
    "responses": {"object": "response", "status": "completed", "output": [{"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}]},
    "anthropic": {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Oslo"}}]},
    "gemini": {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}]}}]},
    "bedrock": {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": {"city": "Oslo"}}}]}}, "stopReason": "tool_use"},
    "ollama": {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]}, "done": True},
    "vercel": {"id": "m", "role": "assistant", "parts": [{"type": "tool-get_weather", "toolCallId": "c1", "state": "input-available", "input": {"city": "Oslo"}}]},
    "langchain": {"type": "ai", "content": "", "tool_calls": [{"name": "get_weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}]},
    "a Reply": Reply(calls=(ToolCall("get_weather", {"city": "Oslo"}, "c1", '{"city": "Oslo"}'),)),
    "text": '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>',
}  # fmt: skip


@pytest.mark.spec("T2")
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_call_is_read_from_every_shape(reply: Any) -> None:
    verdict = CONTRACT.check(reply)
    assert verdict.ok
    assert [(call.name, call.args) for call in verdict.calls] == [("get_weather", {"city": "Oslo"})]
    native = verdict.calls[0].origin == "native"
    assert [fix.code for fix in verdict.fixes] == ([] if native else ["K001"])


@pytest.mark.spec("T2")
def test_a_call_in_the_text_is_a_guess_and_can_be_switched_off() -> None:
    text = 'I look.\n<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
    (fix,) = CONTRACT.check(text).fixes
    assert (fix.code, fix.grade, fix.path, fix.span) == ("K001", "guess", "$.calls[0]", (8, len(text)))
    off = Contract(tools=TOOLS, calls={"from_text": False})
    assert off.check(text).calls == ()
    assert off.check(text).fixes == ()
    strict = Contract(tools=TOOLS, accept="lossless")
    refused = strict.check(text)
    assert [f.code for f in refused.errors] == ["G001"]
    assert not refused.calls
    assert refused.refused[0].call.name == "get_weather"


@pytest.mark.spec("T2")
def test_a_call_in_the_text_gets_an_id_to_answer_it_by() -> None:
    one = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    verdict = CONTRACT.check(one + "\n" + one.replace("{}", '{"a": 1}'))
    assert [call.id for call in verdict.calls] == ["call_0", "call_1"]
    kimi = "<|tool_call_begin|>functions.now:3<|tool_call_argument_begin|>{}<|tool_call_end|>"
    assert CONTRACT.check(kimi).calls[0].id == "functions.now:3"


@pytest.mark.spec("T2")
def test_native_calls_are_not_read_again_from_the_text() -> None:
    reply = message('{"city": "Oslo"}')
    reply["choices"][0]["message"]["content"] = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    assert [call.name for call in CONTRACT.check(reply).calls] == ["get_weather"]


# -- T4: arguments that are not JSON -------------------------------------------------------------

REPAIRED = [
    ('{"city": "Oslo"}', {"city": "Oslo"}, []),
    ({"city": "Oslo"}, {"city": "Oslo"}, []),
    (' {"city": "Oslo"}\n', {"city": "Oslo"}, []),
    ("{'city': 'Oslo',}", {"city": "Oslo"}, ["S008", "S008", "S001"]),
    ('"city": "Oslo"', {"city": "Oslo"}, ["F007"]),
    ('{"city": "Oslo", "exact": True}', {"city": "Oslo", "exact": True}, ["S018"]),
    ('```json\n{"city": "Oslo"}\n```', {"city": "Oslo"}, ["W001", "W001"]),
    ('{city: "Oslo"}', {"city": "Oslo"}, ["S014"]),
    ('{"city": "Oslo"', {"city": "Oslo"}, ["S005"]),
    ('[{"city": "Oslo"}]', {"city": "Oslo"}, ["C007"]),
    ('"{\\"city\\": \\"Oslo\\"}"', {"city": "Oslo"}, ["W008"]),
    ('{"arguments": {"city": "Oslo"}}', {"city": "Oslo"}, ["K003"]),
    ('{"parameters": {"city": "Oslo"}}', {"city": "Oslo"}, ["K003"]),
    ('{"input": "{\\"city\\": \\"Oslo\\"}"}', {"city": "Oslo"}, ["K003"]),
]


@pytest.mark.spec("T4")
@pytest.mark.parametrize(("args", "value", "codes"), REPAIRED)
def test_arguments_are_repaired_as_any_json_is(args: Any, value: Any, codes: list[str]) -> None:
    verdict = judged(args)
    assert verdict.ok, verdict.findings
    assert verdict.calls[0].args == value
    assert sorted(fix.code for fix in verdict.fixes) == sorted(codes)
    assert all(fix.path.startswith("$.calls[0].args") for fix in verdict.fixes)
    assert verdict.reply.calls[0].raw_args == (
        args if isinstance(args, str) else json.dumps(args, separators=(",", ":"))
    )


@pytest.mark.spec("T4")
@pytest.mark.parametrize("args", ["", "  ", "{}", {}])
def test_an_empty_string_means_no_arguments(args: Any) -> None:
    verdict = CONTRACT.check(message(args, "now"))
    assert verdict.ok
    assert verdict.calls[0].args == {}
    assert verdict.fixes == ()
    assert [f.code for f in judged(args).errors] == ["V002"]


NO_OBJECT = [("[1]", "list"), ("[1, 2]", "list"), ("5", "number"), ("null", "null"), ("true", "boolean"), ('"Oslo"', "string"),
             ([1], "list"), (5, "number"), (None, "null"), (True, "boolean"), ([], "list"), ("[]", "list")]  # fmt: skip


@pytest.mark.spec("T4")
@pytest.mark.parametrize(("args", "got"), NO_OBJECT)
def test_arguments_that_are_not_an_object_are_an_error_and_not_a_crash(args: Any, got: str) -> None:
    verdict = judged(args)
    assert [(f.code, f.path) for f in verdict.errors] == [("T004", "$.calls[0].args")]
    assert got in verdict.errors[0].message
    assert "Call 0 (get_weather)" in verdict.errors[0].message
    assert not verdict.ok
    assert not verdict.calls


@pytest.mark.spec("T4")
@pytest.mark.parametrize("args", ["weather in Oslo please", "<html>", "city", "???"])
def test_arguments_that_cannot_be_read_name_the_call_the_tool_and_the_fault(args: str) -> None:
    (found,) = judged(args).errors
    assert (found.code, found.path) == ("T003", "$.calls[0].args")
    assert found.message.startswith("Call 0 (get_weather): the arguments are not JSON: ")
    assert found.data["raw"] == args


CUT = [
    '{"city": "Os',
    '{"city": ',
    '{"city',
    "{",
    '{"city": "Oslo", "days": 3, "tags": ["a',
    '{"city": "Oslo", "exact": tr',
]


@pytest.mark.spec("T4")
@pytest.mark.parametrize("args", CUT)
@pytest.mark.parametrize("finish", ["length", "tool_calls", "stop"])
def test_truncated_arguments_are_distinguished_from_malformed_ones(args: str, finish: str) -> None:
    verdict = judged(args, finish=finish)
    assert [f.code for f in verdict.errors] == ["T006"]
    assert not verdict.calls
    assert verdict.errors[0].hint == "Give shorter arguments, or raise the output limit."


@pytest.mark.spec("T4")
def test_at_the_length_limit_a_missing_bracket_means_cut() -> None:
    assert judged('{"city": "Oslo"', finish="stop").ok
    assert [f.code for f in judged('{"city": "Oslo"', finish="length").errors] == ["T006"]
    assert [f.code for f in judged({}, finish="length").errors] == ["T006"]
    assert judged('{"city": "Oslo"}', finish="length").ok


@pytest.mark.spec("T4")
def test_only_the_last_call_can_be_cut() -> None:
    reply = message("{}", finish="length")
    reply["choices"][0]["message"]["tool_calls"].append(
        {"id": "c2", "function": {"name": "get_weather", "arguments": '{"ci'}}
    )
    assert [f.code for f in CONTRACT.check(reply).errors] == ["V002", "T006"]


@pytest.mark.spec("T4")
@pytest.mark.parametrize("args", ['{"city": "a", "city": "b"}', '{"city": "a", "ratio": NaN}', '{"city": "a", "ratio": 1e999}', '{"city": "\\ud800"}', {"city": "\ud800"}, '{"city": "\ud800"}', {"city": "a", "ratio": float("nan")}])  # fmt: skip
def test_values_that_json_lacks_are_a_finding_and_not_a_crash(args: Any) -> None:
    verdict = judged(args)
    assert verdict.findings
    json.dumps(verdict.to_dict(), ensure_ascii=True)
    text = f'<tool_call>{{"name": "get_weather", "arguments": {args if isinstance(args, str) else json.dumps(args)}}}</tool_call>'
    assert CONTRACT.check(text).findings


@pytest.mark.spec("T4")
def test_deep_arguments_do_no_harm() -> None:
    for depth in (200, 5_000, 100_000):
        deep = '{"city": ' + "[" * depth + "]" * depth + "}"
        assert not judged(deep).ok
        assert not CONTRACT.check(f"<tool_call>{deep}</tool_call>").calls
        assert not CONTRACT.check(f"[TOOL_CALLS]get_weather{deep}").calls
        assert not CONTRACT.check(f"get_weather(city={'[' * depth}").calls


# -- T5: arguments under the tool's schema -------------------------------------------------------

COERCED = [
    ({"city": "Oslo", "days": "3"}, {"city": "Oslo", "days": 3}, ["C001"]),
    ({"city": "Oslo", "ratio": "1.5"}, {"city": "Oslo", "ratio": 1.5}, ["C002"]),
    ({"city": "Oslo", "exact": "true"}, {"city": "Oslo", "exact": True}, ["C003"]),
    ({"city": "Oslo", "days": 3.0}, {"city": "Oslo", "days": 3}, ["C004"]),
    ({"city": 5}, {"city": "5"}, ["C008"]),
    ({"city": "Oslo", "tags": "a"}, {"city": "Oslo", "tags": ["a"]}, ["C006"]),
    ({"city": "Oslo", "tags": '["a", "b"]'}, {"city": "Oslo", "tags": ["a", "b"]}, ["C005"]),
    ({"city": "Oslo", "days": None}, {"city": "Oslo"}, ["C009"]),
    ({"City": "Oslo"}, {"city": "Oslo"}, ["C010"]),
    ({"city": "Oslo", "unit": "Celsius"}, {"city": "Oslo", "unit": "celsius"}, ["C011"]),
]


@pytest.mark.spec("T5")
@pytest.mark.parametrize(("args", "value", "codes"), COERCED)
def test_wrong_types_are_coerced_as_any_value_is(args: Any, value: Any, codes: list[str]) -> None:
    for given in (args, json.dumps(args)):
        verdict = judged(given)
        assert verdict.ok, verdict.findings
        assert verdict.calls[0].args == value
        assert [fix.code for fix in verdict.fixes] == codes
    assert not judged(args, Contract(tools=TOOLS, coerce="off")).ok or codes == ["C004"]


WRONG = [
    ({}, "V002", "$.calls[0].args.city"),
    ({"city": "Oslo", "days": "many"}, "V001", "$.calls[0].args.days"),
    ({"city": "Oslo", "days": True}, "V001", "$.calls[0].args.days"),
    ({"city": "Oslo", "ratio": True}, "V001", "$.calls[0].args.ratio"),
    ({"city": "Oslo", "ratio": False}, "V001", "$.calls[0].args.ratio"),
    ({"city": "Oslo", "days": 0}, "V004", "$.calls[0].args.days"),
    ({"city": "Oslo", "days": 1.5}, "V001", "$.calls[0].args.days"),
    ({"city": "Oslo", "unit": "kelvin"}, "V005", "$.calls[0].args.unit"),
    ({"city": ["a", "b"]}, "V001", "$.calls[0].args.city"),
    ({"city": "Oslo", "where": {"lat": "north"}}, "V001", "$.calls[0].args.where.lat"),
    ({"city": None}, "V001", "$.calls[0].args.city"),
]


@pytest.mark.spec("T5")
@pytest.mark.parametrize(("args", "code", "path"), WRONG)
def test_a_value_that_does_not_fit_is_an_error_at_its_place(args: Any, code: str, path: str) -> None:
    for given in (args, json.dumps(args)):
        verdict = judged(given)
        assert [(f.code, f.path) for f in verdict.errors] == [(code, path)]
        assert not verdict.calls
        assert verdict.refused[0].findings == tuple(verdict.errors)


@pytest.mark.spec("T5")
def test_an_enum_error_names_the_allowed_values() -> None:
    (found,) = judged({"city": "Oslo", "unit": "kelvin"}).errors
    assert "celsius" in found.message + found.hint
    assert "fahrenheit" in found.message + found.hint


@pytest.mark.spec("T5", "T8")
def test_an_unknown_argument_is_a_warning_and_one_error_when_strict() -> None:
    verdict = judged({"city": "Oslo", "dayz": 3})
    (found,) = verdict.findings
    assert (found.code, found.level, found.data) == ("T005", "warning", {"argument": "dayz", "closest": "days"})
    assert verdict.ok
    assert verdict.calls
    strict = judged({"city": "Oslo", "dayz": 3}, STRICT)
    assert [(f.code, f.level) for f in strict.findings] == [("T005", "error")]
    assert not strict.ok
    assert not strict.calls
    assert [f.code for f in strict.refused[0].findings] == ["T005"]
    assert judged({"city": "Oslo"}, STRICT).ok


@pytest.mark.spec("T5")
def test_a_closed_schema_makes_it_an_error_once() -> None:
    closed = {
        "name": "f",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": False},
    }
    verdict = Contract(tools=[closed]).check(message({"city": "x", "cty": 1}, "f"))
    assert [f.code for f in verdict.findings] == ["V003"]


@pytest.mark.spec("T5")
def test_defaults_are_filled_only_when_asked_for_each_with_a_fix() -> None:
    assert judged({"city": "Oslo"}).calls[0].args == {"city": "Oslo"}
    filling = Contract(tools=TOOLS, calls={"defaults": True})
    verdict = judged({"city": "Oslo", "exact": True}, filling)
    assert verdict.calls[0].args == {"city": "Oslo", "exact": True, "days": 1}
    assert [(f.code, f.path, f.after) for f in verdict.fixes] == [("K004", "$.calls[0].args.days", "1")]
    assert verdict.reply.calls[0].args == {"city": "Oslo", "exact": True}
    needed = {
        "name": "f",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer", "default": 7}}, "required": ["a"]},
    }
    assert Contract(tools=[needed], calls={"defaults": True}).check(message("{}", "f")).calls[0].args == {"a": 7}
    assert [f.code for f in Contract(tools=[needed]).check(message("{}", "f")).errors] == ["V002"]


@pytest.mark.spec("T5")
def test_double_wraps_are_opened_only_when_the_inner_keys_fit() -> None:
    wrapping = {"name": "f", "parameters": {"type": "object", "properties": {"input": {"type": "object"}}}}
    assert Contract(tools=[wrapping]).check(message({"input": {"a": 1}}, "f")).calls[0].args == {"input": {"a": 1}}
    verdict = judged({"arguments": {"zebra": 1}})
    assert "K003" not in [f.code for f in verdict.fixes]
    assert not verdict.ok


# -- T8 to T10, and the rest -------------------------------------------------------------------


@pytest.mark.spec("T8")
def test_strict_promotes_each_warning_once() -> None:
    text = "I ran check_made_up_thing and another_made_up."
    loose, strict = CONTRACT.check(text), STRICT.check(text)
    assert [f.level for f in loose.findings] == ["warning", "warning"]
    assert [f.level for f in strict.findings] == ["error", "error"]
    assert [(f.code, f.message) for f in loose.findings] == [(f.code, f.message) for f in strict.findings]


@pytest.mark.spec("T9")
@pytest.mark.parametrize("args", ["{}", "[1]", "{bad", '{"city": 1}', '{"city": "x", "zzz": 1}', ""])
@pytest.mark.parametrize("contract", [CONTRACT, STRICT])
def test_ok_cannot_disagree_with_the_findings(args: str, contract: Contract) -> None:
    verdict = judged(args, contract)
    assert verdict.ok == (not verdict.errors)
    assert len(verdict.calls) + len(verdict.refused) == 1
    assert verdict.ok == bool(verdict.calls)
    again = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))
    assert (again.ok, again.calls, again.refused) == (verdict.ok, verdict.calls, verdict.refused)


@pytest.mark.spec("T10")
def test_empty_text_is_fine_with_calls_and_a_warning_without() -> None:
    assert judged({"city": "Oslo"}).findings == ()
    for empty in ("", "  \n", {"role": "assistant", "content": ""}, {"role": "assistant", "content": None}):
        (found,) = CONTRACT.check(empty).findings
        assert (found.code, found.level) == ("T013", "warning")
        assert CONTRACT.check(empty).ok
        assert not STRICT.check(empty).ok


def test_a_reply_that_is_a_refusal_is_not_called_empty() -> None:
    refusal = {
        "object": "chat.completion",
        "choices": [{"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}],
    }
    assert [f.code for f in CONTRACT.check(refusal).findings if f.code == "T013"] == []


@pytest.mark.spec("T2")
def test_a_custom_tool_takes_plain_text() -> None:
    contract = Contract(tools=[{"type": "custom", "custom": {"name": "sql"}}])
    call = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    verdict = contract.check({"role": "assistant", "content": None, "tool_calls": [call]})
    assert verdict.ok
    assert (verdict.calls[0].kind, verdict.calls[0].raw_args) == ("custom", "select 1")


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(ValueError, match="from_txt"):
        Contract(tools=TOOLS, calls={"from_txt": False})
    with pytest.raises(ValueError, match="bool"):
        Contract(tools=TOOLS, calls={"parallel": "no"})


def test_nothing_that_is_passed_in_is_changed() -> None:
    reply = message({"city": 5, "days": "3", "arguments": {}})
    before = repr(reply)
    Contract(tools=TOOLS, calls={"defaults": True}).check(reply)
    assert repr(reply) == before


# -- false alarms --------------------------------------------------------------------------------


def schema_of(random: Random, depth: int = 0) -> dict[str, Any]:
    kinds = ["string", "integer", "number", "boolean", "enum", "nullable", "any", "const", "date"]
    kind = random.choice(kinds + (["array", "object", "anyOf", "map"] if depth < 3 else []))
    if kind == "enum":
        return {"type": "string", "enum": ["north", "south", "East Side", "1", "true"]}
    if kind == "nullable":
        return {"type": ["string", "null"]}
    if kind == "const":
        return {"const": random.choice(["v1", 2, None, True])}
    if kind == "date":
        return {"type": "string", "format": "date"}
    if kind == "any":
        return {}
    if kind == "array":
        return {"type": "array", "items": schema_of(random, depth + 1)}
    if kind == "map":
        return {"type": "object", "additionalProperties": schema_of(random, depth + 1)}
    if kind == "anyOf":
        return {"anyOf": [schema_of(random, depth + 1), {"type": "null"}]}
    if kind == "object":
        return object_of(random, depth + 1)
    if kind == "integer":
        return {"type": "integer", "minimum": -5, "maximum": 10**12}
    return {"type": kind}


def object_of(random: Random, depth: int = 0) -> dict[str, Any]:
    names = random.sample(
        ["city", "days", "unit", "user_name", "X-Id", "名前", "limit", "where", "type", "name", "input"],
        random.randint(0, 5),
    )
    properties = {name: schema_of(random, depth) for name in names}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if random.random() < 0.7:
        schema["required"] = [name for name in names if random.random() < 0.6]
    if random.random() < 0.4:
        schema["additionalProperties"] = False
    return schema


TEXTS = [
    "Oslo",
    "",
    "São Paulo",
    'it\'s "x"',
    "{not json}",
    "[1]",
    "5",
    "true",
    "null",
    "a\nb",
    "😀",
    "</tool_call>",
    "C:\\new\\x",
    "1e5",
    "2024-01-01",
    "N/A",
    " padded ",
]


def value_of(schema: dict[str, Any], random: Random) -> Any:
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return value_of(random.choice(schema["anyOf"]), random)
    kind = schema.get("type")
    if isinstance(kind, list):
        return random.choice([None, random.choice(TEXTS)])
    if schema.get("format") == "date":
        return "2024-02-29"
    if kind == "string":
        return random.choice(TEXTS)
    if kind == "integer":
        return random.choice([0, 1, -5, 37, 10**12])
    if kind == "number":
        return random.choice([0, 1, -2.5, 1e-9, 3.25, 10**15])
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "null":
        return None
    if kind == "array":
        return [value_of(schema["items"], random) for _ in range(random.randint(0, 3))]
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return {f"k{i}": value_of(schema["additionalProperties"], random) for i in range(random.randint(0, 3))}
    if kind == "object":
        required = schema.get("required", [])
        return {
            k: value_of(v, random) for k, v in schema["properties"].items() if k in required or random.random() < 0.6
        }
    return random.choice([None, True, 1, 2.5, "x", [1], {"a": 1}])


@pytest.mark.spec("T5", "T9")
def test_calls_that_are_right_raise_no_alarm() -> None:
    random = Random(3)
    alarms: list[Any] = []
    count = 0
    for _ in range(150):
        tools = [{"name": f"tool_{i}", "parameters": object_of(random)} for i in range(4)]
        contract = Contract(tools=tools)
        for _ in range(10):
            rows = []
            for i, tool in enumerate(random.sample(tools, 2)):
                args = value_of(tool["parameters"], random)  # type: ignore[arg-type]
                given = args if random.random() < 0.3 else json.dumps(args, ensure_ascii=random.random() < 0.5)
                rows.append({"id": f"c{i}", "type": "function", "function": {"name": tool["name"], "arguments": given}})
                count += 1
            verdict = contract.check({"role": "assistant", "content": "Let me look.", "tool_calls": rows})
            for row, call in zip(rows, verdict.calls, strict=False):
                given = row["function"]["arguments"]  # type: ignore[index]
                assert call.args == (json.loads(given) if isinstance(given, str) else given)
            if verdict.findings or verdict.fixes:
                alarms.append((rows, verdict.findings, verdict.fixes))
    assert count == 3000
    assert alarms == []


def test_three_calls_cost_the_same_against_fifty_tools_and_ten_thousand() -> None:
    def tool(number: int) -> dict[str, Any]:
        return {"type": "function", "function": {**WEATHER, "name": f"tool_{number}"}}

    args = json.dumps({"city": "Oslo", "days": 3, "unit": "celsius", "tags": ["a", "b"]})
    rows = [
        {"id": f"c{i}", "type": "function", "function": {"name": f"tool_{i}", "arguments": args}} for i in (1, 7, 30)
    ]
    reply = {
        "object": "chat.completion",
        "choices": [{"message": {"content": None, "tool_calls": rows}, "finish_reason": "tool_calls"}],
    }
    few = Contract(tools=[tool(i) for i in range(50)])
    assert len(few.check(reply).calls) == 3
    many = Contract(tools=[tool(i) for i in range(10_000)])
    assert_at_most(3, lambda: many.check(reply), lambda: few.check(reply))
    assert_linear(lambda tools: Contract(tools=tools), lambda n: [tool(i) for i in range(n)], 10_000)


@pytest.mark.spec("T2", "T3")
def test_a_bundle_of_parallel_calls_is_taken_apart() -> None:
    contract = Contract(tools=[{"name": "ping", "parameters": [{"name": "host", "type": "string"}]}, {"name": "now"}])
    uses = [
        {"recipient_name": "functions.ping", "parameters": {"host": "a"}},
        {"recipient_name": "now", "parameters": {}},
        {"recipient_name": "functions.fly", "parameters": {}},
    ]

    def reply(arguments: str) -> dict[str, Any]:
        call = {"id": "c1", "function": {"name": "multi_tool_use.parallel", "arguments": arguments}}
        return {"role": "assistant", "tool_calls": [call]}

    verdict = contract.check(reply(json.dumps({"tool_uses": uses})))
    assert [(c.name, c.args, c.id) for c in verdict.calls] == [("ping", {"host": "a"}, "c1_0"), ("now", {}, "c1_1")]
    assert [(f.code, f.path) for f in verdict.errors] == [("T001", "$.calls[2]")]
    assert [f.path for f in verdict.fixes if f.code == "K003"] == ["$.calls[0]", "$.calls[1]", "$.calls[2]"]
    for arguments in ("{}", '{"tool_uses": []}', '{"tool_uses": [1]}', '{"tool_uses": [{"recipient_name": 5}]}', "["):
        assert [f.code for f in contract.check(reply(arguments)).errors] == ["T001"]
    careful = Contract(tools=[{"name": "now"}], accept="lossless")
    bundle = reply(json.dumps({"tool_uses": [{"recipient_name": "now", "parameters": {}}]}))
    assert (careful.check(bundle).calls, [f.code for f in careful.check(bundle).errors]) == ((), ["G001"])
    own = Contract(tools=[{"name": "multi_tool_use.parallel", "parameters": [{"name": "tool_uses", "type": "array"}]}])
    assert [c.args for c in own.check(reply(json.dumps({"tool_uses": uses}))).calls] == [{"tool_uses": uses}]


@pytest.mark.spec("T4")
@pytest.mark.parametrize("between", ["", "\n", ", ", " and "])
def test_two_sets_of_arguments_in_one_call_are_refused(between: str) -> None:
    contract = Contract(tools=[{"name": "ping", "parameters": [{"name": "host", "type": "string", "required": True}]}])
    call = {"id": "c1", "function": {"name": "ping", "arguments": '{"host": "a"}' + between + '{"host": "b"}'}}
    verdict = contract.check({"role": "assistant", "tool_calls": [call]})
    assert verdict.calls == ()
    assert [f.code for f in verdict.findings] == ["T003"]
    assert "several objects" in verdict.findings[0].message
    call["function"]["arguments"] = '{"host": "a"}' + between + '{"host": "a"}'  # type: ignore[index]
    assert [c.args for c in contract.check({"role": "assistant", "tool_calls": [call]}).calls] == [{"host": "a"}]


@pytest.mark.parametrize(
    "text", ['"name"\n{x \ud800', "`a`\n[a b\ud800 c, {x", '[{"type": ["text"]}]', 'See:\n{"parts": [{"type": []}]}']
)
def test_no_text_makes_the_search_for_calls_fail(text: str) -> None:
    assert CONTRACT.check(text).calls == ()
    before = [{"role": "assistant", "content": text}]
    assert CONTRACT.check("Fine.", context={"history": before}).findings == ()


# -- arguments of the wrong type, and outside an enum ------------------------------------------------

PING = {
    "name": "ping",
    "parameters": [
        {"name": "host", "type": "string", "required": True},
        {"name": "count", "type": "integer", "required": True},
        {"name": "mode", "type": "string", "enum": ["fast", "slow"], "default": "fast"},
        {"name": "family", "type": "string", "enum": ["ipv4", "ipv6"]},
    ],
}


def pinged(contract: Contract, **arguments: Any) -> Any:
    call = {"id": "c1", "function": {"name": "ping", "arguments": {"host": "a", "count": 1, **arguments}}}
    return contract.check({"role": "assistant", "tool_calls": [call]})


@pytest.mark.spec("T5")
def test_a_wrong_type_is_an_error_unless_the_contract_says_otherwise() -> None:
    refused = pinged(Contract(tools=[PING]), count="many")
    assert [(f.code, f.level) for f in refused.findings] == [("V001", "error")]
    assert not refused.calls
    lenient = Contract(tools=[PING], calls={"types": "warning"})
    verdict = pinged(lenient, count="many")
    assert [(f.code, f.level, f.path) for f in verdict.findings] == [("V001", "warning", "$.calls[0].args.count")]
    assert verdict.ok
    assert verdict.calls[0].args == {"host": "a", "count": "many"}
    assert pinged(lenient, count="3").calls[0].args["count"] == 3  # values that can be repaired still are


@pytest.mark.spec("T5", "T8")
def test_other_faults_stay_errors_and_strict_mode_promotes_it() -> None:
    lenient = Contract(tools=[PING], calls={"types": "warning"})
    assert [(f.code, f.level) for f in pinged(lenient, count="many", family="x").findings] == [
        ("V005", "error"),
        ("V001", "warning"),
    ]
    strict = Contract(tools=[PING], calls={"types": "warning"}, strict=True)
    assert [(f.code, f.level) for f in pinged(strict, count="many").findings] == [("V001", "error")]


@pytest.mark.spec("T5")
def test_outside_its_enum_an_argument_may_become_the_default() -> None:
    assert [f.code for f in pinged(Contract(tools=[PING]), mode="turbo").errors] == ["V005"]
    contract = Contract(tools=[PING], calls={"outside_enum": "default"})
    verdict = pinged(contract, mode="turbo")
    assert verdict.ok
    assert verdict.findings == ()
    assert verdict.calls[0].args == {"host": "a", "count": 1, "mode": "fast"}
    assert [(f.code, f.grade, f.path, f.before, f.after) for f in verdict.fixes] == [
        ("K005", "guess", "$.calls[0].args.mode", '"turbo"', '"fast"')
    ]
    assert verdict.reply.calls[0].args["mode"] == "turbo"
    assert pinged(contract, mode="slow").fixes == ()


@pytest.mark.spec("T5")
def test_without_a_default_it_stays_an_error() -> None:
    contract = Contract(tools=[PING], calls={"outside_enum": "default"})
    assert [(f.code, f.path) for f in pinged(contract, family="ipx").errors] == [("V005", "$.calls[0].args.family")]
    both = pinged(contract, mode="turbo", family="ipx")
    assert [(f.code, f.path) for f in both.errors] == [("V005", "$.calls[0].args.family")]
    assert not both.calls
    wrong = {"name": "ping", "parameters": {"properties": {"mode": {"enum": ["a"], "default": "b"}}}}
    assert [f.code for f in pinged(Contract(tools=[wrong], calls={"outside_enum": "default"}), mode="x").errors] == [
        "V005"
    ]


@pytest.mark.spec("T5")
def test_a_default_in_place_of_a_value_is_a_guess() -> None:
    contract = Contract(tools=[PING], calls={"outside_enum": "default"}, accept="lossless")
    verdict = pinged(contract, mode="turbo")
    assert [(f.code, f.data["fix"]) for f in verdict.errors] == [("G001", "K005")]
    assert not verdict.calls


@pytest.mark.spec("T5")
def test_the_default_of_a_python_function_and_of_a_nested_field() -> None:
    def ping(host: str, count: int, mode: Literal["fast", "slow"] = "fast") -> str:
        return f"{host} {count} {mode}"

    contract = Contract(tools=[ping], calls={"outside_enum": "default"})
    assert pinged(contract, mode="turbo").calls[0].args["mode"] == "fast"
    nested = {
        "name": "ping",
        "parameters": {"properties": {"how": {"properties": {"mode": {"enum": ["fast"], "default": "fast"}}}}},
    }
    verdict = pinged(Contract(tools=[nested], calls={"outside_enum": "default"}), how={"mode": "x", "other": 1})
    assert verdict.calls[0].args["how"] == {"mode": "fast", "other": 1}
    assert [f.path for f in verdict.fixes] == ["$.calls[0].args.how.mode"]


@pytest.mark.parametrize("calls", [{"types": "info"}, {"outside_enum": True}, {"outside_enum": "drop"}])
def test_unsupported_values_of_options_are_refused(calls: Any) -> None:
    with pytest.raises(ValueError, match=r"Invalid enum value|Expected `str`"):
        Contract(tools=[PING], calls=calls)
