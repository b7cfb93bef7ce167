"""Measures: precision from clear labels, recall only from a random sample, agreement between people."""

from pathlib import Path

import msgspec
import pytest

from tests.tuning.making import cases_of, write
from trueup.contract.contract import Contract
from trueup.material.case import Case, Label, Recorded
from trueup.statistics.proportions import wilson
from trueup.tuning.evidence import gather
from trueup.tuning.files import ContractFile
from trueup.tuning.measures import Measured, UnitMeasures, measure
from trueup.tuning.units import rules_in

CONTRACT = """
schema:
  type: object
  properties: {n: {type: integer}, kind: {enum: [a, b]}}
  required: [n]
rules:
  - {name: small, expr: n < 10}
  - {name: even, expr: n % 2 == 0}
  - {name: hint, expr: n != 4, level: warning}
"""


def measured(file: Path, cases: list[Case]) -> Measured:
    contract = ContractFile(file)
    return measure(gather(cases, contract.contract(), rules_in(contract.data)))


def row(found: Measured, key: str) -> UnitMeasures:
    return next(row for row in (*found.units, *found.codes) if row.unit.key == key)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path, CONTRACT)


def test_precision_is_the_share_of_right_refusals(file: Path) -> None:
    found = measured(file, cases_of(file, [({"n": 12}, False)] * 6 + [({"n": 14}, True)] * 2 + [({"n": 2}, True)] * 5))
    small = row(found, "rule:small")
    assert (small.fired, small.right, small.wrong, small.precision) == (8, 6, 2, wilson(6, 8))
    assert row(found, "B005").right == 6
    assert (found.whole.fired, found.whole.right, found.whole.wrong) == (8, 6, 2)
    assert row(found, "rule:even").precision is None


def test_a_refusal_for_two_reasons_says_nothing_of_either(file: Path) -> None:
    found = measured(file, cases_of(file, [({"n": 13}, True)] * 4))
    assert row(found, "rule:small").labelled == row(found, "rule:even").labelled == 0
    assert found.whole.wrong == 4


def test_a_label_of_one_finding_counts_for_it_whatever_else_there_is(file: Path) -> None:
    cases = [
        msgspec.structs.replace(case, labels=(Label(case.id, "wrong", "ada", subject="rule:even"),))
        for case in cases_of(file, [({"n": 13}, None)] * 3 + [({"n": 4}, None)])
    ]
    found = measured(file, cases)
    assert (row(found, "rule:even").wrong, row(found, "rule:small").labelled) == (3, 0)


def test_warnings_are_measured_by_labels_of_their_own(file: Path) -> None:
    cases = [
        msgspec.structs.replace(
            case, labels=(Label(case.id, "right", "ada", subject="rule:hint"), Label(case.id, "right", "bob"))
        )
        for case in cases_of(file, [({"n": 4}, None)] * 2)
    ]
    assert row(measured(file, cases), "rule:hint").right == 2


def test_a_label_speaks_of_the_decision_that_was_recorded(file: Path) -> None:
    """An older contract refused the reply, and a person called that right: it should be refused now, too."""
    case = cases_of(file, [({"n": 2}, None)])[0]
    then = msgspec.structs.replace(case.recorded, ok=False, codes=("V005",), fingerprint="other")  # type: ignore[type-var]
    old = msgspec.structs.replace(case, recorded=then, labels=(Label(case.id, "right", "ada"),))
    evidence = gather([old], ContractFile(file).contract())
    assert evidence.labelled[0].said.should is False
    assert evidence.labelled[0].ok


def test_people_who_disagree_cancel_each_other_out(file: Path) -> None:
    case = cases_of(file, [({"n": 12}, False)])[0]
    both = msgspec.structs.replace(case, labels=(*case.labels, Label(case.id, "wrong", "bob")))
    found = measured(file, [both])
    assert found.whole.labelled == 0
    assert (found.agreement.items, found.agreement.observed) == (1, 0.0)


def test_recall_is_unknown_without_a_random_sample(file: Path) -> None:
    replies = [({"n": 12}, False)] * 5 + [({"n": 2}, False)] * 2 + [({"n": 2}, True)] * 3
    assert measured(file, cases_of(file, replies)).whole.recall is None
    assert measured(file, cases_of(file, replies)).sample == 0


def test_recall_comes_from_the_random_sample(file: Path) -> None:
    refused = cases_of(file, [({"n": 12}, False)] * 20)
    drawn = cases_of(file, [({"n": 2}, True)] * 19 + [({"n": 2}, False)], drawn="random")
    rest = cases_of(file, [({"n": 6}, None)] * 80)
    found = measured(file, [*refused, *drawn, *rest])
    assert found.whole.recall is not None
    assert found.whole.recall.value == pytest.approx(20 / (20 + 100 / 20))
    assert found.whole.recall.low < found.whole.recall.value < found.whole.recall.high <= 1
    assert row(found, "rule:small").recall is None, "the miss names no rule"


def test_a_miss_that_names_a_rule_counts_against_it_alone(file: Path) -> None:
    refused = cases_of(file, [({"n": 12}, False)] * 10)
    drawn = cases_of(file, [({"n": 2}, True)] * 9 + [({"n": 2}, False)], drawn="random")
    drawn[-1] = msgspec.structs.replace(
        drawn[-1], labels=(*drawn[-1].labels, Label(drawn[-1].id, "wrong", "ada", subject="rule:small", drawn="random"))
    )
    small = row(measured(file, [*refused, *drawn]), "rule:small")
    assert small.recall is not None
    assert small.recall.value == pytest.approx(10 / 11)


def test_cases_that_cannot_be_judged_are_counted(file: Path) -> None:
    cases = [Case("a", None), Case("b", "{}", unjudgeable="reply_expired"), *cases_of(file, [({"n": 2}, None)])]
    evidence = gather(cases, ContractFile(file).contract())
    assert (len(evidence.seen), evidence.unjudgeable) == (1, {"no_reply": 1, "reply_expired": 1})


def test_labelled_replies_are_kept_beyond_the_limit(file: Path) -> None:
    cases = cases_of(file, [({"n": 2}, None)] * 5 + [({"n": 12}, False)] * 3)
    evidence = gather(cases, ContractFile(file).contract(), most=2)
    assert (len(evidence.seen), len(evidence.labelled), evidence.left_out) == (5, 3, 3)


def test_a_label_speaks_of_the_decision_that_it_names(file: Path) -> None:
    """Plain replies have no verdict: without the recorded decision, a change of the contract would invert the label."""

    def wrong(decided: str) -> list[Case]:
        label = Label("v", "wrong", "ada", decided=decided, drawn="random")
        return [Case(f"v{number}", '{"n": 2}', labels=(label,)) for number in range(3)]

    contract = ContractFile(file).contract()
    for decided, should, unrecorded in (("refused", True, 0), ("accepted", False, 0), ("", False, 3)):
        evidence = gather(wrong(decided), contract)
        assert ([one.said.should for one in evidence.labelled], evidence.unrecorded) == ([should] * 3, unrecorded)
        assert {one.said.is_random for one in evidence.labelled} == {decided != "refused"}


def test_an_interval_is_wider_if_the_labels_are_of_few_conversations(file: Path) -> None:
    cases = cases_of(file, [({"n": 12}, False)] * 20)
    apart = row(measured(file, cases), "rule:small").precision
    talks = [msgspec.structs.replace(case, conversation=f"talk {at % 4}") for at, case in enumerate(cases)]
    together = row(measured(file, talks), "rule:small").precision
    assert apart == wilson(20, 20)
    assert together is not None
    assert together.low < 0.6 < apart.low


def test_labels_of_findings_keep_their_meaning_after_a_change(file: Path) -> None:
    """A false alarm that a change removed is not a miss, but a true alarm that no longer fires is one."""
    strict, mild = (
        ContractFile(write(file.parent, CONTRACT.replace("n < 10", f"n < {most}"), f"{most}.yaml")).contract()
        for most in (10, 20)
    )

    def said(
        outcome: str, then: str, contract: Contract, n: int, *, recorded: bool
    ) -> tuple[bool | None, dict[str, bool]]:
        label = Label("v", outcome, "ada", subject="rule:small", decided=then)
        rows = ({"code": "B005", "level": "error", "data": {"rule": "small"}},) if then == "refused" else ()
        kept = Recorded(then == "accepted", ("B005",) if rows else (), rows) if recorded else None
        (one,) = gather([Case("v", f'{{"n": {n}}}', recorded=kept, labels=(label,))], contract).seen
        return one.said.should, one.said.subjects

    for recorded in (True, False):
        assert said("wrong", "refused", strict, 12, recorded=recorded) == (True, {"rule:small": False})
        assert said("wrong", "refused", mild, 12, recorded=recorded) == (None, {"rule:small": True}), "mended"
        assert said("right", "refused", mild, 12, recorded=recorded) == (False, {"rule:small": False}), "missed now"
    assert said("wrong", "accepted", mild, 12, recorded=True) == (False, {"rule:small": False})
    assert said("wrong", "accepted", strict, 12, recorded=True) == (False, {"rule:small": True}), "found now"
    assert said("wrong", "accepted", strict, 12, recorded=False) == (None, {}), "it may have been a warning"


def test_a_reply_without_the_context_that_rules_look_at_is_not_judged(file: Path) -> None:
    write(file.parent, CONTRACT.replace("n < 10", "n < most") + "input: [most]\n")
    cases = [Case(str(number), '{"n": 2}', {}, missing=("input",)) for number in range(3)]
    cases += [
        Case("4", '{"n": 2}', {"input": {"most": 5}}),
        Case("5", '{"n": 2}', {"input": {"most": 5}}, missing=("tone",)),
    ]
    evidence = gather(cases, ContractFile(file).contract())
    assert (len(evidence.seen), evidence.unjudgeable, evidence.unnoted) == (2, {"context_not_kept": 3}, 0)
    evidence = gather([Case("6", '{"n": 2}', missing=("?",))], ContractFile(file).contract())
    assert (len(evidence.seen), evidence.unnoted) == (1, 1), "nobody noted whether there was any"
