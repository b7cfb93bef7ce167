"""Whose value it is: swapped values are found in sentences, tables, blocks and lists, and right ones stay quiet."""

import json
from typing import Any

import pytest

from trueup import Contract

PEOPLE = Contract({"type": "array"}, grounded=True)
RIGHT = [{"name": "Ana Ruiz", "age": 40}, {"name": "Luis Vega", "age": 30}, {"name": "Marta Soto", "age": 25}]
LAYOUTS = {
    "sentences": "Ana Ruiz is 40. Luis Vega is 30. Marta Soto is 25.",
    "one sentence": "Ana Ruiz (40), Luis Vega (30) and Marta Soto (25) came.",
    "table": "| name | age |\n|---|---|\n| Ana Ruiz | 40 |\n| Luis Vega | 30 |\n| Marta Soto | 25 |",
    "columns": "Ana Ruiz     40\nLuis Vega    30\nMarta Soto   25",
    "blocks": "Name: Ana Ruiz\nAge: 40\n\nName: Luis Vega\nAge: 30\n\nName: Marta Soto\nAge: 25",
    "lines": "Name: Ana Ruiz\nAge: 40\nName: Luis Vega\nAge: 30\nName: Marta Soto\nAge: 25",
    "parallel": "The guests are Ana Ruiz, Luis Vega and Marta Soto, aged 40, 30 and 25.",
    "bullets": "- Ana Ruiz: 40 years\n- Luis Vega: 30 years\n- Marta Soto: 25 years",
    "values first": "40: Ana Ruiz\n30: Luis Vega\n25: Marta Soto",
}


def codes(value: Any, source: str) -> list[tuple[str, str]]:
    return [(found.code, found.path) for found in PEOPLE.check(json.dumps(value), {"source": source}).findings]


@pytest.mark.spec("E4")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_with_their_own_record_stay_quiet(layout: str) -> None:
    assert codes(RIGHT, LAYOUTS[layout]) == []


@pytest.mark.spec("E4")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_swapped_values_are_found(layout: str) -> None:
    swapped = [{**RIGHT[0], "age": 30}, {**RIGHT[1], "age": 40}, RIGHT[2]]
    assert codes(swapped, LAYOUTS[layout]) == [("E003", "$[0].age"), ("E003", "$[1].age")]


@pytest.mark.spec("E4")
def test_a_value_copied_from_the_next_record_is_found() -> None:
    copied = [{**RIGHT[0], "age": 30}, RIGHT[1], RIGHT[2]]
    verdict = PEOPLE.check(json.dumps(copied), {"source": LAYOUTS["table"]})
    assert [(found.code, found.path) for found in verdict.findings] == [("E003", "$[0].age")]
    assert verdict.findings[0].data["owner"] == "Luis Vega"
    assert verdict.findings[0].data["nearest"] == "40"


@pytest.mark.spec("E4")
def test_what_two_records_share_is_not_reported() -> None:
    source = "Ana Ruiz is 40 and lives in Lugo. Luis Vega, who is 30, lives there too."
    people = [{"name": "Ana Ruiz", "age": 40, "city": "Lugo"}, {"name": "Luis Vega", "age": 30, "city": "Lugo"}]
    assert codes(people, source) == []


def test_records_may_stand_beside_each_other_in_an_object() -> None:
    contract = Contract({"type": "object"}, grounded=True)
    value = {"buyer": {"name": "Ana Ruiz", "age": 30}, "seller": {"name": "Luis Vega", "age": 40}}
    verdict = contract.check(json.dumps(value), {"source": "The buyer Ana Ruiz is 40. The seller Luis Vega is 30."})
    assert [found.path for found in verdict.findings] == ["$.buyer.age", "$.seller.age"]


def test_a_record_about_many_lines_is_left_alone() -> None:
    contract = Contract({"type": "object"}, grounded=True)
    value = {"first": "Ana Ruiz", "a": 40, "b": 30, "c": 25, "oldest": 40}
    assert contract.check(json.dumps(value), {"source": LAYOUTS["columns"]}).ok


def test_turns_of_a_dialogue_are_not_rows_of_a_table() -> None:
    text = "user: A coach from Leeds to York, leaving on the 9th.\nassistant: How many seats?\nuser: Four please, on the 9th of May."
    value = {"to": "York", "date": "9th of May", "seats": 4}
    assert Contract({"type": "object"}, grounded=True).check_value(value, {"source": text}).ok
