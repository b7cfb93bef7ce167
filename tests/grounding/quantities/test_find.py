"""Numbers, amounts and measures are found in texts of many languages: one table of cases per language."""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup.grounding.quantities.find import canonical, quantities
from trueup.grounding.quantities.read import read_quantity
from trueup.grounding.quantities.units import equal

CASES = Path(__file__).parent / "cases"
LANGUAGES = sorted(path.stem for path in CASES.glob("??.json"))


def rows(name: str) -> list[Any]:
    return [pytest.param(row, id=row["text"][:50]) for row in json.loads((CASES / f"{name}.json").read_text("utf-8"))]


def said(text: str) -> set[tuple[str, str]]:
    return {(value, quantity.unit) for quantity in quantities(text) for value in quantity.values}


@pytest.mark.parametrize("row", [row for name in LANGUAGES for row in rows(name)])
def test_a_quantity_is_found_alone_and_inside_a_text(row: dict[str, str]) -> None:
    assert (row["value"], row["unit"]) in said(row["text"])
    assert (row["value"], row["unit"]) in said(f"({row['text']}).\n")
    assert any(equal(row["value"], row["unit"], quantity) for quantity in quantities(f"x: {row['text']}; y"))


def in_words(name: str) -> list[Any]:
    """Cases without figures: letters after figures are case-sensitive."""
    return [row for row in rows(name) if not any(c.isdigit() for c in row.values[0]["text"])]


@pytest.mark.parametrize("row", [row for name in ("en", "es", "de") for row in in_words(name)])
def test_capital_letters_change_nothing_in_words(row: dict[str, str]) -> None:
    assert (row["value"], row["unit"]) in said(row["text"].replace("ß", "ẞ").upper().replace("ẞ", "ß"))


@pytest.mark.parametrize("row", rows("notation"))
def test_a_notation_has_exactly_these_readings(row: dict[str, Any]) -> None:
    found = read_quantity(row["text"])
    assert found is not None
    assert [found.start, found.end] == [0, len(row["text"])]
    assert list(found.values) == row["values"]
    assert found.unit == row["unit"]


@pytest.mark.parametrize(
    "text", ["", "house", "5 apples", "A12", "05.03.2024", "1.2.3", "17:45", "from 3 to 5", "x" * 500, "-", "$"]
)
def test_other_strings_are_not_read_as_one_quantity(text: str) -> None:
    assert read_quantity(text) is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("05.03.2024", ["5", "3", "2024"]),
        ("1.2.3", ["1", "2", "3"]),
        ("17:45", ["17", "45"]),
        ("INV-2024-001", ["2024", "1"]),
        ("B2B and mp3", ["2", "3"]),
        ("1,2,3", ["1", "2", "3"]),
        ("3.5,4.25,7", ["3.5", "4.25", "7"]),
        ("2023-11-05", ["2023", "11", "5"]),
        ("pages 3–5", ["3", "5"]),
        ("+34 612 345 678", ["34612345678"]),
        ("text5 and notes¹²", ["5"]),
        ("192.168.1.10", ["192", "168", "1", "10"]),
        ("6'2", ["6", "2"]),
    ],
)
def test_lookalikes_are_read_in_parts(text: str, values: list[str]) -> None:
    assert [quantity.values[0] for quantity in quantities(text)] == values


def test_a_figure_with_a_space_may_be_two() -> None:
    assert [quantity.values[0] for quantity in quantities("room 12 345 guests")] == ["12", "12345", "345"]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("it was 1.5", "15", ""),
        ("it was 15", "1.5", ""),
        ("number 12345", "1234", ""),
        ("number 1234", "12345", ""),
        ("5 lb of flour", "5", "kg"),
        ("45 $", "45", "%"),
        ("45 %", "45", "USD"),
        ("5 USD", "5", "EUR"),
        ("5 kg", "5", "km"),
        ("20 °C", "20", "°F"),
        ("-5 °C", "5", "°C"),
        ("1.5 million", "1.5", ""),
        ("1,234,567", "567", ""),
        ("4.2B", "42", ""),
        ("zweihundertvier", "200", ""),
        ("three hundred and five", "300", ""),
        ("三百二十", "300", ""),
        ("3億5000万", "3", ""),
        ("2 h 30 min", "230", "min"),
        ("the invoice is due on Monday", "2", ""),
        ("he did it once for all of us", "11", ""),
        ("a second of silence and 5 kg of salt", "5", "g"),
    ],
)
def test_values_that_the_text_does_not_state_are_not_found(text: str, value: str, unit: str) -> None:
    assert not any(equal(value, unit, quantity) for quantity in quantities(text))


def test_words_are_marked() -> None:
    assert [quantity.words for quantity in quantities("one of 5, sei, 三百 and 3万")] == [True, False, True, False]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("1234.50", "1234.5"),
        (4.2e9, "4200000000"),
        (-0.0, "0"),
        (1e22, "10000000000000000000000"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (-3, "-3"),
        (True, "1"),
        ("-007.10", "-7.1"),
        ("+5", "5"),
        ("4.2E9", "4200000000"),
        ("9" * 5000, "9" * 5000),
        (float("inf"), "inf"),
    ],
)
def test_canonical_numbers(number: int | float | str, expected: str) -> None:
    assert canonical(number) == expected


def test_canonical_integers_of_any_size() -> None:
    assert canonical(10**5000) == "1" + "0" * 5000


@pytest.mark.parametrize("text", ["", "-", "abc", "1e999999999", "1..2", "--1", "1e5000"])
def test_canonical_refuses_other_text(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        canonical(text)
