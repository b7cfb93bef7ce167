"""Business rules: every sentence of B6 and B8, and the messages for a contract's author."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from trueup import Contract, Finding
from trueup.checks.problems import BadRules
from trueup.checks.rules import compile_rules

ROOT = Path(__file__).resolve().parents[2]


def found(spec: Any, record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in compile_rules(spec).check(record)]


def only(spec: Any, record: dict[str, Any]) -> Finding:
    (one,) = compile_rules(spec).check(record)
    return one


@pytest.mark.spec("B6")
def test_required_means_present_and_not_null_and_ends_the_check() -> None:
    spec = {"required": ["a", "b"], "ranges": {"c": [0, 1]}, "rules": ["c < 0"]}
    assert found(spec, {"a": None, "c": 7}) == [("B001", "$.a"), ("B001", "$.b")]
    assert found(spec, {"a": 0, "b": "", "c": 7}) == [("B003", "$.c"), ("B005", "$.c")]


TYPES: list[tuple[str, list[Any], list[Any]]] = [
    ("string", ["", "5"], [5, True, [], {}]),
    ("number", [5, 5.5, -1], ["5", True, False, [], {}]),
    ("integer", [5, 5.0, 10**30], [5.5, "5", True]),
    ("float", [5.5, 5], ["5.5", True]),
    ("boolean", [True, False], [0, 1, "true"]),
    ("object", [{}, {"a": 1}], [[], "x", 1]),
    ("dict", [{}], [[]]),
    ("array", [[], [1]], [{}, "x"]),
    ("list", [[]], [{}]),
]


@pytest.mark.spec("B6")
@pytest.mark.parametrize(("name", "good", "bad"), TYPES, ids=[row[0] for row in TYPES])
def test_types_are_checked(name: str, good: list[Any], bad: list[Any]) -> None:
    rules = compile_rules({"types": {"x": name}})
    assert not [value for value in good if rules.check({"x": value})]
    assert not rules.check({})
    assert not rules.check({"x": None})
    for value in bad:
        (one,) = rules.check({"x": value})
        assert (one.code, one.path, one.data["rule"], one.data["type"]) == ("B002", "$.x", "types", name)
        assert "; expected " in one.message


@pytest.mark.spec("B6")
def test_ranges_include_both_ends_and_true_and_numeric_text_are_not_numbers() -> None:
    rules = compile_rules({"ranges": {"x": [1, 10]}})
    assert not [x for x in (1, 10, 5.5, 1.0) if rules.check({"x": x})]
    odd: list[Any] = [0, 11, 0.999, 10.001, True, "5", [], float("nan")]
    assert all(rules.check({"x": x}) for x in odd)
    assert only({"ranges": {"x": [None, 3]}}, {"x": 4}).message == "x is 4; expected a number up to 3"
    assert only({"ranges": {"x": [3, None]}}, {"x": 2}).message == "x is 2; expected a number from 3"
    assert only({"ranges": {"x": {"min": 3, "max": 4}}}, {"x": True}).data["range"] == [3, 4]


@pytest.mark.spec("B6")
def test_enums_ignore_case() -> None:
    spec = {"enums": {"tone": ["warm", "cold", "Straße"], "n": [1, 2, True, None]}}
    assert found(spec, {"tone": "WARM", "n": 2.0}) == []
    assert found(spec, {"tone": "STRASSE", "n": True}) == []
    assert found(spec, {"tone": "warm ", "n": "1"}) == [("B004", "$.tone"), ("B004", "$.n")]
    assert found({"enums": {"n": [1, 0]}}, {"n": True}) == [("B004", "$.n")]
    assert found(spec, {"tone": ["warm"], "n": {}}) == [("B004", "$.tone"), ("B004", "$.n")]
    assert "'warm' is the nearest" in only(spec, {"tone": "warn"}).hint


@pytest.mark.parametrize("name", ["..", "$.", "[]"])
def test_a_name_of_dots_and_brackets_alone_is_a_name(name: str) -> None:
    assert compile_rules({"required": [name]}).names == {name}
    assert (found({"required": [name]}, {name: 1}), found({"required": [name]}, {"a": 1})) == ([], [("B001", "$")])


WOUNDS = {
    "name": "wound_count_check",
    "expr": "wound_count == len([v for v in wounds.values() if v > 0])",
    "error": "wound_count {wound_count} doesn't match {wounds}",
    "level": "error",
    "when": "'wounds' in dir() and 'wound_count' in dir()",
}


@pytest.mark.spec("B6", "B7")
def test_the_wound_count_rule() -> None:
    assert found([WOUNDS], {"wound_count": 1, "wounds": {"arm": 2, "leg": 0}}) == []
    assert found([WOUNDS], {"wound_count": 1}) == []
    one = only([WOUNDS], {"wound_count": 3, "wounds": {"arm": 2}})
    assert (one.code, one.level, one.message) == ("B005", "error", 'wound_count 3 doesn\'t match {"arm":2}')
    assert one.data == {"rule": "wound_count_check", "expr": WOUNDS["expr"], "computed": 3}


@pytest.mark.spec("B6")
def test_a_warning_does_not_fail_a_reply_but_strict_makes_it_an_error() -> None:
    rules = [{"name": "mood", "expr": "mood >= 0.4", "error": "low: {mood}", "level": "warning"}]
    verdict = Contract(True, rules=rules).check('{"mood": 0.1}')
    assert verdict.ok
    assert [str(one) for one in verdict.warnings] == ["B005 $.mood: low: 0.1"]
    assert not Contract(True, rules=rules, strict=True).check('{"mood": 0.1}').ok


@pytest.mark.spec("B7")
@pytest.mark.parametrize("value", [False, 0, 0.0, "", [], {}, None])
def test_any_falsy_result_fails_a_rule(value: Any) -> None:
    assert found([{"name": "r", "expr": "x"}], {"x": value}) == [("B005", "$.x")]


@pytest.mark.spec("B7")
def test_an_error_fails_the_rule_at_the_rule_s_own_level() -> None:
    one = only([{"name": "alive", "expr": "hp <= max_ph", "level": "warning"}], {"hp": 3, "max_hp": 9})
    assert (one.code, one.level) == ("B006", "warning")
    assert one.message == "alive cannot be evaluated: there is no field 'max_ph' (column 7); did you mean 'max_hp'?"
    assert one.data == {"rule": "alive", "expr": "hp <= max_ph", "reason": "there is no field 'max_ph'", "column": 7}
    assert only(["9**9**x"], {"x": 9}).level == "error"


@pytest.mark.spec("B7")
def test_an_error_in_when_skips_the_rule_with_a_warning() -> None:
    one = only([{"name": "alive", "expr": "hp > 0", "when": "kind == 'hero'"}], {"hp": 0})
    assert (one.code, one.level, one.data["rule"]) == ("B007", "warning", "alive")
    assert "there is no field 'kind'" in one.message


@pytest.mark.spec("B7")
def test_a_field_with_the_name_of_a_function_affects_only_its_own_unit() -> None:
    rules = compile_rules(["len(items) <= max([limit, 1])"])
    assert not rules.check({"items": [1], "limit": 1, "max": "x", "len": 5, "_x": 1, "dir": None})
    assert not rules.check({"items": [1], "limit": 1})


@pytest.mark.spec("B8")
def test_computed_is_the_left_side() -> None:
    rule = {"name": "total", "expr": "sum(i.price for i in items) == total", "error": "{_computed}, not {total} {x}"}
    one = only([rule], {"items": [{"price": 2}, {"price": 3}], "total": 6})
    assert one.message == "5, not 6 {x}"
    assert one.data["computed"] == 5
    assert one.path == "$.items"


def test_a_rule_without_a_message_says_which_condition_failed() -> None:
    assert only(["hp <= max_hp"], {"hp": 3, "max_hp": 1}).message == "hp <= max_hp does not hold"
    assert only([{"name": "alive", "expr": "hp > 5"}], {"hp": 3}).message == "alive does not hold: hp > 5"


def test_paths_reach_into_the_data_and_a_key_with_that_name_comes_first() -> None:
    spec = {"required": ["a.b[0]"], "types": {"a.b[0].c": "string"}, "ranges": {"x.y": [0, 1]}}
    assert found(spec, {"a": {"b": []}}) == [("B001", "$.a.b[0]")]
    assert found(spec, {"a": {"b": [{"c": 5}]}, "x.y": 3, "x": {"y": 0}}) == [("B002", "$.a.b[0].c"), ("B003", "$.x.y")]


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "tone"]),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), st.lists, max_leaves=4),
    )
)
def test_any_record_is_judged_and_none_is_changed(record: dict[str, Any]) -> None:
    rules = compile_rules(
        {
            "required": ["a"],
            "types": {"a": "number"},
            "ranges": {"b": [0, 1]},
            "enums": {"tone": ["x"]},
            "rules": ["a < b", {"name": "w", "expr": "a", "when": "b > tone"}],
        }
    )
    before = copy.deepcopy(record)
    once = rules.check(record)
    assert record == before
    assert rules.check(record) == once


BAD: list[tuple[Any, list[tuple[tuple[str | int, ...], str]]]] = [
    ("hp > 0", [((), "rules must be a list")]),
    ({"requird": ["a"]}, [(("requird",), "unknown key 'requird'")]),
    ({"required": "a"}, [(("required",), "list of field names")]),
    ({"required": [1]}, [(("required", 0), "text")]),
    ({"types": {"a": "strin"}}, [(("types", "a"), "unknown type")]),
    ({"types": ["a"]}, [(("types",), "mapping")]),
    ({"ranges": {"a": [2, 1]}}, [(("ranges", "a"), "from 2 to 1")]),
    ({"ranges": {"a": [None, None]}}, [(("ranges", "a"), "at least one bound")]),
    ({"ranges": {"a": ["1", 2]}}, [(("ranges", "a"), "numbers or null")]),
    ({"ranges": {"a": 3}}, [(("ranges", "a"), "[lowest, highest]")]),
    ({"enums": {"a": []}}, [(("enums", "a"), "list of values")]),
    ({"enums": {"a": [{}]}}, [(("enums", "a"), "texts")]),
    ({"rules": {}}, []),
    ({"rules": "x"}, [(("rules",), "a list")]),
    ([3], [(("rules", 0), "a rule must be a mapping")]),
    ([{"name": "x"}], [(("rules", 0), "has an expr")]),
    ([{"expr": True}], [(("rules", 0, "expr"), "text"), (("rules", 0, "name"), "text")]),
    ([{"expr": "1 +"}], [(("rules", 0, "expr"), "not a valid expression")]),
    ([{"expr": "1", "wen": "1"}], [(("rules", 0, "wen"), "unknown key")]),
    ([{"expr": "1", "when": "lenn(x)"}], [(("rules", 0, "when"), "no function")]),
    ([{"expr": "1", "level": "fatal"}], [(("rules", 0, "level"), "error or warning")]),
    ([{"expr": "1", "error": 3}], [(("rules", 0, "error"), "text")]),
    ([{"expr": "1", "name": " "}], [(("rules", 0, "name"), "text")]),
    (["1", "1"], [(("rules",), "2 rules are named '1'")]),
    ({"budget": 0}, [(("budget",), "steps")]),
]


@pytest.mark.spec("B6")
@pytest.mark.parametrize(("spec", "problems"), BAD, ids=[str(row[0]) for row in BAD])
def test_all_mistakes_in_rules_are_reported_together(
    spec: Any, problems: list[tuple[tuple[str | int, ...], str]]
) -> None:
    if not problems:
        assert compile_rules(spec).check({}) == []
        return
    with pytest.raises(BadRules) as caught:
        compile_rules(spec)
    assert [problem.where for problem in caught.value.problems] == [where for where, _ in problems]
    for problem, (_, said) in zip(caught.value.problems, problems, strict=True):
        assert said in problem.message


def test_problems_have_columns_and_suggestions() -> None:
    with pytest.raises(BadRules) as caught:
        compile_rules({"type": {}, "rules": [{"name": "a", "expr": "hp + lenn(x)"}]})
    key, call = caught.value.problems
    assert (key.suggestion, call.column, call.suggestion) == ("types", 6, "len")
    assert str(caught.value) == (
        "type: unknown key 'type'; the keys are required, types, ranges, enums, rules, budget; did you mean 'types'?"
        "; rules[0].expr: there is no function 'lenn' (column 6); did you mean 'len'?"
    )


def test_rules_may_get_a_larger_budget() -> None:
    rule = "sum(1 for a in range(1000) for b in range(1000)) > 0"
    assert found([rule], {}) == [("B006", "$")]
    assert found({"budget": 5_000_000, "rules": [rule]}, {}) == []


def test_compiled_rules_are_taken_as_they_are() -> None:
    rules = compile_rules(["a"])
    assert compile_rules(rules) is rules


GOOD_HERO = {"name": "Ada", "hp": 3, "max_hp": 9, "wound_count": 1, "wounds": {"arm": 2, "leg": 0}, "mood": "Warm"}


@pytest.mark.spec("B6")
@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({}, []),
        ({"hp": 12}, ["B005"]),
        ({"wound_count": 2}, ["B005"]),
        ({"hp": 0, "wounds": {}, "wound_count": 0}, ["B005"]),
        ({"mood": "sad"}, ["B004"]),
        ({"hp": -1}, ["B003"]),
        ({"mood_responsiveness": 0.1}, ["B005"]),
        ({"personality_consistency": 0.5}, ["B005"]),
        ({"wounds": None, "wound_count": None}, ["V001", "V001"]),
    ],
)
def test_the_shipped_contract(change: dict[str, Any], codes: list[str]) -> None:
    source = YAML(typ="safe").load((ROOT / "examples/contracts/wounds.yaml").read_text("utf-8"))
    contract = Contract(source["schema"], rules=source["rules"], coerce="off")
    verdict = contract.check_value({**GOOD_HERO, **change})
    assert [one.code for one in verdict.findings] == codes
    assert verdict.ok == (not codes or change == {"mood_responsiveness": 0.1})


@pytest.mark.spec("B6")
def test_an_enum_is_met_by_a_decomposed_form() -> None:
    rules = compile_rules({"enums": {"place": ["CAFÉ", "bar"]}})
    assert rules.check({"place": "cafe\u0301"}) == []
    assert [found.code for found in rules.check({"place": "cafe"})] == ["B004"]
