"""The example contract of a help desk: the network diagnosis, its order and its bounds."""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.contract.files.documents import read_document

HELPDESK = Path(__file__).resolve().parents[2] / "examples" / "contracts" / "helpdesk.yaml"
STEPS = ["check_adapter_status", "get_ip_config", "ping_gateway", "ping_dns", "test_dns_resolution"]
ARGUMENTS = {
    "check_adapter_status": {"adapter": "eth0"},
    "get_ip_config": {"adapter": "eth0"},
    "ping_gateway": {},
    "ping_dns": {"server": "192.0.2.53"},
    "test_dns_resolution": {"host": "example.org"},
    "create_ticket": {"summary": "no link"},
}


@pytest.fixture(scope="module")
def contract() -> Contract:
    return Contract.load(HELPDESK)


def called(*names: str) -> dict[str, Any]:
    calls = [
        {"id": f"call_{i}", "function": {"name": name, "arguments": json.dumps(ARGUMENTS.get(name, {}))}}
        for i, name in enumerate(names)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def done(*names: str) -> list[dict[str, Any]]:
    """Calls of earlier turns, each with its result."""
    result = {"role": "tool", "tool_call_id": "call_0", "content": "ok"}
    return [message for name in names for message in (called(name), result)]


def codes(contract: Contract, *names: str, before: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    verdict = contract.check(called(*names), {"history": done(*before)})
    return [(found.code, found.path) for found in verdict.findings]


def test_the_sequence_is_the_diagnosis() -> None:
    assert read_document(HELPDESK).data["order"]["sequence"] == STEPS


@pytest.mark.spec("T6")
def test_in_order_with_skips_and_repeats_it_is_fine(contract: Contract) -> None:
    assert codes(contract, *STEPS) == []
    assert codes(contract, STEPS[0], STEPS[3]) == []
    assert codes(contract, STEPS[2], before=(STEPS[0], STEPS[2])) == []


@pytest.mark.spec("T6")
def test_a_step_back_is_a_warning_that_names_the_furthest_step(contract: Contract) -> None:
    verdict = contract.check(called(STEPS[1]), {"history": done(STEPS[0], STEPS[3], STEPS[2])})
    (found,) = verdict.findings
    assert (found.code, found.level, found.data["after"]) == ("T007", "warning", "ping_dns")
    assert verdict.ok
    assert [call.name for call in verdict.calls] == [STEPS[1]]


@pytest.mark.spec("T6")
def test_tools_outside_the_sequence_are_not_counted(contract: Contract) -> None:
    assert codes(contract, "create_ticket", STEPS[1], before=(STEPS[0],)) == []


@pytest.mark.spec("T6")
def test_a_ticket_needs_a_look_first_and_is_opened_once(contract: Contract) -> None:
    assert codes(contract, "create_ticket") == [("T008", "$.calls[0]")]
    assert codes(contract, "create_ticket", before=(STEPS[0], "create_ticket")) == [("T009", "$.calls[0]")]


@pytest.mark.spec("T3")
def test_a_misspelt_step_is_refused_with_the_right_one(contract: Contract) -> None:
    (refusal,) = contract.check(called("check_adaptor_status")).refused
    assert refusal.findings[0].data["closest"] == "check_adapter_status"
