"""T1: a Python function is a tool: its signature is the schema, its docstring the descriptions."""

import datetime as dt
import enum
import functools
from typing import Annotated, Any, Literal, Optional, TypedDict

import pytest
from pydantic import BaseModel

from trueup import Contract
from trueup.conform.functions import argument_maker, function_name, function_tool

pytestmark = pytest.mark.spec("T1")


class Unit(enum.Enum):
    C = "c"
    F = "f"


class Place(BaseModel):
    city: str
    country: str = "NO"


class Row(TypedDict):
    a: int


def parameters(function: Any) -> dict[str, Any]:
    schema = function_tool(function).parameters
    assert isinstance(schema, dict)
    return schema


def test_signature_and_docstring() -> None:
    def get_weather(city: str, days: int = 1, *, exact: bool = False) -> str:
        """Look up the
        weather of a city.

        More words.

        Args:
            city: The city's name.
            days (int): How many days,
                at most ten.
        """
        return city

    tool = function_tool(get_weather)
    assert (tool.name, tool.description, tool.function) == (
        "get_weather",
        "Look up the weather of a city.",
        get_weather,
    )
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city's name."},
            "days": {"type": "integer", "description": "How many days,", "default": 1},
            "exact": {"type": "boolean", "default": False},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def sphinx(a: int) -> None:
    """Do.

    :param a: The number.
    """


def numpy(a: int) -> None:
    """Do.

    Parameters
    ----------
    a : int
        The number.
    """


@pytest.mark.parametrize("function", [sphinx, numpy])
def test_parameters_are_described_in_other_styles(function: Any) -> None:
    assert parameters(function)["properties"]["a"]["description"] == "The number."


def hinted(
    a: Annotated[int, "A number."],
    b: Optional[str],  # noqa: UP045 - the old writing has to work
    c: Literal["x", "y"],
    d: list[int],
    e: dict[str, float],
    f: Unit,
    g: dt.date,
    h: Row,
    i: int | str,
    j: Any,
    k=None,  # type: ignore[no-untyped-def]
) -> None: ...


GOOD = {"a": 1, "b": None, "c": "x", "d": [1], "e": {"k": 1.5}, "f": "c", "g": "2024-02-29", "h": {"a": 1}, "i": "s", "j": [None]}  # fmt: skip
WRONG = {"a": "x", "b": {}, "c": "z", "d": ["x"], "e": {"k": "x"}, "f": "k", "g": 5, "h": {"a": "x"}, "i": {}}


def test_hints_become_schemas() -> None:
    contract = Contract(tools=[hinted])
    assert parameters(hinted)["properties"]["a"]["description"] == "A number."

    def codes(**changes: Any) -> list[str]:
        call = {"id": "1", "function": {"name": "hinted", "arguments": {**GOOD, **changes}}}
        return [f.path for f in contract.check({"tool_calls": [call]}).errors]

    assert codes() == []
    for key, value in WRONG.items():
        assert codes(**{key: value}), key
    assert codes(k={"any": "thing"}) == []


def test_a_model_as_a_hint_and_a_model_among_definitions() -> None:
    def move(start: Place, goals: list[Place]) -> None: ...

    contract = Contract(tools=[move])
    call = {"id": "1", "function": {"name": "move", "arguments": {"start": {"city": "Oslo"}, "goals": [{"city": 3}]}}}
    verdict = contract.check({"tool_calls": [call]})
    assert verdict.ok
    assert verdict.calls[0].args == {"start": {"city": "Oslo"}, "goals": [{"city": "3"}]}


def test_rest_arguments_methods_partials_and_callables() -> None:
    def free(a: int, *more: int, **others: int) -> None: ...

    assert parameters(free)["additionalProperties"] is True
    assert list(parameters(free)["properties"]) == ["a"]

    class Shop:
        def order(self, item: str) -> str:
            return item

        @staticmethod
        def ping(host: str) -> str:
            return host

    assert list(parameters(Shop().order)["properties"]) == ["item"]
    assert list(parameters(Shop.ping)["properties"]) == ["host"]

    def add(a: int, b: int) -> int:
        return a + b

    half = functools.partial(add, b=2)
    assert function_name(half) == "add"
    assert (
        Contract(tools=[half])
        .check({"tool_calls": [{"id": "1", "function": {"name": "add", "arguments": {"a": 1}}}]})
        .ok
    )


def test_a_hint_that_cannot_be_resolved_takes_anything() -> None:
    def odd(a: "NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert parameters(odd)["properties"] == {"a": {}}


def test_classes_do_not_inherit_a_description() -> None:
    assert function_tool(Place).description == ""


def test_arguments_become_what_the_function_expects() -> None:
    def f(a: int, day: dt.date, place: Place, unit: Unit = Unit.C) -> None: ...

    made = argument_maker(f)({"a": 1, "day": "2024-02-29", "place": {"city": "Oslo"}, "unit": "f"})
    assert made == {"a": 1, "day": dt.date(2024, 2, 29), "place": Place(city="Oslo"), "unit": Unit.F}
    with pytest.raises(ValueError, match="day"):
        argument_maker(f)({"a": 1, "day": "yesterday", "place": {"city": "Oslo"}})
