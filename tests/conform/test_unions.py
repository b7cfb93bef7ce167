"""Unions: a value that fits an arm stays unchanged, otherwise the cheapest arm wins, and a tie that matters chooses none."""

from typing import Any

import pytest

from tests.growth import assert_linear, each
from tests.shapes.conform import NESTED
from tests.shapes.shape import Shape
from trueup.conform.coerce import conform
from trueup.conform.options import Options
from trueup.conform.schema import compile_schema

CAT = {
    "type": "object",
    "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
    "required": ["kind", "lives"],
}
DOG = {
    "type": "object",
    "properties": {"kind": {"const": "dog"}, "bark": {"type": "string"}},
    "required": ["kind", "bark"],
}
PETS = {"anyOf": [CAT, DOG]}


def result(value: Any, schema: Any, options: Options | None = None) -> Any:
    return conform(value, compile_schema(schema), options or Options())[0]


@pytest.mark.spec("B4")
@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, 5),
        ("true", {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, True),
        ("5", {"anyOf": [{"const": "auto"}, {"type": "integer"}]}, 5),
        ("AUTO", {"anyOf": [{"const": "auto"}, {"type": "integer"}]}, "auto"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}, 5),
        (5.0, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, 5),
        (5.0, {"anyOf": [{"type": "integer"}, {"type": "number"}]}, 5.0),
        (5.5, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5.5"),
        ({"kind": "dog", "bark": 7}, PETS, {"kind": "dog", "bark": "7"}),
        ({"kind": "Cat", "lives": "9"}, PETS, {"kind": "cat", "lives": 9}),
        ({"KIND": "dog", "bark": "x"}, PETS, {"kind": "dog", "bark": "x"}),
        # Cannot become valid, but only one arm is meant: the value is repaired as far as possible.
        ({"kind": "cat", "lives": "9", "bark": 1}, {"oneOf": [CAT, DOG]}, {"kind": "cat", "lives": 9, "bark": 1}),
        ([{"kind": "dog", "bark": 7}], PETS, {"kind": "dog", "bark": "7"}),
        (
            {"n": "5", "a": 1},
            {"properties": {"n": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"n": 5, "a": 1},
        ),
        (
            {"n": "5", "A": "1"},
            {"properties": {"n": {"type": "integer"}, "a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}]},
            {"n": 5, "a": 1},
        ),
    ],
    ids=repr,
)
def test_the_intended_arm_is_chosen(value: Any, schema: Any, expected: Any) -> None:
    found = result(value, schema)
    assert found == expected
    assert type(found) is type(expected)


def test_a_tie_between_different_values_is_not_resolved() -> None:
    schema = {
        "anyOf": [
            {
                "type": "object",
                "properties": {"x": {"type": "integer"}},
                "required": ["x"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"X": {"type": "integer"}},
                "required": ["X"],
                "additionalProperties": False,
            },
        ]
    }
    value = {" x ": 1}
    assert conform(value, compile_schema(schema), Options()) == (value, [])


def test_two_arms_that_agree_are_not_a_tie() -> None:
    schema = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "integer", "maximum": 9}]}
    assert result("5", schema) == 5


def test_unions_that_contradict_each_other_change_nothing() -> None:
    schema = {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}],
    }
    assert conform(5, compile_schema(schema), Options()) == (5, [])


def test_two_unions_that_agree_both_apply() -> None:
    schema = {
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "allOf": [
            {"anyOf": [{"required": ["a"]}, {"required": ["x"]}]},
            {"anyOf": [{"required": ["b"]}, {"required": ["y"]}]},
        ],
    }
    assert result({"a": "1", "b": "2"}, schema) == {"a": 1, "b": 2}


@pytest.mark.spec("X9")
def test_thirty_nested_unions_are_read() -> None:
    inline: Any = {"type": "integer"}
    for _ in range(30):
        inline = {"anyOf": [inline, {"type": "array", "items": {"type": "boolean"}}]}
    recursive = {
        "anyOf": [
            {"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]},
            {"type": "object", "properties": {"x": {"$ref": "#"}, "y": {}}, "required": ["x"]},
            {"type": "integer"},
        ]
    }
    good: Any = "5"
    bad: Any = "bad"
    for _ in range(30):
        good, bad = {"x": good}, {"x": bad}
    assert result("5", inline) == 5
    assert compile_schema(recursive).is_valid(result(good, recursive))
    assert result(bad, recursive) == bad
    assert compile_schema(recursive).errors(bad)


@pytest.mark.spec("X9")
@each(NESTED)
def test_unions_within_unions_do_not_double_the_work_at_each_level(shapes: list[Shape]) -> None:
    for shape in shapes:
        assert_linear(shape.run, shape.make, shape.size, bound=20)  # the square would be 16, doubling 2**45
