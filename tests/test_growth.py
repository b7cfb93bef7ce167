"""The helper that compares growth distinguishes quadratic from linear time on any machine, and reports its measurements."""

import pytest

from tests import waiting
from tests.growth import assert_at_most, assert_linear
from tests.waiting import wait_for


def spin(steps: int) -> int:
    return sum(1 for _ in range(steps))


def test_linear_work_passes() -> None:
    assert_linear(spin, int, 200_000)
    assert_linear(sorted, lambda n: [(7919 * i) % n for i in range(n)], 100_000)  # n log n is near enough


def test_quadratic_work_fails_and_says_where() -> None:
    with pytest.raises(
        AssertionError, match=r"\d\d\.\d times the CPU time, where at most 8 is expected: squares \d+ → \d+"
    ):
        assert_linear(lambda n: spin(n * n), int, 800, what="squares")


def test_work_that_changes_its_method_is_judged_by_the_size_beyond() -> None:
    assert_linear(lambda n: spin(n if n < 200_000 else 5 * n // 2), int, 400_000)


def test_work_that_is_over_at_once_passes() -> None:
    assert_linear(lambda text: text[:1], lambda n: "x" * n, 1000)


def test_a_cost_that_depends_on_something_else_fails() -> None:
    assert_at_most(3, lambda: spin(1000), lambda: spin(1000))
    with pytest.raises(AssertionError, match="where at most 3 is expected"):
        assert_at_most(3, lambda: spin(10_000), lambda: spin(1000))


def test_waiting_ends_with_the_condition_or_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = iter([0, 0, 7])
    assert wait_for(lambda: next(seen)) == 7
    monkeypatch.setattr(waiting, "LOOKS", 3)
    with pytest.raises(AssertionError, match="the door never opened"):
        wait_for(lambda: False, "the door never opened")
