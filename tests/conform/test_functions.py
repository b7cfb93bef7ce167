"""T1: a Python function is a tool: its signature is the schema, its docstring the descriptions."""

import datetime as dt
import enum
import functools
from typing import Annotated, Any, Literal, Optional, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, Field

from trueup import Contract, execute
from trueup.conform.functions import argument_maker, function_name, function_tool
from trueup.conform.refusals import SchemaError

pytestmark = pytest.mark.spec("T1")


Euros = Annotated[int, Field(ge=1, le=100)]


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


def test_the_schema_comes_from_signature_and_docstring() -> None:
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


def test_a_model_may_be_a_hint_or_a_definition() -> None:
    def move(start: Place, goals: list[Place]) -> None: ...

    contract = Contract(tools=[move])
    call = {"id": "1", "function": {"name": "move", "arguments": {"start": {"city": "Oslo"}, "goals": [{"city": 3}]}}}
    verdict = contract.check({"tool_calls": [call]})
    assert verdict.ok
    assert verdict.calls[0].args == {"start": {"city": "Oslo"}, "goals": [{"city": "3"}]}


def test_variadic_arguments_methods_partials_and_callables_are_read() -> None:
    def free(a: int, *more: int, **others: Any) -> None: ...

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


def test_an_annotation_that_cannot_be_resolved_is_an_error_because_it_may_contain_limits() -> None:
    def odd(a: "Euros", b: "NoSuchType") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(SchemaError, match="the annotation of 'b' in odd cannot be resolved: name 'NoSuchType'"):
        Contract(tools=[odd])


def test_return_types_and_annotated_remarks_need_not_be_resolved() -> None:
    def pay(amount: "Euros", note: str) -> "NoSuchType": ...  # type: ignore[name-defined]  # noqa: F821

    pay.__annotations__["note"] = "what it is for"
    assert parameters(pay)["properties"] == {"amount": {"maximum": 100, "minimum": 1, "type": "integer"}, "note": {}}


def test_an_annotation_may_name_a_local_of_the_enclosing_function() -> None:
    most = Annotated[int, Field(le=3)]

    def inner(n: "most") -> Any:
        return most, n

    assert parameters(inner)["properties"]["n"]["maximum"] == 3


def call_of(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [{"id": "1", "function": {"name": name, "arguments": arguments}}]}


def test_limits_of_variadic_arguments_are_enforced() -> None:
    def pay(to: str, **amounts: Euros) -> dict[str, int]:
        return amounts

    contract = Contract(tools=[pay])
    assert parameters(pay)["additionalProperties"]["maximum"] == 100
    good = contract.check(call_of("pay", {"to": "Ada", "tip": "5"}))
    assert good.ok
    assert [(fix.code, fix.path) for fix in good.fixes] == [("C001", "$.calls[0].args.tip")]
    assert execute(good, [pay]).done[0].value == {"tip": 5}
    bad = contract.check(call_of("pay", {"to": "Ada", "tip": 5000}))
    assert [(found.code, found.path) for found in bad.errors] == [("V004", "$.calls[0].args.tip")]


def test_an_unreadable_annotation_with_limits_is_refused() -> None:
    class Wallet:
        pass

    class Order(msgspec.Struct):
        amount: Euros

    def look(wallet: Wallet, wallets: list[Wallet]) -> None: ...
    def pay(order: Order) -> None: ...
    def both(parts: tuple[Wallet, Euros]) -> None: ...

    assert parameters(look)["properties"] == {"wallet": {}, "wallets": {}}
    for function in (pay, both):
        with pytest.raises(SchemaError):
            Contract(tools=[function])


def test_positional_only_parameters_are_passed_by_position() -> None:
    def pay(amount: Euros, currency: str = "EUR", /, note: str = "") -> tuple[int, str, str]:
        return amount, currency, note

    for arguments, value in (
        ({"amount": 5}, (5, "EUR", "")),
        ({"amount": 5, "note": "tip"}, (5, "EUR", "tip")),
        ({"note": "tip", "currency": "NOK", "amount": "5"}, (5, "NOK", "tip")),
    ):
        verdict = Contract(tools=[pay]).check(call_of("pay", arguments))
        assert execute(verdict, [pay]).done[0].value == value


def test_classes_do_not_inherit_a_description() -> None:
    assert function_tool(Place).description == ""


def test_arguments_become_what_the_function_expects() -> None:
    def f(a: int, day: dt.date, place: Place, unit: Unit = Unit.C) -> None: ...

    made = argument_maker(f)({"a": 1, "day": "2024-02-29", "place": {"city": "Oslo"}, "unit": "f"})
    assert made == {"a": 1, "day": dt.date(2024, 2, 29), "place": Place(city="Oslo"), "unit": Unit.F}
    with pytest.raises(ValueError, match="day"):
        argument_maker(f)({"a": 1, "day": "yesterday", "place": {"city": "Oslo"}})
