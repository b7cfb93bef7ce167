"""Timing: the best of several rounds, in turns, and the equality of values."""

import gc

import pytest

from trueup.measure.timing import loops_for, race, same, timed


def test_the_shorter_work_has_the_smaller_figure() -> None:
    times = race({"short": lambda: sum(range(10)), "long": lambda: sum(range(5_000))}, rounds=3, target=0.001)
    assert 0 < times["short"] < times["long"]


def test_garbage_collection_resumes_afterwards_and_after_a_failure() -> None:
    race({"nothing": lambda: None}, rounds=1, target=0.0005)
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        race({"fails": lambda: 1 // 0}, rounds=1)
    assert gc.isenabled()


def test_long_work_is_run_once_in_a_round() -> None:
    assert loops_for(lambda: sum(range(200_000)), 0.0005) == 1
    assert loops_for(lambda: None, 0.001) > 100


def test_timed_gives_the_result_as_well() -> None:
    spent, value = timed(lambda: sorted([2, 1]))
    assert spent >= 0
    assert value == [1, 2]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [1], False),
        ("1", 1, False),
        (None, None, True),
        (None, False, False),
    ],
)
def test_same_is_equality_of_json(one: object, other: object, equal: bool) -> None:
    assert same(one, other) is equal
