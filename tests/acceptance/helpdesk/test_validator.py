"""The document's own tests, by name, and its rules on other inputs of the same kinds, through the interface it describes."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.acceptance.helpdesk.registry import ToolDefinition, ToolParameter, ToolRegistry
from tests.acceptance.helpdesk.validator import (
    DIAGNOSED,
    ResponseValidator,
    ValidationResult,
    repair_json_arguments,
    suggest_tool,
    validate_diagnostic_sequence,
)
from trueup import Contract
from trueup.read.definitions import DefinitionError

ADAPTER, ADDRESS, GATEWAY, DNS, LOOKUP = DIAGNOSED
VALIDATOR = ResponseValidator()


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


# -- the tests of the document --------------------------------------------------------------------------


def test_valid_tool_call() -> None:
    assert VALIDATOR.validate_tool_call(ADAPTER, {}) == ValidationResult(
        True, [], [], {"content": "", "tool_calls": [{"name": ADAPTER, "arguments": {}}]}
    )


def test_invalid_tool_name() -> None:
    result = VALIDATOR.validate_tool_call("nonexistent_tool", {})
    assert not result.is_valid
    assert result.errors == ["Tool 'nonexistent_tool' is not defined"]  # the document looks for "Unknown tool"
    assert result.sanitized_response == {"content": "", "tool_calls": []}


def test_hallucinated_tool_warning() -> None:
    response = SimpleNamespace(tool_calls=[], final_response="I ran check_network_status to diagnose")
    assert any("check_network_status" in warning for warning in VALIDATOR.validate_response(response).warnings)


def test_empty_content_warning() -> None:
    response = SimpleNamespace(tool_calls=[], final_response="")
    # the code of the document never gets to its check of an empty text
    assert VALIDATOR.validate_response(response).warnings == ["The reply is empty: it has neither text nor calls"]


def test_correct_sequence() -> None:
    result = validate_diagnostic_sequence(named(ADAPTER, ADDRESS, GATEWAY))
    assert result.is_valid
    assert not result.warnings


def test_out_of_order_warning() -> None:
    assert validate_diagnostic_sequence(named(GATEWAY, ADAPTER)).warnings


def test_suggest_tool_close_match() -> None:
    assert suggest_tool("check_adaptor_status", {"check_adapter_status", "get_ip_config"}) == "check_adapter_status"


def test_suggest_tool_no_match() -> None:
    assert suggest_tool("completely_different", {"check_adapter_status"}) is None


def test_repair_single_quotes() -> None:
    assert repair_json_arguments("{'key': 'value'}") == {"key": "value"}


def test_repair_trailing_comma() -> None:
    assert repair_json_arguments('{"key": "value",}') == {"key": "value"}


# -- where a reply has its parts --------------------------------------------------------------------------

PLACES: list[tuple[Any, list[str]]] = [
    (SimpleNamespace(tool_calls=None, content="I ran check_a"), ["check_a"]),
    (SimpleNamespace(tool_calls=[], final_response=None, content="x"), []),
    (SimpleNamespace(tool_calls=[], final_response="I ran check_a", content="I ran check_b"), ["check_a"]),
    ({"tool_calls": None, "content": "I ran check_a"}, ["check_a"]),
    ({"content": "I ran check_a"}, ["check_a"]),
    ({"final_response": "I ran check_a"}, ["check_a"]),
    ({"content": "", "final_response": "I ran check_a"}, ["check_a"]),
    # in the document the object's order wins for objects only; here the final response is the text in both
    ({"content": "I ran check_b", "final_response": "I ran check_a"}, ["check_a"]),
    ("I ran check_a", ["check_a"]),  # the document finds no text in a plain string
]


@pytest.mark.parametrize(("response", "names"), PLACES)
def test_the_text_is_found_where_the_document_looks_for_it(response: Any, names: list[str]) -> None:
    result = VALIDATOR.validate_response(response)
    assert result.is_valid
    assert [warning.split("'")[1] for warning in result.warnings if "mentions" in warning] == names


def test_a_call_without_a_name_and_one_without_arguments() -> None:
    assert VALIDATOR.validate_response({"tool_calls": [{"arguments": {}}]}).errors == ["Tool '' is not defined"]
    assert VALIDATOR.validate_response({"tool_calls": [{"name": GATEWAY}]}).is_valid


def test_calls_after_a_faulty_one_are_still_judged() -> None:
    result = VALIDATOR.validate_response(
        {"tool_calls": [{"name": GATEWAY, "arguments": "{bad"}, {"name": "bogus", "arguments": {}}]}
    )
    assert [error.split(":")[0] for error in result.errors] == [f"Call 0 ({GATEWAY})", "Tool 'bogus' is not defined"]


def test_an_expected_sequence_is_an_argument_of_the_check() -> None:
    calls = {"tool_calls": [{"function": {"name": GATEWAY, "arguments": "{}"}}]}
    assert VALIDATOR.validate_response(calls).warnings == []
    assert VALIDATOR.validate_response(calls, []).warnings == []
    assert VALIDATOR.validate_response(calls, [GATEWAY, DNS]).warnings == []
    assert VALIDATOR.validate_response(calls, DIAGNOSED).warnings == [
        f"Tool sequence mismatch at position 0: expected '{ADAPTER}', got '{GATEWAY}'"
    ]


def test_strict_mode_is_an_option_of_the_validator() -> None:
    result = ResponseValidator(strict_mode=True).validate_response({"content": "I ran check_vpn"})
    assert not result.is_valid
    assert len(result.errors) == 1
    assert result.warnings == []  # in the document it stays in the list of warnings as well


def test_one_reply_is_judged_by_its_calls_their_places_and_its_text() -> None:
    reply = {
        "tool_calls": [{"name": "bogus", "arguments": "{bad"}, {"name": GATEWAY, "arguments": {"count": "few"}}],
        "content": "I ran check_vpn",
    }
    result = VALIDATOR.validate_response(reply, [ADAPTER, ADDRESS])
    assert result.errors == ["Tool 'bogus' is not defined"]  # the arguments of an unknown tool are not checked
    assert sorted(result.warnings) == [
        'Field "count": Expected number, got string',
        "The text mentions a tool 'check_vpn' that is not defined",
        f"Tool sequence mismatch at position 0: expected '{ADAPTER}', got 'bogus'",
        f"Tool sequence mismatch at position 1: expected '{ADDRESS}', got '{GATEWAY}'",
    ]


def test_only_the_first_of_many_valid_tools_are_named() -> None:
    many = ToolRegistry(*(ToolDefinition(f"tool_{number:02}", "") for number in range(14)))
    (found,) = Contract(tools=many).check({"tool_calls": named("bogus")}).errors
    assert found.data["tools"] == [f"tool_{number:02}" for number in range(12)]  # five in the document
    assert found.hint.endswith("tool_11 ….")


PARAMETERS: list[tuple[ToolParameter, Any, list[str]]] = [
    (ToolParameter("a", "integer"), 1.5, ["V001"]),  # missing from the document's table of types, and so never checked
    (ToolParameter("a", "string", enum=[]), "anything", []),
    (ToolParameter("a", "string", enum=None), "anything", []),
    (
        ToolParameter("a", "string"),
        ["a.com"],
        [],
    ),  # a warning in the document; here the one item is the text, a recorded fix
    (ToolParameter("a", "string"), ["a.com", "b.com"], ["V001"]),
]


@pytest.mark.parametrize(("parameter", "value", "codes"), PARAMETERS)
def test_parameters(parameter: ToolParameter, value: Any, codes: list[str]) -> None:
    registry = ToolRegistry(ToolDefinition("look", "", [parameter]))
    verdict = Contract(tools=registry).check({"tool_calls": [{"name": "look", "arguments": {"a": value}}]})
    assert [found.code for found in verdict.findings] == codes
    assert Contract(tools=registry).check({"tool_calls": named("look")}).ok  # an absent argument has no type


def test_a_type_that_does_not_exist_is_refused() -> None:
    # the document never checks such a parameter
    with pytest.raises(DefinitionError, match="unknown type 'strng'"):
        Contract(tools=ToolRegistry(ToolDefinition("look", "", [ToolParameter("a", "strng")])))


# -- other inputs of the same kinds -----------------------------------------------------------------------

TEXTS = [
    ("get_ip_config says wifi_status is fine", ["wifi_status"]),
    ("Then I ran get_latency_ms and check_router.", ["get_latency_ms", "check_router"]),
    ("The status page is at status_page.", []),
    # no warning in the document, whose rule knows three beginnings and endings; here the words around a name count as well
    ("I used my_tool and set_dns", ["my_tool", "set_dns"]),
    ("Set my_option and base_url.", []),
]


@pytest.mark.parametrize(("text", "names"), TEXTS)
def test_names_in_texts(text: str, names: list[str]) -> None:
    warnings = VALIDATOR.validate_response({"content": text}).warnings
    assert [warning.split("'")[1] for warning in warnings if "mentions" in warning] == names


SUGGESTIONS = [
    ("get_ipconfig", ADDRESS),
    ("ping_gatway", GATEWAY),
    ("pingdns", DNS),
    ("adapter_status", ADAPTER),
    ("PING_DNS", DNS),  # difflib is case-sensitive and finds nothing
    ("reboot_router", None),
    ("", None),
]


@pytest.mark.parametrize(("name", "meant"), SUGGESTIONS)
def test_suggestions(name: str, meant: str | None) -> None:
    assert suggest_tool(name, set(DIAGNOSED)) == meant


REPAIRS: list[tuple[str, Any]] = [
    ('{"hosts": ["a.com", "b.com",]}', {"hosts": ["a.com", "b.com"]}),
    ('"host": "8.8.8.8", "count": 4', {"host": "8.8.8.8", "count": 4}),
    ('{"a": 1, }', {"a": 1}),
    ('{"n": "it\'s"}', {"n": "it's"}),
    ("{'a': 1,}", {"a": 1}),  # None in the document: two faults, and each repair is tried alone
    ('{"a": {"b": 1}', {"a": {"b": 1}}),  # None in the document; here the missing brace is a recorded guess
    ('{"a": 1', {"a": 1}),  # the same
    ("host: 8.8.8.8", None),
    ("host 8.8.8.8", None),
    ("nothing", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "value"), REPAIRS)
def test_repairs(text: str, value: Any) -> None:
    assert repair_json_arguments(text) == value


SEQUENCES = [
    ([ADAPTER, GATEWAY, DNS], 0),
    ([ADAPTER, "reboot_pc", ADDRESS], 0),
    ([ADAPTER, ADAPTER], 0),  # one in the document: a repeat
    ([ADDRESS, ADAPTER, GATEWAY], 1),
    ([LOOKUP, ADAPTER], 1),  # an IndexError in the document
    ([], 0),
]


@pytest.mark.parametrize(("names", "count"), SEQUENCES)
def test_sequences(names: list[str], count: int) -> None:
    result = validate_diagnostic_sequence(named(*names))
    assert result.is_valid
    assert len([warning for warning in result.warnings if "already called" in warning]) == count
    shaped = validate_diagnostic_sequence([{"function": {"name": name}} for name in names])
    assert shaped == result
