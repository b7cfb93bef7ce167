"""Findings from the fixes of a reply: grades that are not accepted, values that JSON cannot represent."""

import pytest

from trueup.checks.fixes import SPEAKING, remarks
from trueup.verdict.catalogue import FINDINGS, FIXES, GRADES, SPOKEN_FOR
from trueup.verdict.facts import fix

ALL = [fix(code, "$.a", (3, 9), "before", "after") for code in FIXES]


@pytest.mark.parametrize("accept", list(GRADES))
def test_only_a_fix_above_the_accepted_grade_is_refused(accept: str) -> None:
    refused = {found.data["fix"] for found in remarks(tuple(ALL), accept) if found.code == "G001"}
    assert refused == {
        code for code, kind in FIXES.items() if GRADES[kind.grade] > GRADES[accept] and code not in SPOKEN_FOR
    }


def test_a_refusal_says_what_was_fixed_where_and_which_rule_refuses_it() -> None:
    (found,) = remarks((fix("S028", "$.text", (10, 14), "abcd", ""),), "guess")
    assert (found.code, found.path, found.span, found.level) == ("G001", "$.text", (10, 14), "error")
    assert found.data == {"fix": "S028", "grade": "lossy", "accept": "guess"}
    assert "S028" in found.message
    assert "accepts fixes up to guess" in found.message
    assert "shorter" in found.hint, "a reply that was cut off is asked to be shorter, not to be better JSON"


@pytest.mark.parametrize(
    ("code", "said", "level"),
    [
        ("S032", "P003", "warning"),
        ("S033", "P004", "error"),
        ("S034", "P005", "error"),
        ("S035", "P006", "error"),
        ("S039", "P007", "error"),
    ],
)
@pytest.mark.parametrize("accept", list(GRADES))
def test_values_that_json_cannot_represent_are_always_reported(code: str, said: str, level: str, accept: str) -> None:
    found = list(remarks((fix(code, "$.n", (5, 8), "NaN", "null"),), accept))
    own = [f for f in found if f.code == said]
    assert len(own) == 1
    assert (own[0].path, own[0].span, own[0].level) == ("$.n", (5, 8), level)
    assert own[0].data == {"fix": code}
    assert own[0].hint
    if code in SPOKEN_FOR:
        assert len(found) == 1, "one fault, one error"


def test_messages_quote_at_most_a_little_of_the_reply() -> None:
    (found,) = remarks((fix("S034", "$", (0, 5000), "9" * 5000, "null"),), "lossy")
    assert "9" * 40 in found.message
    assert "9" * 41 not in found.message


def test_a_placeholder_in_the_reply_is_not_filled_in() -> None:
    (found,) = remarks((fix("S033", "$", (0, 8), "{before}", "null"),), "lossy")
    assert found.message == "{before} is not a JSON number"


def test_accepted_and_harmless_fixes_give_no_finding() -> None:
    quiet = tuple(one for one in ALL if one.code not in SPEAKING)
    assert list(remarks(quiet, "lossy")) == []
    assert list(remarks((), "none")) == []


def test_every_fix_with_a_finding_and_that_finding_are_in_the_catalogue() -> None:
    assert set(FIXES) >= SPEAKING
    assert {found.code for found in remarks(tuple(ALL), "none")} <= set(FINDINGS)
    assert {FIXES[code].grade for code in SPOKEN_FOR} == {"lossy"}
