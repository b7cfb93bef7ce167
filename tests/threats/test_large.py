"""A large reply of any kind takes time in proportion to its length, and so does a megabyte of a hostile shape.

`bench/large.py` prints how long ten megabytes of each take.
"""

import pytest

from tests.effort import SOAK
from tests.growth import assert_all_linear, each
from tests.shapes import large, tokens
from tests.shapes.shape import Shape


@pytest.mark.spec("X2")
@each(tokens.HOSTILE)
def test_a_megabyte_of_a_hostile_shape_takes_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.spec("X2", "X11")
@each(large.shapes(10_000_000) if SOAK else large.shapes(300_000, "text and calls", "an object"))
def test_a_large_reply_takes_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)
