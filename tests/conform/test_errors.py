"""Schema errors in words a model can act on (A4): one per fault, best first, with the parts as data."""

import json
from typing import Any

import pytest

from trueup.conform.schema import compile_schema

ENVELOPE = {
    "type": "object",
    "properties": {
        "toolCalls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["name"],
            },
        },
        "content": {"type": "string"},
    },
    "anyOf": [{"required": ["content"]}, {"required": ["toolCalls"]}],
    "additionalProperties": False,
}
CAT = {
    "title": "Cat",
    "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
    "required": ["kind", "lives"],
}
DOG = {
    "title": "Dog",
    "properties": {"kind": {"const": "dog"}, "bark": {"type": "string"}},
    "required": ["kind", "bark"],
}
PETS = {"oneOf": [{"type": "object", **CAT}, {"type": "object", **DOG}]}

ROWS: list[tuple[Any, Any, list[tuple[str, str, str]]]] = [
    (
        ENVELOPE,
        {"toolCalls": [{"name": 5}]},
        [("V001", "$.toolCalls[0].name", 'Field "toolCalls.0.name": Expected string, got number')],
    ),
    ({"type": "object"}, [1], [("V001", "$", "Value: Expected object, got array")]),
    ({"type": "integer"}, 5.5, [("V001", "$", "Value: Expected integer, got number")]),
    ({"type": ["integer", "null"]}, "x", [("V001", "$", "Value: Expected integer or null, got string")]),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", [("V001", "$", "Value: Expected integer or null, got string")]),
    ({"type": "number"}, True, [("V001", "$", "Value: Expected number, got boolean")]),
    ({"required": ["a"]}, {}, [("V002", "$.a", 'Field "a": Required field is missing')]),
    (
        {"required": ["name"]},
        {"nmae": 1},
        [("V002", "$.name", 'Field "name": Required field is missing; "nmae" may be meant for it')],
    ),
    (
        {"properties": {"content": {}}, "additionalProperties": False},
        {"contents": 1},
        [("V003", "$.contents", 'Field "contents": Unknown key; did you mean "content"?')],
    ),
    (
        {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
        {"zzz": 1, "b": 2},
        [("V003", "$.zzz", 'Field "zzz": Unknown key; known keys are "a"')],
    ),
    ({"minimum": 3}, 1, [("V004", "$", "Value: Expected a number of at least 3, got 1")]),
    ({"exclusiveMaximum": 3}, 3, [("V004", "$", "Value: Expected a number less than 3, got 3")]),
    (
        {"enum": ["LOW", "HIGH"]},
        "HGIH",
        [("V005", "$", 'Value: Expected one of "LOW", "HIGH", got "HGIH"; did you mean "HIGH"?')],
    ),
    ({"const": "x"}, "quite", [("V005", "$", 'Value: Expected "x", got "quite"')]),
    ({"pattern": "^a"}, "b", [("V006", "$", 'Value: Expected text that matches ^a, got "b"')]),
    ({"maxLength": 1}, "ab", [("V007", "$", "Value: Expected at most 1 character, got 2")]),
    ({"minItems": 2}, [1], [("V007", "$", "Value: Expected at least 2 items, got 1")]),
    ({"maxProperties": 0}, {"a": 1}, [("V007", "$", "Value: Expected at most 0 keys, got 1")]),
    ({"contains": {"type": "integer"}}, ["a"], [("V007", "$", "Value: Expected at least 1 matching item, got 0")]),
    ({"uniqueItems": True}, [1, 2, 1.0], [("V009", "$", "Value: Item 2 repeats item 0")]),
    ({"format": "date"}, "soon", [("V010", "$", 'Value: Expected text in the format date, got "soon"')]),
    ({"multipleOf": 0.5}, 0.7, [("V011", "$", "Value: Expected a multiple of 0.5, got 0.7")]),
    ({"not": {"type": "string"}}, "s", [("V011", "$", "Value: The schema excludes this value")]),
    ({"properties": {"a": False}}, {"a": 1}, [("V011", "$.a", 'Field "a": Nothing is allowed here')]),
    ({"propertyNames": {"pattern": "^x"}}, {"y": 1}, [("V011", "$.y", 'Field "y": This key is not allowed by its spelling')]),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, [("V002", "$.b", 'Field "b": Required field is missing')]),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, [("V002", "$.b", 'Field "b": Required field is missing')]),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, [("V002", "$.b", 'Field "b": Required field is missing')]),
    ({"prefixItems": [{"type": "string"}], "items": {"type": "null"}}, [1, 2], [
        ("V001", "$[0]", 'Field "0": Expected string, got number'),
        ("V001", "$[1]", 'Field "1": Expected null, got number'),
    ]),
    (
        {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
        {"a": 1, "b": 2},
        [("V003", "$.b", 'Field "b": Unknown key; known keys are "a"')],
    ),
    (PETS, {"kind": "cow"}, [("V005", "$.kind", 'Field "kind": Expected one of "cat", "dog", got "cow"')]),
    (PETS, {"kind": "dog", "bark": 4}, [("V001", "$.bark", 'Field "bark": Expected string, got number')]),
    (PETS, {"bark": 4}, [("V002", "$.kind", 'Field "kind": Required field is missing')]),
    (PETS, 5, [("V001", "$", "Value: Expected object, got number")]),
    ({"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}]}, "d", [("V005", "$", 'Value: Expected one of "a", "b", "c", got "d"')]),
    (
        ENVELOPE,
        {},
        [
            (
                "V008",
                "$",
                (
                    'Value: Fits none of 2 alternatives (with "content", with "toolCalls"); '
                    'the closest is with "content": Field "content": Required field is missing'
                ),
            )
        ],
    ),
    (
        {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
        5,
        [("V008", "$", 'Value: Fits 2 alternatives (integer, #2), but only one may fit')],
    ),
]  # fmt: skip


@pytest.mark.spec("A4", "T5")
@pytest.mark.parametrize(("schema", "value", "expected"), ROWS, ids=repr)
def test_a_fault_has_a_readable_message(schema: Any, value: Any, expected: list[tuple[str, str, str]]) -> None:
    findings = compile_schema(schema).errors(value)
    assert [(f.code, f.path, f.message) for f in findings] == expected
    for finding in findings:
        assert finding.hint
        assert finding.level == "error"
        json.dumps(finding.data)


@pytest.mark.spec("A4")
def test_the_closest_arm_is_named_with_its_faults() -> None:
    schema = {
        "anyOf": [
            {"title": "Small", "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"title": "Large", "type": "object", "properties": {"a": {"const": 1}}, "required": ["a", "c", "d"]},
        ]
    }
    (finding,) = compile_schema(schema).errors({"a": "x"})
    assert finding.code == "V008"
    assert finding.data["closest"] == "Small"
    assert finding.data["faults"] == ['Field "a": Expected integer, got string']
    assert finding.hint == 'Give "a" as an integer.'


@pytest.mark.spec("A4")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"url": "a", "seconds": "long"}, [("V001", "$.seconds")]),
        ({"seconds": 3}, [("V002", "$.url")]),
        ({"url": 1, "width": 3}, [("V001", "$.url")]),
        ({"link": "c"}, [("V008", "$")]),
        ({"url": "a", "width": "x", "seconds": "x"}, [("V008", "$")]),
    ],
)
def test_a_name_that_only_one_arm_has_selects_that_arm(value: Any, expected: list[tuple[str, str]]) -> None:
    picture = {"properties": {"url": {"type": "string"}, "width": {"type": "integer"}}, "required": ["url", "width"]}
    clip = {"properties": {"url": {"type": "string"}, "seconds": {"type": "number"}}, "required": ["url", "seconds"]}
    findings = compile_schema({"type": "object", "anyOf": [picture, clip]}).errors(value)
    assert [(f.code, f.path) for f in findings] == expected


@pytest.mark.spec("A4")
def test_the_best_faults_come_first_and_within_the_limit() -> None:
    schema = compile_schema(
        {
            "properties": {"short": {"maxLength": 1}, "count": {"type": "integer"}},
            "required": ["count", "name"],
            "additionalProperties": {"type": "integer"},
        }
    )
    value = {"short": "long", **{f"k{i}": "x" for i in range(500)}, "count": "x"}
    findings = schema.errors(value, limit=7)
    assert len(findings) == 7
    assert {f.code for f in findings} == {"V001", "V002"}
    assert len(schema.errors(value)) == 20


@pytest.mark.spec("A4")
def test_a_fault_reported_by_two_subschemas_is_one_fault() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}, {"type": "integer"}],
        "$defs": {"n": {"type": "integer"}},
    }
    assert len(compile_schema(schema).errors("x")) == 1


@pytest.mark.spec("A4", "X25")
def test_large_values_are_never_quoted_completely() -> None:
    secret = "s3cret" * 1000
    for schema in ({"enum": ["a"]}, {"maxLength": 3}, {"pattern": "^x$"}, {"const": {"a": 1}}, {"format": "date"}):
        for value in (secret, [secret], {"k": secret}, {secret: 1}):
            for finding in compile_schema(schema).errors(value):
                assert len(str(finding.data)) + len(finding.message) + len(finding.hint) < 1000
                assert secret not in str(finding)


def test_valid_values_have_no_faults() -> None:
    assert compile_schema(ENVELOPE).errors({"content": "hi"}) == []


def test_a_long_list_of_allowed_values_is_shortened() -> None:
    (finding,) = compile_schema({"enum": [f"v{i}" for i in range(500)]}).errors("zzz")
    assert "(500 in all)" in finding.message
    assert len(finding.data["allowed"]) == 50


def test_text_with_lone_surrogates_raises_nothing() -> None:
    schema = compile_schema({"type": "string", "pattern": "^a", "format": "date"})
    assert schema.errors("\ud800")
    assert compile_schema({"patternProperties": {"^a": {"type": "integer"}}}).errors({"\ud800": 1, "a": "x"})


@pytest.mark.parametrize(
    "value",
    [
        {"name": "", "tags": ["a", 1], "at": {"x": 1, "y": "no", "more": {"z": [1, None, -1]}}},
        {"name": "Ada", "tags": [], "at": {"x": 1, "y": 2, "more": {"z": "no"}}, "kind": "d"},
        {"name": "Ada", "at": [], "kind": 4, "other": {"deep": 1}},
        {"name": "Ada", "tags": "a", "at": {"x": -1}},
    ],
)
def test_paths_that_are_visited_often_give_the_same_faults(value: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "required": ["name", "tags"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
            "kind": {"enum": ["a", "b"]},
            "at": {
                "type": "object",
                "required": ["x"],
                "properties": {
                    "x": {"type": "integer", "minimum": 0},
                    "y": {"type": "number", "maximum": 9},
                    "more": {"type": "object", "properties": {"z": {"type": "array", "items": {"minimum": 0, "type": "integer"}}}},
                },
            },
        },
    }  # fmt: skip
    often = compile_schema(schema)
    first = often.errors(value, 20)
    assert first
    for _ in range(60):
        assert often.errors(value, 20) == first
