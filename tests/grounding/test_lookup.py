"""Lookups: tables of cases in several languages, found and not found, and properties of any text."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup import Contract, Verdict

CASES = Path(__file__).parent / "cases"
EVERYTHING = Contract({"type": "object"}, grounded=True)


def table(name: str) -> list[Any]:
    rows = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    return [
        pytest.param(*row, id=f"{language}: {row[0][:40]} / {row[1]}") for language in rows for row in rows[language]
    ]


def grade(source: Any, value: Any, **context: Any) -> str:
    verdict = EVERYTHING.check(json.dumps({"x": value}), {"source": source, **context})
    return verdict.evidence["$.x"].grade


@pytest.mark.spec("E1", "E2")
@pytest.mark.parametrize(("source", "value", "expected"), table("found"))
def test_values_in_the_source_are_found(source: str, value: Any, expected: str) -> None:
    assert grade(source, value) == expected


@pytest.mark.spec("E2")
@pytest.mark.parametrize(("source", "value"), table("absent"))
def test_values_missing_from_the_source_are_reported(source: str, value: Any) -> None:
    verdict = EVERYTHING.check(json.dumps({"x": value}), {"source": source})
    assert verdict.evidence["$.x"].grade == "none"
    assert [(found.code, found.path) for found in verdict.findings] == [("E001", "$.x")]
    assert not verdict.ok


@pytest.mark.spec("E1")
def test_the_nearest_evidence_is_named() -> None:
    verdict = EVERYTHING.check('{"accuracy": 0.81}', {"source": {"paper": "Accuracy was 0.78, up from 0.5."}})
    nearest = verdict.evidence["$.accuracy"].nearest
    assert nearest is not None
    assert (nearest.document, nearest.text) == ("paper", "0.78")
    assert verdict.findings[0].data["nearest"] == "0.78"
    assert "0.78" in verdict.hint


@pytest.mark.parametrize("value", [True, False, None, "", "yes", "n/a", [], {}, "没有"])
@pytest.mark.spec("E6")
def test_values_that_no_text_can_show_are_not_checkable(value: Any) -> None:
    assert grade("Something else entirely.", value) == "not checkable"


@pytest.mark.spec("E6")
def test_an_enum_is_checked_only_if_it_is_there_or_has_patterns() -> None:
    schema = {"type": "object", "properties": {"mood": {"enum": ["good", "bad"]}}}
    context = {"source": "I am delighted, all good."}
    assert Contract(schema, grounded=True).check('{"mood": "good"}', context).evidence["$.mood"].grade == "exact"
    assert Contract(schema, grounded=True).check('{"mood": "bad"}', context).evidence["$.mood"].grade == "not checkable"
    shown = Contract(schema, grounded={"patterns": {"mood": {"good": ["delighted"], "bad": ["/sad|angry/"]}}})
    assert shown.check('{"mood": "good"}', context).ok
    assert [found.code for found in shown.check('{"mood": "bad"}', context).errors] == ["E001"]
    assert shown.check('{"mood": "bad"}', {"source": "I am ANGRY."}).ok


def test_a_relative_date_needs_a_day_to_count_from() -> None:
    source = "Can we meet next Friday?"
    assert grade(source, "2026-03-06") == "not checkable"
    assert grade(source, "2026-03-06", today="2026-03-02") == "normalized"
    assert grade(source, "2026-03-05", today="2026-03-02") == "none"


def test_field_names_may_contain_units() -> None:
    verdict = EVERYTHING.check(
        '{"length_minutes": 90, "weight_kg": 2}', {"source": "It takes 1.5 hours and weighs 2000 g."}
    )
    assert verdict.ok
    assert [evidence.grade for evidence in verdict.evidence.values()] == ["normalized", "normalized"]


def test_least_sets_the_weakest_evidence_that_counts() -> None:
    strict = Contract({"type": "object"}, grounded={"least": "exact"})
    assert strict.check('{"n": "Ana"}', {"source": "Ana called"}).ok
    assert not strict.check('{"n": "ANA"}', {"source": "Ana called"}).ok


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_value_and_any_source_give_a_verdict(value: str, source: str) -> None:
    value, source = (text.encode("utf-8", "ignore").decode() for text in (value, source))
    verdict = EVERYTHING.check_value({"x": value}, {"source": source + "."})
    for evidence in verdict.evidence.values():
        for place in evidence.places:
            start, end = place.span
            assert 0 <= start <= end <= len(source) + 1
            assert place.text == (source + ".")[start:end] or place.text.endswith("…")


@given(st.lists(st.from_regex(r"[A-Z][a-z]{3,9}", fullmatch=True), min_size=1, max_size=4, unique=True))
def test_words_of_the_source_are_always_found(words: list[str]) -> None:
    value = " ".join(words)
    assert grade(f"It says {value} here.", value) == "exact"
    assert grade(f"It says {value.upper()} here.", value) in ("exact", "normalized")


@given(st.integers(0, 10**15), st.integers(1, 10**6))
def test_another_number_is_never_found(number: int, more: int) -> None:
    assert grade(f"The number is {number:,} units.", number) in ("exact", "normalized")
    assert grade(f"The number is {number} units.", number + more * 7) == "none"


def test_evidence_survives_json_and_another_process() -> None:
    import pickle

    verdict = EVERYTHING.check('{"n": "Ana", "m": 3}', {"source": "Ana called"})
    again = Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))
    assert again.evidence == verdict.evidence
    assert pickle.loads(pickle.dumps(verdict)).evidence == verdict.evidence
    assert "evidence" not in Contract({"type": "object"}).check("{}").to_dict()


def test_an_address_is_found_each_time_it_is_looked_up() -> None:
    for _ in range(3):
        assert grade("All is at https://heron.org/rooms.", "https://heron.org/rooms") == "exact"
