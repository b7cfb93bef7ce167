"""Suggestions: the name that was likely meant, by letters and by words, and never worse than difflib."""

import re
from difflib import get_close_matches
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.expressions import errors as expressions
from trueup.verdict.likeness import KnownNames, nearest

SOURCE = Path(__file__).parents[2] / "src" / "trueup"
NET = ["check_adapter_status", "get_ip_config", "ping_gateway", "ping_dns", "test_dns_resolution", "create_ticket"]
SHOP = ["search_products", "get_order", "list_orders", "cancelOrder", "refund-payment", "cart.add_item", "track_parcel"]

MEANT = [
    ("get_ip", NET, "get_ip_config"),
    ("ping_google", NET, "ping_gateway"),
    ("ping_dns_server", NET, "ping_dns"),
    ("check_adaptor_status", NET, "check_adapter_status"),
    ("check_adapter", NET, "check_adapter_status"),
    ("adapter_status", NET, "check_adapter_status"),
    ("status_adapter_check", NET, "check_adapter_status"),
    ("test_dns", NET, "test_dns_resolution"),
    ("ipconfig", NET, "get_ip_config"),
    ("open_ticket", NET, "create_ticket"),
    ("PingGateway", NET, "ping_gateway"),
    ("cancel_order", SHOP, "cancelOrder"),
    ("refund_payments", SHOP, "refund-payment"),
    ("add_item", SHOP, "cart.add_item"),
    ("search_product", SHOP, "search_products"),
    ("get_order_status", SHOP, "get_order"),
    ("max_ph", ["hp", "max_hp"], "max_hp"),
    ("shema", ["schema", "tools", "order"], "schema"),
]
NOT_MEANT = [
    ("completely_different", NET),
    ("nonexistent_tool", NET),
    ("reboot_everything", NET),
    ("check_cable", NET),
    ("get_wifi_signal", NET),
    ("send_email", SHOP),
    ("x", NET),
    ("", NET),
    ("___", NET),
    ("anything", []),
]


@pytest.mark.spec("T3")
@pytest.mark.parametrize(("name", "known", "meant"), MEANT)
def test_the_intended_name_is_suggested(name: str, known: list[str], meant: str) -> None:
    assert nearest(name, known) == meant


@pytest.mark.spec("T3")
@pytest.mark.parametrize(("name", "known"), NOT_MEANT)
def test_a_name_without_a_similar_one_gets_no_suggestion(name: str, known: list[str]) -> None:
    assert nearest(name, known) is None


@pytest.mark.spec("T3")
@pytest.mark.parametrize(("name", "known", "meant"), MEANT)
def test_it_is_never_worse_than_difflib(name: str, known: list[str], meant: str) -> None:
    by_difflib = get_close_matches(name, known, n=1, cutoff=0.6)
    assert by_difflib != [meant] or nearest(name, known) == meant


@given(st.sampled_from(NET), st.data())
def test_a_typing_error_of_one_letter_is_always_recognized(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    assert nearest(name[:at] + letter + name[at + 1 :], NET) == name


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=8))
def test_any_text_is_accepted(name: str, known: list[str]) -> None:
    found = nearest(name, known)
    assert found is None or found in known
    assert nearest(name, known) == found


def test_letters_alone_can_be_asked_for() -> None:
    names = KnownNames(NET)
    assert names.misspelt("ping_gatway", 90) == "ping_gateway"
    assert names.misspelt("get_ip", 75) is None


def test_parts_of_names_give_no_suggestion() -> None:
    """`process.extractOne` without a scorer finds `n` in `pionts`: it looks for the shorter name anywhere in the longer one."""
    calls = {
        f"{file.relative_to(SOURCE)}: {call.group(0)[:60]}"
        for file in SOURCE.rglob("*.py")
        for call in re.finditer(r"process\.extract(?:One)?\((?:[^()]|\([^()]*\))*\)", file.read_text("utf-8"))
        if "scorer=" not in call.group(0)
    }
    assert calls == set()


@pytest.mark.parametrize("known", [["n", "points"], ["points", "n"], ["n", "name", "points", "unit_id"]])
def test_swapped_letters_are_recognized(known: list[str]) -> None:
    assert nearest("pionts", known) == "points"
    assert expressions.nearest("pionts", known) == "points"


def test_a_name_of_one_letter_gets_no_suggestion() -> None:
    assert nearest("x", ["n", "y"]) is None
    assert expressions.nearest("x", ["n", "y"]) == ""
