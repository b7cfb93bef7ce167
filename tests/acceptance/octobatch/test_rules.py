"""Phase 2: every kind of rule, with the examples and thresholds of the document, through `trueup rules`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.octobatch.reading import lines, rows
from tests.cli.running import Run

GOOD = {"personality_consistency": 0.6, "mood_responsiveness": 0.4, "tone": "warm"}


def judge(run: Run, **fields: Any) -> tuple[str, list[dict[str, Any]]]:
    """The result of the NPC pipeline's rules for a unit: its line, or its faults."""
    unit = {"unit_id": "u", **GOOD, **fields}
    ran = run("rules", "npc/config.yaml", "--step", "score", "--log", "log.txt", stdin=lines(unit))
    return ran.out, [error for record in rows(ran.err) for error in record["errors"]]


HOLDS: list[dict[str, Any]] = [
    {}, {"tone": "MYSTERIOUS"}, {"tone": "Nervous"}, {"score": 1}, {"score": 10}, {"probability": 0.0}, {"probability": 1.0}, {"score": 5.5},
    {"reasoning": "because", "items": [], "details": {}, "final": False},
    {"personality_consistency": 0.6},  # the threshold itself
    {"wounds": {"arm": 1, "leg": 0}, "wound_count": 1}, {"wounds": {"arm": 1}}, {"wound_count": 3},  # no wounds: skipped
]  # fmt: skip


@pytest.mark.spec("B6", "B7")
@pytest.mark.parametrize("fields", HOLDS, ids=map(str, HOLDS))
def test_a_unit_that_keeps_the_rules_is_passed_through_as_it_is(run: Run, folder: Path, fields: dict[str, Any]) -> None:
    out, errors = judge(run, **fields)
    assert not errors
    assert out == lines({"unit_id": "u", **GOOD, **fields})


BREAKS: list[tuple[dict[str, Any], str, str]] = [
    ({"tone": None}, "$.tone", "required"),
    ({"personality_consistency": None}, "$.personality_consistency", "required"),
    ({"score": "7"}, "$.score", "types"),
    ({"reasoning": 1}, "$.reasoning", "types"),
    ({"items": {}}, "$.items", "types"),
    ({"details": []}, "$.details", "types"),
    ({"final": "yes"}, "$.final", "types"),
    ({"score": True}, "$.score", "types"),
    ({"tone": "jolly"}, "$.tone", "enums"),
    ({"score": 0.99}, "$.score", "ranges"),
    ({"score": 10.01}, "$.score", "ranges"),
    ({"probability": 1.01}, "$.probability", "ranges"),
    ({"probability": -0.01}, "$.probability", "ranges"),
    ({"personality_consistency": 0.59}, "$.personality_consistency", "personality_threshold"),
    ({"wounds": {"arm": 1, "leg": 2}, "wound_count": 1}, "$.wound_count", "wound_count_check"),
]


@pytest.mark.spec("B6", "B8", "B10")
@pytest.mark.parametrize(("fields", "path", "rule"), BREAKS, ids=[f"{rule}-{row}" for row, _, rule in BREAKS])
def test_a_broken_rule_fails_the_unit_with_path_and_rule(
    run: Run, folder: Path, fields: dict[str, Any], path: str, rule: str
) -> None:
    out, errors = judge(run, **fields)
    assert out == ""
    error = next(error for error in errors if error["rule"] == rule)
    assert error["path"] == path
    assert error["message"]


def test_messages_are_filled_in(run: Run, folder: Path) -> None:
    _, (error,) = judge(run, personality_consistency=0.5)
    assert error["message"] == "Personality consistency 0.5 is below threshold 0.6"
    _, (error,) = judge(run, wounds={"arm": 1}, wound_count=4)
    assert error["message"] == "wound_count 4 doesn't match actual non-zero wounds"


def test_a_warning_passes_the_unit_and_is_logged(run: Run, folder: Path) -> None:
    out, errors = judge(run, mood_responsiveness=0.39)
    assert (json.loads(out)["unit_id"], errors) == ("u", [])
    said = (folder / "log.txt").read_text("utf-8")
    assert said == "[WARN] u: B005 $.mood_responsiveness Low mood responsiveness: 0.39\n"


def test_a_condition_on_a_field_that_is_not_there_skips_the_rule(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("rules: [{name: hurt, expr: 'False', when: wounds > 1, error: no}]")
    ran = run("rules", "r.yaml", "--log", "log.txt", stdin=lines({"unit_id": "a"}))
    assert (ran.code, ran.out) == (0, lines({"unit_id": "a"}))
    assert "[WARN] a: B007 $ hurt was skipped" in (tmp_path / "log.txt").read_text("utf-8")  # not silently


def test_fields_of_earlier_steps_can_be_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("rules: [{name: cap, expr: hp <= max_hp, error: '{hp} of {max_hp}'}]")
    ran = run("rules", "r.yaml", stdin=lines({"unit_id": "a", "max_hp": 9, "hp": 10}))
    assert rows(ran.err)[0]["errors"][0]["message"] == "10 of 9"


DIALECT = [
    "a < b <= 3 != 4", "(a + b * 2 - 1) / 2 // 1 % 5 ** 1 == 2", "[x * 2 for x in xs if x > 1] == [4, 6]", "{x for x in xs} == set(xs)",
    "{k: v for k, v in d.items()}['p'] == 1", "sum(x for x in xs) == 6", "any(x > 2 for x in xs)", "all(x > 0 for x in xs)",
    "len(xs) == 3", "min(xs) == 1 and max(xs) == 3", "sorted([3, 1]) == [1, 3]", "round(2.6) == 3 and abs(-2) == 2", "str(a) == '1'",
    "int('2') == b", "float('1.5') > a", "bool(xs) is True", "sum(d.values()) == 3", "list(d.keys()) == ['p', 'q']", "d.get('z', 7) == 7",
    "s.lower().strip().startswith('he')", "'a' in dir() and 'zz' not in dir()",
]  # fmt: skip
FORBIDDEN = ["__import__('os')", "open('x')", "s.__class__", "(lambda: 1)()", "exec('1')", "globals()"]


@pytest.mark.spec("B7")
def test_the_dialect_of_the_document(run: Run, tmp_path: Path) -> None:
    """Every construct that the requirement names passes, and each fails when it is negated."""
    unit = {"unit_id": "a", "a": 1, "b": 2, "xs": [1, 2, 3], "d": {"p": 1, "q": 2}, "s": " Hello "}
    rules = [{"name": f"r{n}", "expr": source} for n, source in enumerate(DIALECT)]
    (tmp_path / "r.json").write_text(json.dumps({"rules": rules}))
    assert run("rules", "r.json", stdin=lines(unit)) == (0, lines(unit), "")
    (tmp_path / "r.json").write_text(
        json.dumps({"rules": [{**rule, "expr": f"not ({rule['expr']})"} for rule in rules]})
    )
    (failed,) = rows(run("rules", "r.json", stdin=lines(unit)).err)
    assert [error["rule"] for error in failed["errors"]] == [rule["name"] for rule in rules]


@pytest.mark.spec("B7")
@pytest.mark.parametrize("source", FORBIDDEN)
def test_an_expression_can_reach_only_the_units_data(run: Run, tmp_path: Path, source: str) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"rules": [{"name": "r", "expr": source}]}))
    ran = run("rules", "r.json", stdin=lines({"unit_id": "a", "s": "x"}))
    assert (ran.code, ran.out) == (2, ""), "refused before anything is judged"
    assert ran.err.startswith("trueup: r.json: rules[0].expr: ")


@pytest.mark.spec("B7")
def test_fields_with_the_names_of_functions_affect_no_other_unit(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"rules": [{"name": "r", "expr": "max(xs) == 3", "error": "no"}]}))
    units = [
        {"unit_id": "a", "xs": [1, 3]},
        {"unit_id": "b", "xs": [1, 3], "max": 5, "len": 0, "xs2": []},
        {"unit_id": "c", "xs": [1, 3], "_x": 9},
        {"unit_id": "d", "xs": [3]},
    ]
    assert run("rules", "r.json", stdin=lines(*units)) == (0, lines(*units), "")


@pytest.mark.spec("B7")
@pytest.mark.parametrize("source", ["0", "''", "[]", "None", "a / 0", "missing > 1", "xs[9]"])
def test_falsy_results_and_errors_fail_the_rule(run: Run, tmp_path: Path, source: str) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"rules": [{"name": "r", "expr": source, "error": "no"}]}))
    ran = run("rules", "r.json", stdin=lines({"unit_id": "a", "a": 1, "xs": []}))
    (failed,) = rows(ran.err)
    assert (ran.code, ran.out, failed["failure_stage"]) == (1, "", "validation")
    assert [error["rule"] for error in failed["errors"]] == ["r"]


MESSAGES = [
    ("{a}", "1"), ("{d.p}", "2"), ("{xs[0]}", "7"), ("{d.deep[1].k}", "v"), ("{unknown} stays", "{unknown} stays"),
    ("{_computed}", "3"), ("{a.__class__}", "{a.__class__}"), ("{d.get}", "{d.get}"), ("{a!r:>9}", "{a!r:>9}"),
]  # fmt: skip


@pytest.mark.spec("B8")
@pytest.mark.parametrize(("text", "said"), MESSAGES, ids=[text for text, _ in MESSAGES])
def test_messages_interpolate_data_and_nothing_else(run: Run, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"rules": [{"name": "r", "expr": "a + 2 > 5", "error": text}]}))
    unit = {"unit_id": "u", "a": 1, "d": {"p": 2, "deep": [0, {"k": "v"}]}, "xs": [7]}
    (failed,) = rows(run("rules", "r.json", stdin=lines(unit)).err)
    assert failed["errors"][0]["message"] == said
