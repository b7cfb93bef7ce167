"""Reading expressions: operators and constants of other languages are recognized, and the message names the right one."""

import pytest

from trueup.expressions.errors import ExpressionError
from trueup.expressions.language import compile_expression

pytestmark = pytest.mark.spec("B7")


@pytest.mark.parametrize(
    ("source", "column", "meant"),
    [
        ("hp = 3", 4, "=="),
        ("hp=3", 3, "=="),
        ("len(items) = total", 12, "=="),
        ("hp === 3", 6, "=="),
        ("hp !== 3", 6, "!="),
        ("hp <> 3", 4, "!="),
        ("hp ≤ 3", 4, "<="),
        ("hp =< 3", 4, "<="),
        ("a && b", 4, "and"),
        ("a || b", 4, "or"),
        ("!a", 1, "not"),
        ("a AND b", 3, "and"),
        ("hp IN tags", 4, "in"),
        ("hp == “x”", 7, '"'),
        ("hp >", 5, ""),
        ("hp > 3 then", 8, ""),
    ],
)
def test_an_operator_of_another_language_gets_a_suggestion(source: str, column: int, meant: str) -> None:
    with pytest.raises(ExpressionError) as failure:
        compile_expression(source)
    assert (failure.value.column, failure.value.suggestion) == (column, meant)


@pytest.mark.parametrize(("word", "meant"), [("true", "True"), ("FALSE", "False"), ("null", "None"), ("nil", "None")])
def test_a_constant_of_another_language_gets_a_suggestion_unless_it_is_a_field(word: str, meant: str) -> None:
    rule = compile_expression(f"paid == {word}")
    with pytest.raises(ExpressionError, match=f"did you mean '{meant}'"):
        rule.evaluate({"paid": True})
    assert rule.evaluate({"paid": True, word: True}) is True
