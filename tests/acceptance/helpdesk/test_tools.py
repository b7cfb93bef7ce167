"""Tool calls: names that do not exist, arguments that do not fit, and the strict mode."""

import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.acceptance.helpdesk.desk import DIAGNOSIS, make_contract
from tests.acceptance.helpdesk.registry import NETWORK
from trueup import Contract, Verdict
from trueup.read.definitions import DefinitionError

CONTRACT, STRICT = make_contract(), make_contract(strict=True)


def call(name: str, arguments: Any = None, contract: Contract = CONTRACT) -> Verdict:
    return contract.check({"tool_calls": [{"name": name, "arguments": {} if arguments is None else arguments}]})


def test_the_registry_is_accepted_unchanged() -> None:
    assert [tool.name for tool in CONTRACT.tools] == [d.name for d in NETWORK.get_all_definitions()] == DIAGNOSIS


# -- names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIAGNOSIS)
def test_a_valid_tool_call_is_accepted(name: str) -> None:
    verdict = call(name, {"server": "192.0.2.53"} if name == "ping_dns" else {})
    assert verdict.ok
    assert verdict.findings == ()


def test_an_unknown_tool_is_an_error_that_names_it_and_the_valid_ones() -> None:
    verdict = call("nonexistent_tool")
    (found,) = verdict.errors
    assert not verdict.ok  # the document's own result stays "valid" here: it copies the errors and not the flag
    assert not verdict.calls
    assert found.code == "T001"
    assert found.message == "Tool 'nonexistent_tool' is not defined"  # the document: "Unknown tool: …"
    assert found.data["tools"] == sorted(DIAGNOSIS)  # the document: "Valid tools: […]", the first five
    assert all(name in found.hint for name in sorted(DIAGNOSIS)[:5])


# -- shapes of a reply --------------------------------------------------------------------------------

ARGUMENTS = {"server": "192.0.2.53"}
SHAPES: dict[str, Any] = {
    "a dict": {"tool_calls": [{"name": "ping_dns", "arguments": ARGUMENTS}]},
    "arguments as text": {"tool_calls": [{"name": "ping_dns", "arguments": json.dumps(ARGUMENTS)}]},
    "under function": {"tool_calls": [{"function": {"name": "ping_dns", "arguments": ARGUMENTS}}]},
    "under function, as text": {"tool_calls": [{"function": {"name": "ping_dns", "arguments": json.dumps(ARGUMENTS)}}]},
    "an object": SimpleNamespace(tool_calls=[{"name": "ping_dns", "arguments": ARGUMENTS}], content=""),
    "an object with its text elsewhere": SimpleNamespace(
        tool_calls=[{"name": "ping_dns", "arguments": ARGUMENTS}], final_response="One moment."
    ),
}


@pytest.mark.parametrize("reply", SHAPES.values(), ids=SHAPES)
def test_every_shape_of_a_call_is_read(reply: Any) -> None:
    verdict = CONTRACT.check(reply)
    assert verdict.findings == ()
    assert [(made.name, made.args) for made in verdict.calls] == [("ping_dns", ARGUMENTS)]


# -- arguments ----------------------------------------------------------------------------------------


def test_arguments_that_are_not_json_are_an_error_with_place_tool_and_fault() -> None:
    verdict = CONTRACT.check(
        {"tool_calls": [{"name": "check_adapter_status"}, {"name": "ping_dns", "arguments": "the one at the office"}]}
    )
    (found,) = verdict.errors
    assert (found.code, found.path, found.data["tool"]) == ("T003", "$.calls[1].args", "ping_dns")
    assert found.message.startswith("Call 1 (ping_dns): the arguments are not JSON: ")
    assert [made.name for made in verdict.calls] == ["check_adapter_status"]


@pytest.mark.parametrize("arguments", ["[1]", "5", "null", '"text"', [1]])
def test_arguments_that_are_not_an_object_are_an_error(arguments: Any) -> None:
    # the document's validator raises an AttributeError here
    assert {found.code for found in call("ping_gateway", arguments).errors} <= {"T003", "T004"}
    assert not call("ping_gateway", arguments).ok


def test_unknown_arguments_are_a_warning() -> None:
    verdict = call("ping_gateway", {"count": 1, "retries": 2, "verbosity": 3})
    assert verdict.ok
    assert [(f.code, f.level, f.data["argument"]) for f in verdict.findings] == [
        ("T005", "warning", "retries"),
        ("T005", "warning", "verbosity"),
    ]
    assert all("'ping_gateway'" in found.message for found in verdict.findings)


def test_missing_required_arguments_are_an_error() -> None:
    (found,) = call("ping_dns").errors
    assert (found.code, found.level, found.path) == ("V002", "error", "$.calls[0].args.server")


WRONG_TYPES = [
    ("ping_dns", "server", [1, 2], "string", "array"),
    ("ping_gateway", "count", "a few", "number", "string"),
    ("ping_gateway", "count", True, "number", "boolean"),  # in Python, and so in the document, True is a number
    ("ping_gateway", "quiet", [], "boolean", "array"),
    ("test_dns_resolution", "options", "none", "object", "string"),
]


@pytest.mark.parametrize(("tool", "name", "value", "expected", "got"), WRONG_TYPES)
def test_a_wrong_type_is_a_warning_and_the_value_is_passed_on(
    tool: str, name: str, value: Any, expected: str, got: str
) -> None:
    verdict = call(tool, {"server": "a", name: value} if tool == "ping_dns" else {name: value})
    assert verdict.ok
    (found,) = verdict.warnings
    assert (found.code, found.path, found.data["got"]) == ("V001", f"$.calls[0].args.{name}", got)
    assert found.data["expected"] == [expected]
    assert verdict.calls[0].args is not None
    assert verdict.calls[0].args[name] == value


MENDED = [
    ("ping_gateway", "count", "4", 4),
    ("ping_gateway", "quiet", "true", True),
    ("ping_dns", "server", 53, "53"),
    ("test_dns_resolution", "hostnames", "example.org", ["example.org"]),
]


@pytest.mark.parametrize(("tool", "name", "value", "mended"), MENDED)
def test_calls_with_one_reading_are_repaired_without_a_warning(tool: str, name: str, value: Any, mended: Any) -> None:
    # better than the document: "4" for a number is a recorded fix, not a warning
    verdict = call(tool, {name: value})
    assert verdict.findings == ()
    assert len(verdict.fixes) == 1
    assert verdict.calls[0].args == {name: mended}


def test_a_wrong_type_is_an_error_by_default() -> None:
    assert [f.code for f in call("ping_gateway", {"count": "a few"}, Contract(tools=NETWORK)).errors] == ["V001"]


def test_a_value_outside_its_enum_is_an_error_that_names_the_allowed_ones() -> None:
    (found,) = call("ping_dns", {"server": "a", "mode": "turbo"}).errors
    assert (found.code, found.path) == ("V005", "$.calls[0].args.mode")
    assert found.data["allowed"] == ["fast", "slow"]
    assert found.message == 'Field "mode": Expected one of "fast", "slow", got "turbo"'


# -- strict mode --------------------------------------------------------------------------------------

WARNED: list[Any] = [
    {"tool_calls": [{"name": "ping_gateway", "arguments": {"retries": 2}}]},
    {"tool_calls": [{"name": "ping_gateway", "arguments": {"count": "a few"}}]},
    {"tool_calls": [{"name": "ping_gateway", "arguments": {}}, {"name": "get_ip_config", "arguments": {}}]},
    {"tool_calls": [], "content": "I ran check_network_status to diagnose"},
    {"tool_calls": [], "content": ""},
]


@pytest.mark.parametrize("reply", WARNED)
def test_strict_mode_turns_each_warning_into_one_error(reply: Any) -> None:
    loose, strict = CONTRACT.check(reply), STRICT.check(reply)
    assert loose.ok
    assert not strict.ok
    assert [f.level for f in loose.findings] == ["warning"]
    assert [f.level for f in strict.findings] == ["error"]  # the document lists it as a warning as well


# -- mocks --------------------------------------------------------------------------------------------


def test_a_mock_that_only_looks_named_is_refused_with_the_reason() -> None:
    # `MagicMock(name="x")` names the mock itself and has a mock for `.name`: the document's tests judge against no tool at all
    registry = MagicMock()
    registry.get_all_definitions.return_value = [MagicMock(name="check_adapter_status", parameters=[])]
    with pytest.raises(DefinitionError, match="the name of a tool must be a string, got MagicMock"):
        Contract(tools=registry)
    named = MagicMock(parameters=[])
    named.name = "check_adapter_status"
    registry.get_all_definitions.return_value = [named]
    assert call("check_adapter_status", {}, Contract(tools=registry)).ok
    assert not call("nonexistent_tool", {}, Contract(tools=registry)).ok
