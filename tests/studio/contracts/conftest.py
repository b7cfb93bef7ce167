"""Folders of contracts and stores of judged replies, for the tests of the Contracts and Tune views."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.store.conftest import database, pytest_generate_tests, server
from trueup.contract.lint.run import load_contract
from trueup.store.labels import Said
from trueup.store.open import open_store

__all__ = ["database", "pytest_generate_tests", "server"]

SHOP = """# What a shop says about an order.
name: shop
schema:
  type: object
  required: [total]
  properties:
    total: {type: number, minimum: 0}   # in euros
rules:
  - name: small
    expr: total < 100
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder `contracts` with one contract in it."""
    made = tmp_path / "contracts"
    made.mkdir()
    (made / "shop.yaml").write_text(SHOP, encoding="utf-8")
    return made


Fill = Callable[..., str]


@pytest.fixture
def filled(tmp_path: Path) -> Fill:
    """A function that judges replies by a contract file and stores them; labels say whether a reply should pass."""

    def fill(
        file: Path, replies: Iterable[tuple[Any, bool | None]], *, url: str = "", start: int = 0, **known: Any
    ) -> str:  # fmt: skip
        contract = load_contract(file)
        context = known.pop("context", {})
        where = url or str(tmp_path / "verdicts.db")
        with open_store(where, keep_context=True) as store:
            said = []
            for number, (reply, should) in enumerate(replies, start):
                text = reply if isinstance(reply, str) else json.dumps(reply)
                verdict = contract.check(text, context)
                store.record_verdict(
                    verdict, id=f"v{number}", context=context, wait=False,
                    **{"contract": contract, "model": f"m{number % 2}", "tenant": f"t{number % 2}", **known},
                )  # fmt: skip
                if should is not None:
                    said.append(Said(f"v{number}", user="ada", outcome="right" if verdict.ok is should else "wrong"))
            store.flush()
            if said:
                store.record_all(said)
        return where

    return fill
