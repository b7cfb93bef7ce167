"""Dataclasses of the standard library (plain, so B4 applies) and of pydantic (its own rules apply)."""

import dataclasses
from dataclasses import dataclass
from datetime import date
from typing import Annotated, ClassVar, Literal, Optional

import annotated_types as at
import pydantic.dataclasses
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, row, valid

PLAIN, LIMITED, MODEL = Reader.PLAIN, Reader.LIMITED, Reader.MODEL


@dataclass
class Visitor:
    name: str
    age: int


@dataclass
class Flags:
    on: bool
    ratio: float = 0.5


@dataclass
class Tagged:
    tags: list[str] = dataclasses.field(default_factory=list)
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Coordinate:
    lat: float
    lon: float


@dataclass(kw_only=True)
class Keyword:
    limit: int = 10
    query: str


@dataclass
class Team:
    lead: Visitor
    members: list[Visitor]


@dataclass
class Tree:
    value: int
    left: Optional["Tree"] = None


@dataclass
class Trip:
    start: date
    end: date

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError("the trip ends before it starts")


@dataclass
class Level:
    level: Literal["low", "high"]
    kind: ClassVar[str] = "level"


@dataclass
class Parent:
    id: int


@dataclass
class Child(Parent):
    name: str


@dataclass
class Refund:
    amount: Annotated[int, Field(ge=1, le=100)]
    reason: str = ""


@dataclass
class Signup:
    email: Annotated[str, Field(pattern=r"^\S+@\S+$")]
    age: Annotated[int, at.Ge(18)]


@dataclass
class Ratings:
    stars: list[Annotated[int, at.Interval(ge=1, le=5)]]


@dataclass
class Shares:
    parts: dict[str, Annotated[float, Field(ge=0, le=1)]]


@dataclass
class Described:
    city: Annotated[str, "the city's English name"]
    days: Annotated[int, Field(description="length of the forecast", le=7)] = 3


@dataclass
class Cleaned:
    code: Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, min_length=2)]


@dataclass
class Nested:
    refund: Refund
    again: list[Refund] = dataclasses.field(default_factory=list)


@dataclass
class Maybe:
    percent: Annotated[int, Field(ge=0, le=100)] | None = None


@dataclass
class FieldDefault:
    size: int = Field(default=1, ge=1)


@dataclass
class Window:
    low: Annotated[int, at.Ge(0)]
    high: Annotated[int, at.Ge(0)]

    def __post_init__(self) -> None:
        if self.high < self.low:
            raise ValueError("high is below low")


class Item(BaseModel):
    name: str
    paid: bool


@dataclass
class Order:
    items: list[Item]
    express: bool = False


@pydantic.dataclasses.dataclass
class Guest:
    name: str
    seats: int = Field(default=1, ge=1, le=8)


@pydantic.dataclasses.dataclass
class LaxFlags:
    on: bool
    tags: set[str] = Field(default_factory=set)


@pydantic.dataclasses.dataclass
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.high < self.low:
            raise ValueError("high is below low")


@pydantic.dataclasses.dataclass
class Lowered:
    code: str

    @field_validator("code", mode="before")
    @classmethod
    def lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid"))
class ClosedGuest:
    name: str


@pydantic.dataclasses.dataclass(config=ConfigDict(strict=True))
class StrictGuest:
    seats: int
    vip: bool


@pydantic.dataclasses.dataclass
class AliasedGuest:
    first_name: str = Field(validation_alias="firstName")


@pydantic.dataclasses.dataclass
class Party:
    host: Guest
    guests: list[Guest]


PLAIN_ROWS = [
    row(
        "dataclass",
        Visitor,
        PLAIN,
        valid('{"name": "Ada", "age": 36}', Visitor("Ada", 36)),
        coerced('{"name": "Ada", "age": "36"}', {"name": "Ada", "age": 36}, Visitor("Ada", 36)),
        coerced('{"Name": "Ada", "age": 36.0}', {"name": "Ada", "age": 36}, Visitor("Ada", 36)),
        invalid('{"name": "Ada", "age": "old"}', "$.age"),
        invalid('{"name": "Ada", "age": true}', "$.age"),
        invalid('{"name": "Ada"}', "$.age"),
        broken("{'name': 'Ada', 'age': 36,}", {"name": "Ada", "age": 36}, Visitor("Ada", 36)),
        broken("{'name': 'Ada', 'age': 'old'}", {"name": "Ada", "age": "old"}, REFUSED, "$.age"),
    ),
    row(
        "dataclass with a bool",
        Flags,
        PLAIN,
        valid('{"on": true}', Flags(True)),
        coerced('{"on": "true", "ratio": "0.25"}', {"on": True, "ratio": 0.25}, Flags(True, 0.25)),
        invalid('{"on": "yes"}', "$.on"),
        invalid('{"on": 1}', "$.on"),
        broken("{on: True, ratio: .25}", {"on": True, "ratio": 0.25}, Flags(True, 0.25)),
    ),
    row(
        "dataclass with a list",
        Tagged,
        PLAIN,
        valid('{"tags": ["a", "b"]}', Tagged(["a", "b"])),
        coerced('{"tags": "foo"}', {"tags": ["foo"]}, Tagged(["foo"])),
        coerced('{"tags": "[\\"a\\", \\"b\\"]"}', {"tags": ["a", "b"]}, Tagged(["a", "b"])),
        valid("{}", Tagged()),
        invalid('{"tags": ["a", null]}', "$.tags[1]"),
        broken("{'tags': ['a', 'b'], 'note': None", {"tags": ["a", "b"], "note": None}, Tagged(["a", "b"])),
    ),
    row(
        "frozen dataclass with slots",
        Coordinate,
        PLAIN,
        valid('{"lat": 52.5, "lon": 13}', Coordinate(52.5, 13.0)),
        invalid('{"lat": 52.5, "lon": "east"}', "$.lon"),
        broken('{"lat": 52.5 "lon": 13.4}', {"lat": 52.5, "lon": 13.4}, Coordinate(52.5, 13.4)),
    ),
    row(
        "keyword-only dataclass",
        Keyword,
        PLAIN,
        valid('{"query": "tea"}', Keyword(query="tea")),
        coerced('{"query": "tea", "limit": "5"}', {"query": "tea", "limit": 5}, Keyword(query="tea", limit=5)),
        invalid('{"limit": 5}', "$.query"),
        broken("{'query': 'tea', 'limit': 5}", {"query": "tea", "limit": 5}, Keyword(query="tea", limit=5)),
    ),
    row(
        "nested dataclass",
        Team,
        PLAIN,
        valid(
            '{"lead": {"name": "Ada", "age": 36}, "members": [{"name": "Grace", "age": 37}]}',
            Team(Visitor("Ada", 36), [Visitor("Grace", 37)]),
        ),
        coerced(
            '{"lead": {"name": "Ada", "age": "36"}, "members": []}',
            {"lead": {"name": "Ada", "age": 36}, "members": []},
            Team(Visitor("Ada", 36), []),
        ),
        invalid('{"lead": {"name": "Ada", "age": 36}, "members": [{"name": "Grace", "age": "x"}]}', "$.members[0].age"),
        broken(
            "{'lead': {'name': 'Ada', 'age': 36}, 'members': []",
            {"lead": {"name": "Ada", "age": 36}, "members": []},
            Team(Visitor("Ada", 36), []),
        ),
    ),
    row(
        "recursive dataclass",
        Tree,
        PLAIN,
        valid('{"value": 1, "left": {"value": 2}}', Tree(1, Tree(2))),
        invalid('{"value": 1, "left": {"value": "two"}}', "$.left.value"),
        broken(
            "{value: 1, left: {value: 2, left: None}}",
            {"value": 1, "left": {"value": 2, "left": None}},
            Tree(1, Tree(2)),
        ),
    ),
    row(
        "dataclass with a check",
        Trip,
        PLAIN,
        valid('{"start": "2024-01-01", "end": "2024-01-05"}', Trip(date(2024, 1, 1), date(2024, 1, 5))),
        invalid('{"start": "2024-01-05", "end": "2024-01-01"}', "$"),
        invalid('{"start": "2024-01-05", "end": "later"}', "$.end"),
        broken(
            "{'start': '2024-01-01', 'end': '2024-01-05'}",
            {"start": "2024-01-01", "end": "2024-01-05"},
            Trip(date(2024, 1, 1), date(2024, 1, 5)),
        ),
    ),
    row(
        "dataclass with a literal",
        Level,
        PLAIN,
        valid('{"level": "low"}', Level("low")),
        coerced('{"level": "LOW"}', {"level": "low"}, Level("low")),
        invalid('{"level": "medium"}', "$.level"),
        broken("{'level': 'high'}", {"level": "high"}, Level("high")),
    ),
    row(
        "inherited dataclass",
        Child,
        PLAIN,
        valid('{"id": 1, "name": "Ada"}', Child(1, "Ada")),
        invalid('{"name": "Ada"}', "$.id"),
        broken("{'id': 1, 'name': 'Ada'", {"id": 1, "name": "Ada"}, Child(1, "Ada")),
    ),
    row(
        "list of dataclasses",
        list[Visitor],
        PLAIN,
        valid('[{"name": "Ada", "age": 36}]', [Visitor("Ada", 36)]),
        coerced('[{"name": "Ada", "age": "36"}]', [{"name": "Ada", "age": 36}], [Visitor("Ada", 36)]),
        invalid('[{"name": "Ada", "age": 36}, {"name": "Al", "age": null}]', "$[1].age"),
        broken("[{'name': 'Ada', 'age': 36},]", [{"name": "Ada", "age": 36}], [Visitor("Ada", 36)]),
    ),
]

LIMITED_ROWS = [
    row(
        "limited refund",
        Refund,
        LIMITED,
        valid('{"amount": 100}', Refund(100)),
        coerced('{"amount": "20", "reason": "late"}', {"amount": 20, "reason": "late"}, Refund(20, "late")),
        invalid('{"amount": 5000}', "$.amount"),
        invalid('{"amount": "5000"}', "$.amount"),
        invalid('{"amount": true}', "$.amount"),
        broken("{'amount': 100,}", {"amount": 100}, Refund(100)),
        broken("{'amount': 5000,}", {"amount": 5000}, REFUSED, "$.amount"),
    ),
    row(
        "limits of both kinds",
        Signup,
        LIMITED,
        valid('{"email": "ada@example.org", "age": 36}', Signup("ada@example.org", 36)),
        invalid('{"email": "ada", "age": 36}', "$.email"),
        invalid('{"email": "ada@example.org", "age": 17}', "$.age"),
        broken(
            "{email: 'ada@example.org', age: 36}",
            {"email": "ada@example.org", "age": 36},
            Signup("ada@example.org", 36),
        ),
    ),
    row(
        "limited items in a dataclass",
        Ratings,
        LIMITED,
        valid('{"stars": [1, 5]}', Ratings([1, 5])),
        coerced('{"stars": 5}', {"stars": [5]}, Ratings([5])),
        invalid('{"stars": [1, 6]}', "$.stars[1]"),
        broken("{'stars': [1, 5,]}", {"stars": [1, 5]}, Ratings([1, 5])),
    ),
    row(
        "limited values in a dataclass",
        Shares,
        LIMITED,
        valid('{"parts": {"a": 0.5}}', Shares({"a": 0.5})),
        invalid('{"parts": {"a": 1.5}}', "$.parts.a"),
        broken("{'parts': {'a': .5}}", {"parts": {"a": 0.5}}, Shares({"a": 0.5})),
    ),
    row(
        "described fields",
        Described,
        LIMITED,
        valid('{"city": "Bonn"}', Described("Bonn")),
        valid('{"city": "Bonn", "days": 7}', Described("Bonn", 7)),
        invalid('{"city": "Bonn", "days": 8}', "$.days"),
        broken("{'city': 'Bonn', 'days': 7", {"city": "Bonn", "days": 7}, Described("Bonn", 7)),
    ),
    row(
        "cleaned field",
        Cleaned,
        LIMITED,
        valid('{"code": " ab "}', Cleaned("AB")),
        valid('{"code": "AB"}', Cleaned("AB")),
        invalid('{"code": " a "}', "$.code"),
        broken("{'code': 'ab'}", {"code": "ab"}, Cleaned("AB")),
    ),
    row(
        "limits one level down",
        Nested,
        LIMITED,
        valid('{"refund": {"amount": 5}}', Nested(Refund(5))),
        invalid('{"refund": {"amount": 500}}', "$.refund.amount"),
        invalid('{"refund": {"amount": 5}, "again": [{"amount": 0}]}', "$.again[0].amount"),
        broken("{'refund': {'amount': 5}", {"refund": {"amount": 5}}, Nested(Refund(5))),
    ),
    row(
        "optional limit",
        Maybe,
        LIMITED,
        valid("{}", Maybe()),
        valid('{"percent": null}', Maybe(None)),
        valid('{"percent": 50}', Maybe(50)),
        invalid('{"percent": 150}', "$.percent"),
        broken("{'percent': None}", {"percent": None}, Maybe(None)),
    ),
    row(
        "limit in the default",
        FieldDefault,
        LIMITED,
        valid('{"size": 3}', FieldDefault(3)),
        invalid('{"size": 0}', "$.size"),
        broken("{'size': 3}", {"size": 3}, FieldDefault(3)),
    ),
    row(
        "limits and a check",
        Window,
        LIMITED,
        valid('{"low": 1, "high": 2}', Window(1, 2)),
        invalid('{"low": -1, "high": 2}', "$.low"),
        invalid('{"low": 3, "high": 2}', "$"),
        broken("{low: 1, high: 2}", {"low": 1, "high": 2}, Window(1, 2)),
    ),
    row(
        "list of limited dataclasses",
        list[Refund],
        LIMITED,
        valid('[{"amount": 1}, {"amount": 2}]', [Refund(1), Refund(2)]),
        invalid('[{"amount": 1}, {"amount": 200}]', "$[1].amount"),
        broken("[{'amount': 1}, {'amount': 2},]", [{"amount": 1}, {"amount": 2}], [Refund(1), Refund(2)]),
    ),
]

MODEL_ROWS = [
    row(
        "models in a dataclass",
        Order,
        MODEL,
        valid('{"items": [{"name": "pen", "paid": true}]}', Order([Item(name="pen", paid=True)])),
        valid('{"items": [{"name": "pen", "paid": "yes"}]}', Order([Item(name="pen", paid=True)])),
        invalid('{"items": [{"name": "pen", "paid": "soon"}]}', "$.items[0].paid"),
        broken(
            "{'items': [{'name': 'pen', 'paid': True}]",
            {"items": [{"name": "pen", "paid": True}]},
            Order([Item(name="pen", paid=True)]),
        ),
    ),
    row(
        "pydantic dataclass",
        Guest,
        MODEL,
        valid('{"name": "Ada", "seats": 8}', Guest("Ada", 8)),
        valid('{"name": "Ada", "seats": "8"}', Guest("Ada", 8)),
        invalid('{"name": "Ada", "seats": 9}', "$.seats"),
        broken("{'name': 'Ada', 'seats': 8}", {"name": "Ada", "seats": 8}, Guest("Ada", 8)),
    ),
    row(
        "lax pydantic dataclass",
        LaxFlags,
        MODEL,
        valid('{"on": "yes", "tags": ["a", "a"]}', LaxFlags(True, {"a"})),
        coerced('{"on": true, "tags": "a"}', {"on": True, "tags": ["a"]}, LaxFlags(True, {"a"})),
        invalid('{"on": "sometimes"}', "$.on"),
        broken("{'on': 'off', 'tags': ['a',]}", {"on": "off", "tags": ["a"]}, LaxFlags(False, {"a"})),
    ),
    row(
        "pydantic dataclass with a check",
        Checked,
        MODEL,
        valid('{"low": 1, "high": 2}', Checked(1, 2)),
        invalid('{"low": 3, "high": 2}', "$"),
        broken("{low: 1, high: 2}", {"low": 1, "high": 2}, Checked(1, 2)),
    ),
    row(
        "pydantic dataclass with a validator",
        Lowered,
        MODEL,
        valid('{"code": "AB"}', Lowered("ab")),
        valid('{"code": "ab"}', Lowered("ab")),
        invalid('{"code": null}', "$.code"),
        broken("{'code': 'AB'}", {"code": "AB"}, Lowered("ab")),
    ),
    row(
        "closed pydantic dataclass",
        ClosedGuest,
        MODEL,
        valid('{"name": "Ada"}', ClosedGuest("Ada")),
        invalid('{"name": "Ada", "zip": 1}', "$.zip"),
        broken("{'name': 'Ada'", {"name": "Ada"}, ClosedGuest("Ada")),
    ),
    row(
        "strict pydantic dataclass",
        StrictGuest,
        MODEL,
        valid('{"seats": 2, "vip": true}', StrictGuest(2, True)),
        coerced('{"seats": "2", "vip": true}', {"seats": 2, "vip": True}, StrictGuest(2, True)),
        invalid('{"seats": 2, "vip": "yes"}', "$.vip"),
        broken("{'seats': 2, 'vip': True}", {"seats": 2, "vip": True}, StrictGuest(2, True)),
    ),
    row(
        "pydantic dataclass with an alias",
        AliasedGuest,
        MODEL,
        valid('{"firstName": "Ada"}', AliasedGuest(firstName="Ada")),
        invalid('{"surname": "Lovelace"}', "$.firstName"),
        broken("{firstName: 'Ada'}", {"firstName": "Ada"}, AliasedGuest(firstName="Ada")),
    ),
    row(
        "nested pydantic dataclass",
        Party,
        MODEL,
        valid(
            '{"host": {"name": "Ada"}, "guests": [{"name": "Al", "seats": 2}]}', Party(Guest("Ada"), [Guest("Al", 2)])
        ),
        invalid('{"host": {"name": "Ada"}, "guests": [{"name": "Al", "seats": 0}]}', "$.guests[0].seats"),
        broken(
            "{'host': {'name': 'Ada'}, 'guests': []", {"host": {"name": "Ada"}, "guests": []}, Party(Guest("Ada"), [])
        ),
    ),
]

ROWS = PLAIN_ROWS + LIMITED_ROWS + MODEL_ROWS
