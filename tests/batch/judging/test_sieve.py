"""The sieve: many lines judged together give the same as each line alone, in order and counted."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract
from trueup.batch.judging.sieve import MARK, Sieve

CONTRACT = Contract(
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}, "who": {"enum": ["a", "b"]}}, "required": ["n"]},
    rules=["n < 9"],
)  # fmt: skip
REPLIES = [
    '{"n": 1}', '{"n": "2"}', '{"n": 3,}', '```json\n{"n": 4}\n```', '{"n": "many"}', "I am sorry.", '{"n": 12}', '{"n": 5.0}',
    '{"n": 6, "who": "A"}', '{"n": 7, "n": 8}', "",
]  # fmt: skip
LINES = [
    *(json.dumps({"unit_id": f"u{n}", "input": {"x": n}, "raw_response": reply}).encode() for n, reply in enumerate(REPLIES)),
    b"", b"  \r", b"no JSON", b'{"unit_id": "v", "raw_response": "{}", "raw_response": "{}", "input": 1}', b"\xff",
    b'{"unit_id": "w", "input": null, "raw_response": "{\\"n\\": 1}"} ',
]  # fmt: skip


@given(lines=st.lists(st.sampled_from(LINES), max_size=12), marked=st.booleans())
def test_lines_judged_together_give_the_same_records_as_each_alone(lines: list[bytes], *, marked: bool) -> None:
    lines = [MARK + lines[0], *lines[1:]] if marked and lines else lines
    together, alone = _sieve(), _sieve()
    together.sift_lines(lines, 0, 0)
    offset = 0
    for ordinal, line in enumerate(lines):
        alone.sift(line, ordinal, offset)
        offset += len(line) + 1
    assert results_of(together) == results_of(alone)


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
def test_a_byte_order_mark_before_the_first_line_changes_nothing(lines: list[bytes]) -> None:
    plain, marked = _sieve(), _sieve()
    plain.sift_lines(lines[:1], 0, 0)
    marked.sift_lines([MARK + lines[0]], 0, 0)
    assert results_of(plain) == results_of(marked)


@pytest.mark.spec("B3", "B11")
@pytest.mark.parametrize("input_", ['{"x": 1, "x": 2}', '1, "input": 2', '[{"a": {"b": 1, "b": 1}}]'])
def test_no_value_of_a_line_is_lost_if_its_record_is_rewritten(input_: str) -> None:
    sieve = _sieve()
    sieve.sift(f'{{"unit_id": "u", "input": {input_}, "raw_response": "{{\\"n\\": 3,}}"}}'.encode(), 0, 0)
    assert sieve.take() == b""
    (record,) = map(json.loads, sieve.failed)
    assert [error["code"] for error in record["errors"]] == ["U002"]
    assert input_ in record["raw_response"]


def _sieve() -> Sieve:
    return Sieve(CONTRACT, "file.jsonl", max_line=1000)


def results_of(sieve: Sieve) -> tuple[Any, ...]:
    valid = sieve.take()
    return valid, sieve.failed, sorted(sieve.ids), sieve.counted().to_dict()
