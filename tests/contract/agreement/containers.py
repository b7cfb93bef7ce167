"""Lists, dicts, tuples, sets and what is inside them, with and without limits."""

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from typing import Annotated, Literal

import annotated_types as at
from pydantic import BaseModel, Field, StringConstraints

from tests.contract.agreement.row import REFUSED, Reader, broken, coerced, invalid, row, valid

PLAIN, LIMITED, MODEL = Reader.PLAIN, Reader.LIMITED, Reader.MODEL

Percent = Annotated[int, Field(ge=0, le=100)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2)]


class Size(Enum):
    SMALL = "S"
    LARGE = "L"


class Point(BaseModel):
    x: int
    y: int = 0


class Tagged(BaseModel):
    tags: set[str]


class Frozen(BaseModel):
    members: frozenset[int]


class Scores(BaseModel):
    scores: dict[str, Percent]


class Grid(BaseModel):
    rows: list[list[int]]


class Named(BaseModel):
    names: list[Word] = Field(min_length=1)


class Track(BaseModel):
    points: tuple[Point, Point]


PLAIN_ROWS = [
    row(
        "list of int",
        list[int],
        PLAIN,
        valid("[1, 2, 3]", [1, 2, 3]),
        valid("[]", []),
        coerced('["1", 2.0]', [1, 2], [1, 2]),
        coerced('"[1, 2, 3]"', [1, 2, 3], [1, 2, 3]),
        invalid('[1, "two"]', "$[1]"),
        invalid("[1, true]", "$[1]"),
        invalid("[1, 2.5]", "$[1]"),
        broken("[1, 2, 3,]", [1, 2, 3], [1, 2, 3]),
        broken("[1 2 3]", [1, 2, 3], [1, 2, 3]),
        broken("Here you go: [1, 'two']", [1, "two"], REFUSED, "$[1]"),
    ),
    row(
        "list of str",
        list[str],
        PLAIN,
        valid('["a", "b"]', ["a", "b"]),
        coerced('"foo"', ["foo"], ["foo"]),
        coerced('["a", 2]', ["a", "2"], ["a", "2"]),
        invalid('["a", null]', "$[1]"),
        broken("['a', 'b'", ["a", "b"], ["a", "b"]),
    ),
    row(
        "list of bool",
        list[bool],
        PLAIN,
        valid("[true, false]", [True, False]),
        coerced('["true", "False"]', [True, False], [True, False]),
        invalid('[true, "no"]', "$[1]"),
        invalid("[0, 1]", "$[0]"),
        broken("[True, False]", [True, False], [True, False]),
    ),
    row(
        "list of float or None",
        list[float | None],
        PLAIN,
        valid("[1.5, null, 2]", [1.5, None, 2.0]),
        invalid('[1.5, "n/a"]', "$[1]"),
        broken("[1.5, None]", [1.5, None], [1.5, None]),
    ),
    row(
        "list of lists",
        list[list[int]],
        PLAIN,
        valid("[[1, 2], [3]]", [[1, 2], [3]]),
        invalid('[[1, 2], [3, "x"]]', "$[1][1]"),
        broken("[[1, 2,], [3,],]", [[1, 2], [3]], [[1, 2], [3]]),
    ),
    row(
        "list of enum",
        list[Size],
        PLAIN,
        valid('["S", "L"]', [Size.SMALL, Size.LARGE]),
        coerced('["s"]', ["S"], [Size.SMALL]),
        invalid('["S", "huge"]', "$[1]"),
        broken("['S', 'L']", ["S", "L"], [Size.SMALL, Size.LARGE]),
    ),
    row(
        "sequence of str",
        Sequence[str],
        PLAIN,
        valid('["a", "b"]', ["a", "b"]),
        invalid('["a", null]', "$[1]"),
        broken("['a', 'b',]", ["a", "b"], ["a", "b"]),
    ),
    row(
        "dict of int",
        dict[str, int],
        PLAIN,
        valid('{"a": 1}', {"a": 1}),
        coerced('{"a": "1"}', {"a": 1}, {"a": 1}),
        invalid('{"a": "one"}', "$.a"),
        invalid('{"a": true}', "$.a"),
        broken("{'a': 1, 'b': 2,}", {"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ),
    row(
        "dict of nothing",
        dict[str, None],
        PLAIN,
        valid('{"a": null}', {"a": None}),
        invalid('{"a": 0}', "$.a"),
        broken("{'a': None}", {"a": None}, {"a": None}),
    ),
    row(
        "dict with int keys",
        dict[int, str],
        PLAIN,
        valid('{"1": "one"}', {1: "one"}),
        invalid('{"first": "one"}', None),
        invalid('{"1": null}', '$["1"]'),
        broken('```json\n{"1": "one",}\n```', {"1": "one"}, {1: "one"}),
    ),
    row(
        "dict with date keys",
        dict[date, float],
        PLAIN,
        valid('{"2024-01-01": 1.5}', {date(2024, 1, 1): 1.5}),
        invalid('{"new year": 1.5}', None),
        broken('{"2024-01-01": 1.5', {"2024-01-01": 1.5}, {date(2024, 1, 1): 1.5}),
    ),
    row(
        "dict of lists",
        dict[str, list[str]],
        PLAIN,
        valid('{"a": ["x", "y"]}', {"a": ["x", "y"]}),
        coerced('{"a": "x"}', {"a": ["x"]}, {"a": ["x"]}),
        invalid('{"a": ["x", null]}', "$.a[1]"),
        broken("{'a': ['x', 'y'}", {"a": ["x", "y"]}, {"a": ["x", "y"]}),
    ),
    row(
        "dict with literal keys",
        dict[Literal["low", "high"], int],
        PLAIN,
        valid('{"low": 1}', {"low": 1}),
        invalid('{"low": "x"}', "$.low"),
        invalid('{"middle": 1}', None),
        broken("{'low': 1, 'high': 2}", {"low": 1, "high": 2}, {"low": 1, "high": 2}),
    ),
    row(
        "mapping",
        Mapping[str, bool],
        PLAIN,
        valid('{"a": true}', {"a": True}),
        coerced('{"a": "false"}', {"a": False}, {"a": False}),
        invalid('{"a": "yes"}', "$.a"),
        broken("{'a': True}", {"a": True}, {"a": True}),
    ),
    row(
        "pair",
        tuple[int, str],
        PLAIN,
        valid('[1, "a"]', (1, "a")),
        coerced('["1", "a"]', [1, "a"], (1, "a")),
        invalid('["x", "a"]', "$[0]"),
        invalid('[1, "a", 2]', "$"),
        broken("(1, 'a')", [1, "a"], (1, "a")),
    ),
    row(
        "tuple of any length",
        tuple[float, ...],
        PLAIN,
        valid("[1.5, 2]", (1.5, 2.0)),
        valid("[]", ()),
        invalid('[1.5, "x"]', "$[1]"),
        broken("(1.5, 2.5)", [1.5, 2.5], (1.5, 2.5)),
    ),
    row(
        "set of int",
        set[int],
        PLAIN,
        valid("[1, 2]", {1, 2}),
        valid("[1, 1, 2]", {1, 2}),
        coerced('["1", 2]', [1, 2], {1, 2}),
        invalid('[1, "x"]', "$[1]"),
        broken("[1, 2,]", [1, 2], {1, 2}),
    ),
    row(
        "frozenset of str",
        frozenset[str],
        PLAIN,
        valid('["a", "b"]', frozenset({"a", "b"})),
        valid('["a", "a"]', frozenset({"a"})),
        invalid('["a", null]', "$[1]"),
        broken("['a', 'b']", ["a", "b"], frozenset({"a", "b"})),
    ),
    row(
        "deque",
        deque[int],
        LIMITED,
        valid("[1, 2]", deque([1, 2])),
        invalid('[1, "x"]', "$[1]"),
        broken("[1, 2,]", [1, 2], deque([1, 2])),
    ),
    row(
        "ordered dict",
        OrderedDict[str, int],
        LIMITED,
        valid('{"b": 1, "a": 2}', OrderedDict(b=1, a=2)),
        invalid('{"b": "x"}', "$.b"),
        broken("{'b': 1, 'a': 2}", {"b": 1, "a": 2}, OrderedDict(b=1, a=2)),
    ),
]

LIMITED_ROWS = [
    row(
        "list of limited int",
        list[Annotated[int, Field(ge=1, le=100)]],
        LIMITED,
        valid("[1, 100]", [1, 100]),
        coerced('["5"]', [5], [5]),
        invalid("[1, 101]", "$[1]"),
        invalid('["1_0"]', "$[0]"),
        broken("[1, 100,]", [1, 100], [1, 100]),
        broken("[1, 500,]", [1, 500], REFUSED, "$[1]"),
    ),
    row(
        "list of annotated_types int",
        list[Annotated[int, at.Interval(ge=1, lt=6)]],
        LIMITED,
        valid("[1, 5]", [1, 5]),
        invalid("[6]", "$[0]"),
        broken("[1, 5", [1, 5], [1, 5]),
    ),
    row(
        "list of short words",
        list[Annotated[str, Field(max_length=3)]],
        LIMITED,
        valid('["abc"]', ["abc"]),
        coerced('"abc"', ["abc"], ["abc"]),
        invalid('["abc", "abcd"]', "$[1]"),
        broken("['abc', 'de']", ["abc", "de"], ["abc", "de"]),
    ),
    row(
        "list of stripped words",
        list[Word],
        LIMITED,
        valid('[" ab ", "cd"]', ["ab", "cd"]),
        invalid('[" a "]', "$[0]"),
        broken("[' ab ', 'cd',]", [" ab ", "cd"], ["ab", "cd"]),
    ),
    row(
        "list with a length",
        Annotated[list[str], Field(min_length=1, max_length=2)],
        LIMITED,
        valid('["a"]', ["a"]),
        invalid("[]", "$"),
        invalid('["a", "b", "c"]', "$"),
        broken("['a', 'b']", ["a", "b"], ["a", "b"]),
    ),
    row(
        "both the list and its items limited",
        Annotated[list[Percent], Field(min_length=2)],
        LIMITED,
        valid("[0, 100]", [0, 100]),
        invalid("[0]", "$"),
        invalid("[0, 101]", "$[1]"),
        broken("[0, 100,]", [0, 100], [0, 100]),
    ),
    row(
        "dict of limited int",
        dict[str, Percent],
        LIMITED,
        valid('{"a": 50}', {"a": 50}),
        coerced('{"a": "50"}', {"a": 50}, {"a": 50}),
        invalid('{"a": 150}', "$.a"),
        broken("{'a': 50}", {"a": 50}, {"a": 50}),
        broken("{'a': -1}", {"a": -1}, REFUSED, "$.a"),
    ),
    row(
        "dict with limited keys",
        dict[Annotated[str, Field(pattern=r"^[a-z]{2}$")], str],
        LIMITED,
        valid('{"de": "Berlin"}', {"de": "Berlin"}),
        invalid('{"germany": "Berlin"}', None),
        broken("{'de': 'Berlin'}", {"de": "Berlin"}, {"de": "Berlin"}),
    ),
    row(
        "dict with a size",
        Annotated[dict[str, int], Field(max_length=1)],
        LIMITED,
        valid('{"a": 1}', {"a": 1}),
        invalid('{"a": 1, "b": 2}', "$"),
        broken('{"a": 1,}', {"a": 1}, {"a": 1}),
    ),
    row(
        "dict of lists of limited int",
        dict[str, list[Annotated[int, at.Gt(0)]]],
        LIMITED,
        valid('{"a": [1, 2]}', {"a": [1, 2]}),
        invalid('{"a": [1, 0]}', "$.a[1]"),
        broken("{'a': [1, 2,]}", {"a": [1, 2]}, {"a": [1, 2]}),
    ),
    row(
        "tuple of limited values",
        tuple[Annotated[float, Field(ge=-90, le=90)], Annotated[float, Field(ge=-180, le=180)]],
        LIMITED,
        valid("[52.5, 13.4]", (52.5, 13.4)),
        invalid("[152.5, 13.4]", "$[0]"),
        invalid("[52.5, 213.4]", "$[1]"),
        broken("(52.5, 13.4)", [52.5, 13.4], (52.5, 13.4)),
    ),
    row(
        "set of limited words",
        set[Annotated[str, Field(min_length=2)]],
        LIMITED,
        valid('["ab", "cd"]', {"ab", "cd"}),
        invalid('["ab", "c"]', "$[1]"),
        broken("['ab', 'cd']", ["ab", "cd"], {"ab", "cd"}),
    ),
    row(
        "frozenset with a size",
        Annotated[frozenset[int], Field(min_length=2)],
        LIMITED,
        valid("[1, 2]", frozenset({1, 2})),
        invalid("[1, 1]", "$"),
        broken("[1, 2,]", [1, 2], frozenset({1, 2})),
    ),
    row(
        "optional limited items",
        list[Annotated[int, Field(ge=0)] | None],
        LIMITED,
        valid("[0, null]", [0, None]),
        invalid("[0, -1]", "$[1]"),
        broken("[0, None]", [0, None], [0, None]),
    ),
]

MODEL_ROWS = [
    row(
        "list of models",
        list[Point],
        MODEL,
        valid('[{"x": 1}, {"x": 2, "y": 3}]', [Point(x=1), Point(x=2, y=3)]),
        valid('[{"x": "1"}]', [Point(x=1)]),
        invalid('[{"x": 1}, {"y": 3}]', "$[1].x"),
        invalid('[{"x": "one"}]', "$[0].x"),
        broken("[{'x': 1}, {'x': 2,},]", [{"x": 1}, {"x": 2}], [Point(x=1), Point(x=2)]),
    ),
    row(
        "dict of models",
        dict[str, Point],
        MODEL,
        valid('{"a": {"x": 1}}', {"a": Point(x=1)}),
        invalid('{"a": {"x": null}}', "$.a.x"),
        broken("{'a': {'x': 1}", {"a": {"x": 1}}, {"a": Point(x=1)}),
    ),
    row(
        "model or None",
        Point | None,
        MODEL,
        valid("null", None),
        valid('{"x": 1, "y": 2}', Point(x=1, y=2)),
        invalid('{"x": "left"}', "$.x"),
        broken("{x: 1, y: 2}", {"x": 1, "y": 2}, Point(x=1, y=2)),
    ),
    row(
        "tuple of models",
        tuple[Point, Point],
        MODEL,
        valid('[{"x": 1}, {"x": 2}]', (Point(x=1), Point(x=2))),
        invalid('[{"x": 1}, {"x": "far"}]', "$[1].x"),
        broken("({'x': 1}, {'x': 2})", [{"x": 1}, {"x": 2}], (Point(x=1), Point(x=2))),
    ),
    row(
        "model with a set",
        Tagged,
        MODEL,
        valid('{"tags": ["a", "b"]}', Tagged(tags={"a", "b"})),
        valid('{"tags": ["a", "b", "a"]}', Tagged(tags={"a", "b"})),
        coerced('{"tags": "a"}', {"tags": ["a"]}, Tagged(tags={"a"})),
        invalid('{"tags": ["a", null]}', "$.tags[1]"),
        broken("{'tags': ['a', 'b',]}", {"tags": ["a", "b"]}, Tagged(tags={"a", "b"})),
    ),
    row(
        "model with a frozenset",
        Frozen,
        MODEL,
        valid('{"members": [1, 2]}', Frozen(members=frozenset({1, 2}))),
        valid('{"members": ["1", 2]}', Frozen(members=frozenset({1, 2}))),
        invalid('{"members": [1, "x"]}', "$.members[1]"),
        broken("{members: [1, 2]}", {"members": [1, 2]}, Frozen(members=frozenset({1, 2}))),
    ),
    row(
        "model with a dict of limited int",
        Scores,
        MODEL,
        valid('{"scores": {"ada": 100}}', Scores(scores={"ada": 100})),
        invalid('{"scores": {"ada": 101}}', "$.scores.ada"),
        broken("{'scores': {'ada': 100}", {"scores": {"ada": 100}}, Scores(scores={"ada": 100})),
        broken("{'scores': {'ada': 101}", {"scores": {"ada": 101}}, REFUSED, "$.scores.ada"),
    ),
    row(
        "model with a grid",
        Grid,
        MODEL,
        valid('{"rows": [[1, 2], [3, 4]]}', Grid(rows=[[1, 2], [3, 4]])),
        invalid('{"rows": [[1, 2], [3, "x"]]}', "$.rows[1][1]"),
        broken('{"rows": [[1, 2], [3, 4],]}', {"rows": [[1, 2], [3, 4]]}, Grid(rows=[[1, 2], [3, 4]])),
    ),
    row(
        "model with stripped words",
        Named,
        MODEL,
        valid('{"names": ["  Ada "]}', Named(names=["Ada"])),
        coerced('{"names": " Ada "}', {"names": [" Ada "]}, Named(names=["Ada"])),
        invalid('{"names": []}', "$.names"),
        invalid('{"names": ["Ada", " A "]}', "$.names[1]"),
        broken("{'names': ['Ada', 'Grace']}", {"names": ["Ada", "Grace"]}, Named(names=["Ada", "Grace"])),
    ),
    row(
        "model with a tuple of models",
        Track,
        MODEL,
        valid('{"points": [{"x": 0}, {"x": 5, "y": 5}]}', Track(points=(Point(x=0), Point(x=5, y=5)))),
        invalid('{"points": [{"x": 0}, {"x": 5, "y": "up"}]}', "$.points[1].y"),
        broken(
            "{'points': ({'x': 0}, {'x': 5})}", {"points": [{"x": 0}, {"x": 5}]}, Track(points=(Point(x=0), Point(x=5)))
        ),
    ),
]

ROWS = PLAIN_ROWS + LIMITED_ROWS + MODEL_ROWS
