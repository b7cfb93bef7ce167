"""The current state: which key was meant, which state was meant, and what counts as no state."""

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
def test_misspelled_state_keys_are_reported(key: str) -> None:
    assert reads_like_state(key)
    (found,) = PLACES.of({key: "anything"}).findings
    assert (found.code, found.level, found.data["key"]) == ("D006", "error", key)


@pytest.mark.parametrize("key", ["status", "tenant", "statement", "input", "static", "start", "date", "rate"])
def test_other_keys_are_ignored(key: str) -> None:
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


def test_an_object_in_the_context_may_raise() -> None:
    assert "key" not in PLACES.of({"session": Broken()}).findings[0].data
    with pytest.raises(ConnectionError):
        PLACES.of({"state": Broken()})


def test_the_fields_of_a_unit_may_name_the_state() -> None:
    assert PLACES.of({"input": {"state": "BOOKED"}}).state == "BOOKED"
    assert PLACES.of({"state": "ASKING", "input": {"state": "BOOKED"}}).state == "ASKING"
    assert PLACES.of({"input": {"state": "BOOKD"}}).findings[0].code == "D004"


def test_the_start_is_used_only_without_a_state() -> None:
    places = Places(["ASKING", "BOOKED"], start="ASKING")
    assert (places.of({}).state, places.of({}).findings[0].code) == ("ASKING", "D007")
    assert places.of({"fsm_state": "BOOKED"}).findings[0].code == "D006"
    assert places.of({"state": "BOOKD"}).findings[0].code == "D004"
    assert Places(["ASKING"], start="NOWHERE").of({}).findings[0].code == "D006"


def test_long_lists_of_states_are_shortened() -> None:
    message = Places([f"S{n}" for n in range(40)]).of({}).findings[0].message
    assert message.endswith("S9, S10 and 29 more")


def test_a_contract_without_states_needs_none_in_the_context() -> None:
    assert Places([]).of({"state": "X"}) == ("", ())
    assert Places([]).of({}) == ("", ())


def test_an_unknown_state_permits_what_every_state_permits() -> None:
    states = compile_states({"A": {"tools": ["look", "book"]}, "B": {"tools": ["look"]}, "C": {}})
    assert (states.permits("X", "look"), states.permits("X", "book")) == (True, False)
    assert (states.permits("A", "book"), states.permits("C", "book")) == (True, True)
    assert compile_states({"A": {}}).permits("X", "book")
