"""Conditions for CI: what they mean, what they refuse, and that they can do nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backtesting.making import contracts
from trueup.backtesting.backtest import backtest
from trueup.backtesting.conditions import BadCondition, Condition, CountAndShare
from trueup.backtesting.result import NAMES

FIGURES = {name: CountAndShare(None, None) for name in NAMES} | {
    "newly_refused": CountAndShare(7, 0.007), "newly_refused.high": CountAndShare(14.0, 0.014), "newly_accepted": CountAndShare(0, 0.0),
    "worse": CountAndShare(2, 0.5), "p": CountAndShare(None, 0.03), "cost": CountAndShare(None), "asks": CountAndShare(-3.5),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("newly_refused > 0.5%", True),
        ("newly_refused > 0.7 %", False),
        ("newly_refused >= 7", True),
        ("newly_refused > 7", False),
        ("newly_refused.high > 1%", True),
        ("newly_accepted == 0 and worse != 0", True),
        ("newly_accepted > 0 or worse > 1 and p < .05", True),
        ("(newly_accepted > 0 or worse > 1) and p < 0.01", False),
        ("not newly_accepted > 0", True),
        ("not (newly_accepted > 0 or p < 5%)", False),
        ("asks < -3", True),
        ("cost > 0", False),
        ("newly_refused<1_000", True),
    ],
)
def test_the_meaning_of_a_condition(text: str, holds: bool) -> None:
    assert Condition(text, NAMES).holds(FIGURES) is holds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the condition is empty"),
        ("refusals > 1", "unknown figure 'refusals'; the names are newly_refused, newly_accepted"),
        ("newly_refused", "newly_refused is compared with nothing"),
        ("newly_refused > ", "a number or a percentage is expected after newly_refused >"),
        ("newly_refused > x", "a number or a percentage is expected"),
        ("newly_refused > 1 newly_accepted > 1", "write `and` or `or` between two comparisons"),
        ("and newly_refused > 1", "a comparison is missing before and"),
        ("newly_refused > 1 and", "a comparison is missing at the end"),
        ("(newly_refused > 1", "a ( does not have a matching )"),
        ("newly_refused > 1)", "a ) does not have a matching ("),
        ("()", "a comparison is missing before )"),
        ("__import__('os') > 1", "is not understood"),
        ("newly_refused > 1; p", "is not understood"),
        ("1 > newly_refused", "a figure is expected at '1'"),
        ("p > 1 " * 400, "is too long"),
    ],
)
def test_an_invalid_condition_lists_the_names(text: str, says: str) -> None:
    with pytest.raises(BadCondition) as error:
        Condition(text, NAMES)
    assert says in str(error.value)


@given(
    st.lists(st.sampled_from("newly_refused p and or not ( ) > < = 1 5 % . - \n".split(" ")), max_size=12),
    st.text(max_size=5),
)
def test_any_text_is_a_condition_or_refused(words: list[str], more: str) -> None:
    try:
        Condition(" ".join([*words, more]), NAMES).holds(FIGURES)
    except BadCondition:
        pass


def test_a_backtest_has_every_figure() -> None:
    new, old = contracts()
    found = backtest(new, ['{"n": 5}'] * 3 + ['{"n": 20}'] * 97, against=old)
    assert set(found.figures()) == set(NAMES)
    assert found.fails("newly_refused > 2.9%")
    assert found.fails("newly_refused == 3 and total == 100 and difference > 2%")
    assert not found.fails("newly_refused.low > 3%")
    assert Condition("cost > 1 or p < 1", NAMES).unknown(found.figures()) == ["cost"]
