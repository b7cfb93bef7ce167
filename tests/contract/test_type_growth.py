"""Contracts of Python types take time in proportion to the reply, also to coerce and to locate fixes."""

import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from tests.growth import assert_linear
from trueup import Contract

pytestmark = pytest.mark.growth


class Line(BaseModel):
    n: int
    tags: list[str]
    amount: Annotated[int, Field(le=100)] = 1


ROWS: dict[str, dict[str, Any]] = {
    "clean": {"n": 3, "tags": ["a"]},
    "converted": {"n": "3", "tags": ["a"]},
    "coerced": {"n": "3", "tags": "a"},
    "renamed": {"N": 3, "tags": ["a"]},
    "refused": {"n": "x", "tags": 1, "amount": 101},
}


@pytest.mark.parametrize("kind", ROWS)
def test_a_list_of_models(kind: str) -> None:
    contract = Contract(list[Line])

    def judged(reply: str) -> None:
        verdict = contract.check(reply)
        assert verdict.ok == (kind != "refused")
        assert bool(verdict.fixes) == (kind != "clean")

    assert_linear(judged, lambda n: json.dumps([ROWS[kind]] * n), 2000)


def test_fixes_of_a_json_schema() -> None:
    contract = Contract({"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}})
    assert_linear(lambda reply: contract.check(reply).fixes, lambda n: json.dumps([{"n": "3"}] * n), 4000)


def test_a_mapping_that_msgspec_refuses() -> None:
    contract = Contract(dict[str, list[int]])
    assert_linear(
        lambda reply: contract.check(reply).errors,
        lambda n: json.dumps({**{f"k{i}": [i] for i in range(n)}, "last": ["x"]}),
        8000,
    )
