"""Values that the fast parser takes whole are the same as those that the tolerant reader reads step by step."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recover.material import same
from trueup import Contract
from trueup.recover.candidate import Candidate
from trueup.recover.json.clean import closed, exact
from trueup.recover.json.parser import Parser, ParseResult, TooDeep
from trueup.recover.json.scan import Scan

NONE: frozenset[str] = frozenset()
TEXTS = [
    "Ada",
    'a "b" c',
    r"C:\new",
    r"\frac{1}{2}",
    "line\nbreak",
    '", "',
    '"}, {"id": 3',
    "], [",
    "é",
    "```",
    r"\u0022",
    "",
]
SCALARS = st.one_of(st.sampled_from(TEXTS), st.integers(-(2**70), 2**70), st.floats(-9, 9), st.booleans(), st.none())
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(TEXTS), inner, max_size=3)
)
ITEMS = st.lists(st.dictionaries(st.sampled_from(["id", "name", "tags"]), VALUES, max_size=3) | VALUES, max_size=6)
FAULTS = ["", ",", "}", "]", "{", '"', " oops ", ', "note": "late"', '"id": 1, "id": 2', "1e400", r"\ud800", "NaN"]


def read(text: str, depth: int, spare: int) -> ParseResult | None:
    reader = Parser(text, 0, len(text), NONE, depth)
    reader.spare = spare
    try:
        return reader.read()
    except TooDeep:
        return None


def candidates_in(text: str, spare: int) -> list[tuple[Any, ...]]:
    scan = Scan(text, NONE, 500, words=False)
    scan.spare = spare

    def told(candidate: Candidate) -> tuple[Any, ...]:
        return json.dumps(candidate.value), candidate.spans, candidate.records, candidate.form

    return [told(candidate) for candidate in [*scan.candidates([(0, len(text))]), *scan.inner()]]


@given(ITEMS, st.sampled_from(FAULTS), st.floats(0, 1), st.booleans(), st.sampled_from([500, 260, 8]))
def test_items_taken_whole_equal_those_of_the_reader(
    items: list[Any], fault: str, where: float, cut: bool, depth: int
) -> None:
    text = json.dumps(items)
    at = int(where * len(text))
    text = f"{text[:at]}{fault}{text[at + cut :]}"
    if text[:1] != "[":
        return
    quick, slow = read(text, depth, 10_000), read(text, depth, 0)
    assert (quick is None) == (slow is None)
    if quick is not None and slow is not None:
        assert same(quick.value, slow.value)
        assert quick[1:] == slow[1:]


@given(ITEMS, st.sampled_from(FAULTS), st.floats(0, 1), st.sampled_from([", ", " and ", "\n", ""]))
def test_values_next_to_each_other_equal_those_of_the_reader(
    items: list[Any], fault: str, where: float, between: str
) -> None:
    text = between.join(json.dumps([item]) if isinstance(item, str) else json.dumps(item) for item in items)
    at = int(where * len(text))
    text = f"{text[:at]}{fault}{text[at:]}"
    assert candidates_in(text, 10_000) == candidates_in(text, 0)


def test_an_object_that_was_closed_too_soon_continues_even_if_it_was_taken_whole() -> None:
    text = '[{"id": 1, "name": "a"}, {"id": 2}, "name": "b"}]'
    quick, slow = read(text, 500, 1_000), read(text, 500, 0)
    assert quick is not None
    assert quick == slow
    assert quick.value == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


@pytest.mark.parametrize(
    "value",
    ['{"a": 1, "a": 2}', r'{"a": "\ud800"}', r'{"a": "C:\new"}', '{"a": 1e400}', '{"a": NaN}', '{"a": 1,}', '{"a": "b', "{" * 2000],
    ids=["key twice", "half pair", "path", "overflow", "NaN", "comma", "cut", "deep"],
)  # fmt: skip
def test_doubtful_text_is_left_to_the_reader(value: str) -> None:
    assert not exact(f"[{value}", 1, len(value) + 1)[0]


def test_a_fault_costs_no_more_than_its_distance() -> None:
    text = '[{"a": oops' + '"x", ' * 1_000_000
    assert closed(text, 1, len(text)) == (False, None, 1 + 1024)
    long = f'[{{"a": "{"x" * 100_000}"}}, oops'
    assert closed(long, 1, len(long))[::2] == (True, long.index(", oops"))


def test_a_long_list_without_its_end_is_read_item_by_item_if_one_item_is_wanted() -> None:
    record = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    text = json.dumps([{"id": number, "note": 'a "b"\n'} for number in range(500)])[:-1]
    verdict = Contract(record, accept="lossy").check(text)
    assert verdict.data == {"id": 499, "note": 'a "b"\n'}
    assert {fix.code for fix in verdict.fixes} >= {"W015"}
