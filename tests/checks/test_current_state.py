"""Where a conversation stands: the key that was meant, the state that was meant, and what counts as none."""

import enum
from types import SimpleNamespace
from typing import Any

import pytest

from trueup.checks.current_state import Places, reads_like_state
from trueup.checks.state import compile_states

PLACES = Places(["ASKING", "BOOKED"])


class Step(enum.Enum):
    ASKING = "asking"
    BOOKED = 2


@pytest.mark.parametrize(
    "source", ["ASKING", "asking", Step.ASKING, {"state": Step.ASKING}, SimpleNamespace(current_state="Asking")]
)
def test_a_known_state_gives_no_finding(source: Any) -> None:
    assert PLACES.of({"state": source}) == ("ASKING", ())


class Phase(enum.Enum):
    ASKING = "the customer is asked"


@pytest.mark.parametrize("source", [Phase.ASKING, SimpleNamespace(state=Phase.ASKING), {"current_state": Phase.ASKING}])
def test_a_member_of_an_enum_may_have_the_states_name_and_another_value(source: Any) -> None:
    assert PLACES.of({"state": source}) == ("ASKING", ())


@pytest.mark.parametrize("key", ["stat", "State", "STATE", "current_state", "currentState", "fsmState", "satte", "states", "booking_state", "state_name"])  # fmt: skip
def test_keys_that_were_meant_to_be_state(key: str) -> None:
    assert reads_like_state(key)
    (found,) = PLACES.of({key: "anything"}).findings
    assert (found.code, found.level, found.data["key"]) == ("D006", "error", key)


@pytest.mark.parametrize("key", ["status", "tenant", "statement", "input", "static", "start", "date", "rate"])
def test_other_keys(key: str) -> None:
    assert not reads_like_state(key)


def test_a_known_state_under_any_other_key_is_found() -> None:
    for held in ("BOOKED", "booked", Step.BOOKED, SimpleNamespace(state="BOOKED"), {"current_state": "BOOKED"}):
        assert PLACES.of({"estado": held}).findings[0].data["key"] == "estado"
    assert PLACES.of({"data": {"state": "BOOKED"}}).findings[0].data["key"] == "data.state"
    assert "key" not in PLACES.of({"data": {"state": "Texas"}, "where": "there"}).findings[0].data


class Broken:
    @property
    def state(self) -> str:
        raise ConnectionError


def test_other_objects_of_a_context_may_fail() -> None:
    assert "key" not in PLACES.of({"session": Broken()}).findings[0].data
    with pytest.raises(ConnectionError):
        PLACES.of({"state": Broken()})


def test_the_fields_of_a_unit_may_name_the_state() -> None:
    assert PLACES.of({"input": {"state": "BOOKED"}}).state == "BOOKED"
    assert PLACES.of({"state": "ASKING", "input": {"state": "BOOKED"}}).state == "ASKING"
    assert PLACES.of({"input": {"state": "BOOKD"}}).findings[0].code == "D004"


def test_a_start_is_assumed_only_where_nothing_was_given() -> None:
    places = Places(["ASKING", "BOOKED"], start="ASKING")
    assert (places.of({}).state, places.of({}).findings[0].code) == ("ASKING", "D007")
    assert places.of({"fsm_state": "BOOKED"}).findings[0].code == "D006"
    assert places.of({"state": "BOOKD"}).findings[0].code == "D004"
    assert Places(["ASKING"], start="NOWHERE").of({}).findings[0].code == "D006"


def test_long_lists_of_states_are_cut() -> None:
    message = Places([f"S{n}" for n in range(40)]).of({}).findings[0].message
    assert message.endswith("S9, S10 and 29 more")


def test_without_states_none_is_needed() -> None:
    assert Places([]).of({"state": "X"}) == ("", ())
    assert Places([]).of({}) == ("", ())


def test_what_an_unknown_state_permits_is_what_all_permit() -> None:
    states = compile_states({"A": {"tools": ["look", "book"]}, "B": {"tools": ["look"]}, "C": {}})
    assert (states.permits("X", "look"), states.permits("X", "book")) == (True, False)
    assert (states.permits("A", "book"), states.permits("C", "book")) == (True, True)
    assert compile_states({"A": {}}).permits("X", "book")
