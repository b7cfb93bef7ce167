"""Values that mean calls: how an object or a list names a tool, and the place of each call in it."""

from typing import Any

import pytest

from trueup.recover.calls.search import leaked_calls
from trueup.recover.calls.values import calls_in
from trueup.recover.json.parser import parts_of

OFFERED = {"f", "g", "search"}.__contains__
A = {"a": 1}


def named_calls(value: Any, *, marked: bool = False, alone: bool = False) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in calls_in(value, OFFERED, marked=marked, alone=alone)]


@pytest.mark.parametrize(
    "value",
    [
        {"name": "f", "arguments": A},
        {"function": {"name": "f", "arguments": A}},
        {"tool_calls": [{"name": "f", "arguments": A}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "name": "f", "input": A}],
        },
        {"method": "tools/call", "params": {"name": "f", "arguments": A}},
        {"f": A},
        [{"f": A}],
    ],
)
def test_a_value_that_names_its_tool_is_a_call_without_a_mark(value: Any) -> None:
    assert named_calls(value) == [("f", A)]


@pytest.mark.parametrize(
    ("value", "calls"),
    [
        (["f", A], [("f", A)]),
        ([["f", A]], [("f", A)]),
        (["f", A, "g", {}], [("f", A), ("g", {})]),
        ([["f", A], ["g", {}]], [("f", A), ("g", {})]),
        ({"f": A, "g": {}}, [("f", A), ("g", {})]),
    ],
)
def test_a_name_next_to_its_arguments_is_a_call_only_if_nothing_else_is_meant(value: Any, calls: list[Any]) -> None:
    assert named_calls(value) == []
    assert named_calls(value, alone=True) == calls
    assert named_calls(value, marked=True) == calls


def test_arguments_may_be_the_text_of_an_object() -> None:
    assert named_calls({"f": '{"a": 1}'}) == [("f", '{"a": 1}')]
    assert named_calls({"f": "about a"}) == []


@pytest.mark.parametrize(
    "value",
    [
        ["f", 1],
        ["f", "g"],
        ["f", A, "x"],
        ["f", A, "unknown", A],
        ["x", A],
        [["f", A], "done"],
        {"f": A, "note": "x"},
        {"f": {"type": "object", "properties": {}}},
        {"name": "search", "description": "x", "parameters": {}},
        {"name": "search", "arguments": {"type": "object", "properties": {}}},
        [{"name": "f", "arguments": A}, {"x": 1}],
    ],
)
def test_text_that_could_mean_something_else_is_not_a_call(value: Any) -> None:
    assert named_calls(value, alone=True) == []


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({"name": "f", "arguments": A}, [((), "arguments")]),
        ([{"f": A}, {"name": "g", "args": A}], [((0,), "f"), ((1,), "args")]),
        ({"tool_calls": [{"function": {"name": "f", "arguments": A}}]}, [(("tool_calls", 0, "function"), "arguments")]),
        (["f", A, "g", A], [((), 1), ((), 3)]),
    ],
)
def test_a_call_has_its_position(value: Any, paths: list[Any]) -> None:
    assert [(call.path, call.key) for call in calls_in(value, OFFERED, marked=True)] == paths


@pytest.mark.parametrize(
    "text",
    [
        "[{'f': {'b': 'x'}}, {'g': {'c': 'y'}}]",
        "[('f', {'b': 'x'}), ('g', {'c': 'y'})]",
        "['f', {'b': 'x'}, 'g', {'c': 'y'}]",
    ],
)
def test_each_call_has_the_records_of_its_own_arguments(text: str) -> None:
    leaks = leaked_calls(text, OFFERED)
    places = [{parts_of(node) for code, _, _, _, node in leak.records if code == "S008"} for leak in leaks]
    assert [("b",) in places[0], ("c",) in places[0], ("b",) in places[1], ("c",) in places[1]] == [
        True,
        False,
        False,
        True,
    ]
