"""Machines: real objects of the libraries, and other objects with a state."""

import dataclasses
import enum
import types
from typing import Any

import msgspec
import pytest
from statemachine import State, StateMachine
from transitions import Machine

from trueup import Contract
from trueup.checks.machines import state_name, transitions_of
from trueup.checks.state import compile_states


class Step(enum.Enum):
    ASKING = 1
    BOOKED = 2


class Flow(StateMachine):
    asking = State(initial=True)
    choosing = State()
    booked = State(final=True)
    choose = asking.to(choosing)
    book = choosing.to(booked)


class Order:
    pass


def booking() -> Any:
    model = Order()
    Machine(model, states=["ASKING", "CHOOSING", "BOOKED"], initial="ASKING", transitions=[["choose", "ASKING", "CHOOSING"], ["book", "CHOOSING", "BOOKED"]])  # fmt: skip
    return model


RULES: dict[str, Any] = {
    "ASKING": {"forbid": [{"term": "Ana"}], "fallback": "Which service?"},
    "CHOOSING": {"fallback": "With whom?"},
    "BOOKED": {},
}


@pytest.mark.spec("C14")
def test_a_running_machine_of_transitions_is_the_state() -> None:
    contract = Contract(states=RULES)
    model = booking()
    assert not contract.check("Con Ana.", {"state": model}).ok
    model.choose()
    assert contract.check("Con Ana.", {"state": model}).ok
    assert contract.fallback({"state": model}) == "With whom?"
    machine = Machine(states=["A", "B"], initial="A")
    assert state_name(machine) == "A"
    assert state_name(Machine(states=Step, initial=Step.ASKING)) == "ASKING"


@pytest.mark.spec("C14")
def test_a_running_python_statemachine_is_the_state() -> None:
    contract = Contract(states=RULES)
    flow = Flow()
    assert not contract.check("Con Ana.", {"state": flow}).ok
    flow.send("choose")
    assert contract.check("Con Ana.", {"state": flow}).ok
    assert state_name(flow) == "choosing"


@pytest.mark.spec("C14")
def test_states_and_transitions_load_from_a_machine() -> None:
    machine = Machine(
        states=["ASKING", "CHOOSING", "LOST"], initial="ASKING", transitions=[["choose", "ASKING", "CHOOSING"]]
    )
    assert transitions_of(machine) == ("ASKING", {"ASKING": ("CHOOSING",), "CHOOSING": (), "LOST": ()})
    states = compile_states({"machine": machine, "ASKING": RULES["ASKING"]})
    assert list(states.states) == ["ASKING", "CHOOSING", "LOST"]
    assert [(p.kind, p.path) for p in states.problems()] == [("unreachable", ("states", "LOST"))]


@pytest.mark.spec("C14")
def test_names_of_a_machine_match_the_table_in_any_case() -> None:
    assert transitions_of(Flow()) == ("asking", {"asking": ("choosing",), "choosing": ("booked",), "booked": ()})
    states = compile_states({"machine": Flow(), **RULES})
    assert (states.start, states.states["CHOOSING"].next) == ("ASKING", ("BOOKED",))
    assert states.problems() == []


@pytest.mark.spec("C14")
def test_the_contracts_machine_is_used_if_the_context_has_no_state() -> None:
    machine = Machine(states=["ASKING", "CHOOSING"], initial="ASKING", transitions=[["choose", "ASKING", "CHOOSING"]])
    contract = Contract(states={"machine": machine, "ASKING": RULES["ASKING"]})
    assert not contract.check("Con Ana.").ok
    machine.trigger("choose")
    assert contract.check("Con Ana.").ok


@dataclasses.dataclass
class Talk:
    state: Any


@pytest.mark.spec("C14")
@pytest.mark.parametrize(
    "source",
    [
        "ASKING",
        Step.ASKING,
        {"state": "ASKING", "messages": []},
        {"messages": [], "current_state": Step.ASKING},
        {"state": {"current_state": "ASKING"}},
        Talk("ASKING"),
        Talk(Step.ASKING),
        Talk(Talk("ASKING")),
        types.SimpleNamespace(current_state="ASKING"),
        types.SimpleNamespace(values={"state": "ASKING"}, next=()),
        types.SimpleNamespace(values={"messages": []}, next=("ASKING",)),
        types.SimpleNamespace(state=types.SimpleNamespace(name="ASKING")),
        types.SimpleNamespace(model=Talk("ASKING")),
        ["ASKING"],
    ],
)
def test_any_object_with_a_state_works(source: Any) -> None:
    assert state_name(source) == "ASKING"
    assert not Contract(states=RULES).check("Con Ana.", {"state": source}).ok


@pytest.mark.spec("C14")
@pytest.mark.parametrize(
    "held", [{"collected_data": {"first_name": "Ada"}}, {"slots": {"first_name": "Ada"}}, {"first_name": "Ada"}]
)
def test_a_graph_state_also_gives_the_collected_data(held: dict[str, Any]) -> None:
    contract = Contract(states={"S": {"forbid": [{"term": "confirmed", "unless": "first_name"}]}})
    assert contract.check("It is confirmed.", {"state": {"current_state": "S", **held}}).ok
    assert not contract.check("It is confirmed.", {"state": {"current_state": "S"}}).ok
    assert not contract.check("It is confirmed.", {"state": {"current_state": "S", **held}, "data": {}}).ok


@pytest.mark.parametrize("source", [None, "", {}, {"messages": []}, 5, object(), ["A", "B"], Talk(None)])
def test_objects_without_a_state_give_none(source: Any) -> None:
    assert state_name(source) is None


def test_an_object_that_is_its_own_state_does_not_loop() -> None:
    loop = Talk(None)
    loop.state = loop
    assert state_name(loop) is None


@pytest.mark.parametrize("source", [None, "A", 5, {}, Talk("A")])
def test_other_objects_have_no_transitions(source: Any) -> None:
    assert transitions_of(source) is None


class Slots(msgspec.Struct):
    first_name: str = ""


class Booking:
    """A machine as people write them: an enum in a property, and the collected data."""

    def __init__(self, kept: Any, name: str = "collected_data") -> None:
        self._state = Step.ASKING
        setattr(self, name, kept)

    @property
    def state(self) -> Step:
        return self._state


@pytest.mark.spec("C14")
@pytest.mark.parametrize(
    "machine",
    [
        Booking({"first_name": "Ada"}),
        Booking({"first_name": "Ada"}, "data"),
        Booking({"first_name": "Ada"}, "slots"),
        Booking({"first_name": "Ada"}, "context"),
        Booking(Slots("Ada")),
        Booking(types.SimpleNamespace(first_name="Ada")),
        Booking("Ada", "first_name"),
        types.SimpleNamespace(values={"state": "ASKING", "collected_data": {"first_name": "Ada"}}, next=()),
        types.SimpleNamespace(model=Booking({"first_name": "Ada"})),
    ],
)
def test_collected_data_is_read_from_objects_and_dicts_alike(machine: Any) -> None:
    contract = Contract(states={"ASKING": {"forbid": [{"term": "confirmed", "unless": "first_name"}]}})
    assert contract.check("It is confirmed.", {"state": machine}).ok
    assert not contract.check("It is confirmed.", {"state": machine, "data": {}}).ok
    assert not contract.check("It is confirmed.", {"state": Booking({})}).ok


def test_a_contracts_machine_and_a_unit_keep_data_too() -> None:
    rule = {"term": "confirmed", "unless": "first_name"}
    machine = Booking({"first_name": "Ada"})
    contract = Contract(states={"machine": machine, "ASKING": {"forbid": [rule]}})
    assert contract.check("It is confirmed.").ok
    plain = Contract(states={"ASKING": {"forbid": [rule]}})
    assert plain.check("It is confirmed.", {"input": {"state": "ASKING", "data": {"first_name": "Ada"}}}).ok
    assert plain.check("It is confirmed.", {"state": "ASKING", "data": Slots("Ada")}).ok
