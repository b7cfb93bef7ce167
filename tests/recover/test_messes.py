"""Our own table of faulty replies (tests/data/messes.json), each with the value or the refusal that it must lead to.

A case has exactly the fixes that it names.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.verdict.catalogue import FINDINGS, FIXES

TABLE = json.loads((Path(__file__).parents[1] / "data" / "messes.json").read_text("utf-8"))
CASES: list[dict[str, Any]] = TABLE["cases"]
CLASSES = {"wrappers", "syntax", "shapes", "encoded", "envelopes", "several", "twice", "types"}


def cases_of(*classes: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if not classes or case["class"] in classes]


def contract(case: dict[str, Any], **options: Any) -> Contract:
    return Contract(TABLE["schemas"][case["schema"]], **{**case.get("options", {}), **options})


def assert_expected(case: dict[str, Any]) -> None:
    verdict = contract(case).check(case["reply"])
    if "expected" in case:
        assert verdict.ok, verdict.findings
        assert json.dumps(verdict.data, sort_keys=True) == json.dumps(case["expected"], sort_keys=True)
    else:
        assert not verdict.ok
        assert sorted({finding.code for finding in verdict.findings}) == case["refused"]
        assert verdict.hint, "a refusal says what would help"
    assert sorted({fix.code for fix in verdict.fixes}) == case["codes"]


def test_the_table_is_well_formed() -> None:
    ids = [case["id"] for case in CASES]
    assert len(ids) == len(set(ids))
    assert {case["class"] for case in CASES} == CLASSES
    for case in CASES:
        assert set(case["codes"]) <= set(FIXES)
        assert ("expected" in case) != ("refused" in case)
        assert set(case.get("refused", ())) <= set(FINDINGS)


@pytest.mark.spec("A1", "B1")
@pytest.mark.parametrize("case", cases_of("wrappers"))
def test_a_value_in_a_wrapper_is_read(case: dict[str, Any]) -> None:
    assert_expected(case)


@pytest.mark.parametrize("case", cases_of("syntax"))
def test_a_value_with_faulty_syntax_is_read_or_refused(case: dict[str, Any]) -> None:
    assert_expected(case)


@pytest.mark.parametrize("case", cases_of("shapes"))
def test_a_value_in_another_shape_is_read_or_refused(case: dict[str, Any]) -> None:
    assert_expected(case)


@pytest.mark.spec("B4")
@pytest.mark.parametrize("case", cases_of("encoded", "envelopes", "types"))
def test_encodings_envelopes_and_types_are_handled(case: dict[str, Any]) -> None:
    assert_expected(case)


@pytest.mark.spec("A2")
@pytest.mark.parametrize("case", cases_of("several", "twice"))
def test_one_of_several_values_in_a_reply_is_chosen(case: dict[str, Any]) -> None:
    assert_expected(case)


@pytest.mark.parametrize("case", cases_of())
def test_bytes_and_streams_give_the_same_result(case: dict[str, Any]) -> None:
    judge = contract(case)
    expected = judge.check(case["reply"])
    assert judge.check(case["reply"].encode()) == expected
    stream = judge.stream()
    for at in range(0, len(case["reply"]), 5):
        stream.feed(case["reply"][at : at + 5])
    assert stream.finish() == expected


@pytest.mark.parametrize("case", cases_of())
def test_a_contract_that_accepts_no_fix_refuses_every_repaired_reply(case: dict[str, Any]) -> None:
    verdict = contract(case, accept="none").check(case["reply"])
    assert verdict.ok == ("expected" in case and not case["codes"])
    assert verdict.reply.text == case["reply"]
