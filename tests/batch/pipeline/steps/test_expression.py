"""Values that an expression step feeds back into its own expressions stay bounded."""

import pytest

from trueup.batch.pipeline.steps.expression import ExpressionStep, UnitError


@pytest.mark.parametrize("source", ["[x, x]", "x + x", "x * x", "{'a': x, 'b': x}", "str(x) + str(x)"])
@pytest.mark.parametrize("start", ["'ab'", "[1]", "7"])
def test_a_value_that_doubles_in_each_iteration_ends_in_an_error(source: str, start: str) -> None:
    step = ExpressionStep("grow", {"init": {"x": start}, "expressions": {"x": source}, "loop_until": "len(str(x)) < 0"})
    with pytest.raises(UnitError):
        step.run({"unit_id": "u"})
