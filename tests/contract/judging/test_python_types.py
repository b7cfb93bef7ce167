"""Type checkers and contracts: the type that is given as the schema is the type of the value."""

import dataclasses
from pathlib import Path
from typing import Any, TypedDict, assert_type

import msgspec
from mypy import api
from pydantic import BaseModel

from trueup import Answer, Contract, Partial, Verdict

ROOT = Path(__file__).resolve().parents[3]


class Invoice(BaseModel):
    number: str


@dataclasses.dataclass
class Person:
    name: str


class Row(TypedDict):
    name: str


class Guest(msgspec.Struct):
    name: str


def test_the_value_has_the_type_of_the_schema() -> None:
    verdict = assert_type(Contract(schema=Invoice, strict=True).check('{"number": "7"}'), Verdict[Invoice])
    assert assert_type(verdict.value, Invoice | None) == Invoice(number="7")
    assert assert_type(verdict.unwrap(), Invoice).number == "7"
    assert assert_type(Contract(Person).check('{"name": "Ada"}').unwrap(), Person).name == "Ada"
    assert assert_type(Contract(Row).check('{"name": "Ada"}').unwrap(), Row)["name"] == "Ada"
    assert assert_type(Contract(Guest).check('{"name": "Ada"}').unwrap(), Guest).name == "Ada"
    assert assert_type(Contract(list[Invoice]).check('[{"number": "7"}]').unwrap(), list[Invoice])[0].number == "7"


def test_streams_and_answers_have_it_too() -> None:
    contract = Contract(schema=Invoice)
    stream = contract.stream()
    stream.feed('{"number": "7"}')
    assert assert_type(stream.finish(), Verdict[Invoice]).ok
    answer = assert_type(contract.ask(lambda messages: '{"number": "7"}', "Which?"), Answer[Invoice])
    assert assert_type(answer.unwrap(), Invoice).number == "7"
    assert assert_type(answer.value, Invoice | None) is not None


def test_partials_and_items_have_it_too() -> None:
    for part in Contract(Invoice).stream(['{"number": "7"}']):
        assert assert_type(part, Partial[Invoice]).number == "7"
    for invoice in Contract(list[Invoice]).items(['[{"number": "7"}]']):
        assert assert_type(invoice, Invoice).number == "7"


def test_other_schemas_have_any_value() -> None:
    made: list[Contract] = [Contract({"type": "object"}), Contract(True), Contract(Invoice)]
    assert assert_type(made[0].check("{}").unwrap(), Any) == {}
    assert assert_type(Contract(schema={"type": "object"}).check("{}").unwrap(), Any) == {}


def test_a_type_checker_agrees() -> None:
    out, errors, code = api.run(
        ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"), __file__]
    )
    assert (code, errors) == (0, ""), out
