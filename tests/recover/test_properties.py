"""Properties of every text: valid JSON is unchanged, every change is named, twice is the same as once, nothing is raised."""

import copy
import json
import re
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.recover import laws
from tests.recover.material import (
    CONTRACTS,
    PERSON,
    PLAIN,
    SAMPLES,
    chunks,
    json_values,
    mutated,
    same,
    soups,
    texts,
    written,
)
from trueup import Contract, Reply

ANY = CONTRACTS["any"]
SCHEMATIC = sorted(set(CONTRACTS) - {"reply"})
# These are the central promises, so they are tried four times as often as the profile says.
often = settings(max_examples=4 * settings.default.max_examples)  # type: ignore[attr-defined]


def shape_of(value: Any) -> Any:
    """The schema with only the types and keys of a value."""
    if isinstance(value, dict):
        fields = {key: shape_of(inner) for key, inner in value.items()}
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    if isinstance(value, list):
        items = {"items": {"anyOf": [shape_of(inner) for inner in value]}} if value else {}
        return {"type": "array", **items}
    names = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": names[type(value)]}


@pytest.mark.spec("X3")
@often
@given(written())
def test_valid_json_is_not_changed(case: tuple[Any, str]) -> None:
    value, text = case
    verdict = ANY.check(text)
    assert same(verdict.data, value)
    assert verdict.fixes == ()
    assert verdict.findings == ()


@often
@given(written(), st.sampled_from(["off", "standard", "eager"]))
def test_valid_json_that_fits_its_schema_is_not_changed(case: tuple[Any, str], profile: Any) -> None:
    value, text = case
    verdict = Contract(shape_of(value), accept="none", coerce=profile, strict=True).check(text)
    assert same(verdict.data, value)
    assert verdict.fixes == ()
    assert verdict.findings == ()


@often
@given(st.lists(st.sampled_from("[{"), min_size=1, max_size=500), json_values)
def test_nesting_up_to_the_limit_is_not_changed(openers: list[str], leaf: Any) -> None:
    value: Any = "leaf" if isinstance(leaf, dict | list) else leaf
    for opener in openers:
        value = [value] if opener == "[" else {"k": value}
    verdict = ANY.check(json.dumps(value))
    assert json.dumps(verdict.data) == json.dumps(value)
    assert verdict.fixes == ()
    assert verdict.ok


@often
@given(texts, st.sampled_from(["any", "lossy", "people"]))
def test_a_value_is_changed_exactly_if_there_are_fixes(text: str, name: str) -> None:
    laws.changed_means_fixes(CONTRACTS[name], text)


@pytest.mark.spec("X44")
@often
@given(mutated(PLAIN, SAMPLES), st.sampled_from(["any", "lossy"]))
def test_everything_that_is_dropped_is_in_the_span_of_a_fix(text: str, name: str) -> None:
    laws.drops_are_covered(CONTRACTS[name], text)


@often
@given(st.lists(st.integers(100, 999), min_size=2, max_size=12), st.data())
def test_no_item_of_a_list_is_dropped_silently(numbers: list[int], data: st.DataObject) -> None:
    text = json.dumps(numbers)
    signs = [",", "\n", " ", "]", "[", "...", "// x\n", ",,", ";", ")"]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(1, len(text) - 1))
        text = text[:at] + data.draw(st.sampled_from(signs)) + text[at:]
    verdict = ANY.check(text)
    assume(verdict.data is not None)
    kept = Counter(re.findall(r"\d+", json.dumps(verdict.data)))
    spans = [fix.span for fix in verdict.fixes if fix.span]
    outside = Counter(
        word[0]
        for word in re.finditer(r"\d+", text)
        if not any(start < word.end() and word.start() < stop for start, stop in spans)
    )
    assert outside <= kept


@often
@given(texts, st.sampled_from(SCHEMATIC))
def test_fixing_twice_is_fixing_once(text: str, name: str) -> None:
    laws.twice_is_once(CONTRACTS[name], text)


@pytest.mark.spec("B1")
@often
@given(texts, st.sampled_from(sorted(CONTRACTS)))
def test_no_text_raises_and_the_received_text_is_kept(text: str, name: str) -> None:
    laws.well_formed(CONTRACTS[name], text)


@often
@given(
    st.one_of(
        st.binary(max_size=60),
        soups.map(lambda text: text.encode("utf-16", "surrogatepass")),
        texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    )
)
def test_no_bytes_raise(raw: bytes) -> None:
    for contract in CONTRACTS.values():
        verdict = contract.check(raw)
        json.dumps(verdict.to_dict())
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            assert not verdict.ok
        else:
            assert verdict == contract.check(text)


@often
@given(texts)
def test_inputs_are_not_changed(text: str) -> None:
    schema = copy.deepcopy(PERSON)
    context = {"state": "X", "data": {"name": ["Ada"]}}
    raw = bytearray(text.encode("utf-8", "replace"))
    reply = Reply(text=text, usage={"total": 3}, raw={"text": [text]})
    before = copy.deepcopy((schema, context, raw, reply))
    contract = Contract(schema, accept="lossy", coerce="eager")
    for handed in (text, raw, reply):
        contract.check(handed, context=context).to_dict()
    assert (schema, context, raw, reply) == before


@pytest.mark.spec("A2")
@often
@given(texts, st.randoms(use_true_random=False), st.sampled_from(SCHEMATIC))
def test_the_order_of_candidates_does_not_matter(text: str, random: Random, name: str) -> None:
    laws.order_is_irrelevant(CONTRACTS[name], text, random.shuffle)


@often
@given(texts, st.sampled_from(["any", "person", "lossy", "people"]))
def test_the_fast_path_reads_the_same_as_the_tolerant_reader(text: str, name: str) -> None:
    laws.quick_is_slow(CONTRACTS[name], text)


@pytest.mark.spec("A15")
@often
@given(chunks(texts), st.sampled_from(sorted(CONTRACTS)))
def test_a_stream_equals_the_whole(case: tuple[str, list[str]], name: str) -> None:
    laws.stream_is_whole(CONTRACTS[name], *case)
