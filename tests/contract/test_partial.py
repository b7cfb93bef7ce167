"""The value so far: coerced and typed like the final value, and safe to keep and compare."""

import copy
import datetime as dt
import itertools
import json
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    TypeAdapter,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as validated

from tests.recover.material import same
from trueup import Contract, Partial
from trueup.contract.streaming.copy_on_write import Lent
from trueup.verdict.verdict import Verdict

pytestmark = pytest.mark.spec("A15")


class Address(BaseModel):
    street: str
    number: int = Field(ge=1)


class Person(BaseModel):
    name: str
    age: int | None = None
    born: dt.date | None = None
    tags: list[str] = []
    home: Address | None = Field(None, validation_alias=AliasChoices("home", "address"))
    past: list[Address] = []
    scores: dict[str, float] = {}
    kind: Literal["cat", "dog"] = "cat"

    @field_validator("tags", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return value.split(",") if isinstance(value, str) else value


@dataclass
class Place:
    street: str
    number: int


@dataclass
class Human:
    name: str
    age: int | None = None
    tags: list[str] | None = None
    home: Place | None = None
    past: list[Place] | None = None
    scores: dict[str, float] | None = None


class Row(TypedDict, total=False):
    name: str
    age: int
    tags: list[str]
    home: Place


class Packed(msgspec.Struct, rename="camel", kw_only=True):
    name: str
    age: int | None = None
    tags: list[str] = []
    home_town: str = ""


PLAIN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "home": {"$ref": "#/$defs/place"},
        "past": {"type": "array", "items": {"$ref": "#/$defs/place"}},
        "scores": {"type": "object", "additionalProperties": {"type": "number"}},
        "kind": {"enum": ["cat", "dog"]},
        "born": {"type": "string"},
    },
    "required": ["name"],
    "$defs": {
        "place": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "number": {"type": "integer"}},
            "required": ["street", "number"],
        }
    },
}
CONTRACTS: dict[str, Contract[Any]] = {
    "schema": Contract(PLAIN),
    "eager": Contract(PLAIN, coerce="eager"),
    "as it comes": Contract(PLAIN, coerce="off"),
    "any": Contract(True),
    "pydantic": Contract(Person),
    "dataclass": Contract(Human),
    "typed dict": Contract(Row),
    "struct": Contract(Packed),
}

_places = st.fixed_dictionaries(
    {"street": st.sampled_from(["High Street", 'a "b"', 5]), "number": st.sampled_from([4, "4", 4.0, "four", None])},
    optional={"more": st.just([1, {"x": []}])},
)
_people = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["Ada", "", 5, None, True, "Zoë\n😀", 1.5]),
        "age": st.sampled_from([36, "36", 36.0, "36.0", "old", None, True]),
        "tags": st.sampled_from(["a,b", ["a", "b"], ["a", 5], [], None, "a", {"a": 1}]),
        "home": _places | st.sampled_from([None, "home", []]),
        "past": st.lists(_places, max_size=3) | _places,
        "scores": st.dictionaries(st.sampled_from("abc"), st.sampled_from([1, 1.5, "2", "x"]), max_size=3),
        "kind": st.sampled_from(["cat", "Dog", "a cat", 5]),
        "born": st.sampled_from(["1815-12-10", 5, "long ago"]),
        "homeTown": st.sampled_from(["London", 5]),
        "unknown": st.sampled_from([1, {"a": [1, 2]}, "x"]),
    },
)


@st.composite
def _streams(draw: st.DrawFn) -> list[str]:
    people = draw(_people)
    order = draw(st.permutations(list(people)))
    text = json.dumps({name: people[name] for name in order}, indent=draw(st.sampled_from([None, 1])))
    text = draw(st.sampled_from(["", "Sure: ", "```json\n"])) + text
    if draw(st.booleans()):
        return [*text]
    edges = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=12))})
    return [text[a:b] for a, b in itertools.pairwise(edges)]


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
@given(pieces=_streams())
def test_a_closed_member_is_the_same_as_in_the_whole_value(contract: Contract[Any], pieces: list[str]) -> None:
    stream = contract.stream()
    shown: list[tuple[Any, tuple[Any, ...]]] = []
    for piece in pieces:
        stream.feed(piece)
        part = stream._shown.part()
        shown.append((part, part.complete))
    verdict = stream.finish()
    for part, complete in shown:
        assert part.complete == complete
        # a converted value is in a verdict's data only if the verdict is ok
        if isinstance(verdict.data, dict) and (verdict.ok or not isinstance(stream.partial, Partial)):
            _assert_final(part, verdict)


def _assert_final(part: Partial[Any], verdict: Verdict[Any]) -> None:
    built = isinstance(verdict.value, Person | Human | Packed)
    for name in part.complete:
        if built and hasattr(verdict.value, name):
            assert getattr(part, name) == getattr(verdict.value, name), (name, part, verdict)
    closed = [key for key in part.data or () if key in part.complete]
    for key in closed:
        assert key not in verdict.data or same(part.data[key], verdict.data[key]), (key, part.data, verdict.data)


@given(pieces=_streams())
def test_values_that_were_given_never_change(pieces: list[str]) -> None:
    for contract in (CONTRACTS["schema"], CONTRACTS["pydantic"], CONTRACTS["any"]):
        stream = contract.stream()
        kept = []
        for turn, piece in enumerate(pieces):
            value = stream.feed(piece)
            if turn % 3:
                kept.append((value, copy.deepcopy(value), repr(value)))
        for value, before, said in kept:
            assert value == before
            assert repr(value) == said


def test_parts_of_a_state_may_be_kept_alone() -> None:
    stream = Contract(True).stream()
    kept = []
    for sign in '{"a": [[1, "xy"], [2, 3], {"b": "z"}], "c": "d"}':
        value = stream.feed(sign)
        if value and value.get("a"):
            kept.append((value["a"][-1], copy.deepcopy(value["a"][-1]), value["a"], copy.deepcopy(value["a"])))
        del value
    assert len(kept) > 20
    for inner, inner_before, outer, outer_before in kept:
        assert (inner, outer) == (inner_before, outer_before)


def test_closed_members_are_shared_by_all_states() -> None:
    stream = Contract(True).stream()
    first = stream.feed('{"a": {"b": [1]}, "c": [{"d": 1}, ')
    second = stream.feed('{"d": 2}, 3')
    assert first is not second
    assert first["a"] is second["a"]
    assert first["c"][0] is second["c"][0]
    assert first["c"] == [{"d": 1}]


def test_the_live_value_has_its_own_name() -> None:
    stream = Contract(PLAIN).stream()
    assert (stream.live, stream.partial, stream.data) == (None, None, None)
    shown = stream.feed('{"age": "36", "name": "Ad')
    live = stream.live
    assert (shown, live) == ({"age": 36, "name": "Ad"}, {"age": "36", "name": "Ad"})
    stream.feed('a"')
    assert shown == {"age": 36, "name": "Ad"}
    assert (stream.live is live, live["name"]) == (True, "Ada")
    assert stream.partial == stream.data == {"age": 36, "name": "Ada"}


def test_an_open_string_stays_text_until_it_has_closed() -> None:
    stream = Contract(PLAIN).stream()
    shown = [stream.feed(sign) for sign in '{"age": "36", ']
    assert [value["age"] for value in shown if value] == ["", "3", "36", "36", 36, 36]


def test_a_partial_of_a_type() -> None:
    part = Contract(Person).stream().feed('{"name": "Ada", "born": "1815-12-10", "address": {"street": "High')
    assert (part.name, part.born, part.age, part.tags) == ("Ada", dt.date(1815, 12, 10), None, None)
    assert isinstance(part.home, Partial)
    assert (part.home.street, part.home.number) == ("High", None)
    assert part.complete == ("name", "born")
    assert part.data == {"name": "Ada", "born": "1815-12-10", "address": {"street": "High"}}
    assert repr(part).startswith("Partial[Person](name='Ada', born=datetime.date(1815, 12, 10), home=Partial[Address](")
    assert part == part.data
    assert part == copy.copy(part)
    assert part != {"name": "Ada"}
    assert part != 5
    assert (part["name"], "name" in part, "age" in part, [*part], len(part)) == (
        "Ada", True, False, ["name", "born", "home"], 3,
    )  # fmt: skip
    with pytest.raises(AttributeError, match="Person has no field 'nam'"):
        _ = part.nam
    assert {"name", "age", "home", "data", "complete"} <= {*dir(part)}
    with pytest.raises(KeyError):
        part["age"]
    with pytest.raises(TypeError):
        hash(part)


def test_lists_are_of_the_items_that_the_type_makes() -> None:
    text = '{"name": "Ada", "tags": ["a", "b'
    part = Contract(Person).stream().feed(text)
    assert (part.tags, type(part.tags)) == (["a", "b"], list)
    stream = Contract(list[Address]).stream()
    part = stream.feed('[{"street": "A", "number": "1"}, {"street": "B"')
    assert part[0] == Address(street="A", number=1)
    assert (part[1].street, len(part), part.complete) == ("B", 2, (0,))
    assert repr(part) == "Partial[list[Address]]([Address(street='A', number=1), Partial[Address](street='B')])"


def test_before_anything_has_come() -> None:
    part = Contract(Person).stream().partial
    assert (part.name, part.data, part.complete, len(part), repr(part)) == (None, None, (), 0, "Partial[Person]()")
    assert part == None  # noqa: E711 - it has no data
    assert list(Contract(Person).stream(["Let me see."])) == []


def test_a_partial_of_plain_data() -> None:
    stream = Contract(PLAIN).stream(['{"age": "36", "name": "A', 'da", ', ' "home": {"street": 5'])
    parts = list(stream)
    assert [part.data for part in parts] == [
        {"age": 36, "name": "A"}, {"age": 36, "name": "Ada"}, {"age": 36, "name": "Ada", "home": {}},
    ]  # fmt: skip
    assert (parts[-1].age, parts[-1].tags, parts[-1]["home"], parts[-1].complete) == (36, None, {}, ("age", "name"))


class Checked(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def _ordered(self) -> "Checked":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Shaped(BaseModel):
    low: int

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, data: Any) -> Any:
        return {"low": data["bottom"]}


def test_a_validator_of_the_whole_runs_at_the_end() -> None:
    stream = Contract(Checked).stream(['{"low": "5", ', '"high": 3}'])
    assert [(part.low, part.high) for part in stream] == [(5, None), (5, 3)]
    assert not stream.verdict.ok
    shaped = Contract(list[Shaped]).stream(['[{"bottom": "5", "x": ', "1}"])
    first, second = list(shaped)
    assert first[0].low is None
    assert second[0] == Shaped.model_validate({"bottom": 5})


def test_a_bug_in_a_validator_waits_for_the_verdict() -> None:
    def broken(value: Any) -> Any:
        raise RuntimeError("a bug")

    class Odd(BaseModel):
        name: Annotated[str, Field()]
        _check = field_validator("name")(broken)

    stream = Contract(Odd).stream()
    assert stream.feed('{"name": "Ada", ').name == "Ada"
    with pytest.raises(RuntimeError, match="a bug"):
        stream.finish()


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Numbers(RootModel[list[int]]):
    pass


Held = TypeVar("Held")


class Box(BaseModel, Generic[Held]):
    item: Held
    count: int


class Tree(BaseModel):
    value: int
    below: list["Tree"] = []


class Pair(msgspec.Struct, array_like=True):
    number: int
    text: str


class Careful(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, alias_generator=str.upper, validate_default=True
    )
    number: int
    day: dt.date


class Reaching(BaseModel):
    number: int = Field(validation_alias=AliasPath("a", "b", 0))
    text: str = ""


class Prepared(BaseModel):
    number: int

    def model_post_init(self, context: Any, /) -> None:
        assert self.number + 1


@pytest.mark.parametrize(
    ("kind", "data", "shown"),
    [
        (Cat | Dog, {"kind": "cat", "lives": "9"}, "Partial[Cat | Dog](kind='cat', lives=9)"),
        (Cat | None, {"kind": "cat", "lives": "9"}, "Partial[Cat](kind='cat', lives=9)"),
        (Numbers, [1, "2"], "Partial[Numbers]([1, 2])"),
        (Box[Cat], {"item": {"kind": "cat", "lives": "9"}, "count": "1"}, "item=Cat(kind='cat', lives=9), count=1)"),
        (Tree, {"value": "1", "below": [{"value": "2"}]}, "(value=1, below=[Tree(value=2, below=[])])"),
        (list[Pair], [[1, "a"], ["2", "b"]], "[Pair(number=1, text='a'), Pair(number=2, text='b')]"),
        (TypeAdapter(list[Cat]), [{"kind": "cat", "lives": "9"}], "Partial[list[Cat]]([Cat(kind='cat', lives=9)])"),
        (Careful, {"NUMBER": 1, "DAY": "2026-01-02"}, "(number=1, day=datetime.date(2026, 1, 2))"),
        (Reaching, {"a": {"b": ["5"]}, "text": "x"}, "Partial[Reaching](number=5, text='x')"),
        (Prepared, {"number": "1"}, "Partial[Prepared](number=1)"),
        (tuple[int, str], [1, "x"], "Partial[tuple[int, str]]([1, 'x'])"),
        (tuple[int, ...], [1, "2"], "Partial[tuple[int, ...]]([1, 2])"),
        (dict[str, Cat], {"a": {"kind": "cat", "lives": "9"}}, "Partial[dict[str, Cat]](a=Cat(kind='cat', lives=9))"),
        (set[int], [1, "1", 2], "Partial[set[int]]([1, 2])"),
        (dict[str, Any], {"a": {"b": 1}}, "Partial[dict[str, Any]](a={'b': 1})"),
        (Annotated[list[Cat], Field(max_length=2)], [{"kind": "cat", "lives": 9}], "Partial[list[Cat]]([Cat("),
    ],
    ids=str,
)
def test_types_of_every_kind(kind: Any, data: Any, shown: str) -> None:
    stream = Contract(kind).stream(iter(json.dumps(data)))
    parts = list(stream)
    assert shown in repr(parts[-1])
    assert stream.verdict.ok
    assert same(parts[-1].data, stream.verdict.data)


def test_compact_lists_of_numbers_are_shown_as_they_come() -> None:
    assert [part.data for part in Contract(True).stream("[1,200,3]".partition(",2"))] == [[], [1], [1, 200, 3]]
    stream = Contract(True).stream()
    assert [stream.feed(sign) for sign in '{"a":[1,2,500],"b":1}'][-2:] == [
        {"a": [1, 2, 500]},
        {"a": [1, 2, 500], "b": 1},
    ]


def test_a_string_that_has_closed_is_not_taken_back() -> None:
    stream = Contract(True).stream()
    shown = [stream.feed(piece) for piece in ('{"a": "x', '"', " ", "\n", ', "b')]
    assert shown == [{"a": "x"}] * 5


def test_a_fraction_that_becomes_text_is_as_it_was_written() -> None:
    stream = Contract(PLAIN).stream()
    assert stream.feed('{"name": 1.50, "age": 3, ') == {"age": 3}
    assert Contract(PLAIN).check('{"name": 1.50, "age": 3}').data["name"] == "1.50"


@pytest.mark.parametrize(
    ("contract", "item"),
    [
        (Contract(True), '"ab", '),
        (Contract(True), '{"a": "b"}, '),
        (Contract(list[str]), '"ab", '),
        (Contract(list[list[str]]), '["b"], '),
        (Contract(list[Address]), '{"street": "A", "number": 1}, '),
    ],
)
def test_a_loop_copies_nothing_however_long_the_list(contract: Contract[Any], item: str) -> None:
    """One character at a time: the amount of copying for the states grows linearly with the text."""

    def copied(size: int) -> int:
        stream = contract.stream()
        value: Any = None
        for sign in "[" + item * size:
            value = stream.feed(sign)
        assert len(value) == size
        return stream._shown.copied

    for size in (30, 300, 3_000):
        assert copied(size) <= 4 * size


def test_lent_containers() -> None:
    lent = Lent({})
    lent.add("a", 1)
    first = lent.lend()
    lent.put(first, "b", "x")
    lent.add("b", 2)
    lent.add("c", 3)
    second = lent.lend()
    assert (first, second, list(second)) == ({"a": 1, "b": "x"}, {"a": 1, "b": 2, "c": 3}, ["a", "b", "c"])
    del first
    lent.add("d", 4)
    again = lent.lend()
    assert again == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert second == {"a": 1, "b": 2, "c": 3}
    again.clear()
    del again
    assert lent.lend() == {"a": 1, "b": 2, "c": 3, "d": 4}, "a copy that somebody has written to is not lent again"


@validated(config=ConfigDict(str_strip_whitespace=True, validate_by_name=True), frozen=True, slots=True, kw_only=True)
class Tidy:
    name: str = Field(alias="theName")
    count: int


@validated
class Loud:
    name: str
    count: int = 0

    @field_validator("name")
    @classmethod
    def _shout(cls, name: str) -> str:
        return name.upper()

    @model_validator(mode="after")
    def _whole(self) -> "Loud":
        if self.count < 0:
            raise ValueError("count is negative")
        return self

    def __post_init__(self) -> None:
        assert self.count is not None


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    name: str
    count: int


class Louder(BaseModel):
    name: str
    count: int

    @field_validator("*")
    @classmethod
    def _more(cls, value: Any) -> Any:
        return value * 2


@pytest.mark.parametrize("kind", [Tidy, Loud, Stripped, Louder])
def test_a_closed_field_went_through_the_validators_of_its_class(kind: type) -> None:
    text = json.dumps({"theName" if kind is Tidy else "name": " Ada ", "count": 2})
    stream = Contract(kind).stream([*text])
    closed = [part for part in stream if "name" in part.complete]
    assert len(closed) == 2
    assert {part.name for part in closed} == {stream.verdict.unwrap().name} != {" Ada "}
    assert closed[-1].count == stream.verdict.unwrap().count
