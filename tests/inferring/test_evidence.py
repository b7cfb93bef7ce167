"""Evidence: merged parts equal the whole, and memory is bounded."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.growth import assert_linear
from tests.inferring.generated import schema
from trueup.inferring.draft import draft
from trueup.inferring.evidence import MAX_KEYS, MAX_PLACES, Budget, ObservedPlace, observe
from trueup.inferring.infer import infer
from trueup.inferring.strictness import NEEDS

values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-9, 9), st.floats(0, 1), st.sampled_from(["a", "b", "2026-01-01", ""])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["type", "a", "b", "c"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def evidence(seen: list[Any]) -> ObservedPlace:
    place = ObservedPlace(Budget())
    for value in seen:
        observe(place, value)
    return place


@given(st.lists(values, max_size=12), st.integers(0, 12))
def test_merged_parts_give_the_same_draft_as_the_whole(seen: list[Any], at: int) -> None:
    merged = ObservedPlace(Budget())
    merged.merge(evidence(seen[:at]))
    merged.merge(evidence(seen[at:]))
    for needs in NEEDS.values():
        assert draft(merged, needs) == draft(evidence(seen), needs)


@given(st.lists(values, max_size=8))
def test_values_are_not_changed(seen: list[Any]) -> None:
    import copy

    before = copy.deepcopy(seen)
    evidence(seen)
    assert repr(seen) == repr(before)


def test_keys_without_end_take_bounded_memory() -> None:
    place = ObservedPlace(Budget())
    rng = random.Random(0)
    for _ in range(300):
        observe(place, {f"{rng.random()}": {f"{rng.random()}": {f"{rng.random()}": 1}} for _ in range(10)})
    assert len(place.members) <= MAX_KEYS
    assert place.rest is not None
    budget = Budget(100)
    small = ObservedPlace(budget)
    for _ in range(100):
        observe(small, {f"{rng.random()}": {f"{rng.random()}": 1}})
    assert len(small.members) <= 100 < MAX_PLACES
    assert draft(small, NEEDS["standard"]).schema["additionalProperties"]["type"] == "object"


def test_time_grows_with_the_number_of_replies() -> None:
    part = schema(random.Random(5))

    def make(count: int) -> list[str]:
        import json

        rng = random.Random(6)
        return [json.dumps(part.make(rng)) if rng.random() < 0.9 else f"Sure: {part.make(rng)}" for _ in range(count)]

    assert_linear(infer, make, 800, what="infer")
