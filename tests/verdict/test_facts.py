"""Facts as JSON: fixes and findings carry their names, the verdict its certainty; what was written before still reads back."""

import json
from typing import Any

import pytest

from trueup import Contract, Fix, Verdict
from trueup.store.records import _quick
from trueup.verdict.catalogue import FINDINGS, FIXES
from trueup.verdict.events import Checked, checked
from trueup.verdict.facts import finding, fix
from trueup.watch.lines import fields_of

CONTRACT = Contract({"properties": {"n": {"type": "integer"}, "m": {"type": "integer"}}})
BROKEN = '```json\n{"n": "5", "m": "x",}\n```'


def without(names: set[str], data: Any) -> Any:
    """The same data with some keys left out, at every depth."""
    if isinstance(data, dict):
        return {key: without(names, part) for key, part in data.items() if key not in names}
    return [without(names, part) for part in data] if isinstance(data, list) else data


def test_fixes_and_findings_have_their_names_in_json() -> None:
    told = CONTRACT.check(BROKEN).to_dict()
    names = [(fact["code"], fact["name"]) for fact in told["fixes"]]
    assert names == [("W001", "code-fence"), ("C001", "to-integer"), ("S001", "trailing-comma"), ("W001", "code-fence")]
    assert [(fact["code"], fact["name"]) for fact in told["findings"]] == [("V001", "wrong-type")]
    assert list(told["fixes"][1])[:3] == ["code", "name", "grade"]


@pytest.mark.parametrize("code", sorted(FIXES))
def test_each_fix_reads_back_from_its_json(code: str) -> None:
    one = fix(code, "$.a", (1, 2), "b", "c")
    assert one.to_dict()["name"] == FIXES[code].name
    verdict = Verdict("text", None, fixes=(one,))
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))).fixes == (one,)


@pytest.mark.parametrize("code", sorted(FINDINGS))
def test_each_finding_has_its_name(code: str) -> None:
    assert finding(code, "$", "wrong").to_dict()["name"] == FINDINGS[code].name


def test_a_fix_of_another_version_is_named_by_its_code() -> None:
    unknown = Fix("Z999", "guess", "$", None, "", "")
    assert (unknown.name, unknown.title, unknown.to_dict()["name"]) == ("z999", "", "z999")


def test_calls_that_were_refused_have_named_findings() -> None:
    def add(a: int) -> None: ...

    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "add", "arguments": {"a": "x"}}}]}
    verdict = Contract(tools=[add]).check(call)
    (refused,) = verdict.to_dict()["refused"]
    assert refused["findings"][0]["name"] == "wrong-type"
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_json_from_an_older_version_can_be_read() -> None:
    verdict = CONTRACT.check(BROKEN)
    older = without({"name", "certainty"}, verdict.to_dict())
    assert Verdict.from_dict(older) == verdict


def test_the_store_writes_the_result_of_to_dict() -> None:
    verdict = CONTRACT.check(BROKEN)
    written, told = json.loads(_quick(verdict)), json.loads(json.dumps(verdict.to_dict()))
    assert written == {**told, "reply": written["reply"]}


@pytest.mark.spec("C1")
@pytest.mark.parametrize(("reply", "certainty"), [("{}", 1.0), ('{"n": "x"}', 0.8), ('{"n": "x", "m": "y"}', 0.9)])
def test_certainty_rates_the_judgement_and_confidence_is_its_former_name(reply: str, certainty: float) -> None:
    verdict = CONTRACT.check(reply)
    assert verdict.certainty == certainty
    told = verdict.to_dict()
    assert (told["certainty"], told["confidence"]) == (certainty, certainty)
    with pytest.warns(
        DeprecationWarning, match=r"Verdict\.confidence is deprecated since 0\.2; use Verdict\.certainty"
    ) as seen:
        assert verdict.confidence == certainty
    assert seen[0].filename == __file__


def test_an_event_has_the_certainty_under_both_names() -> None:
    event = checked(CONTRACT.check(BROKEN))
    assert (event.to_dict()["certainty"], event.to_dict()["confidence"]) == (0.8, 0.8)
    assert (fields_of(event)["certainty"], fields_of(event)["confidence"]) == (0.8, 0.8)
    with pytest.warns(DeprecationWarning, match=r"use Checked\.certainty") as seen:
        assert Checked(certainty=0.8).confidence == 0.8
    assert seen[0].filename == __file__
