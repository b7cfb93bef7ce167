"""Unions: of scalars, of models, discriminated by a field or by a function."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, RootModel, Tag

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, row, valid

PLAIN, LIMITED, MODEL = Reader.PLAIN, Reader.LIMITED, Reader.MODEL


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float = Field(gt=0)


class Square(BaseModel):
    kind: Literal["square"]
    side: float = Field(gt=0)


class Triangle(BaseModel):
    kind: Literal["triangle", "wedge"] = "triangle"
    sides: tuple[float, float, float]


Shape = Annotated[Circle | Square | Triangle, Field(discriminator="kind")]


class Drawing(BaseModel):
    shapes: list[Shape]


class OneShape(RootModel[Shape]):
    pass


class Success(BaseModel):
    result: int


class Failure(BaseModel):
    error: str


class IntOrText(BaseModel):
    value: int | str


class TextOrList(BaseModel):
    value: str | list[str]


class LimitedEither(BaseModel):
    value: Annotated[int, Field(ge=0)] | Literal["none"]


class LeftToRight(BaseModel):
    value: Annotated[int | str, Field(union_mode="left_to_right")]


class Small(BaseModel):
    model_config = {"extra": "forbid"}
    a: int


class Big(BaseModel):
    model_config = {"extra": "forbid"}
    a: int
    b: int


def size_of(value: Any) -> str:
    return "list" if isinstance(value, (list, tuple)) else "word"


@dataclass
class Meeting:
    topic: str
    minutes: int


@dataclass
class Call:
    number: str


@dataclass
class Agenda:
    when: str | int


ROWS = [
    row(
        "int or str",
        int | str,
        PLAIN,
        valid("5", 5),
        valid('"5"', "5"),
        invalid("null", "$"),
        invalid("[1, 2]", "$"),
        broken("<answer>'five'</answer>", "five", "five"),
    ),
    row(
        "int, float or None",
        int | float | None,
        PLAIN,
        valid("5", 5),
        valid("5.5", 5.5),
        valid("null", None),
        invalid('"many"', "$"),
        broken("5.5,", 5.5, 5.5),
    ),
    row(
        "str or list of str",
        str | list[str],
        PLAIN,
        valid('"a"', "a"),
        valid('["a", "b"]', ["a", "b"]),
        invalid('["a", null]', None),
        broken("['a', 'b']", ["a", "b"], ["a", "b"]),
    ),
    row(
        "list of int or word",
        list[int | Literal["any"]],
        PLAIN,
        valid('[1, "any"]', [1, "any"]),
        invalid('[1, "none"]', "$[1]"),
        broken("[1, 'any',]", [1, "any"], [1, "any"]),
    ),
    row(
        "limited int or word",
        Annotated[int, Field(ge=0)] | Literal["none"],
        LIMITED,
        valid("0", 0),
        valid('"none"', "none"),
        invalid("-1", "$"),
        invalid('"some"', "$"),
        broken("'none'", "none", "none"),
    ),
    row(
        "limited int or limited str",
        Annotated[int, Field(ge=100)] | Annotated[str, Field(min_length=3)],
        LIMITED,
        valid("100", 100),
        valid('"abc"', "abc"),
        invalid('"ab"', "$"),
        broken("“abc”", "abc", "abc"),
    ),
    row(
        "discriminated union",
        Shape,
        MODEL,
        valid('{"kind": "circle", "radius": 2}', Circle(kind="circle", radius=2)),
        valid('{"kind": "wedge", "sides": [3, 4, 5]}', Triangle(kind="wedge", sides=(3, 4, 5))),
        coerced('{"kind": "Circle", "radius": 2}', {"kind": "circle", "radius": 2}, Circle(kind="circle", radius=2)),
        coerced(
            '{"kind": "wedge", "sides": "[3, 4, 5]"}',
            {"kind": "wedge", "sides": [3, 4, 5]},
            Triangle(kind="wedge", sides=(3, 4, 5)),
        ),
        invalid('{"kind": "circle", "radius": 0}', "$.radius"),
        invalid('{"kind": "circle"}', "$.radius"),
        invalid('{"kind": "blob", "radius": 1}', None),
        broken("{'kind': 'square', 'side': 2}", {"kind": "square", "side": 2}, Square(kind="square", side=2)),
        broken("{'kind': 'square', 'side': -2}", {"kind": "square", "side": -2}, REFUSED, "$.side"),
    ),
    row(
        "list of a discriminated union",
        Drawing,
        MODEL,
        valid(
            '{"shapes": [{"kind": "circle", "radius": 1}, {"kind": "square", "side": "2"}]}',
            Drawing(shapes=[Circle(kind="circle", radius=1), Square(kind="square", side=2)]),
        ),
        coerced(
            '{"shapes": {"kind": "circle", "radius": 1}}',
            {"shapes": [{"kind": "circle", "radius": 1}]},
            Drawing(shapes=[Circle(kind="circle", radius=1)]),
        ),
        invalid('{"shapes": [{"kind": "circle", "radius": 1}, {"kind": "square", "side": 0}]}', "$.shapes[1].side"),
        broken(
            "{'shapes': [{'kind': 'circle', 'radius': 1}]",
            {"shapes": [{"kind": "circle", "radius": 1}]},
            Drawing(shapes=[Circle(kind="circle", radius=1)]),
        ),
    ),
    row(
        "root model of a discriminated union",
        OneShape,
        MODEL,
        valid('{"kind": "circle", "radius": 1}', OneShape(Circle(kind="circle", radius=1))),
        invalid('{"kind": "square", "side": "wide"}', "$.side"),
        broken(
            "{kind: 'circle', radius: 1}", {"kind": "circle", "radius": 1}, OneShape(Circle(kind="circle", radius=1))
        ),
    ),
    row(
        "union of models",
        Success | Failure,
        MODEL,
        valid('{"result": 5}', Success(result=5)),
        valid('{"error": "timeout"}', Failure(error="timeout")),
        coerced('{"error": 504}', {"error": "504"}, Failure(error="504")),
        coerced('{"Result": "5"}', {"result": "5"}, Success(result=5)),
        invalid('{"status": "unknown"}', None),
        invalid('{"result": "none"}', None),
        broken("{'error': 'timeout'}", {"error": "timeout"}, Failure(error="timeout")),
    ),
    row(
        "union of closed models",
        Small | Big,
        MODEL,
        valid('{"a": 1}', Small(a=1)),
        valid('{"a": 1, "b": 2}', Big(a=1, b=2)),
        invalid('{"a": 1, "c": 2}', None),
        broken("{'a': 1, 'b': 2}", {"a": 1, "b": 2}, Big(a=1, b=2)),
    ),
    row(
        "model or str",
        Success | str,
        MODEL,
        valid('{"result": 5}', Success(result=5)),
        valid('"nothing"', "nothing"),
        invalid("null", "$"),
        broken("{'result': 5,}", {"result": 5}, Success(result=5)),
    ),
    row(
        "field of int or str",
        IntOrText,
        MODEL,
        valid('{"value": 5}', IntOrText(value=5)),
        valid('{"value": "5"}', IntOrText(value="5")),
        invalid('{"value": null}', None),
        broken("{'value': '5'}", {"value": "5"}, IntOrText(value="5")),
    ),
    row(
        "field of str or list",
        TextOrList,
        MODEL,
        valid('{"value": "a"}', TextOrList(value="a")),
        valid('{"value": ["a", "b"]}', TextOrList(value=["a", "b"])),
        invalid('{"value": null}', None),
        broken("{'value': ['a', 'b'}", {"value": ["a", "b"]}, TextOrList(value=["a", "b"])),
    ),
    row(
        "field of limited int or word",
        LimitedEither,
        MODEL,
        valid('{"value": 0}', LimitedEither(value=0)),
        valid('{"value": "3"}', LimitedEither(value=3)),
        valid('{"value": "none"}', LimitedEither(value="none")),
        invalid('{"value": -1}', None),
        broken("{value: 'none'}", {"value": "none"}, LimitedEither(value="none")),
    ),
    row(
        "union from left to right",
        LeftToRight,
        MODEL,
        valid('{"value": "5"}', LeftToRight(value=5)),
        valid('{"value": "five"}', LeftToRight(value="five")),
        invalid('{"value": [1, 2]}', None),
        broken("{'value': '5'}", {"value": "5"}, LeftToRight(value=5)),
    ),
    row(
        "union by a function",
        Annotated[
            Annotated[list[int], Tag("list")] | Annotated[str, Field(min_length=2), Tag("word")], Discriminator(size_of)
        ],
        LIMITED,
        valid("[1, 2]", [1, 2]),
        valid('"ab"', "ab"),
        invalid('"a"', None),
        invalid('[1, "x"]', None),
        broken("[1, 2,]", [1, 2], [1, 2]),
    ),
    row(
        "union of dataclasses",
        Meeting | Call,
        LIMITED,  # msgspec cannot distinguish two dataclasses
        valid('{"topic": "Budget", "minutes": 30}', Meeting("Budget", 30)),
        valid('{"number": "112"}', Call("112")),
        invalid('{"topic": "Budget"}', None),
        broken("{'topic': 'Budget', 'minutes': 30}", {"topic": "Budget", "minutes": 30}, Meeting("Budget", 30)),
    ),
    row(
        "dataclass with a union",
        Agenda,
        PLAIN,
        valid('{"when": 10}', Agenda(10)),
        valid('{"when": "10"}', Agenda("10")),
        invalid('{"when": null}', None),
        broken("{'when': 'noon'", {"when": "noon"}, Agenda("noon")),
    ),
    row(
        "optional list of limited words",
        list[Annotated[str, Field(max_length=3)]] | None,
        LIMITED,
        valid("null", None),
        valid('["abc"]', ["abc"]),
        invalid('["abcd"]', None),
        broken("['abc',]", ["abc"], ["abc"]),
    ),
    row(
        "dict of int or limited str",
        dict[str, int | Annotated[str, Field(pattern=r"^n/a$")]],
        LIMITED,
        valid('{"a": 1, "b": "n/a"}', {"a": 1, "b": "n/a"}),
        invalid('{"a": "unknown"}', "$.a"),
        broken("{'a': 1, 'b': 'n/a'}", {"a": 1, "b": "n/a"}, {"a": 1, "b": "n/a"}),
    ),
]
