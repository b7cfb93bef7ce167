"""msgspec structs and annotations with `Meta`."""

from datetime import date
from typing import Annotated, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, row, valid

PLAIN = Reader.PLAIN


class Guest(Struct):
    name: str
    age: int


class Seats(Struct):
    count: Annotated[int, Meta(ge=1, le=8)]
    note: str | None = None


class Code(Struct):
    code: Annotated[str, Meta(pattern=r"^[A-Z]{3}$")]


class Words(Struct):
    words: Annotated[list[Annotated[str, Meta(min_length=2)]], Meta(max_length=3)]


class Share(Struct):
    share: Annotated[float, Meta(gt=0, lt=1, description="part of the whole")]


class Even(Struct):
    number: Annotated[int, Meta(multiple_of=2)]


class Closed(Struct, forbid_unknown_fields=True):
    name: str


class Renamed(Struct, rename="camel"):
    first_name: str
    last_name: str = ""


class Kebab(Struct, rename="kebab"):
    max_size: int


class FieldName(Struct):
    kind: str = msgspec.field(name="type")


class Cat(Struct, tag="cat"):
    lives: Annotated[int, Meta(le=9)]


class Dog(Struct, tag="dog"):
    breed: str


class Get(Struct, tag_field="op", tag="get"):
    key: str


class Put(Struct, tag_field="op", tag="put"):
    key: str
    value: int


class Zoo(Struct):
    animals: list[Cat | Dog]


class Shelf(Struct):
    guests: list[Guest]
    by_name: dict[str, Seats] = {}


class Frozen(Struct, frozen=True, kw_only=True):
    on: bool = False
    level: Literal["low", "high"]


class AsArray(Struct, array_like=True):
    x: int
    y: int


class Span(Struct):
    start: date
    end: date

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError("the span ends before it starts")


class Link(Struct):
    value: int
    next: "Link | None" = None


class Maybe(Struct):
    name: str
    nick: str | msgspec.UnsetType = msgspec.UNSET


class Base(Struct):
    id: Annotated[int, Meta(gt=0)]


class Derived(Base):
    name: str


T = TypeVar("T")


class Reply(Struct, Generic[T]):
    data: T


class Tagged(Struct):
    tags: set[str] = msgspec.field(default_factory=set)


ROWS = [
    row(
        "struct",
        Guest,
        PLAIN,
        valid('{"name": "Ada", "age": 36}', Guest("Ada", 36)),
        coerced('{"name": "Ada", "age": "36"}', {"name": "Ada", "age": 36}, Guest("Ada", 36)),
        coerced('{"NAME": "Ada", "age": 36}', {"name": "Ada", "age": 36}, Guest("Ada", 36)),
        invalid('{"name": "Ada", "age": "old"}', "$.age"),
        invalid('{"name": "Ada", "age": true}', "$.age"),
        invalid('{"age": 36}', "$.name"),
        broken("{'name': 'Ada', 'age': 36,}", {"name": "Ada", "age": 36}, Guest("Ada", 36)),
    ),
    row(
        "struct with limits",
        Seats,
        PLAIN,
        valid('{"count": 8}', Seats(8)),
        coerced('{"count": "8", "note": null}', {"count": 8, "note": None}, Seats(8)),
        invalid('{"count": 9}', "$.count"),
        invalid('{"count": "9"}', "$.count"),
        broken("{count: 8}", {"count": 8}, Seats(8)),
        broken("{count: 0}", {"count": 0}, REFUSED, "$.count"),
    ),
    row(
        "struct with a pattern",
        Code,
        PLAIN,
        valid('{"code": "EUR"}', Code("EUR")),
        invalid('{"code": "euro"}', "$.code"),
        broken("{'code': 'EUR'}", {"code": "EUR"}, Code("EUR")),
    ),
    row(
        "struct with limited words",
        Words,
        PLAIN,
        valid('{"words": ["ab", "cd"]}', Words(["ab", "cd"])),
        coerced('{"words": "ab"}', {"words": ["ab"]}, Words(["ab"])),
        invalid('{"words": ["ab", "c"]}', "$.words[1]"),
        invalid('{"words": ["ab", "cd", "ef", "gh"]}', "$.words"),
        broken("{'words': ['ab', 'cd'", {"words": ["ab", "cd"]}, Words(["ab", "cd"])),
    ),
    row(
        "struct with an open interval",
        Share,
        PLAIN,
        valid('{"share": 0.5}', Share(0.5)),
        invalid('{"share": 1}', "$.share"),
        broken("{'share': .5}", {"share": 0.5}, Share(0.5)),
    ),
    row(
        "struct with a multiple",
        Even,
        PLAIN,
        valid('{"number": 4}', Even(4)),
        invalid('{"number": 5}', "$.number"),
        broken("{'number': 4,}", {"number": 4}, Even(4)),
    ),
    row(
        "closed struct",
        Closed,
        PLAIN,
        valid('{"name": "Ada"}', Closed("Ada")),
        invalid('{"name": "Ada", "zip": 1}', "$.zip"),
        broken("{'name': 'Ada'}", {"name": "Ada"}, Closed("Ada")),
    ),
    row(
        "struct renamed to camel case",
        Renamed,
        PLAIN,
        valid('{"firstName": "Ada"}', Renamed("Ada")),
        coerced('{"first_name": "Ada"}', {"firstName": "Ada"}, Renamed("Ada")),
        invalid('{"lastName": "Lovelace"}', "$.firstName"),
        broken("{firstName: 'Ada', lastName: 'L'}", {"firstName": "Ada", "lastName": "L"}, Renamed("Ada", "L")),
    ),
    row(
        "struct renamed to kebab case",
        Kebab,
        PLAIN,
        valid('{"max-size": 3}', Kebab(3)),
        invalid('{"max-size": "big"}', None),
        broken("{'max-size': 3}", {"max-size": 3}, Kebab(3)),
    ),
    row(
        "struct with a renamed field",
        FieldName,
        PLAIN,
        valid('{"type": "a"}', FieldName("a")),
        invalid('{"type": null}', None),
        broken("{type: 'a'}", {"type": "a"}, FieldName("a")),
    ),
    row(
        "tagged struct",
        Cat,
        PLAIN,
        valid('{"type": "cat", "lives": 9}', Cat(9)),
        invalid('{"type": "cat", "lives": 10}', "$.lives"),
        invalid('{"type": "cow", "lives": 9}', "$.type"),
        broken("{'type': 'cat', 'lives': 9}", {"type": "cat", "lives": 9}, Cat(9)),
    ),
    row(
        "union of tagged structs",
        Cat | Dog,
        PLAIN,
        valid('{"type": "dog", "breed": "pug"}', Dog("pug")),
        valid('{"type": "cat", "lives": 7}', Cat(7)),
        coerced('{"type": "Dog", "breed": "pug"}', {"type": "dog", "breed": "pug"}, Dog("pug")),
        coerced('{"type": "cat", "lives": "7"}', {"type": "cat", "lives": 7}, Cat(7)),
        invalid('{"type": "cat", "lives": 10}', None),
        invalid('{"type": "cow", "breed": "pug"}', None),
        broken("{'type': 'dog', 'breed': 'pug'", {"type": "dog", "breed": "pug"}, Dog("pug")),
    ),
    row(
        "union by another tag field",
        Get | Put,
        PLAIN,
        valid('{"op": "get", "key": "a"}', Get("a")),
        valid('{"op": "put", "key": "a", "value": 1}', Put("a", 1)),
        invalid('{"op": "put", "key": "a"}', None),
        broken("{op: 'put', key: 'a', value: 1}", {"op": "put", "key": "a", "value": 1}, Put("a", 1)),
    ),
    row(
        "list of tagged structs",
        Zoo,
        PLAIN,
        valid('{"animals": [{"type": "cat", "lives": 1}, {"type": "dog", "breed": "pug"}]}', Zoo([Cat(1), Dog("pug")])),
        invalid('{"animals": [{"type": "cat", "lives": "many"}]}', None),
        broken("{'animals': [{'type': 'cat', 'lives': 1}]", {"animals": [{"type": "cat", "lives": 1}]}, Zoo([Cat(1)])),
    ),
    row(
        "nested structs",
        Shelf,
        PLAIN,
        valid(
            '{"guests": [{"name": "Ada", "age": 36}], "by_name": {"ada": {"count": 2}}}',
            Shelf([Guest("Ada", 36)], {"ada": Seats(2)}),
        ),
        invalid('{"guests": [], "by_name": {"ada": {"count": 0}}}', "$.by_name.ada.count"),
        invalid('{"guests": [{"name": "Ada", "age": 3.5}]}', "$.guests[0].age"),
        broken(
            '{"guests": [{"name": "Ada", "age": 36,}],}',
            {"guests": [{"name": "Ada", "age": 36}]},
            Shelf([Guest("Ada", 36)]),
        ),
    ),
    row(
        "frozen struct",
        Frozen,
        PLAIN,
        valid('{"level": "low"}', Frozen(level="low")),
        coerced('{"on": "TRUE", "level": "Low"}', {"on": True, "level": "low"}, Frozen(on=True, level="low")),
        invalid('{"on": "yes", "level": "low"}', "$.on"),
        broken("{'on': True, 'level': 'low'}", {"on": True, "level": "low"}, Frozen(on=True, level="low")),
    ),
    row(
        "struct as an array",
        AsArray,
        PLAIN,
        valid("[1, 2]", AsArray(1, 2)),
        invalid('[1, "up"]', "$[1]"),
        broken("(1, 2)", [1, 2], AsArray(1, 2)),
    ),
    row(
        "struct with a check",
        Span,
        PLAIN,
        valid('{"start": "2024-01-01", "end": "2024-01-02"}', Span(date(2024, 1, 1), date(2024, 1, 2))),
        invalid('{"start": "2024-01-02", "end": "2024-01-01"}', "$"),
        broken(
            "{'start': '2024-01-01', 'end': '2024-01-02'}",
            {"start": "2024-01-01", "end": "2024-01-02"},
            Span(date(2024, 1, 1), date(2024, 1, 2)),
        ),
    ),
    row(
        "recursive struct",
        Link,
        PLAIN,
        valid('{"value": 1, "next": {"value": 2}}', Link(1, Link(2))),
        invalid('{"value": 1, "next": {"value": "two"}}', "$.next.value"),
        broken(
            "{value: 1, next: {value: 2, next: None}}",
            {"value": 1, "next": {"value": 2, "next": None}},
            Link(1, Link(2)),
        ),
    ),
    row(
        "struct with an unset field",
        Maybe,
        PLAIN,
        valid('{"name": "Ada"}', Maybe("Ada")),
        valid('{"name": "Ada", "nick": "A"}', Maybe("Ada", "A")),
        invalid('{"nick": "A"}', "$.name"),
        broken("{'name': 'Ada', 'nick': 'A'", {"name": "Ada", "nick": "A"}, Maybe("Ada", "A")),
    ),
    row(
        "inherited struct",
        Derived,
        PLAIN,
        valid('{"id": 1, "name": "Ada"}', Derived(1, "Ada")),
        invalid('{"id": 0, "name": "Ada"}', "$.id"),
        broken("{'id': 1, 'name': 'Ada'}", {"id": 1, "name": "Ada"}, Derived(1, "Ada")),
    ),
    row(
        "generic struct",
        Reply[list[int]],
        PLAIN,
        valid('{"data": [1, 2]}', Reply([1, 2])),
        coerced('{"data": ["1"]}', {"data": [1]}, Reply([1])),
        invalid('{"data": ["one"]}', "$.data[0]"),
        broken("{'data': [1, 2,]}", {"data": [1, 2]}, Reply([1, 2])),
    ),
    row(
        "struct with a set",
        Tagged,
        PLAIN,
        valid('{"tags": ["a", "b", "a"]}', Tagged({"a", "b"})),
        invalid('{"tags": ["a", null]}', "$.tags[1]"),
        broken("{'tags': ['a', 'b']", {"tags": ["a", "b"]}, Tagged({"a", "b"})),
    ),
    row(
        "int with Meta",
        Annotated[int, Meta(ge=0, lt=10)],
        PLAIN,
        valid("9", 9),
        coerced('"9"', 9, 9),
        invalid("10", "$"),
        broken("<answer>9</answer>", 9, 9),
    ),
    row(
        "list of str with Meta",
        list[Annotated[str, Meta(max_length=2)]],
        PLAIN,
        valid('["ab"]', ["ab"]),
        coerced('"ab"', ["ab"], ["ab"]),
        invalid('["ab", "abc"]', "$[1]"),
        broken("['ab', 'cd']", ["ab", "cd"], ["ab", "cd"]),
    ),
    row(
        "dict of float with Meta",
        dict[str, Annotated[float, Meta(ge=0)]],
        PLAIN,
        valid('{"a": 0.5}', {"a": 0.5}),
        invalid('{"a": -0.5}', "$.a"),
        broken("{'a': .5}", {"a": 0.5}, {"a": 0.5}),
    ),
    row(
        "list of structs",
        list[Guest],
        PLAIN,
        valid('[{"name": "Ada", "age": 36}]', [Guest("Ada", 36)]),
        invalid('[{"name": "Ada", "age": 36}, {"name": "Al"}]', "$[1].age"),
        broken("[{'name': 'Ada', 'age': 36},]", [{"name": "Ada", "age": 36}], [Guest("Ada", 36)]),
    ),
]
