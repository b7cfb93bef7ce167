"""Real replies from a small model (SmolLM2-135M-Instruct, tests/data/smollm2.jsonl) to prompts for one schema.

The expected values are found without trueup: every object that the standard library can decode anywhere in a reply and
that the schema accepts unchanged.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from trueup import Contract

ROWS = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "smollm2.jsonl").read_text("utf-8").splitlines()
]


def objects(text: str) -> list[Any]:
    """Every object in a text, in order; objects inside another decoded object are left out."""
    decoder = json.JSONDecoder()
    found = []
    at = text.find("{")
    while at >= 0:
        try:
            value, stop = decoder.raw_decode(text, at)
        except ValueError:
            stop = at + 1
        else:
            found.append(value)
        at = text.find("{", stop)
    return found


def valid(row: dict[str, Any]) -> list[Any]:
    return [value for value in objects(row["reply"]) if jsonschema_rs.is_valid(row["schema"], value)]


def test_the_material_has_replies_of_both_kinds() -> None:
    assert len(ROWS) == 60
    assert sum(bool(valid(row)) for row in ROWS) >= 20
    assert sum(not valid(row) for row in ROWS) >= 20


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS if valid(row)])
def test_a_reply_that_contains_a_valid_object_yields_it(row: dict[str, Any]) -> None:
    verdict = Contract(row["schema"]).check(row["reply"])
    assert verdict.ok, verdict.findings
    assert verdict.data == valid(row)[-1], "of different equals the last"


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS if not valid(row)])
def test_a_reply_without_a_valid_object_never_silently_yields_one(row: dict[str, Any]) -> None:
    verdict = Contract(row["schema"]).check(row["reply"])
    if not verdict.ok:
        assert verdict.errors
        return
    inside = {fix.code for fix in verdict.fixes if fix.code[0] in "SFC" or fix.code in ("W007", "W008", "W009", "W012")}
    assert inside, "the value was changed, and no fix says how"
    assert jsonschema_rs.is_valid(row["schema"], verdict.data)
    words = " ".join(row["reply"].split()).lower()
    for text in [verdict.data["name"], str(verdict.data["age"]), *verdict.data["tags"], verdict.data["mood"]]:
        assert " ".join(text.split()).lower() in words, "a value that the reply does not hold"


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS])
def test_nothing_is_ok_under_a_contract_that_accepts_no_fix_but_plain_json(row: dict[str, Any]) -> None:
    verdict = Contract(row["schema"], accept="none").check(row["reply"])
    try:
        plain = json.loads(row["reply"])
    except ValueError:
        plain = None
    assert verdict.ok == (plain is not None and jsonschema_rs.is_valid(row["schema"], plain))
