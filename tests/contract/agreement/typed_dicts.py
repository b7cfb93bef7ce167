"""TypedDicts and named tuples, plain and limited."""

import typing
from typing import Annotated, NamedTuple, NotRequired, Required

import annotated_types as at
import typing_extensions
from pydantic import AfterValidator, BaseModel, Field, with_config

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, row, valid

PLAIN, LIMITED, MODEL, CHECKED = Reader.PLAIN, Reader.LIMITED, Reader.MODEL, Reader.CHECKED


class Row(typing.TypedDict):
    name: str
    age: int


class Partial(typing.TypedDict, total=False):
    name: str
    ok: bool


class Mixed(typing.TypedDict):
    name: str
    nick: NotRequired[str]


class Needed(typing.TypedDict, total=False):
    id: Required[int]
    note: str


class Holder(typing.TypedDict):
    row: Row
    rows: list[Row]


class Wide(Row):
    city: str


class Refund(typing.TypedDict):
    amount: Annotated[int, Field(ge=1, le=100)]
    reason: NotRequired[Annotated[str, Field(max_length=10)]]


class RefundTwin(typing_extensions.TypedDict):
    amount: Annotated[int, Field(ge=1, le=100)]
    reason: typing_extensions.NotRequired[Annotated[str, Field(max_length=10)]]


class Stars(typing.TypedDict):
    stars: list[Annotated[int, at.Interval(ge=1, le=5)]]


class StarsTwin(typing_extensions.TypedDict):
    stars: list[Annotated[int, at.Interval(ge=1, le=5)]]


class Claims(typing.TypedDict):
    refund: Refund
    others: dict[str, Refund]


class ClaimsTwin(typing_extensions.TypedDict):
    refund: RefundTwin
    others: dict[str, RefundTwin]


class Limited(typing_extensions.TypedDict):
    size: Annotated[int, Field(gt=0)]
    on: typing_extensions.NotRequired[bool]


class LimitedPartial(typing_extensions.TypedDict, total=False):
    percent: Annotated[float, Field(ge=0, le=100)]


class Outer(typing_extensions.TypedDict):
    inner: Limited


@with_config(extra="forbid")
class Closed(typing_extensions.TypedDict):
    size: Annotated[int, Field(gt=0)]


def even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


class Even(typing_extensions.TypedDict):
    count: Annotated[int, AfterValidator(even)]


class Person(BaseModel):
    name: str
    member: bool


class Guests(typing_extensions.TypedDict):
    people: list[Person]


class Point(NamedTuple):
    x: int
    y: int = 0


class Reading(NamedTuple):
    name: str
    values: list[float]


class Position(NamedTuple):
    lat: Annotated[float, Field(ge=-90, le=90)]
    lon: Annotated[float, Field(ge=-180, le=180)]


class Step(NamedTuple):
    label: Annotated[str, at.MinLen(2)]
    times: Annotated[int, at.Gt(0)] = 1


ROWS = [
    row(
        "typed dict",
        Row,
        PLAIN,
        valid('{"name": "Ada", "age": 36}', {"name": "Ada", "age": 36}),
        coerced('{"name": "Ada", "age": "36"}', {"name": "Ada", "age": 36}, {"name": "Ada", "age": 36}),
        coerced('{"Name": "Ada", "age": 36}', {"name": "Ada", "age": 36}, {"name": "Ada", "age": 36}),
        invalid('{"name": "Ada", "age": "old"}', "$.age"),
        invalid('{"name": "Ada"}', "$.age"),
        broken("{'name': 'Ada', 'age': 36,}", {"name": "Ada", "age": 36}, {"name": "Ada", "age": 36}),
    ),
    row(
        "typed dict not total",
        Partial,
        PLAIN,
        valid("{}", {}),
        valid('{"ok": true}', {"ok": True}),
        coerced('{"ok": "true"}', {"ok": True}, {"ok": True}),
        invalid('{"ok": "yes"}', "$.ok"),
        broken("{'ok': True, 'name': 'Ada'}", {"ok": True, "name": "Ada"}, {"ok": True, "name": "Ada"}),
    ),
    row(
        "typed dict with a field not required",
        Mixed,
        PLAIN,
        valid('{"name": "Ada"}', {"name": "Ada"}),
        valid('{"name": "Ada", "nick": "A"}', {"name": "Ada", "nick": "A"}),
        coerced('{"name": "Ada", "nick": null}', {"name": "Ada"}, {"name": "Ada"}),
        invalid('{"nick": "A"}', "$.name"),
        broken("{name: 'Ada', nick: 'A'}", {"name": "Ada", "nick": "A"}, {"name": "Ada", "nick": "A"}),
    ),
    row(
        "typed dict with a required field",
        Needed,
        PLAIN,
        valid('{"id": 1}', {"id": 1}),
        invalid('{"note": "x"}', "$.id"),
        broken("{'id': 1, 'note': 'x'", {"id": 1, "note": "x"}, {"id": 1, "note": "x"}),
    ),
    row(
        "nested typed dict",
        Holder,
        PLAIN,
        valid('{"row": {"name": "Ada", "age": 36}, "rows": []}', {"row": {"name": "Ada", "age": 36}, "rows": []}),
        coerced(
            '{"row": {"name": "Ada", "age": 36.0}, "rows": []}',
            {"row": {"name": "Ada", "age": 36}, "rows": []},
            {"row": {"name": "Ada", "age": 36}, "rows": []},
        ),
        invalid('{"row": {"name": "Ada", "age": 36}, "rows": [{"name": "Al", "age": 1.5}]}', "$.rows[0].age"),
        broken(
            "{'row': {'name': 'Ada', 'age': 36}, 'rows': []",
            {"row": {"name": "Ada", "age": 36}, "rows": []},
            {"row": {"name": "Ada", "age": 36}, "rows": []},
        ),
    ),
    row(
        "inherited typed dict",
        Wide,
        PLAIN,
        valid('{"name": "Ada", "age": 36, "city": "Bonn"}', {"name": "Ada", "age": 36, "city": "Bonn"}),
        invalid('{"name": "Ada", "age": 36}', "$.city"),
        broken(
            '{"name": "Ada", "age": 36 "city": "Bonn"}',
            {"name": "Ada", "age": 36, "city": "Bonn"},
            {"name": "Ada", "age": 36, "city": "Bonn"},
        ),
    ),
    row(
        "list of typed dicts",
        list[Row],
        PLAIN,
        valid('[{"name": "Ada", "age": 36}]', [{"name": "Ada", "age": 36}]),
        invalid('[{"name": "Ada", "age": null}]', "$[0].age"),
        broken("[{'name': 'Ada', 'age': 36},]", [{"name": "Ada", "age": 36}], [{"name": "Ada", "age": 36}]),
    ),
    row(
        "limited typed dict of typing",
        Refund,
        LIMITED,
        valid('{"amount": 100}', {"amount": 100}),
        valid('{"amount": 1, "reason": "late"}', {"amount": 1, "reason": "late"}),
        coerced('{"amount": "20"}', {"amount": 20}, {"amount": 20}),
        invalid('{"amount": 5000}', "$.amount"),
        invalid('{"amount": 5, "reason": "never arrived"}', "$.reason"),
        broken("{'amount': 100,}", {"amount": 100}, {"amount": 100}),
        broken("{'amount': 101,}", {"amount": 101}, REFUSED, "$.amount"),
        twin=RefundTwin,
    ),
    row(
        "limited items in a typed dict of typing",
        Stars,
        LIMITED,
        valid('{"stars": [1, 5]}', {"stars": [1, 5]}),
        invalid('{"stars": [0]}', "$.stars[0]"),
        broken("{'stars': [1, 5]", {"stars": [1, 5]}, {"stars": [1, 5]}),
        twin=StarsTwin,
    ),
    row(
        "limits one level down in a typed dict",
        Claims,
        LIMITED,
        valid('{"refund": {"amount": 5}, "others": {}}', {"refund": {"amount": 5}, "others": {}}),
        invalid('{"refund": {"amount": 500}, "others": {}}', "$.refund.amount"),
        invalid('{"refund": {"amount": 5}, "others": {"a": {"amount": 0}}}', "$.others.a.amount"),
        broken(
            "{'refund': {'amount': 5}, 'others': {}}",
            {"refund": {"amount": 5}, "others": {}},
            {"refund": {"amount": 5}, "others": {}},
        ),
        twin=ClaimsTwin,
    ),
    row(
        "limited typed dict",
        Limited,
        LIMITED,
        valid('{"size": 1}', {"size": 1}),
        coerced('{"size": "1", "on": "true"}', {"size": 1, "on": True}, {"size": 1, "on": True}),
        invalid('{"size": 0}', "$.size"),
        invalid('{"size": 1, "on": "yes"}', "$.on"),
        broken("{size: 1, on: True}", {"size": 1, "on": True}, {"size": 1, "on": True}),
    ),
    row(
        "limited typed dict not total",
        LimitedPartial,
        LIMITED,
        valid("{}", {}),
        valid('{"percent": 99.5}', {"percent": 99.5}),
        invalid('{"percent": 100.5}', "$.percent"),
        broken("{'percent': 99.5,}", {"percent": 99.5}, {"percent": 99.5}),
    ),
    row(
        "nested limited typed dict",
        Outer,
        LIMITED,
        valid('{"inner": {"size": 3}}', {"inner": {"size": 3}}),
        invalid('{"inner": {"size": -3}}', "$.inner.size"),
        broken("{'inner': {'size': 3}", {"inner": {"size": 3}}, {"inner": {"size": 3}}),
    ),
    row(
        "closed typed dict",
        Closed,
        LIMITED,
        valid('{"size": 3}', {"size": 3}),
        invalid('{"size": 3, "colour": "red"}', "$.colour"),
        broken("{'size': 3}", {"size": 3}, {"size": 3}),
    ),
    row(
        "typed dict with a validator",
        Even,
        CHECKED,
        valid('{"count": 4}', {"count": 4}),
        invalid('{"count": 5}', "$.count"),
        broken("{'count': 4,}", {"count": 4}, {"count": 4}),
    ),
    row(
        "models in a typed dict",
        Guests,
        MODEL,
        valid('{"people": [{"name": "Ada", "member": "yes"}]}', {"people": [Person(name="Ada", member=True)]}),
        invalid('{"people": [{"name": "Ada", "member": "once"}]}', "$.people[0].member"),
        broken(
            "{'people': [{'name': 'Ada', 'member': True}]",
            {"people": [{"name": "Ada", "member": True}]},
            {"people": [Person(name="Ada", member=True)]},
        ),
    ),
    row(
        "named tuple",
        Point,
        PLAIN,
        valid("[1, 2]", Point(1, 2)),
        valid("[1]", Point(1, 0)),
        invalid('[1, "up"]', "$[1]"),
        broken("(1, 2)", [1, 2], Point(1, 2)),
    ),
    row(
        "named tuple with a list",
        Reading,
        PLAIN,
        valid('["probe", [1.5, 2]]', Reading("probe", [1.5, 2.0])),
        invalid('["probe", [1.5, "x"]]', "$[1][1]"),
        broken("['probe', [1.5, 2],]", ["probe", [1.5, 2]], Reading("probe", [1.5, 2.0])),
    ),
    row(
        "limited named tuple",
        Position,
        LIMITED,
        valid("[52.5, 13.4]", Position(52.5, 13.4)),
        invalid("[95.5, 13.4]", "$[0]"),
        broken("(52.5, 13.4)", [52.5, 13.4], Position(52.5, 13.4)),
    ),
    row(
        "limited named tuple with a default",
        Step,
        LIMITED,
        valid('["go"]', Step("go")),
        valid('["go", 2]', Step("go", 2)),
        invalid('["go", 0]', "$[1]"),
        invalid('["g", 1]', "$[0]"),
        broken("['go', 2]", ["go", 2], Step("go", 2)),
    ),
]
