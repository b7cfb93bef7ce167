"""T3, T5, T12, X15: names, unknown arguments, and calls taken together, as findings."""

from typing import Any

import pytest

from trueup import Contract
from trueup.checks.tools import resolve, together, unknown_arguments
from trueup.checks.toolset import Toolset
from trueup.verdict.reply import ToolCall
from trueup.verdict.tool import Tool

TOOLS = [{"name": "check_adapter_status"}, {"name": "get_ip_config"}, {"name": "search_tool"}]
CONTRACT = Contract(tools=TOOLS)


def call(name: str, args: Any = "{}", call_id: str = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": args}}


def check(*calls: dict[str, Any], contract: Contract = CONTRACT) -> Any:
    return contract.check({"role": "assistant", "content": None, "tool_calls": list(calls)})


@pytest.mark.spec("T3")
def test_an_unknown_name_is_an_error_with_the_closest_one() -> None:
    verdict = check(call("check_adaptor_status"))
    (found,) = verdict.findings
    assert (found.code, found.level, found.path) == ("T001", "error", "$.calls[0]")
    assert (found.data["name"], found.data["closest"]) == ("check_adaptor_status", "check_adapter_status")
    assert found.data["tools"] == ["check_adapter_status", "get_ip_config", "search_tool"]
    assert found.hint == "Call 'check_adapter_status' instead."
    assert not verdict.ok
    assert not verdict.calls
    assert verdict.refused[0].call.name == "check_adaptor_status"


@pytest.mark.spec("T3")
def test_an_unknown_name_with_nothing_near_names_what_is_offered() -> None:
    (found,) = check(call("completely_different")).findings
    assert (found.data["name"], found.data["closest"]) == ("completely_different", None)
    assert found.hint == "Use only these tools: check_adapter_status, get_ip_config, search_tool."
    assert [f.hint for f in Contract(tools=[]).check({"tool_calls": [call("x")]}).errors] == ["Call no tool."]


@pytest.mark.spec("T3")
def test_a_name_that_shares_words_is_suggested_and_never_called() -> None:
    verdict = check(call("get_ip"))
    (found,) = verdict.findings
    assert (found.code, found.data["closest"]) == ("T001", "get_ip_config")
    assert found.hint.startswith("Call 'get_ip_config' if you mean it. Use only these tools:")
    assert not verdict.calls
    assert not verdict.fixes


@pytest.mark.spec("T3")
@pytest.mark.parametrize("name", ["functions.search_tool", "proxy_search_tool", "SearchTool", "search-tool", "search.tool", "web__search_tool", "search_tool:0"])  # fmt: skip
def test_a_near_miss_by_convention_is_a_graded_fix(name: str) -> None:
    verdict = check(call(name))
    assert verdict.ok
    assert verdict.findings == ()
    assert [(f.code, f.grade, f.before, f.after) for f in verdict.fixes] == [("K002", "guess", name, "search_tool")]
    assert verdict.calls[0].name == "search_tool"
    assert verdict.reply.calls[0].name == name


@pytest.mark.spec("T3")
@pytest.mark.parametrize("accept", ["none", "lossless"])
def test_a_near_miss_by_convention_is_refused_if_guesses_are(accept: Any) -> None:
    contract = Contract(tools=TOOLS, accept=accept)
    verdict = check(call("SearchTool"), contract=contract)
    assert [f.code for f in verdict.errors] == ["G001"]
    assert not verdict.calls
    assert check(call("search_tool"), contract=contract).ok


@pytest.mark.spec("T3")
def test_a_name_that_fits_two_tools_means_neither() -> None:
    contract = Contract(tools=[{"name": "get_data"}, {"name": "getData"}])
    (found,) = check(call("GetData"), contract=contract).findings
    assert (found.code, found.data["candidates"]) == ("T001", ["getData", "get_data"])
    assert check(call("getData"), contract=contract).ok


@pytest.mark.spec("X15", "T3")
@pytest.mark.parametrize(
    "name", ["sеarch_tool", "search\u200b_tool", "ｓearch_tool", "search_tool\u2060", "search_tооl"], ids=ascii
)
def test_a_look_alike_is_an_error_and_never_repaired(name: str) -> None:
    for accept in ("none", "lossless", "guess", "lossy"):
        verdict = check(call(name), contract=Contract(tools=TOOLS, accept=accept))  # type: ignore[arg-type]
        (found,) = verdict.findings
        assert (found.code, found.level, found.data["looks_like"]) == ("T002", "error", "search_tool")
        assert found.message.isascii()
        assert verdict.fixes == ()
        assert verdict.calls == ()


@pytest.mark.spec("X15")
def test_a_look_alike_in_the_text_is_not_a_call() -> None:
    assert CONTRACT.check('<tool_call>{"name": "sеarch_tool", "arguments": {}}</tool_call>').calls == ()


def test_resolve_says_how_a_name_was_understood() -> None:
    tools = Toolset([Tool("ping")])
    assert resolve("ping", "$", tools) == (tools.tools["ping"], None, False)
    assert resolve("functions.ping", "$", tools) == (tools.tools["ping"], None, True)
    assert resolve("pong", "$", tools).problem is not None


# -- unknown arguments -------------------------------------------------------------------------

OPEN = Tool("f", "", {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})


@pytest.mark.spec("T5")
@pytest.mark.parametrize(
    "more",
    [
        {"required": ["when"]},
        {"if": {"required": ["city"]}, "then": {"properties": {"when": {"type": "string"}}}},
        {"dependentSchemas": {"city": {"properties": {"when": {"type": "string"}}}}},
    ],
    ids=["required", "if", "dependent"],
)
def test_an_argument_that_the_schema_names_elsewhere_is_known(more: dict[str, Any]) -> None:
    tool = Tool("f", "", {**OPEN.parameters, **more})
    assert not list(unknown_arguments({"city": "x", "when": "now"}, tool, "$.args"))


@pytest.mark.spec("T5")
@pytest.mark.parametrize(
    ("args", "closest"),
    [({"citty": 1}, "city"), ({"daysx": 1}, "days"), ({"zebra": 1}, None), ({"city": "x"}, ...), ({}, ...)],
)  # fmt: skip
def test_an_unknown_argument_is_a_warning_with_a_suggestion(args: dict[str, Any], closest: Any) -> None:
    found = [(f.code, f.level, f.data["closest"]) for f in unknown_arguments(args, OPEN, "$.args")]
    assert found == ([] if closest is ... else [("T005", "warning", closest)])


@pytest.mark.spec("T5")
@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^z": {}}},
        {"anyOf": [{"properties": {"zebra": {}}}], "properties": {"a": {}}},
    ],
)
def test_an_open_schema_has_no_unknown_arguments(schema: Any) -> None:
    assert list(unknown_arguments({"zebra": 1}, Tool("f", "", schema), "$")) == []


# -- calls taken together ----------------------------------------------------------------------


def found_together(*calls: ToolCall, parallel: bool = True) -> list[tuple[str, str]]:
    return [(f.code, f.path) for f in together(calls, parallel=parallel)]


@pytest.mark.spec("T12")
def test_repeated_ids_and_identical_calls_are_found() -> None:
    a, b = ToolCall("f", {"x": 1}, "1"), ToolCall("f", {"x": 2}, "2")
    assert found_together(a, b) == []
    assert found_together(a, ToolCall("g", {"x": 1}, "2")) == []
    assert found_together(a, ToolCall("g", {}, "1")) == [("T014", "$.calls[1]")]
    assert found_together(a, b, ToolCall("f", {"x": 1}, "3")) == [("T015", "$.calls[2]")]
    assert found_together(a, ToolCall("f", {"x": 1}, "1")) == [("T014", "$.calls[1]"), ("T015", "$.calls[1]")]
    ordered = ToolCall("f", {"x": 1, "y": 2}, "1"), ToolCall("f", {"y": 2, "x": 1}, "2")
    assert found_together(*ordered) == [("T015", "$.calls[1]")]
    assert found_together(ToolCall("f", {}), ToolCall("g", {})) == []  # no ids at all


@pytest.mark.spec("T12")
def test_true_and_one_are_not_the_same_argument() -> None:
    assert found_together(ToolCall("f", {"x": 1}), ToolCall("f", {"x": True}), ToolCall("f", {"x": "1"})) == []


@pytest.mark.spec("T12")
def test_parallel_calls_are_refused_if_one_at_a_time_is_allowed() -> None:
    a, b = ToolCall("f", {"x": 1}), ToolCall("g")
    assert found_together(a, b, parallel=False) == [("T016", "$.calls")]
    assert found_together(a, parallel=False) == []
    done = ToolCall("f", {"x": 1}, answered=True)
    assert found_together(done, done, a, parallel=False) == []  # turns that have ended


@pytest.mark.spec("T12")
def test_a_verdict_has_these_findings() -> None:
    twice = check(call("search_tool", "{}", "a"), call("search_tool", "{}", "a"))
    assert [(f.code, f.level) for f in twice.findings] == [("T014", "warning"), ("T015", "warning")]
    assert twice.ok
    one = Contract(tools=TOOLS, calls={"parallel": False})
    verdict = check(call("search_tool"), call("get_ip_config", "{}", "c2"), contract=one)
    assert [f.code for f in verdict.errors] == ["T016"]
    assert not verdict.calls
    assert [r.findings[0].code for r in verdict.refused] == ["T016", "T016"]
    assert len(verdict.rejections("openai")) == 2
    assert check(call("search_tool"), contract=one).ok
