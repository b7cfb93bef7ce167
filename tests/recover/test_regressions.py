"""Texts that once broke a law, against every law, so that repaired faults do not return."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recover.laws import LAWS
from tests.recover.material import CONTRACTS
from trueup import Contract

TEXTS: list[str] = json.loads((Path(__file__).parents[1] / "data" / "known.json").read_text("utf-8"))
NAMES = ["any", "person", "lossy", "eager", "strict", "people", "scalar", "flat"]


def test_no_text_occurs_twice() -> None:
    assert len(TEXTS) == len(set(TEXTS))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_known_text_satisfies_every_law(text: str, law: Callable[[Contract, str], None]) -> None:
    for name in NAMES:
        law(CONTRACTS[name], text)
