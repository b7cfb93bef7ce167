"""Groups inside patterns: the meaning of references, and what is refused."""

from typing import Any

import pytest

from trueup.checks.dialogue import BadStates
from trueup.checks.fragments import Fragments
from trueup.checks.state import compile_states

GROUPS: dict[str, Any] = {
    "day": ["lunes", "sábado"],
    "booked": {"patterns": ["(?:confirm|reserv)ad[oa]"]},
    "soon": {"term": "mañana mismo", "pattern": "el {day}"},
    "share": {"terms": ["20 %"]},
}


def judged(pattern: str, text: str, **groups: Any) -> list[str]:
    states = compile_states({"S": {"forbid": [{"pattern": pattern}]}, "groups": {**GROUPS, **groups}})
    return [found for one in states.judge_text(text, "S") for found in one.data["found"]]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("{booked} el {day}", "Reservada el SABADO.", ["Reservada el SABADO"]),
        ("{booked} el {day}", "Reservada el sabadote.", []),
        ("{booked} {soon}", "confirmado el lunes", ["confirmado el lunes"]),
        ("{booked} {soon}", "confirmado mañana  mismo", []),
        ("{booked} {soon}", "confirmado mañana mismo", ["confirmado mañana mismo"]),
        (r"a{2} {day} \{day\}", "aa lunes {day}", ["aa lunes {day}"]),
        (r"\p{L}+ \x{41}na {day}", "con Ana lunes", ["con Ana lunes"]),
        ("{share} hoy", "20 % hoy", ["20 % hoy"]),
    ],
)
def test_a_reference_matches_any_of_its_group(pattern: str, text: str, found: list[str]) -> None:
    assert judged(pattern, text) == found


@pytest.mark.parametrize(
    ("pattern", "groups", "reason"),
    [
        ("{dai}", {}, r"there is no group 'dai'; did you mean 'day'; for plain braces write \\{dai\\}"),
        ("{a}", {"a": {"pattern": "x{b}"}, "b": {"pattern": "{a}y"}}, "the group 'b' refers to itself"),
    ],
)
def test_references_that_lead_nowhere_are_refused(pattern: str, groups: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadStates, match=reason):
        judged(pattern, "", **groups)


def test_a_pattern_that_grows_too_long_is_refused() -> None:
    groups = {f"g{n}": {"pattern": f"{{g{n + 1}}} " * 10} for n in range(8)} | {"g8": ["x"]}
    with pytest.raises(ValueError, match="more than 50000 characters"):
        Fragments(groups).written_out("{g0}")


def test_exceptions_may_have_references_too() -> None:
    rule = {"group": "day", "except": [{"within": "cerrado el {day}"}, {"pattern": "promo {booked}"}]}
    states = compile_states({"S": {"forbid": [rule]}, "groups": GROUPS})
    assert states.judge_text("Cerrado el lunes.", "S") == []
    assert states.judge_text("Promo reservada el lunes.", "S") == []
    assert len(states.judge_text("Ven el lunes.", "S")) == 1


def test_timed_patterns_may_have_references_too() -> None:
    pytest.importorskip("regex")
    spec = {"S": {"forbid": [{"pattern": "(?<=el ){day}", "timed": 0.5}]}, "groups": GROUPS}
    assert len(compile_states(spec).judge_text("Ven el lunes.", "S")) == 1
