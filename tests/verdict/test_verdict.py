"""A verdict's value: there when the reply is ok, None when it is refused; whatever was read stays in `data`."""

import copy
import pickle
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

from trueup import Contract, Rejected, Verdict
from trueup.verdict.facts import NO_FINDINGS, Findings, demoted, finding
from trueup.verdict.verdict import AS_DATA

FAULT = finding("V001", "$", "not a number", None, {}, "")
WARNING = demoted(FAULT)


class Person(BaseModel):
    name: str
    age: int = Field(ge=0)


def nothing(text: str) -> None:
    """A validator that makes None of every text."""


@pytest.mark.parametrize(
    ("reply", "data"),
    [('{"name": "Ada", "age": -1}', {"name": "Ada", "age": -1}), ('{"name": "Ada"}', {"name": "Ada"}), ("Ada", None)],
)
def test_a_refused_reply_is_falsy_and_keeps_its_data(reply: str, data: Any) -> None:
    verdict = Contract(Person).check(reply)
    assert not verdict
    assert (verdict.ok, verdict.value, verdict.data) == (False, None, data)
    with pytest.raises(Rejected) as raised:
        verdict.unwrap()
    assert raised.value.verdict is verdict


@pytest.mark.parametrize(
    "contract",
    [Contract(Person), Contract({"required": ["name"]}), Contract({"required": ["name"]}, rules=["age > 30"])],
    ids=["type", "schema", "rules"],
)
def test_an_ok_reply_is_truthy(contract: Contract) -> None:
    verdict = contract.check('{"name": "Ada", "age": 36}')
    assert verdict
    assert verdict.value == verdict.unwrap()


@pytest.mark.parametrize(
    "contract",
    [
        Contract({"required": ["age"]}, rules=["age > 40"]),
        Contract(Person, rules=["age > 40"]),
        Contract(Person, checks=[lambda verdict, context: ["too young"]]),
        Contract(Person, strict=True, rules=[{"expr": "age > 40", "level": "warning"}]),
    ],
    ids=["a rule over a schema", "a rule over a type", "a check", "a warning in strict mode"],
)
def test_a_reply_refused_for_its_meaning_has_no_value_either(contract: Contract) -> None:
    verdict = contract.check('{"name": "Ada", "age": 36}')
    assert not verdict
    assert (verdict.value, verdict.data["age"]) == (None, 36)


def test_refused_calls_leave_no_value() -> None:
    def book(day: str) -> None: ...

    verdict = Contract.envelope([book]).check('{"content": "Done.", "toolCalls": [{"name": "bok", "arguments": {}}]}')
    assert not verdict
    assert (verdict.value, verdict.data["content"]) == (None, "Done.")


def test_a_type_may_build_the_value_none() -> None:
    built = Contract(Annotated[str, AfterValidator(nothing)]).check('"hello"')
    assert built
    assert built.value is None
    assert built.unwrap() is None
    null = Contract(Person | None).check("null")
    assert null
    assert null.unwrap() is None


@pytest.mark.parametrize(
    ("verdict", "value"),
    [
        (Verdict("", {"a": 1}), {"a": 1}),
        (Verdict("", {"a": 1}, value=AS_DATA), {"a": 1}),
        (Verdict("", {"a": 1}, value=None), None),
        (Verdict("", {"a": 1}, value=5), 5),
        (Verdict("", {"a": 1}, Findings((WARNING,)), value=5), 5),
        (Verdict("", {"a": 1}, Findings((FAULT,)), value=5), None),
    ],
)
def test_the_value_is_the_data_by_default(verdict: Verdict, value: Any) -> None:
    assert verdict.value == value
    assert verdict.data == {"a": 1}


def test_replacing_the_findings_decides_again() -> None:
    refused = Verdict("", {"a": 1}, Findings((FAULT,)), value=5)
    assert refused.with_findings(NO_FINDINGS).value == 5
    assert refused.with_findings(Findings((WARNING,))).value == 5
    ok = Verdict("", {"a": 1}, value=None)
    assert ok.with_more([FAULT], {}).value is None
    assert not ok.with_more([FAULT], {})
    assert ok.with_more([WARNING], {})


def test_a_verdict_may_be_copied_and_sent_to_another_process() -> None:
    for verdict in (Verdict("", {"a": 1}), Verdict("", {"a": 1}, value=None), Verdict("", {"a": 1}, value=5)):
        assert pickle.loads(pickle.dumps(verdict)).value == verdict.value
        assert copy.deepcopy(verdict).value == verdict.value


@pytest.mark.parametrize("reply", ['{"name": "Ada", "age": "36",}', '{"name": "Ada", "age": "x",}'])
def test_a_verdict_whose_fixes_were_never_read_may_be_sent_too(reply: str) -> None:
    there = pickle.loads(pickle.dumps(Contract(Person).check(reply)))
    here = Contract(Person).check(reply)
    assert there == here
    assert there.value == here.value
    assert there.fixes == here.fixes != ()
    assert copy.copy(here).fixes == here.fixes


def test_a_refusal_may_be_raised_in_another_process() -> None:
    with pytest.raises(Rejected) as raised:
        Contract(Person).check('{"name": "Ada",}').unwrap()
    there = pickle.loads(pickle.dumps(raised.value))
    assert str(there) == str(raised.value)
    assert there.verdict == raised.value.verdict


def test_a_verdict_read_back_has_its_data_as_value() -> None:
    verdict = Contract(Person).check('{"name": "Ada", "age": 36}')
    assert Verdict.from_dict(verdict.to_dict()).value == {"name": "Ada", "age": 36}
    refused = Contract(Person).check('{"name": "Ada"}')
    assert Verdict.from_dict(refused.to_dict()).value is None
