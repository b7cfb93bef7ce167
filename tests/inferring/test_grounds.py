"""Fields to ground: proposed from replies with their sources, and only if the values are read from them."""

import json
import random
from typing import Any

import pytest

from trueup.inferring.infer import infer

NAMES = ["Ada Byron", "Luis Vega", "Ana Ruiz", "Grace Hopper", "Alan Kay", "Mary Shaw", "Tony Hoare", "John Backus"]


def units(number: int = 40, *, source: str = "source", wrong: float = 0.0) -> list[dict[str, Any]]:
    """Replies about mails, each with its mail. A share of the totals is wrong."""
    chance = random.Random(7)
    rows = []
    for at in range(number):
        name, total = chance.choice(NAMES), chance.randint(1000, 99_999) / 100
        prices = [chance.randint(100, 9999) / 100 for _ in range(2)]
        mail = (
            f"{name} orders a vice at {prices[0]:.2f} EUR and a saw at {prices[1]:.2f} EUR. In total {total:,.2f} EUR."
        )
        data = {
            "name": name, "total": total + 13.37 * (chance.random() < wrong), "urgent": chance.random() < 0.5,
            "kind": chance.choice(["order", "question"]), "summary": f"Somebody wants machinery for a workshop, mail {at}a",
            "lines": [{"price": price} for price in prices],
        }  # fmt: skip
        rows.append({"unit_id": str(at), "input": {source: mail}, "raw_response": json.dumps(data)})
    return rows


def messages(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "unit_id": row["unit_id"],
            "messages": [
                {"role": "system", "content": "Extract the order."},
                {"role": "user", "content": row["input"]["source"]},
                {"role": "assistant", "content": row["raw_response"]},
            ],
        }
        for row in rows
    ]


@pytest.fixture
def drafted(tmp_path: Any) -> Any:
    def draft(rows: list[dict[str, Any]]) -> Any:
        file = tmp_path / "units.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return infer(str(file))

    return draft


@pytest.mark.parametrize("given", ["source", "mail", "messages"])
def test_fields_that_are_read_are_proposed(drafted: Any, given: str) -> None:
    rows = messages(units()) if given == "messages" else units(source=given)
    found = drafted(rows)
    assert found.data["grounded"] == {"fields": ["name", "total", "lines[].price"], "level": "warning"}
    assert "total: 32 of 32 are in their source, 0 in another one" in found.evidence["$.grounded.fields[1]"]
    assert "# name: 32 of 32" in found.yaml
    assert not [fault for fault in found.faults() if fault.level == "error"]
    assert found.report.ok


def test_a_share_of_wrong_values_is_reported(drafted: Any) -> None:
    found = drafted(units(80, wrong=0.05))
    fields = found.data["grounded"]["fields"]
    note = found.evidence[f"$.grounded.fields[{fields.index('total')}]"]
    assert 0.8 * 64 <= int(note.split()[1]) < 64
    assert "name" not in fields  # in 80 replies, its few values make an enum
    assert found.report.ok  # it warns


def test_a_field_that_is_mostly_wrong_is_not_proposed(drafted: Any) -> None:
    assert "total" not in drafted(units(wrong=0.6)).data["grounded"]["fields"]


def test_fields_found_in_every_source_are_not_proposed(drafted: Any) -> None:
    rows = units()
    for row in rows:
        row["raw_response"] = json.dumps({**json.loads(row["raw_response"]), "currency": "EUR"})
    assert "currency" not in drafted(rows).data["grounded"]["fields"]


def test_without_sources_nothing_is_proposed(drafted: Any) -> None:
    rows = units()
    assert "grounded" not in drafted([{**row, "input": {}} for row in rows]).data
    assert "grounded" not in infer([row["raw_response"] for row in rows]).data
    assert "grounded" not in drafted([{**row, "input": row["input"] if at else {}} for at, row in enumerate(rows)]).data


def test_one_source_for_all_shows_nothing(drafted: Any) -> None:
    rows = units()
    every = "\n".join(row["input"]["source"] for row in rows)
    assert "grounded" not in drafted([{**row, "input": {"source": every}} for row in rows]).data
