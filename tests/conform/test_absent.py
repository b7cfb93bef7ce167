"""Removes the nulls that a strict schema added for absent fields, and no others."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.conform.absent import without_nulls
from trueup.conform.schema import compile_schema
from trueup.conform.strict import strict_form, strict_schema

NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}, "note": {"type": ["string", "null"]}},
    "required": ["name"],
}
CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "optional": ({"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}, {"a": 1, "b": None}, {"a": 1}),
    "nullable": ({"properties": {"a": {"type": ["integer", "null"]}}}, {"a": None}, {"a": None}),
    "required": (
        {"properties": {"a": {"type": "null"}}, "required": ["a"], "type": "object"}, {"a": None}, {"a": None},
    ),
    "nested": (
        {"properties": {"a": {"type": "array", "items": {"properties": {"b": {"type": "string"}}}}}},
        {"a": [{"b": None}, {"b": "x"}]}, {"a": [{}, {"b": "x"}]},
    ),
    "recursive": (
        {"$defs": {"node": NODE}, "type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "required": ["root"]},
        {"root": {"name": "a", "next": {"name": "b", "next": None, "note": None}, "note": None}},
        {"root": {"name": "a", "next": {"name": "b", "note": None}, "note": None}},
    ),
    "union": (
        {"type": "object", "required": ["pet"], "properties": {"pet": {"anyOf": [
            {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "dog"}, "lives": {"type": ["integer", "null"]}},
             "required": ["kind"]},
        ]}}},
        {"pet": {"kind": "dog", "lives": None}}, {"pet": {"kind": "dog", "lives": None}},
    ),
    "same-names": (  # the types say which arm is meant
        {"type": "object", "required": ["all"], "properties": {"all": {"type": "array", "items": {"anyOf": [
            {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x"]},
            {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": ["string", "null"]}}, "required": ["x", "y"]},
        ]}}}},
        {"all": [{"x": 1, "y": None}, {"x": "a", "y": None}, {"x": True, "y": None}]},
        {"all": [{"x": 1}, {"x": "a", "y": None}, {"x": True}]},
    ),
    "same-names-inside": (
        {"type": "object", "required": ["one"], "properties": {"one": {"anyOf": [
            {"type": "object", "required": ["at"], "properties": {"n": {"type": "integer"}, "at": {
                "type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]}}},
            {"type": "object", "required": ["at", "n"], "properties": {"n": {"type": ["integer", "null"]}, "at": {
                "type": "object", "properties": {"v": {"type": "array", "items": {"type": "string"}}}, "required": ["v"]}}},
        ]}}},
        {"one": {"n": None, "at": {"v": ["a"]}}}, {"one": {"n": None, "at": {"v": ["a"]}}},
    ),
    "default": ({"properties": {"a": {"type": "integer", "default": 3}}}, {"a": None}, {}),
    "unknown-names": ({"properties": {"a": {"type": "integer"}}}, {"a": None, "z": None}, {"a": None, "z": None}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_only_added_nulls_are_removed(case: str) -> None:
    schema, value, kept = CASES[case]
    before = json.dumps(value)
    assert without_nulls(value, strict_form(compile_schema(schema), "openai")) == kept
    assert json.dumps(value) == before


def test_the_other_arm_of_a_union_is_respected() -> None:
    schema, _, _ = CASES["union"]
    form = strict_form(compile_schema(schema), "openai")
    assert without_nulls({"pet": {"kind": "cat", "lives": None}}, form) == {"pet": {"kind": "cat"}}


def test_a_value_without_such_nulls_is_the_same_object() -> None:
    form = strict_form(compile_schema({"properties": {"a": {"type": "integer"}}}), "openai")
    value = {"a": 1}
    assert without_nulls(value, form) is value
    assert without_nulls("text", form) == "text"


def test_the_absent_form_matches_the_strict_schema() -> None:
    schema = compile_schema(CASES["recursive"][0])
    assert strict_form(schema, "openai").schema == strict_schema(schema, "openai")


FIELDS = st.dictionaries(st.sampled_from("abcd"), st.integers() | st.none(), max_size=4)


@settings(deadline=None, max_examples=60)
@given(FIELDS, st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd")))
def test_a_valid_value_is_returned_equal(value: dict[str, Any], required: set[str], nullable: set[str]) -> None:
    """The strict form of a valid value, its absent fields as nulls, is the value again."""
    properties = {name: {"type": ["integer", "null"] if name in nullable else "integer"} for name in "abcd"}
    schema = compile_schema({"type": "object", "properties": properties, "required": sorted(required)})
    if not schema.is_valid(value):
        return
    filled = {name: value.get(name) for name in "abcd"}
    kept = without_nulls(filled, strict_form(schema, "openai"))
    assert kept == {name: held for name, held in filled.items() if name in value or name in nullable}
    assert schema.is_valid(kept)
