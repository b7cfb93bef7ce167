"""Data as a type reads them, with every difference noted."""

import dataclasses
import datetime as dt
import decimal
import enum
from collections import deque
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import pydantic
import pydantic.dataclasses
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from trueup.conform.readings import by_msgspec, read
from trueup.conform.types import python_type


def changes(source: Any, data: Any) -> tuple[Any, list[tuple[Any, ...]]]:
    """The data as a type reads them, and what it converted."""
    made = python_type(source)
    value, faults = made.accept(data)
    assert faults == []
    out, notes = made.read(data, value)
    assert made.read(data, value, msgspec.json.encode(data)) == (out, notes)  # the short way says the same
    return out, [tuple(note)[:3] for note in notes]


class Level(enum.Enum):
    LOW = "low"


class Inner(BaseModel):
    n: int = 0
    flag: bool = False


class Outer(BaseModel):
    inner: Inner = Inner()
    items: list[Inner] = []
    by_name: dict[str, Inner] = {}
    numbers: set[int] = set()
    level: Level = Level.LOW
    when: dt.datetime | None = None
    day: dt.date | None = None
    price: decimal.Decimal = decimal.Decimal(0)
    password: SecretStr = SecretStr("")
    path: Path = Path()
    length: dt.timedelta = dt.timedelta()
    ratio: float = 0.0
    line: deque[int] = deque()
    pair: tuple[int, str] = (0, "")


@pytest.mark.parametrize(
    "data",
    [
        {"inner": {"n": 1, "flag": True}, "items": [{"n": 2}], "by_name": {"a": {"n": 3}}},
        {"numbers": [3, 1, 2], "level": "low", "line": [1, 2], "pair": [1, "a"]},
        {"when": "2024-02-29T10:00:00+00:00", "day": "2024-02-29", "length": "01:30:00"},
        {"price": "1.50", "ratio": 3},
        {"price": 1.5, "password": "hunter2", "path": "a/b"},
        {"extra": {"unknown": ["stays"]}},
    ],
)
def test_reading_alone_is_not_a_change(data: Any) -> None:
    assert changes(Outer, data) == (data, [])


@pytest.mark.parametrize(
    ("data", "path", "after"),
    [
        ({"inner": {"n": "1"}}, ("inner", "n"), 1),
        ({"inner": {"n": 5.0}}, ("inner", "n"), 5),
        ({"inner": {"n": True}}, ("inner", "n"), 1),
        ({"inner": {"flag": "yes"}}, ("inner", "flag"), True),
        ({"items": [{"n": 1}, {"n": "2"}]}, ("items", 1, "n"), 2),
        ({"by_name": {"a": {"flag": 1}}}, ("by_name", "a", "flag"), True),
        ({"numbers": [2, 1, 2]}, ("numbers",), [2, 1]),
        ({"numbers": ["3", 1]}, ("numbers",), [1, 3]),
        ({"when": "2024-02-29"}, ("when",), "2024-02-29T00:00:00"),
        ({"when": 0}, ("when",), "1970-01-01T00:00:00Z"),
        ({"day": "2024-02-29T00:00:00"}, ("day",), "2024-02-29"),
        ({"length": 90}, ("length",), "PT1M30S"),
        ({"ratio": "0.5"}, ("ratio",), 0.5),
    ],
)
def test_conversions_by_a_model_are_noted_at_their_path(data: Any, path: tuple[Any, ...], after: Any) -> None:
    out, notes = changes(Outer, data)
    here, there = data, out
    for part in path:
        here, there = here[part], there[part]
    assert notes == [(path, here, after)]
    assert (there, type(there)) == (after, type(after))


def test_the_data_is_never_modified() -> None:
    data = {"items": [{"n": "1"}], "numbers": [1, 1]}
    kept = msgspec.json.encode(data)
    changes(Outer, data)
    assert msgspec.json.encode(data) == kept


def test_every_name_of_a_field_becomes_the_first() -> None:
    class Person(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        name: str = Field(validation_alias=AliasChoices("name", "full_name", AliasPath("person", "names", 0)))
        born: int = Field(0, alias="birthYear")

    assert changes(Person, {"full_name": "Ada", "x": 1}) == (
        {"name": "Ada", "x": 1},
        [(("name",), "full_name", "name")],
    )
    assert changes(Person, {"name": "Ada", "born": "1815"}) == (
        {"name": "Ada", "birthYear": 1815},
        [(("birthYear",), "born", "birthYear"), (("birthYear",), "1815", 1815)],
    )
    deep = {"person": {"names": ["Ada", "Augusta"]}}
    assert changes(Person, deep) == (deep, [])


def test_the_result_of_a_validator_is_read() -> None:
    split = Annotated[list[str], BeforeValidator(lambda tags: tags.split(", ") if isinstance(tags, str) else tags)]
    assert changes(split, "a, b") == (["a", "b"], [((), "a, b", ["a", "b"])])

    class Lower(BaseModel):
        by: Annotated[dict[str, int], BeforeValidator(lambda given: {key.lower(): n for key, n in given.items()})]

    assert changes(Lower, {"by": {"A": 1}})[0] == {"by": {"a": 1}}


def test_custom_serializers_do_not_hide_a_conversion() -> None:
    class Tags(BaseModel):
        tags: Annotated[list[str], BeforeValidator(lambda tags: tags.split(", ")), pydantic.PlainSerializer(", ".join)]

    assert changes(Tags, {"tags": "a, b"})[1] == [(("tags",), "a, b", ["a", "b"])]


def test_a_change_by_post_init_is_noted() -> None:
    @dataclasses.dataclass
    class Name:
        first: str
        last: str = ""

        def __post_init__(self) -> None:
            self.first = self.first.strip()

    assert changes(Name, {"first": " Ada "}) == ({"first": "Ada"}, [(("first",), " Ada ", "Ada")])


def test_structs_and_named_tuples_are_read() -> None:
    class Renamed(msgspec.Struct, rename="camel"):
        some_set: set[int]

    class Pair(NamedTuple):
        left: set[int]
        right: int = 0

    class Line(msgspec.Struct, array_like=True):
        points: set[int]

    assert changes(Renamed, {"someSet": [1, 1]}) == ({"someSet": [1]}, [(("someSet",), [1, 1], [1])])
    assert changes(Pair, [[1, 1], 2])[1] == [((0,), [1, 1], [1])]
    assert changes(Line, [[1, 1]])[1] == [((0,), [1, 1], [1])]


def test_a_value_that_cannot_be_written_is_not_changed() -> None:
    class Odd:
        pass

    odd = Odd()
    assert read({"a": 1}, {"a": odd}, by_msgspec) == ({"a": 1}, [])
    assert read("a", odd, by_msgspec) == ("a", [])
    assert read([1], {odd}, by_msgspec) == ([1], [])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, json_values)
def test_the_data_read_equals_the_instance_built(before: Any, after: Any) -> None:
    """The returned data always match the value that a type built, except for members that the type left out."""
    out, notes = read(before, after, by_msgspec)
    assert contains(out, after)
    assert bool(notes) or out is before
    assert all(note.before != note.after or type(note.before) is not type(note.after) for note in notes)


def contains(data: Any, value: Any) -> bool:
    if isinstance(value, dict) and isinstance(data, dict):
        return value.keys() <= data.keys() and all(contains(data[key], value[key]) for key in value)
    if isinstance(value, list) and isinstance(data, list):
        return len(value) == len(data) and all(map(contains, data, value))
    return bool(data == value) and (type(data) is type(value) or (type(data) is int and type(value) is float))


def test_data_that_an_instance_does_not_keep_stays_unchanged() -> None:
    @pydantic.dataclasses.dataclass
    class Total:
        net: int
        tax: dataclasses.InitVar[int] = 2
        gross: int = dataclasses.field(init=False, default=0)

        def __post_init__(self, tax: int) -> None:
            self.gross = self.net + tax

    assert changes(Total, {"net": 1, "tax": 5}) == ({"net": 1, "tax": 5}, [])
    assert changes(Total, {"net": "1", "tax": 5}) == ({"net": 1, "tax": 5}, [(("net",), "1", 1)])


def test_omitted_items_at_the_end_are_not_a_change() -> None:
    class Point(NamedTuple):
        x: int
        y: Annotated[int, Field(ge=0)] = 0

    assert changes(Point, [1]) == ([1], [])
    assert changes(list[Point], [[1], [1, 2]]) == ([[1], [1, 2]], [])
    model = pydantic.create_model("Line", start=Point)
    assert changes(model, {"start": ["1"]}) == ({"start": [1]}, [(("start", 0), "1", 1)])


def test_a_member_that_an_enum_finds_itself_is_noted() -> None:
    class Color(enum.Enum):
        RED = "red"

        @classmethod
        def _missing_(cls, value: object) -> "Color | None":
            return cls.RED if value == "rojo" else None

    assert changes(Color, "red") == ("red", [])
    assert changes(dict[str, Color], {"a": "rojo"}) == ({"a": "red"}, [(("a",), "rojo", "red")])
