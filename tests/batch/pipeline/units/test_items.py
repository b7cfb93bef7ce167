"""Units made from items, and their seeds: as the format says, with unique ids for any names."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.batch.pipeline.units.items import ItemsError, make_units
from trueup.batch.pipeline.units.seeds import Dice, base_seed, step_seed

CARDS = [{"name": "The Fool"}, {"name": "The Sun/Moon"}, {"name": "Strength"}]


def ids(processing: dict[str, Any], data: Any, most: int | None = None) -> list[str]:
    return [unit["unit_id"] for unit in make_units(processing, data, most)]


@pytest.mark.spec("B16")
def test_permutations_are_without_replacement_and_in_order() -> None:
    processing = {"positions": [{"name": "past"}, "future"], "items": {"key": "cards", "name_field": "name"}}
    assert ids(processing, {"cards": CARDS}) == [
        "The_Fool-The_Sun-Moon", "The_Fool-Strength", "The_Sun-Moon-The_Fool",
        "The_Sun-Moon-Strength", "Strength-The_Fool", "Strength-The_Sun-Moon",
    ]  # fmt: skip
    unit = next(iter(make_units(processing, {"cards": CARDS})))
    assert unit["past"] == CARDS[0]
    assert unit["future"] == CARDS[1]


@pytest.mark.parametrize("repeat", [1, 2])
def test_very_large_numbers_of_units_can_be_requested(repeat: int) -> None:
    assert len(ids({"strategy": "direct", "repeat": repeat}, ["a", "b"], 10**30)) == 2 * repeat


def test_an_item_that_is_a_bare_name_has_no_other_fields() -> None:
    assert list(make_units({"strategy": "direct"}, ["a b", "c"])) == [
        {"unit_id": "a_b", "name": "a b"}, {"unit_id": "c", "name": "c"},
    ]  # fmt: skip
    paired = {"positions": ["left", "right"]}
    assert list(make_units(paired, ["a", "b"], 1)) == [{"unit_id": "a-b", "left": "a", "right": "b"}]


@pytest.mark.spec("B16")
def test_a_cross_product_takes_each_position_from_its_own_list() -> None:
    processing = {"strategy": "cross_product", "positions": [{"name": "npc", "source_key": "people"}, {"name": "mood"}]}
    data = {"people": [{"id": "smith"}, {"id": "elder"}], "moods": [{"id": "glad"}, {"id": "sad"}]}
    assert ids(processing, data) == ["smith-glad", "smith-sad", "elder-glad", "elder-sad"]


@pytest.mark.spec("B16")
def test_direct_units_are_their_items_and_repetitions_are_interleaved() -> None:
    processing = {"strategy": "direct", "repeat": 3, "items": {"name_field": "id"}}
    units = list(make_units(processing, [{"id": "a", "n": 1}, {"id": "b", "n": 2}], 4))
    assert [unit["unit_id"] for unit in units] == ["a__rep0000", "b__rep0000", "a__rep0001", "b__rep0001"]
    assert units[2] == {
        "unit_id": "a__rep0001", "id": "a", "n": 1, "_repetition_id": 1, "_repetition_seed": base_seed("a") + 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("processing", "data", "message"),
    [
        ({"strategy": "direct"}, [{"id": "a b"}, {"id": "a_b"}], "item 2 has the id 'a_b', like item 1"),
        ({"strategy": "direct"}, [{"x": 1}], "no 'name', 'id' or 'name'"),
        ({"strategy": "direct", "items": {"key": "k"}}, {"a": [], "b": []}, "does not have the key 'k'; it has a, b"),
        ({"strategy": "direct"}, {"a": [], "b": []}, "not a list"),
        ({"strategy": "direct"}, [1], "item 1 must be a mapping or a name, not int"),
        ({"strategy": "direct"}, ["a", ""], "an item has no 'name'"),
        ({"strategy": "shuffle"}, [], "strategy must be one of"),
        ({"strategy": "cross_product"}, {}, "needs positions"),
        (
            {"strategy": "cross_product", "positions": ["x"]},
            {"y": []},
            "takes its items from 'xs', which does not exist",
        ),
        ({"positions": ["a", "b"]}, [{"name": "x"}], "1 items cannot fill 2 positions"),
        ({"strategy": "direct", "repeat": 0}, [], "repeat must be a whole number"),
        ({"strategy": "direct"}, [{"id": "x" * 5000}], "5,000 characters"),
    ],
)
def test_items_that_cannot_become_units_are_refused_with_a_reason(processing: Any, data: Any, message: str) -> None:
    with pytest.raises(ItemsError) as refused:
        list(make_units(processing, data))
    assert message in str(refused.value)


@pytest.mark.spec("B16")
def test_seeds_follow_the_format() -> None:
    assert base_seed("start_at_5") == 1148893718
    assert base_seed("the_pro") == 1523599025
    assert step_seed({"unit_id": "a"}, "walk") == base_seed("awalk")
    assert step_seed({"unit_id": "a", "_repetition_seed": 7}, "walk") == 7


@given(st.integers(0, 2**31), st.lists(st.integers(), min_size=3, max_size=9))
def test_dice_give_the_same_numbers_as_cpython(seed: int, items: list[int]) -> None:
    dice, plain = Dice(seed), random.Random(seed)
    assert dice.choice(items) == plain.choice(items)
    assert dice.randint(1, 6) == plain.randint(1, 6)
    assert dice.random() == plain.random()
    assert dice.sample(items, 2) == plain.sample(items, 2)
    assert dice.gauss(0, 1) == plain.gauss(0, 1)
    before = list(items)
    dice.shuffle(items)
    assert items == before


@pytest.mark.spec("B16")
@pytest.mark.parametrize(
    ("processing", "data", "message"),
    [
        ({"strategy": "direct", "repeat": 11**29}, ["a", "b"], "2 items, 1,586,309,297,171,491,574,414,436,704,891 times make 3,172,618,594,342,983,148,828,873,409,782 units; the limit is 10,000,000"),
        ({"strategy": "direct", "repeat": 10**5000}, ["a"], "more than 10^60 units"),
        ({"positions": [f"p{n}" for n in range(30)]}, [str(n) for n in range(60)], "60 items in 30 positions make 31,370,"),
        ({"strategy": "cross_product", "positions": [f"p{n}" for n in range(12)]}, {f"p{n}s": list("abcdefghij") for n in range(12)}, "make 1,000,000,000,000 units"),
        ({"strategy": "direct", "unit_limit": 1}, ["a", "b"], "2 items make 2 units; the limit is 1"),
        ({"strategy": "direct", "unit_limit": "many"}, ["a"], "unit_limit must be a whole number"),
    ],
)  # fmt: skip
def test_too_many_units_are_refused_before_one_is_made(processing: Any, data: Any, message: str) -> None:
    with pytest.raises(ItemsError) as refused:
        make_units(processing, data)
    assert message in str(refused.value)


@pytest.mark.spec("B16")
def test_the_limit_can_be_raised_and_counts_only_requested_units() -> None:
    assert len(ids({"strategy": "direct", "repeat": 11**29}, ["a", "b"], 3)) == 3
    assert len(ids({"strategy": "direct", "unit_limit": 3, "repeat": 3}, ["a"])) == 3
