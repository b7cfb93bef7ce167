"""Reading takes time in proportion to the text, for any repeated text at any place.

Every token is tried after some starts and under some contracts here, and in all combinations by `make soak`.
"""

import pytest

from tests.effort import SOAK
from tests.growth import assert_all_linear, each
from tests.shapes import calls, forms, tokens
from tests.shapes.shape import Shape

WAYS = len(tokens.STARTS) * len(tokens.CONTRACTS)
# A step that has no divisor in common with the number of ways visits all of them in turn.
SOME = [shape for at, shape in enumerate(tokens.REPEATED) if at % WAYS == (at // WAYS) * 5 % WAYS]


def test_some_tokens_are_tried_in_every_way() -> None:
    assert {shape.variant for shape in SOME} == {shape.variant for shape in tokens.REPEATED}
    assert {shape.name for shape in SOME} == {shape.name for shape in tokens.REPEATED}


@pytest.mark.spec("X2")
@each(tokens.REPEATED if SOAK else SOME)
def test_a_repeated_token_takes_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.spec("X2")
@each(tokens.runs(2_000 if SOAK else 20))
def test_a_repeated_run_of_tokens_takes_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.spec("X2")
@each([*calls.REPEATED, *calls.WITHOUT][:: 1 if SOAK else 3])
def test_marks_of_calls_are_read_in_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes, part=4)


@pytest.mark.spec("X2")
@each([*forms.FORMS, *forms.DEEPER, *forms.QUICK, *forms.FENCES, *forms.REMARKS])
def test_text_that_is_not_json_is_read_in_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes, part=4)


@pytest.mark.spec("X2")
@each([*forms.INDENTED, *forms.LISTS])
def test_brackets_are_repaired_in_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes, part=4)
