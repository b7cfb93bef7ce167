"""Owners of values: swapped values are found in sentences, tables, blocks and lists, and correct ones stay quiet."""

import json
from pathlib import Path
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
def test_shared_values_are_not_reported() -> None:
    source = "Ana Ruiz is 40 and lives in Lugo. Luis Vega, who is 30, lives there too."
    people = [{"name": "Ana Ruiz", "age": 40, "city": "Lugo"}, {"name": "Luis Vega", "age": 30, "city": "Lugo"}]
    assert codes(people, source) == []


def test_records_may_be_siblings_in_an_object() -> None:
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


CASES = json.loads((Path(__file__).parent / "cases" / "records.json").read_text("utf-8"))


def people(rows: list[list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(("name", "age", "city"), row, strict=True)) for row in rows]


def told(value: Any, source: Any) -> list[tuple[str, str]]:
    return sorted((found.code, found.path) for found in PEOPLE.check(json.dumps(value), {"source": source}).findings)


@pytest.mark.spec("E4")
@pytest.mark.parametrize(("source", "rows"), [case for part in CASES.values() for case in part.values()],
                         ids=[name for part in CASES.values() for name in part])  # fmt: skip
def test_records_of_any_layout_stay_quiet(source: Any, rows: list[list[Any]]) -> None:
    assert told(people(rows), source) == []


SWAPPED = {**CASES["told"], **CASES["only swaps"]}


@pytest.mark.spec("E4")
@pytest.mark.parametrize(("source", "rows"), SWAPPED.values(), ids=SWAPPED)
def test_swaps_are_found_in_any_layout(source: Any, rows: list[list[Any]]) -> None:
    swapped = people(rows)
    swapped[0]["age"], swapped[1]["age"] = swapped[1]["age"], swapped[0]["age"]
    assert told(swapped, source) == [("E003", "$[0].age"), ("E003", "$[1].age")]


@pytest.mark.spec("E4")
@pytest.mark.parametrize(("source", "rows"), CASES["told"].values(), ids=CASES["told"])
def test_copies_are_found_in_any_layout(source: Any, rows: list[list[Any]]) -> None:
    copied = people(rows)
    copied[0]["age"] = copied[1]["age"]
    assert told(copied, source) == [("E003", "$[0].age")]


INVOICES = [
    {"number": "INV-7", "total": 30, "lines": [{"item": "desk lamp", "price": 10}, {"item": "tea", "price": 20}]},
    {"number": "INV-8", "total": 70, "lines": [{"item": "desk lamp", "price": 45}, {"item": "mug", "price": 25}]},
]
INVOICES_AS_TEXT = (
    "Invoice INV-7\n- desk lamp: 10 EUR\n- tea: 20 EUR\nTotal: 30 EUR\n\n"
    "Invoice INV-8\n- desk lamp: 45 EUR\n- mug: 25 EUR\nTotal: 70 EUR\n"
)


def swapped_invoices(one: tuple[Any, ...], other: tuple[Any, ...]) -> list[str]:
    """The reported paths if two values of the invoices are swapped."""
    value = json.loads(json.dumps(INVOICES))

    def holder(path: tuple[Any, ...]) -> Any:
        at = value
        for part in path[:-1]:
            at = at[part]
        return at

    first, second = holder(one), holder(other)
    first[one[-1]], second[other[-1]] = second[other[-1]], first[one[-1]]
    return [path for code, path in told(value, INVOICES_AS_TEXT) if code == "E003"]


def test_lines_of_invoices_stay_quiet() -> None:
    assert told(INVOICES, INVOICES_AS_TEXT) == []


@pytest.mark.parametrize(
    ("one", "other", "paths"),
    [
        ((0, "total"), (1, "total"), ["$[0].total", "$[1].total"]),
        ((0, "lines", 0, "price"), (0, "lines", 1, "price"), ["$[0].lines[0].price", "$[0].lines[1].price"]),
        ((0, "lines", 0, "price"), (1, "lines", 0, "price"), ["$[0].lines[0].price", "$[1].lines[0].price"]),
    ],
    ids=["totals", "lines of one", "lines of two"],
)
def test_values_of_nested_lists_are_distinguished(
    one: tuple[Any, ...], other: tuple[Any, ...], paths: list[str]
) -> None:
    assert swapped_invoices(one, other) == paths


def test_columns_are_distinguished_if_a_name_is_missing() -> None:
    source = "| name | Ana Ruiz | L8is V3ga | Marta Soto |\n|---|---|---|---|\n| age | 40 | 30 | 25 |\n| city | Lugo | Vigo | Pola |"
    rows = [["Ana Ruiz", 40, "Lugo"], [None, 30, "Vigo"], ["Marta Soto", 25, "Pola"]]
    assert told(people(rows), source) == []
    rows[0][1], rows[1][1] = rows[1][1], rows[0][1]
    assert told(people(rows), source) == [("E003", "$[0].age"), ("E003", "$[1].age")]


def test_a_name_with_the_values_of_another_record_is_reported() -> None:
    source = "2 x bench vice at 64.50\n1 x drill press at 1,049.00\n"
    value = [{"item": "bench vice", "qty": 1, "price": 1049}, {"item": "drill press", "qty": 2, "price": 64.5}]
    findings = PEOPLE.check(json.dumps(value), {"source": source}).findings
    assert [found.path for found in findings] == ["$[0].item", "$[1].item"]
    assert findings[0].message == (
        "Field \"$[0].item\": the source gives the other values of this record for 'drill press', not for 'bench vice'"
    )
