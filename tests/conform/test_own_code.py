"""The view of a pydantic type's validators, and what a stream may conclude from a part of a value."""

import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from trueup import Contract


class Between(BaseModel):
    start: int
    end: int

    @field_validator("end")
    @classmethod
    def is_after(cls, end: int, info: ValidationInfo) -> int:
        if end <= info.data.get("start", 1_000):
            raise ValueError("the end comes before the start")
        return end


class Shortened(BaseModel):
    name: str = Field(max_length=3)
    tags: list[str] = Field(default=[], max_length=1)

    @model_validator(mode="before")
    @classmethod
    def shorten(cls, given: Any) -> Any:
        return {"name": given["name"][:3]} if isinstance(given, dict) and "name" in given else given


class Cat(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    lives: int = 9


class Dog(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    breed: str = "pug"


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


AGE = _closed(name={"type": "string"}, age={"type": "integer"})
CASES: list[tuple[str, Any, Any]] = [
    ("a validator that compares fields", Between, {"start": 1, "end": 5}),
    ("a validator of the whole", Shortened, {"name": "abcdef", "tags": ["a", "b"]}),
    ("a union of models, first", Cat | Dog, {"name": "Tom", "lives": 3}),
    ("a union of models, second", Cat | Dog, {"name": "Rex", "breed": "boxer"}),
    ("an envelope around a model", Cat, {"result": {"name": "Tom", "lives": 3}}),
    ("an envelope after a remark", Cat, {"remark": "here", "result": {"name": "Tom"}}),
    ("an envelope around any names", dict[str, Annotated[str, Field(max_length=3)]], {"data": {"a": "b"}}),
    ("an optional null", AGE, {"age": None, "name": "Ada"}),
    ("an optional null in a union", _closed(a={"anyOf": [{"type": "integer"}, {"type": "array"}]}), {"a": None}),
]


@pytest.mark.spec("A15")
@pytest.mark.parametrize(("source", "value"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_stream_reports_no_fault_in_a_value_that_becomes_valid(source: Any, value: Any) -> None:
    contract = Contract(source)
    stream = contract.stream()
    for piece in json.dumps(value):
        stream.push(piece)
        assert not stream.findings.errors
    assert stream.finish().ok


@pytest.mark.spec("A15")
def test_an_unknown_name_is_certain_after_the_first_member() -> None:
    stream = Contract(Cat).stream()
    stream.push('{"height": 30, ')
    assert not stream.findings.errors  # it may be an envelope
    stream.push('"name": "Tom", "')
    assert [found.path for found in stream.findings.errors] == ["$.height"]


@pytest.mark.spec("A15")
def test_a_required_null_is_certain() -> None:
    stream = Contract({**AGE, "required": ["age"]}).stream()
    stream.push('{"age": null, "name": "A')
    assert [found.code for found in stream.findings.errors] == ["V001"]


def shorten(name: Annotated[str, BeforeValidator(lambda name: name[:3]), Field(max_length=3)]) -> str:
    return name


@pytest.mark.spec("A15")
def test_streamed_arguments_of_a_function_are_judged_by_its_annotations() -> None:
    from trueup.ask.gate import CallInProgress
    from trueup.read.deltas import Delta

    calling = CallInProgress(Contract(tools=[shorten]))
    assert calling.feed(Delta(calls=("shorten",))) == ()
    assert [calling.feed(Delta(arguments=piece)) for piece in '{"name": "abcdef"}'] == [()] * 18
