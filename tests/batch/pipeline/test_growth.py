"""A run takes time in proportion to its units, and memory that does not grow with them."""

from bench.pipelines import measure
from tests.growth import assert_linear


def test_a_run_takes_linear_time() -> None:
    assert_linear(measure, lambda units: max(10, units), 1000)  # ten items, repeated this many times


def test_memory_does_not_grow_with_the_units() -> None:
    figures = measure(3000)
    assert figures["memory_most_mb"] - figures["memory_mb"] < 40
