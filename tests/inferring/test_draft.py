"""The contents of a draft, and constraints that it leaves out without enough evidence."""

import json
import random
from typing import Any

import pytest

from trueup.inferring.infer import infer
from trueup.inferring.strictness import Strictness


def schema_of(values: list[Any], strictness: Strictness = "standard") -> dict[str, Any]:
    drafted = infer([json.dumps(value) for value in values], strictness=strictness)
    assert drafted.faults() == ()
    assert drafted.report.ok
    schema: dict[str, Any] = drafted.data["schema"]
    return schema


def field_of(values: list[Any], strictness: Strictness = "standard") -> dict[str, Any]:
    inner: dict[str, Any] = schema_of([{"f": value} for value in values], strictness)["properties"]["f"]
    return inner


rng = random.Random(0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([1, 2, 3] * 5, {"type": "integer"}, id="integer"),
        pytest.param([1, 2.5, 3] * 5, {"type": "number"}, id="number"),
        pytest.param([True, False] * 9, {"type": "boolean"}, id="boolean"),
        pytest.param([1, None] * 9, {"type": ["integer", "null"]}, id="nullable"),
        pytest.param([7, 8, "9"] * 9, {"type": "integer"}, id="a number as text is coerced"),
        pytest.param([-7, 800, "high"] * 50, {"type": ["integer", "string"], "minLength": 1}, id="union"),
        pytest.param(["a", "b"] * 60, {"type": "string", "enum": ["a", "b"]}, id="enum"),
        pytest.param(["a", "b", None] * 60, {"type": ["string", "null"], "enum": ["a", "b", None]}, id="nullable enum"),
        pytest.param(["a", "A", "b"] * 60, {"type": "string", "enum": ["a", "b"]}, id="one spelling"),
        pytest.param(["a", "b"] * 9, {"type": "string"}, id="too few for an enum"),
        pytest.param([f"v{n}" for n in range(150)], {"type": "string", "minLength": 1}, id="no enum of names"),
        pytest.param(["", *(f"v{n}" for n in range(150))], {"type": "string"}, id="may be empty"),
        pytest.param([f"2026-01-{n % 28 + 1:02}" for n in range(60)], {"type": "string", "format": "date"}, id="date"),
        pytest.param(["2026-02-30", *(f"2026-01-{n:02}" for n in range(1, 29))] * 3, {"type": "string", "minLength": 1}, id="no such day"),
        pytest.param([f"a{n}@example.org" for n in range(60)], {"type": "string", "format": "email"}, id="email"),
        pytest.param([n / 100 for n in range(100)], {"type": "number", "minimum": 0, "maximum": 1}, id="a share"),
        pytest.param([n % 5 + 1 for n in range(100)], {"type": "integer", "minimum": 1, "maximum": 5}, id="a scale"),
        pytest.param(list(range(100)), {"type": "integer", "minimum": 0}, id="not negative"),
        pytest.param([1990 + n % 30 for n in range(90)], {"type": "integer"}, id="years have no natural bound"),
        pytest.param([[1.5, n] for n in range(90)], {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2, "maxItems": 2}, id="pairs"),
        pytest.param([["x", n] for n in range(90)], {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2}, id="tuple"),
        pytest.param([list(range(-1, n % 4)) for n in range(90)], {"type": "array", "items": {"type": "integer"}, "minItems": 1}, id="never an empty list"),
        pytest.param([list(range(-1, n % 4 - 1)) for n in range(90)], {"type": "array", "items": {"type": "integer"}}, id="a list"),
        pytest.param([{f"k{rng.random()}": -n} for n in range(60)], {"type": "object", "additionalProperties": {"type": "integer"}}, id="map"),
        pytest.param([{str(n % 7): True} for n in range(60)], {"type": "object", "additionalProperties": {"type": "boolean"}}, id="a map by numbers"),
    ],
)  # fmt: skip
def test_one_field(values: list[Any], expected: dict[str, Any]) -> None:
    found = field_of(values)
    if "enum" in found:
        found["enum"].sort(key=lambda value: (value is None, value))
    assert found == expected


def test_required_and_optional() -> None:
    values: list[dict[str, Any]] = [{"a": 1, "b": 2} if n % 2 else {"a": 1} for n in range(40)]
    schema = schema_of(values)
    assert schema["required"] == ["a"]
    assert list(schema["properties"]) == ["a", "b"]
    assert "additionalProperties" not in schema
    assert schema_of(values, "tight")["additionalProperties"] is False


def test_kinds_of_objects_are_distinguished() -> None:
    values = [{"type": "circle", "r": -n} if n % 2 else {"type": "rect", "w": -n, "h": -1} for n in range(200)]
    arms = schema_of(values)["oneOf"]
    assert [arm["properties"]["type"] for arm in arms] == [{"const": "rect"}, {"const": "circle"}]
    assert sorted(arm["required"] for arm in arms) == [["type", "r"], ["type", "w", "h"]]


def test_an_optional_field_does_not_make_a_kind() -> None:
    values = [{"type": rng.choice(["x", "y"]), **({"z": 1} if rng.random() < 0.5 else {})} for _ in range(200)]
    assert "oneOf" not in schema_of(values)


def test_a_cut_reply_does_not_make_fields_optional() -> None:
    whole = [f'{{"a": {n}, "b": {{"c": {n}}}, "d": "x{n}"}}' for n in range(60)]
    texts = [text if n % 3 else text[: len(text) // 2] for n, text in enumerate(whole)]
    schema = infer(texts).data["schema"]
    assert schema["required"] == ["a", "b", "d"]
    assert schema["properties"]["b"]["required"] == ["c"]


def test_other_spellings_of_a_key_are_not_further_keys() -> None:
    values = [{"first_name": f"n{n}"} if n % 10 else {"FirstName": f"n{n}"} for n in range(100)]
    schema = schema_of(values)
    assert list(schema["properties"]) == ["first_name"]
    assert schema["required"] == ["first_name"]


def test_rare_keys_of_broken_replies_are_noise() -> None:
    texts = [f'{{"a": {n}}}' for n in range(99)] + ["{'a': 1, 'xyz': 2,}"]
    assert list(infer(texts).data["schema"]["properties"]) == ["a"]


def test_replies_that_need_a_schema_are_read_under_the_draft() -> None:
    texts = [f'{{"name": "n{n}", "age": {n}}}' for n in range(50)] + [f"name: m{n}\nage: {n}" for n in range(10)]
    report = infer(texts, holdout=0.0).report
    assert (report.used, report.unusable) == (60, {})


def test_replies_in_the_draft_match_the_draft_contract() -> None:
    draft = infer(['{"n": 1}', "{'n': 2}", "Sure: {n: 3}"] * 20)
    contract = draft.contract()
    assert contract.check('```json\n{"n": "4",}\n```').data == {"n": 4}
    assert not contract.check('{"n": "many"}').ok
    assert not contract.check("{}").ok


@pytest.mark.parametrize("strictness", ["loose", "standard", "tight"])
def test_held_out_replies_relax_what_they_break(strictness: Strictness) -> None:
    odd = random.Random(5)
    values = [
        {"mood": odd.choice(["happy", "sad"]) if n % 50 else f"odd{n}", "n": n if n % 37 else -n} for n in range(600)
    ]
    draft = infer([json.dumps(value) for value in values], strictness=strictness)
    assert draft.report.ok
    assert draft.report.held.accepted >= 0.99 * draft.report.held.whole
    assert draft.faults() == ()
