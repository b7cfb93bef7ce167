"""A user's validators on an annotation: before, after, around and instead of pydantic's own."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    GetPydanticSchema,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import core_schema

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, row, valid

MODEL, CHECKED = Reader.MODEL, Reader.CHECKED


def must_be_even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


def must_be_upper(text: str) -> str:
    assert text.isupper(), "must be upper case"
    return text


def split(value: Any) -> Any:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def without_unit(value: Any) -> Any:
    return value.removesuffix(" kg") if isinstance(value, str) else value


def at_most_ten(value: Any, handler: ValidatorFunctionWrapHandler) -> int:
    return min(10, handler(value))


def zero_if_unknown(value: Any, handler: ValidatorFunctionWrapHandler) -> int:
    return 0 if value == "unknown" else handler(value)


def from_hex(value: Any) -> int:
    return int(str(value), 16)


def longer_than_first(value: str, info: ValidationInfo) -> str:
    if len(value) <= len(info.data.get("first", "")):
        raise ValueError("must be longer than first")
    return value


def unique(items: list[str]) -> list[str]:
    if len(set(items)) != len(items):
        raise ValueError("must not repeat an item")
    return items


Even = Annotated[int, AfterValidator(must_be_even)]
Split = Annotated[list[str], BeforeValidator(split)]
Currency = Annotated[str, AfterValidator(str.strip), AfterValidator(must_be_upper), Field(min_length=3, max_length=3)]


class Parcel(BaseModel):
    weight: Annotated[float, BeforeValidator(without_unit), Field(gt=0)]
    tags: Split = []


class Score(BaseModel):
    score: Annotated[int, WrapValidator(at_most_ten)]


class Paint(BaseModel):
    color: Annotated[int, PlainValidator(from_hex)]


class Pair(BaseModel):
    first: str
    second: Annotated[str, AfterValidator(longer_than_first)]


class Group(BaseModel):
    members: Annotated[list[str], AfterValidator(unique)]


class Sides(BaseModel):
    sides: dict[str, Even]


@dataclass
class Lot:
    count: Even
    labels: Split


class Temperature:
    """A user's class that defines how pydantic should make it."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Temperature) and other.degrees == self.degrees

    def __hash__(self) -> int:
        return hash(self.degrees)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.float_schema(ge=-273.15),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.degrees),
        )


class Weather(BaseModel):
    high: Temperature
    low: Temperature | None = None


Reversed = Annotated[
    str,
    GetPydanticSchema(
        lambda source, handler: core_schema.no_info_after_validator_function(lambda text: text[::-1], handler(source))
    ),
]


ROWS = [
    row(
        "after",
        Even,
        CHECKED,
        valid("4", 4),
        valid('"4"', 4),
        invalid("5", "$"),
        broken("<answer>4</answer>", 4, 4),
        broken("<answer>5</answer>", 5, REFUSED, "$"),
    ),
    row(
        "after, with an assertion",
        Annotated[str, AfterValidator(must_be_upper)],
        CHECKED,
        valid('"EUR"', "EUR"),
        invalid('"eur"', "$"),
        broken("'EUR'", "EUR", "EUR"),
    ),
    row(
        "two after, and a length",
        Currency,
        CHECKED,
        valid('"EUR"', "EUR"),
        invalid('"EURO"', "$"),
        invalid('"eur"', "$"),
        broken("“USD”", "USD", "USD"),
    ),
    row(
        "before, splitting",
        Split,
        MODEL,
        valid('"a, b"', ["a", "b"]),
        valid('["a", "b"]', ["a", "b"]),
        invalid('["a", null]', "$[1]"),
        broken("'a, b'", "a, b", ["a", "b"]),
    ),
    row(
        "wrap",
        Annotated[int, WrapValidator(zero_if_unknown)],
        MODEL,
        valid("7", 7),
        valid('"unknown"', 0),
        invalid('"seven"', "$"),
        broken("'unknown'", "unknown", 0),
    ),
    row(
        "plain",
        Annotated[int, PlainValidator(from_hex)],
        MODEL,
        valid('"ff"', 255),
        invalid('"xyz"', "$"),
        broken("'ff'", "ff", 255),
    ),
    row(
        "list of validated",
        list[Even],
        CHECKED,
        valid("[2, 4]", [2, 4]),
        invalid("[2, 3]", "$[1]"),
        broken("[2, 4,]", [2, 4], [2, 4]),
    ),
    row(
        "dict of validated",
        dict[str, Even],
        CHECKED,
        valid('{"a": 2}', {"a": 2}),
        invalid('{"a": 2, "b": 3}', "$.b"),
        broken("{'a': 2}", {"a": 2}, {"a": 2}),
    ),
    row(
        "optional validated",
        Even | None,
        CHECKED,
        valid("null", None),
        valid("2", 2),
        invalid("3", "$"),
        broken("None", None, None),
    ),
    row(
        "tuple of validated",
        tuple[Even, Currency],
        CHECKED,
        valid('[2, "EUR"]', (2, "EUR")),
        invalid('[2, "euro"]', "$[1]"),
        broken("(2, 'EUR')", [2, "EUR"], (2, "EUR")),
    ),
    row(
        "before in a model",
        Parcel,
        MODEL,
        valid('{"weight": 2.5}', Parcel(weight=2.5)),
        valid('{"weight": "2.5 kg", "tags": "a, b"}', Parcel(weight=2.5, tags=["a", "b"])),
        invalid('{"weight": "0 kg"}', "$.weight"),
        invalid('{"weight": "heavy"}', "$.weight"),
        broken(
            "{'weight': '2.5 kg', 'tags': 'a, b'}",
            {"weight": "2.5 kg", "tags": "a, b"},
            Parcel(weight=2.5, tags=["a", "b"]),
        ),
    ),
    row(
        "wrap in a model",
        Score,
        MODEL,
        valid('{"score": 7}', Score(score=7)),
        valid('{"score": 12}', Score(score=10)),
        invalid('{"score": "good"}', "$.score"),
        broken("{score: 12}", {"score": 12}, Score(score=10)),
    ),
    row(
        "plain in a model",
        Paint,
        MODEL,
        valid('{"color": "ff"}', Paint(color="ff")),
        invalid('{"color": "red"}', "$.color"),
        broken("{'color': 'ff'}", {"color": "ff"}, Paint(color="ff")),
    ),
    row(
        "after, looking at another field",
        Pair,
        MODEL,
        valid('{"first": "a", "second": "ab"}', Pair(first="a", second="ab")),
        invalid('{"first": "abc", "second": "ab"}', "$.second"),
        broken("{'first': 'a', 'second': 'ab'}", {"first": "a", "second": "ab"}, Pair(first="a", second="ab")),
    ),
    row(
        "after, on a list in a model",
        Group,
        MODEL,
        valid('{"members": ["a", "b"]}', Group(members=["a", "b"])),
        coerced('{"members": "a"}', {"members": ["a"]}, Group(members=["a"])),
        invalid('{"members": ["a", "a"]}', "$.members"),
        broken("{'members': ['a', 'b'", {"members": ["a", "b"]}, Group(members=["a", "b"])),
    ),
    row(
        "after, in a dict in a model",
        Sides,
        MODEL,
        valid('{"sides": {"left": 2}}', Sides(sides={"left": 2})),
        invalid('{"sides": {"left": 2, "right": 3}}', "$.sides.right"),
        broken("{'sides': {'left': 2}", {"sides": {"left": 2}}, Sides(sides={"left": 2})),
    ),
    row(
        "validators in a dataclass",
        Lot,
        CHECKED,
        valid('{"count": 2, "labels": "a, b"}', Lot(2, ["a", "b"])),
        valid('{"count": 2, "labels": ["a"]}', Lot(2, ["a"])),
        invalid('{"count": 3, "labels": ["a"]}', "$.count"),
        broken("{'count': 2, 'labels': 'a, b'}", {"count": 2, "labels": "a, b"}, Lot(2, ["a", "b"])),
    ),
    row(
        "a class that makes its own schema",
        Weather,
        MODEL,
        valid('{"high": 21.5}', Weather(high=21.5)),
        valid('{"high": 21.5, "low": null}', Weather(high=21.5)),
        valid('{"high": "21.5"}', Weather(high=21.5)),
        invalid('{"high": -300}', "$.high"),
        broken("{'high': 21.5, 'low': -3}", {"high": 21.5, "low": -3}, Weather(high=21.5, low=-3)),
    ),
    row(
        "an annotation that makes its own schema",
        Reversed,
        MODEL,
        valid('"abc"', "cba"),
        invalid("null", "$"),
        broken("'abc'", "abc", "cba"),
    ),
    row(
        "limited list with a validator",
        Annotated[list[str], Field(max_length=3), AfterValidator(unique)],
        CHECKED,
        valid('["a", "b"]', ["a", "b"]),
        invalid('["a", "a"]', "$"),
        invalid('["a", "b", "c", "d"]', "$"),
        broken("['a', 'b',]", ["a", "b"], ["a", "b"]),
    ),
]
