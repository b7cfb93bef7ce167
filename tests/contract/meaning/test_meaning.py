"""Further checks of a contract: when they run, what they see, and what they may refuse."""

import copy
from typing import Any

import pytest

from trueup import Contract, Finding, Reply, Verdict
from trueup.contract.meaning.meaning import Meaning, record
from trueup.contract.plugins import PlainCheck
from trueup.verdict.facts import finding

SCHEMA = {
    "type": "object",
    "properties": {"hp": {"type": "integer"}},
    "required": ["hp"],
    "additionalProperties": False,
}


def test_rules_see_the_coerced_values() -> None:
    verdict = Contract(SCHEMA, rules=["hp + 1 == 4"]).check('{"hp": "3"}')
    assert verdict.ok
    assert [fix.code for fix in verdict.fixes] == ["C001"]


def test_rules_run_only_if_the_structure_is_valid() -> None:
    contract = Contract(SCHEMA, rules=["hp > 5"])
    assert [one.code for one in contract.check('{"hp": "high"}').findings] == ["V001"]
    assert [one.code for one in contract.check("no data").findings] == ["P001"]
    assert [one.code for one in contract.check('{"hp": 3}').findings] == ["B005"]


@pytest.mark.spec("B9")
def test_rules_see_input_and_reply_and_the_schema_sees_the_reply_alone() -> None:
    contract = Contract(SCHEMA, rules=["hp <= max_hp", "unit_id == 'u1'"], input=["max_hp"])
    context = {"input": {"max_hp": 9, "unit_id": "u1", "hp": 100}}
    before = copy.deepcopy(context)
    assert contract.check('{"hp": 3}', context).ok
    assert [one.message for one in contract.check('{"hp": 10}', context).findings] == ["hp <= max_hp does not hold"]
    assert context == before


@pytest.mark.spec("B9")
@pytest.mark.parametrize("name", ["unit_id", "_metadata", "retry_count", "error", "_seed"])
def test_a_reply_does_not_override_fields_of_the_unit(name: str) -> None:
    contract = Contract(True, rules=[f"{name} == 'ours'"])
    assert contract.check(f'{{"{name}": "theirs"}}', {"input": {name: "ours"}}).ok
    assert not contract.check(f'{{"{name}": "theirs"}}', {"input": {"other": 1}}).ok


def test_a_reply_overrides_other_fields_of_the_input() -> None:
    merged = record({"hp": 3, "_note": "new"}, {"input": {"hp": 1, "name": "Ada"}})
    assert merged == {"hp": 3, "name": "Ada", "_note": "new"}


@pytest.mark.parametrize("given", [None, {}, {"input": None}, {"input": "text"}, {"input": {3: 4, "_x": 1}}])
def test_odd_input_never_raises(given: Any) -> None:
    assert Contract(True, rules=["hp == 3"]).check('{"hp": 3}', given).ok


def test_data_that_is_not_an_object_is_called_value() -> None:
    contract = Contract({"type": "array"}, rules=["len(value) <= limit"], input=["limit"])
    assert contract.check("[1, 2]", {"input": {"limit": 2}}).ok
    assert not contract.check("[1, 2, 3]", {"input": {"limit": 2}}).ok


def test_rules_without_a_schema_are_a_misuse() -> None:
    with pytest.raises(ValueError, match="give a schema as well"):
        Contract(rules=["a"])


def test_bad_rules_are_refused_when_the_contract_is_made() -> None:
    with pytest.raises(ValueError, match=r"rules\[0\].expr: not a valid expression"):
        Contract(True, rules=["a +"])


def test_values_are_judged_by_rules_too() -> None:
    contract = Contract(SCHEMA, rules=["hp <= max_hp"], input=["max_hp"])
    assert contract.check_value({"hp": 3}, {"input": {"max_hp": 3}}).ok
    assert [one.code for one in contract.check_value({"hp": 4}, {"input": {"max_hp": 3}}).findings] == ["B005"]


def test_every_way_in_leads_to_the_rules() -> None:
    contract = Contract(SCHEMA, rules=["hp > 5"])
    message = {"role": "assistant", "content": '{"hp": 3}'}
    for reply in ('{"hp": 3}', b'{"hp": 3}', message, [message], Reply(text='```json\n{"hp": 3,}\n```')):
        assert [one.code for one in contract.check(reply).findings] == ["B005"]
    stream = contract.stream()
    stream.feed('{"hp"')
    stream.feed(": 3}")
    assert [one.code for one in stream.finish().findings] == ["B005"]


def test_fixes_value_and_reply_come_through() -> None:
    contract = Contract(SCHEMA, rules=["hp > 5"])
    verdict = contract.check('```json\n{"hp": 3,}\n```')
    assert [fix.code for fix in verdict.fixes] == ["W001", "S001", "W001"]
    assert (verdict.data, verdict.value, verdict.reply.text[:7]) == ({"hp": 3}, None, "```json")
    assert verdict.hint == "hp > 5 does not hold"
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_an_error_at_a_call_refuses_that_call() -> None:
    def look(city: str) -> str:
        return city

    tools = Contract(tools=[look])
    text = '<tool_call>{"name": "look", "arguments": {"city": "Oslo"}}</tool_call>'
    verdict = tools.check(text + text.replace("Oslo", "Bergen"))
    assert len(verdict.calls) == 2
    said: Finding = finding("T008", "$.calls[1]", "not now")
    more = verdict.with_more([said], {"seen": 1})
    assert [call.args for call in more.calls] == [{"city": "Oslo"}]
    assert [refusal.call.args for refusal in more.refused] == [{"city": "Bergen"}]
    assert more.metrics == {"seen": 1}
    assert len(verdict.calls) == 2


def test_custom_checks_see_the_verdict_and_the_context() -> None:
    seen: list[Any] = []

    def check(verdict: Verdict, context: Any) -> list[Finding]:
        seen.append((verdict.data, context))
        return [finding("B005", "$", "no")]

    verdict = Meaning(checks=[PlainCheck(check)]).judge(Contract(True).check("[1]"), {"state": "X"})
    assert seen == [([1], {"state": "X"})]
    assert [one.message for one in verdict.findings] == ["no"]


def test_without_findings_the_verdict_is_unchanged() -> None:
    plain = Contract(True).check("[1]")
    assert Meaning().judge(plain, {}) is plain


def test_a_rule_over_a_list_is_placed_in_the_list() -> None:
    contract = Contract(True, rules=["len(value) > 2", "value[0].hp > 0"])
    verdict = contract.check('[{"hp": 0}]')
    assert [(found.code, found.path) for found in verdict.findings] == [("B005", "$"), ("B005", "$")]
