"""Order: the place of each call in an expected sequence, and the diagnosis that may skip and repeat steps."""

from typing import Any

import pytest

from tests.acceptance.helpdesk.desk import DIAGNOSIS, make_contract
from tests.acceptance.helpdesk.registry import NETWORK
from trueup import Contract

ADAPTER, ADDRESS, GATEWAY, DNS, LOOKUP = DIAGNOSIS
DESK = make_contract()
PLAIN = Contract(tools=NETWORK)


def calls(*names: str) -> dict[str, Any]:
    server = {"server": "192.0.2.53"}
    rows = [{"name": n, "arguments": server if n == DNS else {}, "id": f"c{i}"} for i, n in enumerate(names)]
    return {"tool_calls": rows}


def findings_of(contract: Contract, reply: Any, code: str, **context: Any) -> list[Any]:
    verdict = contract.check(reply, context)
    assert verdict.ok, "an order that is not kept is a warning"
    return [each for each in verdict.findings if each.code == code]


# -- the place of each call -----------------------------------------------------------------------------


def mismatches(*names: str, expected: Any = DIAGNOSIS, **context: Any) -> list[str]:
    return [each.message for each in findings_of(PLAIN, calls(*names), "T020", expected_sequence=expected, **context)]


@pytest.mark.parametrize("names", [DIAGNOSIS, DIAGNOSIS[:1], DIAGNOSIS[:3], [*DIAGNOSIS, GATEWAY]])
def test_a_valid_beginning_the_whole_and_more_are_fine(names: list[str]) -> None:
    assert mismatches(*names) == []


def test_each_mismatch_is_reported_with_its_position() -> None:
    assert mismatches(ADAPTER, GATEWAY, ADDRESS) == [
        f"Tool sequence mismatch at position 1: expected '{ADDRESS}', got '{GATEWAY}'",
        f"Tool sequence mismatch at position 2: expected '{GATEWAY}', got '{ADDRESS}'",
    ]


def test_starting_in_the_middle_is_reported() -> None:
    assert mismatches(GATEWAY) == [f"Tool sequence mismatch at position 0: expected '{ADAPTER}', got '{GATEWAY}'"]


def test_without_an_expected_sequence_nothing_is_compared() -> None:
    assert mismatches(GATEWAY, ADAPTER, expected=None) == []
    assert mismatches(GATEWAY, ADAPTER, expected=[]) == []


def test_positions_are_counted_over_the_conversation() -> None:
    # the document looks at one reply only; a diagnosis usually takes one call a turn
    before = [{"role": "assistant", **calls(ADAPTER)}, {"role": "tool", "tool_call_id": "c0", "content": "up"}]
    assert mismatches(ADDRESS, history=before) == []
    assert mismatches(GATEWAY, history=before) == [
        f"Tool sequence mismatch at position 1: expected '{ADDRESS}', got '{GATEWAY}'"
    ]


def test_the_contract_may_have_the_sequence_too() -> None:
    contract = Contract(tools=NETWORK, order={"expected_sequence": DIAGNOSIS})
    assert len(findings_of(contract, calls(GATEWAY, ADAPTER), "T020")) == 2
    assert findings_of(contract, calls(GATEWAY), "T020", expected_sequence=[GATEWAY]) == []


# -- the diagnosis --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        [ADAPTER, ADDRESS, GATEWAY],
        DIAGNOSIS,
        [GATEWAY, LOOKUP],
        [ADAPTER, ADAPTER, ADDRESS],  # the document has a warning for a repeat: looking again is not a step back
        [LOOKUP, LOOKUP],  # and it raises an IndexError here
    ],
)
def test_a_correct_sequence_has_no_warning(names: list[str]) -> None:
    assert findings_of(DESK, calls(*names), "T007") == []


@pytest.mark.parametrize(
    ("names", "late", "after"),
    [
        ([GATEWAY, ADAPTER], ADAPTER, GATEWAY),
        ([ADAPTER, LOOKUP, ADDRESS], ADDRESS, LOOKUP),  # an IndexError in the document: it looks after the last step
        ([ADDRESS, ADAPTER], ADAPTER, ADDRESS),
    ],
)
def test_an_earlier_step_after_a_later_one_is_a_warning(names: list[str], late: str, after: str) -> None:
    # the document names the step after the furthest one, which was never called; here it is the furthest that was called
    (each,) = findings_of(DESK, calls(*names), "T007")
    assert (each.level, each.data) == ("warning", {"step": late, "after": after})
    assert late in each.message
    assert after in each.message


def test_other_tools_do_not_count() -> None:
    contract = Contract(tools=[*NETWORK.get_all_definitions(), {"name": "note"}], order=DIAGNOSIS)
    assert findings_of(contract, calls("note", ADDRESS, "note", GATEWAY), "T007") == []
