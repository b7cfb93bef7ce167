"""Recovery: the tool that was meant, defaults for arguments, and JSON that is nearly JSON."""

from difflib import get_close_matches
from typing import Any

import pytest

from tests.acceptance.helpdesk.desk import DIAGNOSIS, RECOVERING, make_contract
from trueup import Contract, Verdict

DESK = make_contract()


def call(name: str, arguments: Any, contract: Contract = DESK) -> Verdict:
    return contract.check({"tool_calls": [{"name": name, "arguments": arguments}]})


def suggestion(name: str, valid: list[str]) -> str | None:
    (found,) = call(name, {}, Contract(tools=[{"name": each} for each in valid])).errors
    closest: str | None = found.data["closest"]
    assert closest is None or closest in found.message
    return closest


# -- the tool that was meant ----------------------------------------------------------------------------

SUGGESTED = [
    ("check_adaptor_status", ["check_adapter_status", "get_ip_config"], "check_adapter_status"),
    ("get_ip", DIAGNOSIS, "get_ip_config"),
    ("ping_google", DIAGNOSIS, "ping_gateway"),
    ("ping_dns_server", DIAGNOSIS, "ping_dns"),
    ("test_dns", DIAGNOSIS, "test_dns_resolution"),  # difflib has none for this one
]


@pytest.mark.parametrize(("name", "valid", "meant"), SUGGESTED)
def test_a_close_tool_is_suggested_and_never_called(name: str, valid: list[str], meant: str) -> None:
    assert suggestion(name, valid) == meant
    assert get_close_matches(name, valid, n=1, cutoff=0.6) in ([meant], [])


def test_nothing_is_suggested_if_nothing_is_close() -> None:
    assert suggestion("completely_different", ["check_adapter_status"]) is None
    assert suggestion("completely_different", DIAGNOSIS) is None


def test_a_suggestion_changes_nothing() -> None:
    verdict = call("get_ip", {})
    assert not verdict.ok
    assert not verdict.calls
    assert not verdict.fixes


@pytest.mark.parametrize("name", ["functions.get_ip_config", "getIpConfig", "get-ip-config", "net__get_ip_config"])
def test_another_spelling_of_one_tool_is_repaired(name: str) -> None:
    # more than the document has: the same name in another convention is a recorded fix
    verdict = call(name, {})
    assert verdict.ok
    assert [made.name for made in verdict.calls] == ["get_ip_config"]
    assert [fix.code for fix in verdict.fixes] == ["K002"]


# -- defaults -------------------------------------------------------------------------------------------


def test_invalid_and_missing_arguments_may_become_the_defaults() -> None:
    recovering = make_contract(calls=RECOVERING)
    missing = call("ping_dns", {"server": "a"}, recovering)
    assert missing.calls[0].args == {"server": "a", "family": "ipv4"}
    assert [fix.code for fix in missing.fixes] == ["K004"]
    outside = call("ping_dns", {"server": "a", "family": "ipx"}, recovering)
    assert outside.calls[0].args == {"server": "a", "family": "ipv4"}
    assert [(fix.code, fix.before, fix.after) for fix in outside.fixes] == [("K005", '"ipx"', '"ipv4"')]
    without = call("ping_dns", {"server": "a", "mode": "turbo"}, recovering)
    assert [found.code for found in without.errors] == ["V005"]


# -- nearly JSON ----------------------------------------------------------------------------------------

REPAIRED = [
    ('{"server": "a"}', {"server": "a"}, []),
    ("{'server': 'a'}", {"server": "a"}, ["S008", "S008"]),
    ('{"server": "a",}', {"server": "a"}, ["S001"]),
    ('{"server": "a", "mode": "fast",\n}', {"server": "a", "mode": "fast"}, ["S001"]),
    ('"server": "a"', {"server": "a"}, ["F007"]),
    ('"server": "a", "mode": "fast"', {"server": "a", "mode": "fast"}, ["F007"]),
    # beyond the document's repairs, which are tried one at a time
    ("{'server': 'a',}", {"server": "a"}, None),
    ("{'server': \"the desk's\"}", {"server": "the desk's"}, None),
    ('{server: "a"}', {"server": "a"}, None),
    ('```json\n{"server": "a"}\n```', {"server": "a"}, None),
]


@pytest.mark.parametrize(("text", "arguments", "codes"), REPAIRED)
def test_malformed_arguments_are_repaired(text: str, arguments: Any, codes: list[str] | None) -> None:
    verdict = call("ping_dns", text)
    assert verdict.ok, verdict.errors
    assert verdict.calls[0].args == arguments
    if codes is not None:
        assert [fix.code for fix in verdict.fixes] == codes
    else:
        assert verdict.fixes


def test_a_trailing_comma_in_a_list_is_repaired() -> None:
    verdict = call("test_dns_resolution", '{"hostnames": ["a", "b",]}')
    assert verdict.calls[0].args == {"hostnames": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "value"), [("{'key': 'value'}", {"key": "value"}), ('{"key": "value",}', {"key": "value"})]
)
def test_any_text_can_be_repaired_alone(text: str, value: Any) -> None:
    assert Contract({"type": "object"}).check(text).data == value


def test_texts_that_cannot_be_repaired_are_refused() -> None:
    assert Contract({"type": "object"}).check("no object at all").data is None
    assert not call("ping_dns", "no object at all").calls
