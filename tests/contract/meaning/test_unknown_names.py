"""Names in rules: refused when the contract is made if neither a closed schema nor the declared input can provide them."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import msgspec
import pydantic
import pytest

from trueup import Contract
from trueup.checks.problems import BadRules
from trueup.contract.files.faults import ContractError
from trueup.contract.lint.run import lint_contract

CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}, "tags": {}}, "additionalProperties": False}
OPEN = {"type": "object", "properties": {"a": {"type": "integer"}}}
A: dict[str, Any] = {"properties": {"a": {}}}
B: dict[str, Any] = {"properties": {"b": {}}}


class Plain(pydantic.BaseModel):
    a: int


class Keeps(pydantic.BaseModel, extra="allow"):
    a: int


class Forbids(pydantic.BaseModel, extra="forbid"):
    a: int


class Named(pydantic.BaseModel, populate_by_name=True):
    a: int = pydantic.Field(alias="alpha")
    b: int = pydantic.Field(default=0, validation_alias=pydantic.AliasChoices("beta", "bee"))


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    a: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    b: int


@dataclass
class Data:
    a: int


class Typed(TypedDict):
    a: int
    c: NotRequired[int]


class Struct(msgspec.Struct, rename="camel"):
    a: int
    best_before: int = 0


CLOSES: dict[str, tuple[Any, set[str]]] = {
    "additionalProperties": (CLOSED, {"a", "tags"}),
    "a reference": ({"$ref": "#/$defs/x", "$defs": {"x": CLOSED}}, {"a", "tags"}),
    "all of, one closed": ({"allOf": [CLOSED, {"required": ["a"]}]}, {"a", "tags"}),
    "all of, both closed": ({"allOf": [CLOSED, {**A, "additionalProperties": False}]}, {"a"}),
    "unevaluated": (
        {"allOf": [A, {"$ref": "#/$defs/b"}], "unevaluatedProperties": False, "$defs": {"b": B}},
        {"a", "b"},
    ),
    "unevaluated arms": ({"type": "object", "oneOf": [A, B], "unevaluatedProperties": False}, {"a", "b"}),
    "any of": ({"anyOf": [CLOSED, {**B, "type": "object", "additionalProperties": False}]}, {"a", "b", "tags"}),
    "any of, or null": ({"anyOf": [CLOSED, {"type": "null"}]}, {"a", "tags"}),
    "nothing at all": ({"type": "object", "additionalProperties": False}, set()),
    "no object": ({"type": "array"}, {"value"}),
    "object or list": ({"anyOf": [CLOSED, {"type": "array"}]}, {"a", "tags", "value"}),
    "pydantic": (Plain, {"a"}),
    "pydantic, forbidding": (Forbids, {"a"}),
    "pydantic, further names": (Named, {"alpha", "beta"}),  # in the data, a field has its first name
    "pydantic or None": (Optional[Plain], {"a"}),  # noqa: UP045 - as people write it
    "pydantic union": (Annotated[Cat | Dog, pydantic.Field(discriminator="kind")], {"kind", "a", "b"}),
    "dataclass": (Data, {"a"}),
    "TypedDict": (Typed, {"a", "c"}),
    "msgspec": (Struct, {"a", "bestBefore"}),
    "list of models": (list[Plain], {"value"}),
}
STAYS_OPEN: dict[str, Any] = {
    "true": True,
    "properties alone": OPEN,
    "additional of a kind": {**A, "additionalProperties": {"type": "integer"}},
    "patterns": {**A, "patternProperties": {"^x_": {}}, "additionalProperties": False},
    "unevaluated of a kind": {**A, "unevaluatedProperties": {"type": "integer"}},
    "unevaluated, with patterns": {"allOf": [{"patternProperties": {"^x": {}}}], "unevaluatedProperties": False},
    "unevaluated, with a condition": {"if": A, "then": B, "unevaluatedProperties": False},
    "one arm open": {"anyOf": [CLOSED, OPEN]},
    "itself": {"$ref": "#"},
    "an arm of itself": {"anyOf": [{"$ref": "#"}, CLOSED]},
    "elsewhere": {"$defs": {"x": CLOSED}},
    "pydantic, keeping": Keeps,
    "dict": dict[str, int],
    "any": Any,
}  # fmt: skip


@pytest.mark.parametrize(("schema", "names"), CLOSES.values(), ids=CLOSES)
def test_a_closed_schema_refuses_every_other_name(schema: Any, names: set[str]) -> None:
    for name in names:
        Contract(schema, rules=[f"{name} != 5"])
    with pytest.raises(BadRules, match="the schema has no field 'aa' and takes no others"):
        Contract(schema, rules=["aa > 0"])
    Contract(schema, rules=["aa > 0"], input=["aa"])
    Contract(schema, rules=["aa > 0"], input=True)


@pytest.mark.parametrize("schema", STAYS_OPEN.values(), ids=STAYS_OPEN)
def test_an_open_one_takes_any(schema: Any) -> None:
    Contract(schema, rules=["aa > 0"])


def test_the_error_names_the_rule_the_column_and_the_name_that_was_meant() -> None:
    with pytest.raises(ValueError, match="did you mean") as caught:
        Contract(Plain, rules=["a > 0", {"name": "bounded", "expr": "a > 0 and aa < 9", "when": "aaa > 1"}])
    assert str(caught.value) == (
        "rules[1].expr: the schema has no field 'aa' and takes no others; if it comes with the input, declare it: "
        "input=['aa'] (column 11); did you mean 'a'?; "
        "rules[1].when: the schema has no field 'aaa' and takes no others; if it comes with the input, declare it: "
        "input=['aaa'] (column 1)"
    )


@pytest.mark.parametrize(
    "rules",
    [
        {"required": ["aa"]},
        {"types": {"aa": "integer"}},
        {"ranges": {"aa": [0, 9]}},
        {"enums": {"aa": ["x"]}},
        {"required": ["aa.b"]},
        [{"expr": "a > 0", "when": "aa > 0"}],
        [{"expr": "aa > 0", "level": "warning"}],
        ["any([x > aa for x in tags])"],
        ["a > 0 and true"],
    ],
    ids=str,
)
def test_an_unknown_name_is_refused_in_every_place(rules: Any) -> None:
    with pytest.raises(BadRules):
        Contract(CLOSED, rules=rules)


@pytest.mark.parametrize(
    "rules",
    [
        ["'aa' not in dir() or aa > 0"],
        [{"expr": "aa > 0", "when": "'aa' in dir()"}],
        ["len(unit_id) > 2 and _metadata.model == 'm' and retry_count < 3"],
        ["any([x > 0 for x in tags])"],
        {"required": ["a", "unit_id"], "ranges": {"a": [0, 9]}},
        [{"expr": "a > 0", "error": "{aa} is strange"}],
    ],
    ids=str,
)
def test_a_name_that_may_exist_is_not_refused(rules: Any) -> None:
    Contract(CLOSED, rules=rules)


def test_a_name_inside_a_closed_object_counts_too() -> None:
    address = {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": False}
    schema = {"type": "object", "properties": {"address": address, "free": {"type": "object"}}}
    closed = {**schema, "additionalProperties": False}
    with pytest.raises(BadRules, match=r"no field 'address\.citty'.*did you mean 'city'"):
        Contract(closed, rules=["address.citty == 'Oslo'"])
    Contract(closed, rules=["address.city == 'Oslo'", "free.anything == 1", "address.city.lower() == 'oslo'"])
    Contract(closed, rules=["address.citty == 'Oslo'"], input=["address"])


def test_the_declared_fields_are_those_of_the_context() -> None:
    contract = Contract(Plain, rules=["a <= limit"], input=["limit"])
    assert not contract.check('{"a": 12}', {"input": {"limit": 10}}).ok
    assert contract.check('{"a": 2}', {"input": {"limit": 10}}).ok
    (found,) = contract.check('{"a": 2}').findings
    assert found.code == "B006", "a field that did not come is the data's fault"
    assert contract.fingerprint == Contract(Plain, rules=["a <= limit"], input=True).fingerprint
    assert asyncio.run(contract.acheck('{"a": 2}', {"input": {"limit": 10}})).ok


@pytest.mark.parametrize("given", ["limit", 5, [5], {"limit": 1}])
def test_the_declaration_is_a_list_of_names(given: Any) -> None:
    with pytest.raises(TypeError, match="input must be a list of names"):
        Contract(Plain, rules=["a > 0"], input=given)


FILE = """\
schema: {properties: {a: {type: integer}}, additionalProperties: %s}
input: %s
rules:
  - a > 0
  - {name: bounded, expr: a < aa}
"""


def test_a_file_is_refused_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(FILE % ("false", "[b]"))
    with pytest.raises(ContractError) as caught:
        Contract.load(file)
    (found,) = caught.value.faults
    assert (found.code, found.line, found.column, found.path) == ("N026", 5, 31, "$.rules[1].expr")
    assert found.hint == "Did you mean 'a'?"
    for given in ("[aa]", "true"):
        file.write_text(FILE % ("false", given))
        assert not lint_contract(file).faults
        assert not Contract.load(file).check('{"a": 2}', {"input": {"aa": 1}}).ok


def test_an_open_schema_in_a_file_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(FILE % ("true", "[]"))
    (found,) = lint_contract(file).faults
    assert (found.code, found.level) == ("N013", "warning")
    assert Contract.load(file).check('{"a": 2, "aa": 3}').ok


def test_a_field_is_known_by_its_first_name_however_it_was_written() -> None:
    contract = Contract(Named, rules=["alpha > 0", "beta > 0"])
    for reply in ('{"alpha": 1, "beta": 1}', '{"a": 1, "bee": 1}', '{"a": "1", "b": 1}'):
        assert contract.check(reply).ok, reply
    with pytest.raises(BadRules, match="no field 'bee'"):
        Contract(Named, rules=["bee > 0"])
