"""The things that a number counts: a table of texts with true and false counts, and numbers that may count anything."""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.grounding.counting import counted_by, counts_other
from trueup.grounding.quantities.find import quantities

CASES = json.loads((Path(__file__).parent / "cases" / "counted.json").read_text("utf-8"))
EVERYTHING = Contract({"type": "object"}, grounded=True)


@pytest.mark.spec("E2")
@pytest.mark.parametrize(
    ("text", "true", "false"),
    [pytest.param(*row, id=f"{language}: {row[0][:40]}") for language in CASES for row in CASES[language]],
)
def test_a_number_grounds_what_it_counts(text: str, true: dict[str, Any], false: dict[str, Any]) -> None:
    grades = {
        said: {path: one.grade for path, one in EVERYTHING.check_value(values, {"source": text}).evidence.items()}
        for said, values in (("true", true), ("false", false))
    }
    assert set(grades["true"].values()) <= {"exact", "normalized"}, grades
    assert set(grades["false"].values()) == {"none"}, grades


def test_the_nearest_number_counts_the_same() -> None:
    verdict = EVERYTHING.check_value({"people": 3}, {"source": "3 nights for 4 people"})
    assert verdict.findings[0].data["nearest"] == "4"


@pytest.mark.parametrize("name", ["name", "price_per_night", "ticket_price", "roommate", "x", ""])
def test_other_names_count_nothing(name: str) -> None:
    assert not counted_by(name)


@pytest.mark.parametrize("text", ["5\tHS84", "5", "5 of them", "5, please", "人5"])
def test_a_number_that_does_not_say_what_it_counts_may_count_anything(text: str) -> None:
    assert not counts_other(frozenset({"people"}), quantities(text)[0], text)
