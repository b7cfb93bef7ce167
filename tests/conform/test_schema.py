"""Compiling schemas: every form of source, the drafts, the refusals and their messages."""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup.conform.schema import Schema, SchemaError, compile_schema

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["age"]}


def test_the_same_schema_is_compiled_once() -> None:
    first = compile_schema(PERSON)
    assert compile_schema(dict(PERSON)) is first
    assert compile_schema(first) is first


def test_a_dict_that_changes_later_does_not_change_the_schema() -> None:
    source: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = compile_schema(source)
    source["properties"]["a"]["type"] = "string"
    assert schema.is_valid({"a": 1})
    assert schema.source["properties"]["a"] == {"type": "integer"}  # type: ignore[index]
    assert not compile_schema(source).is_valid({"a": 1})


def test_a_schema_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "person.json"
    file.write_text(json.dumps(PERSON), "utf-8")
    assert compile_schema(file).keys == {"name", "age"}
    assert compile_schema(str(file)) is compile_schema(PERSON)


def test_true_accepts_any_value_and_false_none() -> None:
    anything = compile_schema(True)
    assert anything.is_valid({"a": [1, None]})
    assert anything.errors(5) == []
    assert len(anything.types) == 7
    assert not compile_schema(False).is_valid(5)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"type": "strin"}, ["$.type", "'strin' is not a type", "object, array"]),
        ({"properties": {"a": {"type": 5}}}, ["$.properties.a.type"]),
        ({"minimum": "x"}, ["$.minimum", "'x'"]),
        ({"pattern": "(?=a)b"}, ["'(?=a)b'", "$.pattern", "lookaround", "linear-time"]),
        ({"patternProperties": {"(a)\\1": {}}}, ["back-reference"]),
        ({"pattern": "("}, ["'('", "not a valid regular expression"]),
        ({"pattern": "(a{1000}){1000}"}, ["too large"]),
        ({"$ref": "#/$defs/nope"}, ["does not resolve", "/$defs/nope"]),
        ({"$ref": "#nope"}, ["does not resolve", "nope"]),
        ({"$ref": "other.json"}, ["'other.json'", "nothing is ever fetched", "$defs"]),
        ({"$schema": "https://example.org/meta"}, ["$schema", "Draft 2020-12"]),
        ({"x": object()}, ["not JSON data"]),
        ('{"type": "object"}', ["pass a dict"]),
        ("no/such/file.json", ["cannot read", "no/such/file.json"]),
        (5, ["neither a JSON Schema nor a type"]),
        ([1], ["neither a JSON Schema nor a"]),
    ],
)
def test_a_refused_schema_names_the_fault_and_its_position(source: Any, words: list[str]) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(source)
    for word in words:
        assert word in str(caught.value)


def test_a_file_that_is_not_a_schema_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    for text, word in (("{", "is not JSON"), ("[]", "not a JSON Schema object"), ("5", "not a JSON Schema object")):
        file.write_text(text, "utf-8")
        with pytest.raises(SchemaError, match=word):
            compile_schema(file)


@pytest.mark.parametrize(
    ("draft", "schema", "good", "bad"),
    [
        ("https://json-schema.org/draft/2020-12/schema", {"prefixItems": [{"type": "integer"}]}, [1], ["x"]),
        ("https://json-schema.org/draft/2019-09/schema", {"items": [{"type": "integer"}]}, [1], ["x"]),
        ("http://json-schema.org/draft-07/schema#", {"items": [{"type": "integer"}]}, [1], ["x"]),
    ],
)
def test_drafts_are_recognized_by_their_name(draft: str, schema: dict[str, Any], good: Any, bad: Any) -> None:
    compiled = compile_schema({"$schema": draft, **schema})
    assert compiled.is_valid(good)
    assert not compiled.is_valid(bad)
    assert [f.path for f in compiled.errors(bad)] == ["$[0]"]


def test_formats_are_asserted_in_json_schemas() -> None:
    assert not compile_schema({"format": "date"}).is_valid("yesterday")
    assert compile_schema({"format": "no-such-format"}).is_valid("anything")


SURVEYS: list[tuple[Any, set[str], set[str], set[str], bool]] = [
    (PERSON, {"name", "age"}, {"object"}, {"name", "age"}, True),
    ({"type": "number"}, set(), {"number", "integer"}, set(), False),
    ({"enum": ["a", None]}, set(), {"string", "null"}, set(), False),
    ({"const": 1}, set(), {"integer", "number"}, set(), False),
    ({"type": "array", "items": PERSON}, {"name", "age"}, {"array"}, set(), True),
    ({"anyOf": [PERSON, {"type": "null"}]}, {"name", "age"}, {"object", "null"}, {"name", "age"}, True),
    ({"allOf": [{"type": ["string", "object"]}, PERSON]}, {"name", "age"}, {"object"}, {"name", "age"}, True),
    (
        {"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "properties": {"k": {"$ref": "#/$defs/t"}}}}},
        {"k"},
        {"object"},
        {"k"},
        False,
    ),
    (
        {"properties": {"properties": {"properties": {"deep": {}}}}},
        {"properties", "deep"},
        set(compile_schema(True).types),
        {"properties"},
        False,
    ),
    ({"default": {"properties": {"no": 1}}, "type": "object"}, set(), {"object"}, set(), False),
]


@pytest.mark.parametrize(
    ("source", "keys", "types", "root_keys", "has_integer"),
    SURVEYS,
    ids=lambda given: repr(sorted(given) if isinstance(given, set) else given),
)
def test_a_schema_describes_itself(
    source: Any, keys: set[str], types: set[str], root_keys: set[str], has_integer: bool
) -> None:
    schema = compile_schema(source)
    assert schema.keys == keys
    assert schema.types == types
    assert schema.root_keys == root_keys
    assert schema.has_integer is has_integer


@pytest.mark.parametrize(
    "source",
    [
        {"type": "array", "items": PERSON},
        {"$ref": "#/$defs/people", "$defs": {"people": {"type": "array", "items": PERSON}}},
        {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/p"}}, {"type": "null"}], "$defs": {"p": PERSON}},
    ],
)
def test_the_items_of_an_array_have_a_schema(source: Any) -> None:
    item = compile_schema(source).item
    assert isinstance(item, Schema)
    assert item.types == {"object"}
    assert item.root_keys == {"name", "age"}
    assert item.is_valid({"age": 3})
    assert [f.path for f in item.errors({"age": "x"})] == ["$.age"]


def test_an_array_without_items_has_no_item_schema() -> None:
    assert compile_schema({"type": "array"}).item is None
    assert compile_schema(PERSON).item is None
    assert compile_schema({"prefixItems": [{}], "items": PERSON}).item is None
