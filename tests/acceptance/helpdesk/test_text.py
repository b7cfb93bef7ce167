"""The text of a reply: it is empty, or names a tool that does not exist."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.acceptance.helpdesk.desk import make_contract
from tests.acceptance.helpdesk.registry import NETWORK
from trueup import Contract

DESK = make_contract()  # with the document's own prefixes and suffix
USUAL = Contract(tools=NETWORK)  # with trueup's defaults


def mentioned(text: str, contract: Contract = USUAL) -> list[str]:
    reply = SimpleNamespace(tool_calls=[], final_response=text)
    verdict = contract.check(reply)
    assert verdict.ok, "a mention is a warning"
    return [found.data["name"] for found in verdict.warnings if found.code == "T011"]


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_reply_is_a_warning(text: str) -> None:
    # the document's check is never reached for "": an empty text is skipped before it
    (found,) = DESK.check(SimpleNamespace(tool_calls=[], final_response=text)).warnings
    assert found.code == "T013"
    assert found.message == "The reply is empty: it has neither text nor calls"


def test_an_empty_text_with_calls_is_fine() -> None:
    reply = {"tool_calls": [{"name": "check_adapter_status", "arguments": {}}], "content": ""}
    assert DESK.check(reply).findings == ()


HALLUCINATED = [
    ("I ran check_network_status to diagnose", "check_network_status"),
    ("Let me use check_cable.", "check_cable"),
    ("The check_firewall tool says ok", "check_firewall"),
    ("Based on get_wifi_signal results, you are too far from the router.", "get_wifi_signal"),
    ("The output of get_route_table shows the gateway.", "get_route_table"),
    ("wifi_status", "wifi_status"),
]


@pytest.mark.parametrize("contract", [DESK, USUAL], ids=["desk", "usual"])
@pytest.mark.parametrize(("text", "name"), HALLUCINATED)
def test_a_hallucinated_tool_is_a_warning(text: str, name: str, contract: Contract) -> None:
    assert mentioned(text, contract) == [name]


@pytest.mark.parametrize("text", ["I ran nothing.", "Next, ping_gateway and get_ip_config.", "check_adapter_status"])
def test_offered_tools_and_other_words_give_no_warning(text: str) -> None:
    assert mentioned(text, DESK) == []
    assert mentioned(text) == []


BY_THE_RULE = [
    ("Read get_started first.", ["get_started"]),
    ("The http_status was 200.", ["http_status"]),
    ("You should check_this too, and reset_router.", ["check_this"]),
]


@pytest.mark.parametrize(("text", "names"), BY_THE_RULE)
def test_the_document_s_rule_is_a_setting(text: str, names: list[str]) -> None:
    # intentionally different by default: such words alone do not mean a tool
    assert mentioned(text, DESK) == names
    assert mentioned(text) == []


def test_the_rule_can_be_narrowed_and_its_level_set() -> None:
    mentions: dict[str, Any] = {"suffixes": ["_status"], "ignore": ["http_*"], "level": "error"}
    contract = Contract(tools=NETWORK, calls={"mentions": mentions})
    verdict = contract.check("The http_status is fine and the wifi_status is not.")
    assert [(found.data["name"], found.level) for found in verdict.findings] == [("wifi_status", "error")]
    assert not verdict.ok
