"""Python types as schemas: pydantic, dataclass, TypedDict, msgspec, generics; instances and refusals."""

import dataclasses
import datetime as dt
import decimal
import enum
import subprocess
import sys
import typing
import uuid
from typing import Any

import msgspec
import pydantic
import pytest

from trueup.conform.coerce import conform
from trueup.conform.options import Options
from trueup.conform.schema import SchemaError, compile_schema


class Level(enum.Enum):
    LOW = "LOW"
    HIGH = "HIGH"


class Line(pydantic.BaseModel):
    text: str
    amount: decimal.Decimal = decimal.Decimal(0)


class Invoice(pydantic.BaseModel):
    number: int = pydantic.Field(alias="invoiceNumber")
    due: dt.datetime
    level: Level = Level.LOW
    lines: list[Line] = []
    parent: "Invoice | None" = None

    @pydantic.field_validator("number")
    @classmethod
    def number_is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


class Struct(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    size: typing.Annotated[int, msgspec.Meta(ge=1)] = 1


@dataclasses.dataclass
class Point:
    x: int
    y: int
    label: str | None = None
    when: dt.date | None = None

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


class Choice(typing.TypedDict, total=False):
    name: typing.Required[str]
    level: Level


def checked(value: Any, source: Any) -> Any:
    schema = compile_schema(source)
    data, _ = conform(value, schema, Options())
    assert schema.errors(data) == []
    built, findings = schema.build(data)
    assert findings == []
    assert schema.is_type
    return built


def test_pydantic_models_may_have_aliases_enums_and_recursion() -> None:
    due = "2024-05-31T10:00:00"  # no offset: fine for a Python datetime, not for RFC 3339
    lines = [{"text": "x", "amount": "1.50"}]
    value = {
        "invoice_number": "4",
        "due": due,
        "level": "high",
        "lines": lines,
        "parent": {"invoiceNumber": 2, "due": due},
    }
    built = checked(value, Invoice)
    assert isinstance(built, Invoice)
    assert (built.number, built.level, built.lines[0].amount) == (4, Level.HIGH, decimal.Decimal("1.50"))
    assert isinstance(built.parent, Invoice)


def test_custom_validators_are_honoured() -> None:
    schema = compile_schema(list[Invoice])
    data = [{"invoiceNumber": 3, "due": "2024-05-31T10:00:00Z"}]
    assert not schema.is_valid(data)
    built, findings = schema.build(data)
    assert built is None
    assert [(f.code, f.path) for f in findings] == [("V012", "$[0].invoiceNumber")]
    assert "must be even" in findings[0].message


def test_a_refused_arm_of_a_union_has_the_path_of_the_data() -> None:
    schema = compile_schema(dict[str, Line | Invoice])
    _, findings = schema.build({"a": {"invoiceNumber": 3, "due": "2024-05-31T10:00:00Z"}})
    assert {f.path for f in findings} <= {"$.a", "$.a.text", "$.a.invoiceNumber"}


def test_strict_pydantic_models_read_dates_from_text() -> None:
    class Strict(pydantic.BaseModel, strict=True):
        when: dt.date

    assert checked({"when": "2024-05-31"}, Strict).when == dt.date(2024, 5, 31)


def test_msgspec_dataclasses_typed_dicts_and_generics_are_read() -> None:
    assert checked({"name": "x", "size": "3"}, Struct) == Struct("x", 3)
    assert checked({"x": "1", "y": 2.0, "when": "2024-05-31"}, Point) == Point(1, 2, None, dt.date(2024, 5, 31))
    assert checked({"name": "x", "level": "low"}, Choice) == {"name": "x", "level": Level.LOW}
    assert checked(["1", 2], list[int]) == [1, 2]
    assert checked({"a": "1"}, dict[str, int]) == {"a": 1}
    assert checked("5", int | None) == 5
    assert checked(["1", "a"], tuple[int, str]) == (1, "a")
    key = "123e4567-e89b-12d3-a456-426614174000"
    assert checked(key, uuid.UUID) == uuid.UUID(key)


def test_a_type_may_refuse_more_than_its_schema() -> None:
    built, findings = compile_schema(Point).build({"x": -1, "y": 0})
    assert built is None
    assert findings[0].code == "V012"
    assert "x is negative" in findings[0].message
    _, findings = compile_schema(list[Point]).build([{"x": 1, "y": 0, "when": "soon"}])
    assert findings[0].path == "$[0].when"


def test_a_dataclass_may_contain_pydantic_models() -> None:
    @dataclasses.dataclass
    class Page:
        lines: list[Line]

    built = checked({"lines": [{"text": "x"}]}, Page)
    assert built.lines == [Line(text="x")]


def test_unknown_keys_of_a_closed_struct_are_reported() -> None:
    assert [f.code for f in compile_schema(Struct).errors({"name": "x", "colour": 1})] == ["V003"]


def test_json_schema_builds_the_data_itself() -> None:
    schema = compile_schema({"type": "integer"})
    assert schema.build(5) == (5, [])
    assert not schema.is_type


def test_an_unsupported_type_is_refused() -> None:
    class Opaque:
        pass

    with pytest.raises(SchemaError, match="Opaque"):
        compile_schema(Opaque)


def test_pydantic_is_not_imported_for_other_types() -> None:
    code = (
        "import sys, dataclasses\n"
        "from trueup.conform.schema import compile_schema, SchemaError\n"
        "@dataclasses.dataclass\nclass P:\n    x: int\n"
        "assert compile_schema(P).build({'x': 1}) == (P(1), [])\n"
        "class Opaque: pass\n"
        "try:\n    compile_schema(Opaque)\nexcept SchemaError:\n    pass\n"
        "assert 'pydantic' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
