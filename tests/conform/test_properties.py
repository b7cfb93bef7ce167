"""Properties of every value and schema: valid values are unchanged, twice is the same as once, notes are complete."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trueup.conform.coerce import conform
from trueup.conform.options import Options
from trueup.conform.schema import Schema, compile_schema

KEYS = ["a", "b", "firstName", "first_name", "A", "kind"]
LEAVES: list[Any] = [
    {"type": "integer"},
    {"type": "number"},
    {"type": "string"},
    {"type": "boolean"},
    {"type": "null"},
    {"type": ["integer", "null"]},
    {"type": ["string", "integer"]},
    {"enum": ["LOW", "HIGH", "In Progress"]},
    {"enum": [1, 2, "3", None]},
    {"const": "x"},
    {"const": 5.0},
    {"type": "integer", "maximum": 3},
    {"type": "string", "minLength": 3},
    {"type": "string", "pattern": "^a"},
    {},
    True,
    {"$ref": "#/$defs/r"},
]
SCALARS: list[Any] = [
    5, 5.0, 5.5, 1e30, 10**30, True, False, None, "", "5", " 7 ", "5.0", "true", "FALSE", "yes", "LOW", "high", "**High.**",
    "in_progress", "x", "X ", "null", "[1,2]", '["5"]', '{"a":"5"}', '{"a":1,"a":2}', "foo", "LOW or HIGH", "1e400", "$5",
    "1,036", '[[["x"]]]', "not high", "12 kg",
]  # fmt: skip


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    props = st.dictionaries(st.sampled_from(KEYS), inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {"properties": props},
        optional={
            "type": st.just("object"),
            "required": st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
            "additionalProperties": st.one_of(st.just(False), inner),
            "patternProperties": st.fixed_dictionaries({"^b": inner}),
            "anyOf": st.lists(
                st.fixed_dictionaries({"required": st.lists(st.sampled_from(KEYS), max_size=1)}), min_size=1
            ),
        },
    )


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "minItems": st.integers(0, 2),
            "uniqueItems": st.booleans(),
        },
    )


def unions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arms = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"anyOf": arms}, optional={"oneOf": arms, "type": st.sampled_from(["object", "string"])}),
        st.fixed_dictionaries({"oneOf": arms}),
        st.fixed_dictionaries({"allOf": arms}),
    )


SCHEMAS = st.recursive(
    st.sampled_from(LEAVES), lambda inner: st.one_of(objects(inner), arrays(inner), unions(inner)), max_leaves=8
)
VALUES = st.recursive(
    st.one_of(st.sampled_from(SCALARS), st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from([*KEYS, "a ", "FIRST NAME", "B", "zz"]), inner, max_size=4),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)
OPTIONS = st.sampled_from(
    [
        Options(),
        Options("eager"),
        Options(aliases={"a": ["alpha"], "HIGH": ["severe"]}, enum_prefixes=("very ",), enum_delimiters=(" | ",)),
    ]
)


def compiled(schema: Any, shared: Any) -> Schema:
    return compile_schema({**schema, "$defs": {"r": shared}} if isinstance(schema, dict) else schema)


def text(value: Any) -> str:
    """A value with its types: 5 and 5.0, 1 and true differ."""
    return json.dumps(value)


@given(SCHEMAS, SCHEMAS, VALUES, OPTIONS)
def test_conforming_has_its_properties_for_any_value_and_schema(
    source: Any, shared: Any, value: Any, options: Options
) -> None:
    schema = compiled(source, shared)
    before = copy.deepcopy(value)
    was_valid = schema.is_valid(value)
    result, notes = conform(value, schema, options)
    assert text(value) == text(before), "the input was written to"
    assert bool(notes) == (text(result) != text(value)), "changed if and only if there are notes"
    if was_valid:
        assert {note.code for note in notes} <= {"C004"}
        assert schema.is_valid(result)
    again, more = conform(result, schema, options)
    assert more == [], "conforming twice is conforming once"
    assert text(again) == text(result)


@given(SCHEMAS, SCHEMAS, VALUES)
def test_findings_and_validity_agree(source: Any, shared: Any, value: Any) -> None:
    schema = compiled(source, shared)
    findings = schema.errors(value)
    assert bool(findings) != schema.is_valid(value)
    for finding in findings:
        assert finding.data.get("rule") != "schema", "a fault that nobody could explain"
        assert finding.hint


@given(
    SCHEMAS,
    SCHEMAS,
    st.recursive(st.text() | st.floats() | st.characters(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)),
)
def test_nothing_is_ever_raised(source: Any, shared: Any, value: Any) -> None:
    schema = compiled(source, shared)
    conform(value, schema, Options("eager"))
    schema.errors(value)


@given(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())
def test_numbers_are_preserved_through_text(whole: int, number: float, word: str) -> None:
    assert conform(str(whole), compile_schema({"type": "integer"}))[0] == whole
    assert conform(repr(number), compile_schema({"type": "number"}))[0] == number
    assert conform(word, compile_schema({"type": "string"})) == (word, [])
