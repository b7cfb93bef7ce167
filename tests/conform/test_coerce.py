"""The coercions of B4 and of the profiles, one row each: the given value, the schema, the result."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trueup.conform.coerce import CoercionNote, conform
from trueup.conform.options import Options
from trueup.conform.schema import compile_schema

EAGER = Options("eager")
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
STRING = {"type": "string"}
LEVEL = {"enum": ["LOW", "MEDIUM", "HIGH"]}
PERSON = {
    "type": "object",
    "properties": {"first_name": STRING, "age": INTEGER, "tags": {"type": "array", "items": STRING}},
    "required": ["first_name", "age"],
}


def run(value: Any, schema: Any, options: Options | None = None) -> tuple[Any, list[CoercionNote]]:
    return conform(value, compile_schema(schema), options or Options())


def codes(notes: list[CoercionNote]) -> list[str]:
    return [note.code for note in notes]


STANDARD_ROWS: list[tuple[Any, Any, Any, list[str]]] = [
    ("5", INTEGER, 5, ["C001"]),
    (" 7 ", INTEGER, 7, ["C001"]),
    ("5.0", INTEGER, 5, ["C001"]),
    ("-12", INTEGER, -12, ["C001"]),
    ("1e3", INTEGER, 1000, ["C001"]),
    ("123456789012345678901234567890", INTEGER, 123456789012345678901234567890, ["C001"]),
    ("123456789012345678901.0", INTEGER, 123456789012345678901, ["C001"]),
    ("3.14", NUMBER, 3.14, ["C002"]),
    (".5", NUMBER, 0.5, ["C002"]),
    ("5", NUMBER, 5, ["C002"]),
    ("true", BOOLEAN, True, ["C003"]),
    ("FALSE", BOOLEAN, False, ["C003"]),
    ("True", BOOLEAN, True, ["C003"]),
    (5.0, INTEGER, 5, ["C004"]),
    (-0.0, INTEGER, 0, ["C004"]),
    ("[1,2,3]", {"type": "array", "items": INTEGER}, [1, 2, 3], ["C005"]),
    ('["1"]', {"type": "array", "items": INTEGER}, [1], ["C005", "C001"]),
    ('{"first_name": "Ada", "age": "36"}', PERSON, {"first_name": "Ada", "age": 36}, ["C005", "C001"]),
    ("foo", {"type": "array", "items": STRING}, ["foo"], ["C006"]),
    ("5", {"type": "array", "items": INTEGER}, [5], ["C006", "C001"]),
    ("[urgent] call", {"type": "array", "items": STRING}, ["[urgent] call"], ["C006"]),
    ({"first_name": "Ada", "age": 1}, {"type": "array", "items": PERSON}, [{"first_name": "Ada", "age": 1}], ["C006"]),
    ([[[[[[[[5]]]]]]]], INTEGER, 5, ["C007"] * 8),
    ([5], INTEGER, 5, ["C007"]),
    (["5"], INTEGER, 5, ["C007", "C001"]),
    ([{"first_name": "Ada", "age": 1}], PERSON, {"first_name": "Ada", "age": 1}, ["C007"]),
    (42, STRING, "42", ["C008"]),
    (4.5, STRING, "4.5", ["C008"]),
    (True, STRING, "true", ["C016"]),
    ({"first_name": "Ada", "age": 1, "tags": None}, PERSON, {"first_name": "Ada", "age": 1}, ["C009"]),
    ({"First Name": "Ada", "AGE": 1}, PERSON, {"first_name": "Ada", "age": 1}, ["C010", "C010"]),
    ({"firstName": "Ada", " age ": 1}, PERSON, {"first_name": "Ada", "age": 1}, ["C010", "C010"]),
    ({"first-name": "Ada", "age": "1"}, PERSON, {"first_name": "Ada", "age": 1}, ["C010", "C001"]),
    ("high", LEVEL, "HIGH", ["C011"]),
    ("**High.**", LEVEL, "HIGH", ["C011"]),
    ("- medium", LEVEL, "MEDIUM", ["C011"]),
    ("in_progress", {"enum": ["In Progress", "Done"]}, "In Progress", ["C011"]),
    ("numero", {"enum": ["Número", "Otro"]}, "Número", ["C011"]),
    ("5", {"enum": [1, 5]}, 5, ["C002"]),
    (5, {"enum": ["5", "6"]}, "5", ["C008"]),
    ("DOG", {"const": "dog"}, "dog", ["C011"]),
    ("null", {"type": ["integer", "null"]}, None, ["C005"]),
    ("5", {"type": ["integer", "null"]}, 5, ["C001"]),
    ("5", {"anyOf": [INTEGER, {"type": "null"}]}, 5, ["C001"]),
    ("5", {"$ref": "#/$defs/n", "$defs": {"n": INTEGER}}, 5, ["C001"]),
    ("5", {"allOf": [{"minimum": 1}, INTEGER]}, 5, ["C001"]),
    (["1", 2], {"prefixItems": [INTEGER], "items": STRING}, [1, "2"], ["C001", "C008"]),
    ({"x": "1"}, {"additionalProperties": INTEGER}, {"x": 1}, ["C001"]),
    ({"n_x": "1"}, {"patternProperties": {"^n_": INTEGER}}, {"n_x": 1}, ["C001"]),
]


@pytest.mark.spec("B4")
@pytest.mark.parametrize(("value", "schema", "expected", "expected_codes"), STANDARD_ROWS, ids=repr)
def test_standard_coercions_are_applied(value: Any, schema: Any, expected: Any, expected_codes: list[str]) -> None:
    before = copy.deepcopy(value)
    result, notes = run(value, schema)
    assert result == expected
    assert type(result) is type(expected)
    assert codes(notes) == expected_codes
    assert value == before, "the input was written to"
    assert compile_schema(schema).is_valid(result)


NEVER_ROWS: list[tuple[Any, Any]] = [
    ("high", NUMBER),
    ("1_000", INTEGER),
    ("NaN", NUMBER),
    ("Infinity", NUMBER),
    ("1e400", NUMBER),
    ("1e400", INTEGER),
    ("yes", BOOLEAN),
    ("1", BOOLEAN),
    (1, BOOLEAN),
    (5.5, INTEGER),
    ("5.5", INTEGER),
    ("5.00000000000000000001", INTEGER),
    ("12.000", INTEGER),
    ("-5.000", INTEGER),
    (True, NUMBER),
    (False, INTEGER),
    ("٣", INTEGER),
    ("1,036", INTEGER),
    ("$5", NUMBER),
    ("", INTEGER),
    ("", {"type": "array", "items": STRING}),
    ("[1,2", {"type": "array", "items": STRING}),
    ("foo", {"type": "array", "items": INTEGER}),
    ("None", {"type": "array", "items": STRING}),
    ('{"a": 1, "a": 2}', {"type": "object"}),
    ("[NaN]", {"type": "array"}),
    ([1, 2], INTEGER),
    ([[[[[[[[[5]]]]]]]]], INTEGER),
    ([], INTEGER),
    (None, INTEGER),
    ({"a": 1}, STRING),
    ("null", {"type": ["string", "null"]}),
    ("LOW or HIGH", LEVEL),
    ("HIGH (because of X)", LEVEL),
    ("Hi", {"enum": ["hi", "HI"]}),
    (">5", {"enum": ["<5", "5"]}),
    ("1.5", {"enum": ["15"]}),
    ("1", {"enum": ["-1"]}),
    (42, {"type": "string", "pattern": "^[a-z]+$"}),
    ({"first_name": "Ada", "age": None}, PERSON),
    ({"first_name": "Ada", "first name": "Bo", "age": 1}, PERSON),
    ({"First_name": "Ada", "FIRST_NAME": "Bo", "age": 1}, PERSON),
]


@pytest.mark.spec("B4")
@pytest.mark.parametrize(("value", "schema"), NEVER_ROWS, ids=repr)
def test_some_values_are_never_coerced_in_standard(value: Any, schema: Any) -> None:
    result, notes = run(value, schema)
    assert result is value
    assert notes == []


EAGER_ROWS: list[tuple[Any, Any, Any, list[str]]] = [
    ("yes", BOOLEAN, True, ["C013"]),
    ("Off", BOOLEAN, False, ["C013"]),
    ("$1,234.50", NUMBER, 1234.5, ["C014"]),
    ("-$5", NUMBER, -5, ["C014"]),
    ("45 %", NUMBER, 45, ["C014"]),
    ("45%", INTEGER, 45, ["C014"]),
    ("1,036", INTEGER, 1036, ["C014"]),
    ("12 kg", NUMBER, 12, ["C014"]),
    ("**42**", INTEGER, 42, ["C014"]),
    ("EUR 12.50", NUMBER, 12.5, ["C014"]),
    ("HIGH (because of X)", LEVEL, "HIGH", ["C012"]),
    ("The level is high.", LEVEL, "HIGH", ["C012"]),
    ("it has not started yet", {"enum": ["NOT_STARTED", "STARTED"]}, "NOT_STARTED", ["C012"]),
    ("The answer is B.", {"enum": ["A", "B"]}, "B", ["C012"]),
    ("Sí", {"type": "boolean"}, True, ["C013"]),
    ("nein", {"type": "boolean"}, False, ["C013"]),
]


@pytest.mark.spec("B4")
@pytest.mark.parametrize(("value", "schema", "expected", "expected_codes"), EAGER_ROWS, ids=repr)
def test_eager_coercions_are_applied(value: Any, schema: Any, expected: Any, expected_codes: list[str]) -> None:
    result, notes = run(value, schema, EAGER)
    assert (result, codes(notes)) == (expected, expected_codes)
    assert run(value, schema) == (value, []), "standard does not go so far"


@pytest.mark.spec("B4")
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("1,5", NUMBER),
        ("1.234,56", NUMBER),
        ("1,23,456", NUMBER),
        ("5k", NUMBER),
        ("3 million", NUMBER),
        ("5 m", NUMBER),
        ("5-10", NUMBER),
        ("1_000", INTEGER),
        ("NaN", NUMBER),
        ("$", NUMBER),
        ("12.5 kg", INTEGER),
        ("45%", {"type": "number", "maximum": 1}),
        ("LOW or HIGH", LEVEL),
        ("not HIGH", LEVEL),
        ("it isn't high", LEVEL),
        ("anything other than high", LEVEL),
        ("non-high", LEVEL),
        ("highest", LEVEL),
        ("A good day", {"enum": ["A", "B"]}),
        ("maybe", BOOLEAN),
    ],
    ids=repr,
)
def test_some_values_are_refused_even_by_eager(value: Any, schema: Any) -> None:
    assert run(value, schema, EAGER) == (value, [])


@pytest.mark.spec("B4")
def test_configured_prefixes_delimiters_and_aliases_are_applied() -> None:
    options = Options(
        aliases={"age": ["years"], "HIGH": ["severe"]}, enum_prefixes=("shadow ",), enum_delimiters=(" | ",)
    )
    assert run("Shadow low", LEVEL, options)[0] == "LOW"
    assert codes(run("shadow low", LEVEL, options)[1]) == ["C015"]
    assert run("LOW | something", LEVEL, options)[0] == "LOW"
    assert run("LOW | HIGH", LEVEL, options) == ("LOW | HIGH", []), "two that fit are none"
    assert run("LOW | shadow high", {"type": "array", "items": LEVEL}, options)[0] == ["LOW", "HIGH"]
    assert run("Severe", LEVEL, options)[0] == "HIGH"
    assert run({"first_name": "Ada", "Years": 3}, PERSON, options)[0] == {"first_name": "Ada", "age": 3}


@pytest.mark.spec("T5", "B4")
def test_true_is_not_a_number_and_arguments_are_not_guessed() -> None:
    schema = {"type": "object", "properties": {"count": INTEGER}, "required": ["count"]}
    assert run({"count": True}, schema) == ({"count": True}, [])
    assert run({"count": "3"}, schema)[0] == {"count": 3}


def test_off_changes_nothing() -> None:
    assert run("5", INTEGER, Options("off")) == ("5", [])
    assert run(5.0, INTEGER, Options("off")) == (5.0, [])


def test_a_note_has_the_path_and_the_value_before_and_after() -> None:
    value = {"items": [{"Price": "3.5"}]}
    price = {"type": "object", "properties": {"price": NUMBER}, "required": ["price"]}
    result, notes = run(value, {"properties": {"items": {"type": "array", "items": price}}})
    assert result == {"items": [{"price": 3.5}]}
    assert notes == [
        CoercionNote("C010", ("items", 0, "price"), "Price", "price"),
        CoercionNote("C002", ("items", 0, "price"), "3.5", 3.5),
    ]


def test_keys_are_matched_only_if_keys_are_the_fault() -> None:
    # Valid as it is: `Tags` may be a separate key.
    valid = {"first_name": "Ada", "age": 1, "Tags": ["a"]}
    assert run(valid, PERSON) == (valid, [])
    closed = {**PERSON, "additionalProperties": False}
    assert run(valid, closed)[0] == {"first_name": "Ada", "age": 1, "tags": ["a"]}
    # A key that the schema knows is never taken for another one.
    twins = {"properties": {"name": STRING, "Name": STRING}, "required": ["name"]}
    assert run({"Name": "x"}, twins) == ({"Name": "x"}, [])


def test_a_null_gives_way_to_the_intended_key() -> None:
    closed = {**PERSON, "additionalProperties": False}
    value = {"first_name": "Ada", "age": 1, "tags": None, "Tags": ["a"]}
    result, notes = run(value, closed)
    assert result == {"first_name": "Ada", "age": 1, "tags": ["a"]}
    assert sorted(codes(notes)) == ["C009", "C010"]


def test_a_float_beyond_exact_integers_is_not_coerced() -> None:
    assert run(1e30, INTEGER) == (1e30, [])
    assert run(1e30, {"type": ["integer", "string"]}) == (1e30, [])


def test_merged_schemas_see_all_their_keys() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/named"}, {"properties": {"age": INTEGER}}],
        "$defs": {"named": {"properties": {"name": STRING}, "required": ["name"]}},
    }
    assert run({"NAME": "Ada", "age": "3"}, schema)[0] == {"name": "Ada", "age": 3}


def test_recursive_schemas_are_coerced() -> None:
    schema = {
        "$ref": "#/$defs/tree",
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {"size": INTEGER, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            }
        },
    }
    value = {"size": "1", "kids": [{"size": "2", "kids": {"size": "3"}}]}
    assert run(value, schema)[0] == {"size": 1, "kids": [{"size": 2, "kids": [{"size": 3}]}]}
    assert run("foo", {"type": "array", "items": {"$ref": "#"}}) == ("foo", [])
    assert run("5", {"$ref": "#"}) == ("5", [])
    assert run("5", {"allOf": [{"$ref": "#"}], "type": "integer"})[0] == 5


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#counted", "$defs": {"x": {"$anchor": "counted", "type": "integer"}}},
        {"$ref": "sub.json#/$defs/a%20b", "$defs": {"y": {"$id": "sub.json", "$defs": {"a b": INTEGER}}}},
        {"$id": "https://example.org/s.json", "$ref": "s.json#/$defs/n", "$defs": {"n": INTEGER}},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/definitions/n",
            "definitions": {"n": INTEGER},
        },
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$ref": "#/$defs/n", "$defs": {"n": INTEGER}},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": INTEGER}},
        {"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n", "type": "integer"}}},
    ],
    ids=repr,
)
def test_references_of_every_kind_are_followed(schema: Any) -> None:
    assert run("5", schema)[0] == 5


def test_tuples_of_draft_7_are_coerced() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [INTEGER, STRING],
        "additionalItems": BOOLEAN,
    }
    assert run(["1", 2, "true"], schema)[0] == [1, "2", True]


def test_threads_that_compile_a_new_schema_together_agree() -> None:
    props: dict[str, Any] = {f"k{i}": {"anyOf": [INTEGER, {"type": "null"}, PERSON]} for i in range(200)}
    value = dict.fromkeys(props, "5")
    for round_ in range(5):
        schema = compile_schema({"title": f"round {round_}", "properties": props})
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _, schema=schema: conform(value, schema, Options()), range(8)))
        assert all(result == dict.fromkeys(props, 5) for result, _ in results)
