"""Annotations: which library reads a type, and which types are refused because no library would enforce all of it."""

import dataclasses
import subprocess
import sys
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict

import annotated_types
import msgspec
import pydantic
import pytest

from trueup import Contract
from trueup.conform.annotations import contents_of, modern
from trueup.conform.refusals import SchemaError
from trueup.conform.types import python_type

Small = Annotated[int, annotated_types.Le(100)]


class Model(pydantic.BaseModel):
    n: int


@dataclasses.dataclass
class Plain:
    n: int
    also: "Plain | None" = None


@dataclasses.dataclass
class Limited:
    inner: list[dict[str, Small]]


class Row(TypedDict):
    n: Annotated[int, pydantic.Field(ge=1, description="How many")]
    note: NotRequired[str]


class Table(TypedDict):
    rows: list[Row]
    first: Annotated[Row, "the first of them"]
    other: Row | None


class Point(NamedTuple):
    x: Small


Number = NewType("Number", Small)


@pytest.mark.parametrize(
    "source", [Small, list[Small], dict[str, Small], Limited, Row, Table, Point, Number, Small | None]
)
def test_limits_that_msgspec_ignores_are_found_wherever_they_are(source: Any) -> None:
    assert contents_of(source).foreign is not None


@pytest.mark.parametrize(
    "source", [int, list[Plain], Plain, Literal["Ge"], Annotated[str, "a city"], Model, list[Model]]
)
def test_types_without_foreign_limits_have_none(source: Any) -> None:
    assert contents_of(source).foreign is None


def test_models_are_found_and_not_searched() -> None:
    assert contents_of(list[Model | None]).models
    assert not contents_of(Plain).models


def test_a_struct_with_unenforced_limits_is_refused() -> None:
    class Order(msgspec.Struct):
        amount: Small

    with pytest.raises(
        SchemaError, match=r"msgspec, which reads .*Order, does not enforce Le\(le=100\); use msgspec.Meta"
    ):
        Contract(Order)


def test_limits_of_two_libraries_in_one_type_are_refused() -> None:
    @dataclasses.dataclass
    class Order:
        amount: Small
        count: Annotated[int, msgspec.Meta(ge=1)]

    with pytest.raises(SchemaError, match="no library enforces both"):
        Contract(Order)


def test_without_pydantic_a_limit_is_an_error_and_not_lost() -> None:
    code = (
        "import sys; sys.modules['pydantic'] = None\n"
        "from typing import Annotated\nimport annotated_types\nfrom trueup import Contract\n"
        "try:\n    Contract(Annotated[int, annotated_types.Ge(1)])\n"
        "except ValueError as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "install pydantic" in out


def test_metadata_may_be_unhashable() -> None:
    source = Annotated[
        int, pydantic.Field(ge=1, json_schema_extra={"examples": [[1]]}), annotated_types.Predicate(bool)
    ]
    assert Contract(Annotated[source, pydantic.WithJsonSchema({"type": "integer"})]).check("0").ok is False
    assert Contract(source).check("5").value == 5


def test_typed_dicts_of_typing_are_read_on_every_version() -> None:
    read = python_type(Table)
    value, faults = read.accept({"rows": [{"n": 1}], "first": {"n": 0, "note": "x"}, "other": None})
    assert value is None
    assert [fault.path for fault in faults] == ["$.first.n"]
    assert read.accept({"rows": [], "first": {"n": 1}, "other": {"n": 2}})[1] == []
    assert [fault.path for fault in read.accept({"rows": [], "first": {"n": 1}})[1]] == ["$.other"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic reads typing.TypedDict itself")
def test_a_modern_typed_dict_keeps_what_the_old_one_says() -> None:
    made = modern(Row)
    assert (made.__required_keys__, made.__optional_keys__) == ({"n"}, {"note"})
    assert modern(list[int]) == list[int]
    assert modern(Plain) is Plain


def test_descriptions_reach_the_schema() -> None:
    schema: Any = python_type(Row).schema
    assert schema["properties"]["n"]["description"] == "How many"
