"""Rules and their messages take time in proportion to the data and to their own length."""

import pytest

from tests.growth import assert_all_linear, assert_at_most, each
from tests.shapes.expressions import NAMES, RULES, TEMPLATES
from tests.shapes.shape import Shape
from trueup import Contract
from trueup.expressions.errors import OverBudget
from trueup.expressions.language import compile_expression


@pytest.mark.spec("B7")
@each(RULES + NAMES + TEMPLATES)
def test_rules_and_messages_take_linear_time(shapes: list[Shape]) -> None:
    assert_all_linear(shapes)


@pytest.mark.spec("B7")
def test_an_honest_rule_over_ten_megabytes_is_within_the_budget() -> None:
    record = RULES[0].make(150_000)
    assert compile_expression("all(c.isalpha() or c == ' ' for c in name)").evaluate(record) is True
    with pytest.raises(OverBudget):
        compile_expression("not any(a == b for a in tags for b in allowed)").evaluate(record)


@pytest.mark.parametrize(
    ("source", "function"),
    [
        ("hp <= max_hp", lambda r: r["hp"] <= r["max_hp"]),
        (
            "wound_count == len([v for v in wounds.values() if v > 0])",
            lambda r: r["wound_count"] == len([v for v in r["wounds"].values() if v > 0]),
        ),
        ("'hp' in dir() and hp > 0", lambda r: "hp" in r and r["hp"] > 0),
    ],
)
def test_a_rule_costs_about_as_much_as_a_function(source: str, function: object) -> None:
    """There is no interpreter in between: the bench shows up to twice the time, not twenty times."""
    record = {"hp": 3, "max_hp": 9, "wound_count": 2, "wounds": {"arm": 1, "leg": 0, "head": 2, "hand": 0}}
    evaluate = compile_expression(source).evaluate
    assert_at_most(6, lambda: evaluate(record), lambda: function(record))  # type: ignore[operator]


def test_a_rule_adds_little_to_a_check() -> None:
    schema = {"type": "object", "properties": {"hp": {"type": "integer"}}}
    text = '{"hp": 3, "max_hp": 9}'
    plain, ruled = Contract(schema), Contract(schema, rules=["hp <= max_hp"])
    assert_at_most(6, lambda: ruled.check(text), lambda: plain.check(text))
