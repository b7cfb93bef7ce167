"""The strict form of a schema: what providers support, what cannot be strict, and the way back from nulls to absent fields."""

import copy
import dataclasses
import json
import re
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict, get_args

import annotated_types
import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model

from tests.growth import assert_linear
from trueup import Contract
from trueup.conform.dialects import DIALECTS, Provider
from trueup.conform.refusals import SchemaError
from trueup.conform.schema import compile_schema
from trueup.conform.sizes import looping
from trueup.conform.strict import is_strict, narrowed_schema

PROVIDERS = sorted(DIALECTS)
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Address(BaseModel):
    street: str
    zip: str = ""


class Order(BaseModel):
    """An order."""

    number: Annotated[str, Field(pattern="^[A-Z]{2}$", min_length=2, description="On the receipt.")]
    count: Annotated[int, Field(ge=1, le=100)] = 1
    level: Level = Field(Level.LOW, description="How urgent.")
    note: str | None = None
    must: str | None
    to: Address
    also: list[Address] = []
    by: int | str = 1


def walk(schema: Any) -> Any:
    """Every dict in a schema that is a schema."""
    stack = [schema, *schema.get("$defs", {}).values()]
    while stack:
        here = stack.pop()
        yield here
        stack += here.get("properties", {}).values()
        stack += here.get("anyOf", [])
        stack += here.get("prefixItems", [])
        stack += [here[word] for word in ("items", "additionalProperties") if isinstance(here.get(word), dict)]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_objects_are_closed_every_field_is_required_and_every_value_has_a_type(provider: str) -> None:
    strict = Contract(Order).strict_schema(provider)
    for here in walk(strict):
        assert here.keys() & {"type", "anyOf", "$ref"}, here
        if here.get("type") == "object":
            assert here["additionalProperties"] is False
            assert here["required"] == list(here["properties"])
        assert not here.keys() & {"default", "allOf", "oneOf", "not", "if"}
        if "$ref" in here:
            assert here.keys() == {"$ref"}
    assert jsonschema_rs.meta.is_valid(strict)
    properties = strict["properties"]
    if DIALECTS[provider].type_lists:
        assert properties["count"]["type"] == ["integer", "null"]
    else:
        assert properties["count"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert {"type": "null"} in properties["note"]["anyOf"]
    assert {"type": "null"} in properties["level"]["anyOf"]
    assert properties["number"]["type"] == "string"


def test_the_given_schema_is_not_changed_and_the_result_is_a_copy() -> None:
    given = copy.deepcopy(PERSON)
    contract = Contract(given)
    contract.strict_schema("openai")["properties"].clear()
    assert given == PERSON
    assert contract.strict_schema("openai")["properties"].keys() == {"name", "age"}
    assert contract.check('{"name": 1, "nick": "x"}').ok


SUPPORTED = {
    "openai": {"pattern", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "minItems", "maxItems", "format"},
    "azure": set(),
    "anthropic": {"format"},
    "gemini": {"minimum", "maximum", "minItems", "maxItems", "format"},
    "groq": set(),
    "mistral": {
        "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "minItems", "maxItems", "format",
    },
    "ollama": {"pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "format"},
    "xai": {"format"},
}  # fmt: skip
LIMITED: dict[
    str, tuple[dict[str, Any], Any, Any]
] = {  # a schema with one limit, a value that keeps it, one that breaks it
    "pattern": ({"type": "string", "pattern": "^a+$"}, "aa", "b"),
    "minLength": ({"type": "string", "minLength": 2}, "aa", "a"),
    "maxLength": ({"type": "string", "maxLength": 2}, "aa", "aaa"),
    "format": ({"type": "string", "format": "date"}, "2026-01-31", "soon"),
    "minimum": ({"type": "integer", "minimum": 2}, 2, 1),
    "maximum": ({"type": "integer", "maximum": 2}, 2, 3),
    "exclusiveMinimum": ({"type": "number", "exclusiveMinimum": 2}, 2.5, 2),
    "multipleOf": ({"type": "number", "multipleOf": 0.5}, 1.5, 1.3),
    "minItems": ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 2], [1]),
    "maxItems": ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, [1, 2], [1, 2, 3]),
    "uniqueItems": ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 2], [1, 1]),
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("word", LIMITED)
def test_an_omitted_limit_is_noted_and_still_enforced(word: str, provider: str) -> None:
    limited, good, bad = LIMITED[word]
    contract = Contract({"type": "object", "properties": {"v": limited}, "required": ["v"]}, coerce="off")
    strict = contract.strict_schema(provider)["properties"]["v"]
    assert (word in strict) == (word in SUPPORTED[provider])
    if word not in strict:
        assert f"{word}: {json.dumps(limited[word])}" in strict["description"]
    assert contract.check(json.dumps({"v": good})).ok
    assert not contract.check(json.dumps({"v": bad})).ok


@pytest.mark.parametrize(
    ("schema", "where", "what"),
    [
        ({"type": "object"}, "$", "any keys"),
        ({"type": "object", "properties": {"m": {"type": "object"}}}, "$.m", "any keys"),
        ({"properties": {"m": {"additionalProperties": {"type": "integer"}}}}, "$.m", "additionalProperties"),
        (
            {"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            "$",
            "additionalProperties",
        ),
        ({"properties": {"m": {"patternProperties": {"^x": {"type": "string"}}}}}, "$.m", "patternProperties"),
        ({"properties": {"a": {}}}, "$.a", "any JSON value"),
        ({"properties": {"a": True}}, "$.a", "any JSON value"),
        ({"properties": {"a": {"minimum": 3}}}, "$.a", "no type"),
        ({"properties": {"a": {"type": "array"}}}, "$.a", "items may be anything"),
        ({"properties": {"a": {"type": "array", "items": {}}}}, "$.a[]", "any JSON value"),
        ({"properties": {"a": {"prefixItems": [{"type": "string"}], "maxItems": 1}}}, "$.a", "prefixItems"),
        ({"properties": {"a": {"enum": [{"x": 1}]}}}, "$.a", "objects or arrays"),
        ({"properties": {"a": {"type": "string"}}, "required": ["b"]}, "$", "'b' is required"),
        (
            {"properties": {"a": {"type": "string"}}, "if": {"required": ["a"]}, "then": {"required": ["c"]}},
            "$",
            "mentions 'c'",
        ),
        ({"type": "array", "items": {"type": "string"}}, "$", "not a single object"),
        ({"anyOf": [PERSON, {"type": "object", "properties": {"b": {"type": "string"}}}]}, "$", "not a single object"),
        ({"properties": {"a": False}, "required": ["a"]}, "$", "no value can be valid"),
    ],
)
def test_a_schema_that_cannot_be_strict_is_refused_with_position_and_advice(schema: Any, where: str, what: str) -> None:
    with pytest.raises(SchemaError) as raised:
        Contract(schema).strict_schema("openai")
    said = str(raised.value)
    assert said.startswith(f"openai cannot enforce this schema: {where}: ")
    assert what in said
    assert "; " in said


class Nothing(BaseModel):
    pass


class Wrapper(BaseModel):
    nothing: Nothing
    either: Nothing | Address | None = None


class Open(BaseModel, extra="allow"):
    pass


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_model_without_fields_is_an_empty_object(provider: Any) -> None:
    schema = Contract(Wrapper).strict_schema(provider)
    assert schema["$defs"]["Nothing"] == {
        "title": "Nothing", "type": "object", "properties": {}, "required": [], "additionalProperties": False,
    }  # fmt: skip
    assert Contract(Wrapper).check('{"nothing": {}, "either": null}').value == Wrapper(nothing=Nothing())
    for open_kind in (Open, {"type": "object"}):
        with pytest.raises(SchemaError, match="it takes any keys"):
            Contract(open_kind).strict_schema(provider)


def test_every_provider_is_listed_for_editors() -> None:
    assert PROVIDERS == sorted(get_args(Provider)) == list(DIALECTS)


def test_an_enum_may_have_several_types() -> None:
    schema = {"properties": {"e": {"enum": ["a", 1, 2, True, None]}}, "required": ["e"]}
    for provider in PROVIDERS:
        strict = Contract(schema).strict_schema(provider)
        check = compile_schema(strict).is_valid
        assert all(check({"e": value}) for value in ("a", 1, 2, True, None))
        assert not check({"e": "b"}) or provider == "gemini", "no enum of true and false there"
        for here in walk(strict):
            assert isinstance(here.get("type", ""), str) or provider != "anthropic"


def test_maps_and_tuples_are_kept_for_providers_that_accept_them() -> None:
    maps = {"properties": {"m": {"additionalProperties": {"type": "integer"}}}, "required": ["m"]}
    assert Contract(maps).strict_schema("gemini")["properties"]["m"] == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }
    strict = Contract(dict[str, tuple[int, str]]).strict_schema("gemini")
    pair = strict["additionalProperties"]
    assert pair["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert (pair["minItems"], pair["maxItems"]) == (2, 2)


@pytest.mark.parametrize("provider", ["", "opnai", "OpenAI GPT", None])
def test_an_unknown_provider_is_reported_with_the_known_ones(provider: Any) -> None:
    with pytest.raises(ValueError, match=r"provider must be one of anthropic, azure, .*openai") as raised:
        Contract(PERSON).strict_schema(provider)
    if provider == "opnai":
        assert "did you mean 'openai'?" in str(raised.value)


def test_a_contract_for_text_has_no_strict_schema() -> None:
    with pytest.raises(ValueError, match="no schema"):
        Contract(reply={"min_text": 3}).strict_schema("openai")


class Node(BaseModel):
    label: str
    next: "Node | None" = None
    children: "list[Node]" = []


class Chain(BaseModel):
    label: str
    rest: "list[Chain]"


def test_recursion_is_kept_loosened_or_refused_as_the_provider_needs() -> None:
    strict = Contract(Node).strict_schema("openai")
    assert looping(strict) == {"Node"}
    assert strict["required"] == ["label", "next", "children"]
    gemini = Contract(Node).strict_schema("gemini")
    assert gemini["required"] == ["label"]
    assert gemini["$defs"]["Node"]["required"] == ["label"]
    assert gemini["properties"]["children"]["type"] == "array"
    for provider, contract in (("anthropic", Contract(Node)), ("xai", Contract(Node)), ("gemini", Contract(Chain))):
        with pytest.raises(SchemaError, match="refers to itself"):
            contract.strict_schema(provider)


@pytest.mark.parametrize(
    ("provider", "schema", "what"),
    [
        ("openai", {"properties": {f"p{n}": {"type": "string"} for n in range(5001)}}, "5,001 properties"),
        ("openai", {"properties": {"e": {"enum": [f"v{n}" for n in range(1001)]}}}, "1,001 values"),
        ("openai", {"properties": {"e": {"enum": ["x" * 130_000, "y"]}}}, "letters"),
        ("azure", {"properties": {f"p{n}": {"type": "string"} for n in range(101)}}, "101 properties"),
        ("anthropic", {"properties": {f"p{n}": {"type": "string"} for n in range(17)}}, "17 fields"),
    ],
)
def test_limits_of_size_are_enforced(provider: str, schema: Any, what: str) -> None:
    with pytest.raises(SchemaError, match=what):
        Contract(schema).strict_schema(provider)


def nested(levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def test_depth_is_counted_in_objects_through_definitions_too() -> None:
    assert Contract(nested(10)).strict_schema("openai")
    for schema in (
        nested(11),
        {"$defs": {"d": nested(10)}, **nested(0), "properties": {"x": {"$ref": "#/$defs/d"}}, "type": "object"},
    ):
        with pytest.raises(SchemaError, match="11 levels of nested objects"):
            Contract(schema).strict_schema("openai")


def test_a_very_deep_schema_is_not_a_recursion() -> None:
    deep = nested(90)
    strict = Contract(deep).strict_schema("groq")
    value: Any = "x"
    for _ in range(90):
        value = {"a": value}
    assert compile_schema(strict).is_valid(value)


def test_unions_next_to_unions_do_not_explode() -> None:
    arms = [{"type": "object", "properties": {f"k{n}": {"const": n}}, "required": [f"k{n}"]} for n in range(8)]
    schema = {"type": "object", "properties": {"a": {"allOf": [{"anyOf": arms} for _ in range(8)]}}}
    with pytest.raises(SchemaError, match="its unions multiply"):
        Contract(schema).strict_schema("openai")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_all_of_and_siblings_of_references_become_one_schema(provider: str) -> None:
    schema = {
        "$defs": {"base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
        "type": "object",
        "properties": {
            "one": {"allOf": [{"$ref": "#/$defs/base"}], "description": "The one."},
            "two": {
                "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"name": {"type": "string"}}, "required": ["name"]}],
            },
            "three": {"$ref": "#/$defs/base", "properties": {"id": {"minimum": 1}}},
        },
        "required": ["one", "two", "three"],
    }
    strict = Contract(schema).strict_schema(provider)
    check = compile_schema(strict).is_valid
    good = {"one": {"id": 1}, "two": {"id": 1, "name": "x"}, "three": {"id": 1}}
    assert check(good)
    assert not check({**good, "two": {"id": 1}})
    assert not check({**good, "one": {"id": 1, "name": "x"}})


def test_alternatives_next_to_properties_are_merged() -> None:
    schema = {
        "type": "object",
        "properties": {
            "v": {
                "type": "object",
                "properties": {"kind": {"type": "string"}},
                "required": ["kind"],
                "oneOf": [
                    {"properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["x"]},
                    {"properties": {"kind": {"const": "b"}, "y": {"type": "string"}}},
                ],
            },
            "w": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                  "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        },
        "required": ["v", "w"],
    }  # fmt: skip
    contract = Contract(schema)
    strict = contract.strict_schema("openai")
    check = compile_schema(strict).is_valid
    assert check({"v": {"kind": "a", "x": 1}, "w": {"a": "x", "b": None}})
    assert check({"v": {"kind": "b", "y": None}, "w": {"a": None, "b": None}})
    assert not check({"v": {"kind": "b", "x": 1}, "w": {"a": "x", "b": None}})
    assert contract.check('{"v": {"kind": "b", "y": null}, "w": {"a": "x", "b": null}}').data == {
        "v": {"kind": "b"},
        "w": {"a": "x"},
    }
    assert not contract.check('{"v": {"kind": "b", "y": null}, "w": {"a": null, "b": null}}').ok, "a limit left out"


def test_draft_4_bounds_are_left_out_and_draft_7_siblings_of_references_too() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"n": {"type": "number", "minimum": 1, "exclusiveMinimum": True}},
        "required": ["n"],
    }
    strict = Contract(schema).strict_schema("openai")
    assert strict["properties"]["n"] == {"description": "(exclusiveMinimum: true)", "type": "number", "minimum": 1}
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"d": {"type": "string"}},
        "type": "object",
        "properties": {"s": {"$ref": "#/definitions/d", "pattern": "x", "description": "Some text."}},
        "required": ["s"],
    }
    strict = Contract(old).strict_schema("openai")
    assert strict["properties"]["s"] == {"description": "Some text.", "anyOf": [{"$ref": "#/$defs/d"}]}
    assert strict["$defs"] == {"d": {"type": "string"}}


def test_the_anthropic_sdk_finds_nothing_to_move_into_descriptions() -> None:
    from anthropic import transform_schema

    strict = Contract(Order).strict_schema("anthropic")
    told = [here.get("description", "") for here in walk(transform_schema(strict))]
    assert [text for text in told if "{" in text and "pattern" not in text] == []
    unready = [here.get("description", "") for here in walk(transform_schema(Contract(Order).schema.source))]  # type: ignore[union-attr]
    assert [text for text in unready if "{" in text]


STRICT = {
    "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (STRICT, True),
        ({**STRICT, "required": []}, False),
        ({**STRICT, "additionalProperties": True}, False),
        ({**STRICT, "properties": {"a": {"type": "string", "minLength": 2}}}, False),
        ({**STRICT, "properties": {"a": {"type": "string", "format": "email"}}}, True),
        ({**STRICT, "properties": {"a": {"type": "string", "format": "iri"}}}, False),
        ({**STRICT, "properties": {"a": {"type": "integer", "minimum": 2}}}, True),
        ({**STRICT, "properties": {"a": {}}}, False),
        ({**STRICT, "properties": {"a": True}}, False),
        ({**STRICT, "properties": {"a": {"type": "array", "items": {**STRICT, "required": []}}}}, False),
        ({**STRICT, "allOf": [{}]}, False),
        ({**STRICT, "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}, True),
        (
            {**STRICT, "properties": {"a": {"$ref": "#/$defs/a", "title": "A"}}, "$defs": {"a": {"type": "string"}}},
            False,
        ),
        ({"type": "array", "items": STRICT}, False),
        (True, False),
    ],
)
def test_a_schema_that_is_already_strict_is_recognized(schema: Any, strict: bool) -> None:
    assert is_strict(schema, "openai") == strict


@pytest.mark.parametrize("kind", [Order, PERSON, STRICT])
def test_a_schema_made_strict_is_recognized_as_strict(kind: Any) -> None:
    assert is_strict(Contract(kind).strict_schema("openai"), "openai")


def test_a_provider_that_lets_fields_be_absent_gets_no_nulls() -> None:
    schema = {
        **PERSON,
        "properties": {**PERSON["properties"], "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
    }
    narrowed = narrowed_schema(schema, "anthropic")
    assert narrowed["required"] == ["name"]
    assert narrowed["additionalProperties"] is False
    assert narrowed["properties"]["age"] == {"type": "integer"}
    assert "maxItems" not in narrowed["properties"]["tags"]
    open_one = {"type": "object", "properties": {"any": {}}}
    assert narrowed_schema(open_one, "anthropic") == open_one


@pytest.mark.growth
def test_a_large_schema_takes_linear_time() -> None:
    def many(count: int) -> Any:
        properties = {f"p{n}": {"$ref": "#/$defs/d", "description": "x"} for n in range(count)}
        return Contract({"$defs": {"d": {"type": "object", "properties": properties}}, "properties": properties})

    assert_linear(lambda contract: contract.strict_schema("groq"), many, 4000)


@dataclasses.dataclass
class Point:
    x: int
    y: int = 5
    label: str | None = "none"


class Shape(TypedDict, total=False):
    kind: Literal["square", "round"]
    size: Annotated[int, annotated_types.Ge(1)]


class Record(msgspec.Struct):
    a: int
    b: int = 7


@pytest.mark.parametrize(
    ("kind", "reply", "data"),
    [
        (Point, {"x": 1, "y": None, "label": None}, {"x": 1, "label": None}),
        (Shape, {"kind": None, "size": None}, {}),
        (Record, {"a": 1, "b": None}, {"a": 1}),
        (
            Order,
            {"number": "AB", "count": None, "level": None, "note": None, "must": None, "to": {"street": "x", "zip": None},
             "also": [{"street": "y", "zip": None}], "by": None},
            {"number": "AB", "note": None, "must": None, "to": {"street": "x"}, "also": [{"street": "y"}]},
        ),
    ],
)  # fmt: skip
def test_nulls_for_absent_fields_are_removed_and_real_nulls_stay(kind: Any, reply: Any, data: Any) -> None:
    contract = Contract(kind)
    assert compile_schema(contract.strict_schema("openai")).is_valid(reply)
    verdict = contract.check(json.dumps(reply))
    assert verdict.ok, verdict.findings
    assert {fix.code for fix in verdict.fixes} == {"C009"}
    as_given = contract.check(json.dumps(data))
    assert verdict.value == as_given.value


# Fields of a model: the type, the default (none: required), and a value; null is allowed by the types with None.
FIELDS: list[tuple[Any, Any, Any]] = [
    (int, ..., 3),
    (int, 5, 3),
    (Annotated[int, Field(ge=1)], 5, 3),
    (str, "", "x"),
    (bool, True, False),
    (str | None, ..., "x"),
    (str | None, None, "x"),
    (int | None, 7, 3),
    (list[int], [1], [2, 3]),
    (list[Address], [], [Address(street="x")]),
    (Address, ..., Address(street="x", zip="1")),
    (Address | None, None, Address(street="x")),
    (Literal["a", "b"], "a", "b"),
    (Level, Level.LOW, Level.HIGH),
]


@given(st.lists(st.tuples(st.sampled_from(FIELDS), st.booleans()), min_size=1, max_size=5))
def test_a_model_is_built_with_its_defaults(fields: list[tuple[tuple[Any, Any, Any], bool]]) -> None:
    kinds: dict[str, Any] = {f"f{n}": (kind, default) for n, ((kind, default, _), _) in enumerate(fields)}
    model = create_model("Drawn", **kinds)
    given_values: dict[str, Any] = {}
    reply: dict[str, Any] = {}
    for n, ((kind, default, value), present) in enumerate(fields):
        if present or default is ...:
            given_values[f"f{n}"] = value
            reply[f"f{n}"] = TypeAdapter(kind).dump_python(value, mode="json")
        else:
            reply[f"f{n}"] = None
            if type(None) in get_args(kind):
                given_values[f"f{n}"] = None
    contract = Contract(model)
    strict = compile_schema(contract.strict_schema("openai"))
    assert strict.is_valid(reply), strict.errors(reply)
    verdict = contract.check(json.dumps(reply))
    assert verdict.ok, verdict.findings
    assert verdict.value == model(**given_values)


# Schemas that can be strict, and valid values.
KEYS = ["a", "b", "c", "kind", "size"]
LEAVES: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 0},
    {"type": "number"},
    {"type": "string", "minLength": 1},
    {"type": "boolean"},
    {"enum": ["low", "high"]},
    {"const": "fixed"},
    {"type": ["string", "null"]},
    {"type": ["integer", "null"]},
    {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    {"$ref": "#/$defs/part"},
]
PART = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "note": {"type": "string"}, "part": {"$ref": "#/$defs/part"}},
    "required": ["id"],
    "additionalProperties": False,
}


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    properties = draw(st.dictionaries(st.sampled_from(KEYS), inner, min_size=1, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def tagged(schema: Any, tag: str) -> Any:
    properties = {"tag": {"const": tag}, **schema["properties"]}
    return {**schema, "properties": properties, "required": ["tag", *schema["required"]]}


def schemas() -> st.SearchStrategy[Any]:
    inner = st.recursive(
        st.sampled_from(LEAVES),
        lambda below: st.one_of(
            objects(below),
            st.builds(lambda items: {"type": "array", "items": items}, below),
            st.builds(lambda items: {"anyOf": [{"type": "array", "items": items}, {"type": "null"}]}, below),
            st.builds(
                lambda one, other: {"anyOf": [tagged(one, "one"), tagged(other, "other")]},
                objects(below),
                objects(below),
            ),
        ),
        max_leaves=8,
    )
    return objects(inner)


@st.composite
def values(draw: st.DrawFn, schema: Any, depth: int = 0) -> Any:
    if "$ref" in schema:
        schema = PART
    if "anyOf" in schema:
        schema = draw(st.sampled_from(schema["anyOf"]))
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "const" in schema:
        return schema["const"]
    kind = schema["type"]
    kind = draw(st.sampled_from(kind)) if isinstance(kind, list) else kind
    if kind == "object":
        found = {}
        for name, inner in schema["properties"].items():
            if name in schema["required"] or (depth < 4 and draw(st.booleans())):
                found[name] = draw(values(inner, depth + 1))
        return found
    if kind == "array":
        return [draw(values(schema["items"], depth + 1)) for _ in range(draw(st.integers(0, 2)))]
    return draw(
        {
            "integer": st.integers(0, 99), "number": st.sampled_from([0.5, 1.25]), "boolean": st.booleans(),
            "string": st.sampled_from(["x", "some text", "é"]), "null": st.none(),
        }[kind]
    )  # fmt: skip


def takes_null(schema: Any) -> bool:
    arms = schema.get("anyOf", [schema])
    return any("null" in arm.get("type", ()) for arm in arms)


def filled(value: Any, schema: Any, *, only_where_null_is_allowed: bool) -> Any:
    """A value with null for every field that it leaves out."""
    if "$ref" in schema:
        schema = PART
    if isinstance(value, list):
        arms = [arm for arm in schema.get("anyOf", [schema]) if arm.get("type") == "array"]
        return [filled(item, arms[0]["items"], only_where_null_is_allowed=only_where_null_is_allowed) for item in value]
    if not isinstance(value, dict):
        return value
    if "anyOf" in schema:
        schema = next(arm for arm in schema["anyOf"] if arm["properties"]["tag"]["const"] == value["tag"])
    found = {}
    for name, inner in schema["properties"].items():
        if name in value:
            found[name] = filled(value[name], inner, only_where_null_is_allowed=only_where_null_is_allowed)
        elif takes_null(inner) or not only_where_null_is_allowed:
            found[name] = None
    return found


@given(st.data())
def test_null_for_an_absent_field_is_strict_and_check_restores_the_value(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    contract = Contract({**schema, "$defs": {"part": PART}})
    reply = filled(value, schema, only_where_null_is_allowed=False)
    assert contract.check(json.dumps(value)).ok
    for provider in ("openai", "groq", "mistral", "anthropic", "xai"):
        try:
            strict = compile_schema(contract.strict_schema(provider))
        except SchemaError as error:
            assert re.search("refers to itself|the limit is", str(error)), error  # noqa: PT017
        else:
            assert strict.is_valid(reply), strict.errors(reply)
    verdict = contract.check(json.dumps(reply))
    assert verdict.ok, verdict.findings
    # A field that may be both null and absent: null stays null.
    assert verdict.data == filled(value, schema, only_where_null_is_allowed=True)
    assert {fix.code for fix in verdict.fixes} <= {"C009"}
