"""Faults that are certain before a value has closed: found early, and never if a continuation could resolve them."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from tests.growth import assert_linear
from trueup import Contract
from trueup.recover.json.growing import GrowingValue

SHUT = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 10},
        "note": {"anyOf": [{"type": "string", "maxLength": 10}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 2},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}}, "additionalProperties": False},
            "maxItems": 2,
        },
        "to": {"$ref": "#/$defs/to"},
        "any": {"type": "object", "maxProperties": 1},
    },
    "$defs": {
        "to": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "zip code": {"type": "string"}},
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
ROW = {"type": "object", "properties": {"sku": {"type": "string"}}, "additionalProperties": False}
CONTRACT = Contract(SHUT)


class Row(BaseModel):
    model_config = ConfigDict(extra="forbid")
    sku: str = Field(default="", max_length=8)


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    title: str = Field(default="", max_length=10, alias="Title")
    rows: list[Row] = Field(default=[], max_length=2)
    kinds: set[str] = Field(default=set(), max_length=2)
    bare: Annotated[str, StringConstraints(strip_whitespace=True, max_length=5)] = ""


class Short(BaseModel):
    title: str = Field(max_length=5)

    @field_validator("title", mode="before")
    @classmethod
    def _cut(cls, title: str) -> str:
        return title[:5]


@dataclass
class Point:
    name: Annotated[str, Field(max_length=5)]


def pieces_until_found(contract: Contract, text: str, piece: int = 1) -> tuple[int, list[tuple[str, str]]]:
    """The number of characters after which a fault is certain, and the fault."""
    stream = contract.stream()
    for at in range(0, len(text), piece):
        stream.push(text[at : at + piece])
        if stream.findings.errors:
            return min(at + piece, len(text)), [(found.code, found.path) for found in stream.findings.errors]
    return len(text), []


LONG = "x" * 400
EARLY: list[tuple[Contract, str, tuple[str, str]]] = [
    (CONTRACT, '{"title": "' + LONG, ("V007", "$.title")),
    (CONTRACT, '{"title": "' + "a, b " * 80, ("V007", "$.title")),
    (CONTRACT, '{"title": "' + '\\n\\"' * 200, ("V007", "$.title")),
    (CONTRACT, '```json\n{"note": "' + LONG, ("V007", "$.note")),
    (CONTRACT, '{"tags": ["a", "' + LONG, ("V007", "$.tags[1]")),
    (CONTRACT, '{"tags": ["a", "b", "c", ' + '"d", ' * 80, ("V007", "$.tags")),
    (CONTRACT, '{"rows": [{}, {}, {"sku": "' + LONG, ("V007", "$.rows")),
    (CONTRACT, '{"title": "a", "other": "' + LONG, ("V003", "$.other")),
    (CONTRACT, '{"other": 1, "title": "a", ' + '"tags": ["' + LONG[:7] + '"], "note": null, "to": {"street": "' + LONG, ("V003", "$.other")),
    (CONTRACT, '{"to": {"planet": "' + LONG, ("V003", "$.to.planet")),
    (CONTRACT, '{"rows": [{"sku": "a"}, {"size": 1, "sku": "' + LONG, ("V003", "$.rows[1].size")),
    (CONTRACT, '{"any": {"a": 1, "b": 2, "c": "' + LONG, ("V007", "$.any")),
    (Contract({"type": "array", "items": {"type": "integer"}, "maxItems": 3}), "[1, 2, 3, 4, " + "5, " * 100, ("V007", "$")),
    (Contract(Order), '{"Title": "' + LONG, ("V007", "$.Title")),
    (Contract(Order), '{"rows": [{"sku": "a"}, {"sku": "' + LONG, ("V007", "$.rows[1].sku")),
    (Contract(Order), '{"rows": [{}, {}, {"sku": "' + LONG[:8] + '"}, ' + "{}, " * 90, ("V007", "$.rows")),
    (Contract(Order), '{"Title": "a", "other": "' + LONG, ("V003", "$.other")),
    (Contract(Order), '{"rows": [{"size": "' + LONG, ("V003", "$.rows[0].size")),
    (Contract(Order), '{"bare": "   a b c d' + LONG, ("V007", "$.bare")),
    (Contract(Point), '{"name": "' + LONG, ("V007", "$.name")),
]  # fmt: skip


@pytest.mark.spec("A15")
@pytest.mark.parametrize("piece", [1, 3, 11])
@pytest.mark.parametrize(("contract", "text", "expected"), EARLY, ids=[str(row[2]) + row[1][:18] for row in EARLY])
def test_a_fault_is_found_long_before_the_value_has_closed(
    contract: Contract, text: str, expected: tuple[str, str], piece: int
) -> None:
    at, found = pieces_until_found(contract, text, piece)
    assert expected in found
    assert at < len(text) - 200


QUIET: list[tuple[Contract, str]] = [
    (CONTRACT, '{"title": "0123456789", "tags": ["a", "b"], "rows": [{}, {}], "any": {"a": 1}}'),
    (CONTRACT, '{"title": "0123456789   \t  ,"'),  # a missing closing quote may belong before the blanks
    (CONTRACT, '{"title": "012345\n 789 and more'),  # or before the line break
    (CONTRACT, '{"title": "\\u0061\\u0062\\u0063\\u0064\\u0065"}'),
    (CONTRACT, '{"title": "a", "Tags": ["a"], "TO": {"Zip_Code": "1"}}'),  # these names match
    (CONTRACT, '{"result": {"title": "a"'),  # an envelope
    (CONTRACT, '{"title": "a", "data": {"title": "b"'),
    (CONTRACT, '{"tags": ["a", "b", ]'),
    (CONTRACT, '{"tags": ["a", "b", "title": "x"'),  # a bracket is missing, and this is a key
    (CONTRACT, '{"to": {"street": "x", "title": "y"'),  # the same
    (CONTRACT, '{"any": {"a": 1, "b": null'),
    (Contract({"properties": {"n": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer"}]}}}), '{"n": "12345'),
    (Contract({"properties": {"n": {"enum": ["a", "b"], "maxLength": 1}}}), '{"n": "I would say a'),
    (Contract({"properties": {"n": {"maxLength": 3}}}), '{"n": "12345'),
    (Contract({"anyOf": [ROW, {"type": "object", "required": ["other"]}]}), '{"sku": "a", "other": 1, "x": "' + LONG),
    (Contract(Order), '{"Title": "a", "title": "b'),  # by its name
    (Contract(Order), '{"kinds": ["a", "a", "a", "b", "a", '),  # a set of two
    (Contract(Order), '{"bare": "    abcde      '),  # blanks are stripped
    (Contract(Short), '{"title": "' + LONG),  # its own code cuts it
]  # fmt: skip


@pytest.mark.spec("A15")
@pytest.mark.parametrize("piece", [1, 4])
@pytest.mark.parametrize(("contract", "text"), QUIET, ids=[row[1][:30] for row in QUIET])
def test_a_fault_that_can_still_be_resolved_waits_for_the_end(contract: Contract, text: str, piece: int) -> None:
    assert pieces_until_found(contract, text, piece)[1] == []


ENDS = (
    "", '"', "}", '"}', '"]}', "]}", '"}]}', "}}", '"}}', "\n", '", "title": "a"}', ', "title": "a"}', '": 1}', '": 1}}',
)  # fmt: skip


def certain_at(contract: Contract, text: str, piece: int) -> int | None:
    """The number of characters after which a fault is certain in a value that has not closed."""
    assert contract.schema is not None
    early, growing = contract.early(), GrowingValue(contract.max_depth, contract.schema.keys)
    if early is None:
        return None
    for at in range(0, len(text), piece):
        growing.feed(text[at : at + piece])
        if early.look(growing):
            return min(at + piece, len(text))
    return None


names = st.sampled_from(
    ["title", "Title", "TAGS", "tags", "note", "rows", "to", "any", "other", "zip_code", "street", "sku", "data"]
)
short = st.text(st.sampled_from('ab ,:{}[]"\\\né'), max_size=14)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 99), short),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=8,
)
orders = st.fixed_dictionaries(
    {},
    optional={
        "title": short, "note": st.one_of(short, st.none()), "tags": st.lists(short, max_size=4),
        "rows": st.lists(st.dictionaries(names, short, max_size=2), max_size=4), "to": st.dictionaries(names, short, max_size=3),
        "any": st.dictionaries(names, values, max_size=3), "Title": short, "other": values, "To": st.dictionaries(names, short, max_size=2),
    },
)  # fmt: skip
FLAWS = (
    lambda text: text,
    lambda text: text.replace('", "', ', "', 1),  # a closing quote is missing
    lambda text: text.replace("], ", ", ", 1),
    lambda text: text.replace("}, ", ", ", 1),
    lambda text: text.replace('": ', ": ", 1),
    lambda text: text.replace('"', "'"),
    lambda text: text.replace(", ", ",\n", 2),
    lambda text: text.replace("}", ",}", 1).replace("]", ",]", 1),
    lambda text: f"Here:\n```json\n{text}\n```",
)


@pytest.mark.spec("A15")
@given(
    st.one_of(orders, values),
    st.sampled_from(FLAWS),
    st.integers(1, 9),
    st.sampled_from(["guess", "lossy", "lossless"]),
)
def test_an_early_fault_is_refused_in_the_end(value: Any, flaw: Any, piece: int, accept: Any) -> None:
    """For any following text: the rest of the reply, or other endings."""
    contract = Contract(SHUT, accept=accept)
    text = flaw(json.dumps(value, ensure_ascii=False))
    at = certain_at(contract, text, piece)
    if at is None:
        return
    begun = text[:at]
    assert not contract.check(text).ok
    for end in ENDS:
        verdict = contract.check(begun + end)
        assert not verdict.ok or any(fix.code == "S032" for fix in verdict.fixes), (
            end
        )  # a repeated key replaces the first


@pytest.mark.spec("A15")
@given(st.one_of(orders, values), st.integers(1, 30))
def test_the_findings_at_the_end_do_not_depend_on_the_cuts(value: Any, piece: int) -> None:
    text = json.dumps(value)
    whole, cut = CONTRACT.stream(), CONTRACT.stream()
    whole.push(text)
    for at in range(0, len(text), piece):
        cut.push(text[at : at + piece])
    assert {(f.code, f.path) for f in cut.findings} == {(f.code, f.path) for f in whole.findings}
    assert cut.finish() == CONTRACT.check(text)


@pytest.mark.growth
@pytest.mark.parametrize(
    "make",
    [
        lambda size: '{"title": "' + "\\u0061" * size + '"}',
        lambda size: '{"tags": [' + ", ".join(["1"] * size) + "]}",
        lambda size: '{"title": "a\n' + "b" * size + '"}',
        lambda size: '{"any": {' + ", ".join(f'"{n}": null' for n in range(size)) + "}}",
    ],
)
def test_looking_for_early_faults_takes_linear_time(make: Any) -> None:
    wide = json.loads(
        json.dumps(SHUT)
        .replace('"maxLength": 10', '"maxLength": 1000000')
        .replace('"maxItems": 2', '"maxItems": 900000')
    )
    contract = Contract(wide)
    assert_linear(lambda text: pieces_until_found(contract, text, 5), make, 6_000)
