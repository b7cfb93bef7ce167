"""Recall and false alarms on two sets of replies: those that the contract was written with, and those held out from its authors.

The first set shows that nothing was lost since. Only the second shows how good the contract is.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.coherence.measure import SALON, by_contract, by_patterns, read_rows, scores
from trueup import Contract

DEVELOPMENT = Path(__file__).with_name("development.jsonl")
HELD_OUT = Path(__file__).with_name("held_out.jsonl")
LEAST_RECALL = 0.90
MOST_ALARMS = 0.03

MISSED_BEFORE = [
    ("STYLIST_SELECTION", "María puede el martes o el jueves."),
    ("SLOT_SELECTION", "Voy a confirmar tu cita."),
    ("SLOT_SELECTION", "¡Listo! Confirmada."),
    ("SLOT_SELECTION", "Queda reservado."),
]


@pytest.mark.parametrize(("state", "reply"), MISSED_BEFORE)
def test_replies_that_were_missed_are_found(state: str, reply: str) -> None:
    assert by_contract()({"state": state, "reply": reply})


def test_no_violation_is_missed_in_the_development_replies() -> None:
    score = scores(read_rows(DEVELOPMENT), by_contract())["all"]
    assert score.recall >= 0.99
    assert score.alarm_rate <= 0.005


def test_recall_and_false_alarms_on_held_out_replies() -> None:
    rows = read_rows(HELD_OUT)
    ours, plain = scores(rows, by_contract())["all"], scores(rows, by_patterns())["all"]
    assert ours.recall >= LEAST_RECALL
    assert ours.alarm_rate <= MOST_ALARMS
    assert ours.recall > plain.recall
    assert ours.alarm_rate < plain.alarm_rate


def test_a_stream_is_judged_like_the_whole_reply() -> None:
    contract: Contract[Any] = Contract.load(SALON)
    for row in read_rows(DEVELOPMENT)[::3]:
        context = {"state": row["state"], "data": row["data"]}
        whole = {found.code for found in contract.check(row["reply"], context).errors}
        stream = contract.stream(context=context)
        for start in range(0, len(row["reply"]), 7):
            stream.feed(row["reply"][start : start + 7])
        assert {found.code for found in stream.findings} <= whole, row
        assert {found.code for found in stream.finish().errors} == whole, row
