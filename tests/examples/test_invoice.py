"""The grounded example: the studio's sample, and that each of its values must be in its source."""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.studio.demo.samples import samples

SAMPLE = next(sample for sample in samples() if sample.name == "evidence")


@pytest.fixture
def contract(root: Path) -> Contract[Any]:
    return Contract.load(root / "examples" / "contracts" / "invoice.yaml")


def codes(contract: Contract[Any], reply: str, source: str) -> list[str]:
    return [f"{found.code} {found.path}" for found in contract.check(reply, {"source": source}).findings]


def test_only_the_swapped_digits_are_refused(contract: Contract[Any]) -> None:
    assert codes(contract, SAMPLE.reply, SAMPLE.source) == ["E001 $.total"]
    assert codes(contract, SAMPLE.reply.replace("1187", "1178"), SAMPLE.source) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", "2024-811"),
        ("supplier", "Southwind Tools"),
        ("date", "2024-05-03"),
        ("due_days", 60),
        ("reference", "contract"),
    ],
)
def test_another_value_is_not_in_the_invoice(contract: Contract[Any], field: str, value: Any) -> None:
    reply = json.loads(SAMPLE.reply) | {"total": 1178, field: value}
    assert codes(contract, json.dumps(reply), SAMPLE.source) == [f"E001 $.{field}"]


def test_the_evidence_quotes_the_invoice(contract: Contract[Any]) -> None:
    evidence = contract.check(SAMPLE.reply, {"source": SAMPLE.source}).evidence
    assert evidence["$.due_days"].places[0].text == "thirty days"
    assert evidence["$.reference"].places[0].text == "Your order"
    assert evidence["$.total"].nearest is not None
    assert evidence["$.total"].nearest.text == "GBP 1,178.00"
