"""Bugs in the user's code: told from refusals, pointed at the user's line, recognized wherever they arrive."""

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from pydantic_core import PydanticCustomError, PydanticKnownError

from trueup.verdict.bugs import bug_in, bug_of, is_fault, pointed, refusal, tried


class Struct(msgspec.Struct):
    n: int

    def __post_init__(self) -> None:
        raise {1: TypeError("a bug"), 2: ValueError("too small"), 3: KeyError("n")}[self.n]


class Model(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def judged(cls, n: int) -> int:
        if n == 1:
            json.loads(n)  # type: ignore[arg-type]
        raise ValueError("too small")


def caught(call: Any) -> BaseException:
    try:
        call()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - that is what is tested
        return error
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("too cheap"),
        AssertionError(),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
        caught(lambda: json.loads("{")),
        PydanticCustomError("cheap", "too cheap"),
        PydanticKnownError("missing"),
        caught(lambda: Model(n=2)),
        caught(lambda: msgspec.convert({}, Struct)),
        caught(lambda: msgspec.convert({"n": 2}, Struct)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_which_exceptions_refuse_a_reply(error: BaseException) -> None:
    assert is_fault(error)
    assert bug_in(error) is None


@pytest.mark.parametrize(
    "error",
    [
        KeyError("price"), ZeroDivisionError(), TypeError(), AttributeError(), NotImplementedError(), RecursionError(),
        TimeoutError(), ConnectionError(), StopIteration(), SystemExit(3), ExceptionGroup("two", [ValueError()]),
        pydantic.PydanticUserError("not fully defined", code="class-not-fully-defined"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_anything_else_is_a_bug(error: BaseException) -> None:
    assert not is_fault(error)
    assert bug_in(error) is error


def test_a_bug_that_msgspec_wraps_is_the_one_inside() -> None:
    wrapped = caught(lambda: msgspec.convert({"n": 1}, Struct))
    assert isinstance(wrapped, msgspec.ValidationError)
    assert isinstance(bug_in(wrapped), TypeError)


def test_a_bug_that_was_marked_stays_one_whatever_its_type() -> None:
    assert not is_fault(pointed(ValueError("a metric twice"), "the check 'x'"))


def test_the_place_is_the_innermost_line_of_the_user() -> None:
    error = caught(lambda: Model(n=1))
    assert pointed(error, "the type Model") is error
    bug = bug_of(error)
    assert bug is not None
    file, _, line = bug.place.rpartition(":")
    assert file.endswith("test_bugs.py"), "json and pydantic are not the user's"
    assert "json.loads(n)" in Path(__file__).read_text("utf-8").splitlines()[int(line) - 1]
    assert (bug.kind, bug.function) == ("TypeError", "Model.judged")
    assert error.__notes__ == [f"This is a bug in the type Model at {bug.place}, not a fault of the reply"]
    pointed(error, "the type Model")
    assert len(error.__notes__) == 1


def test_without_a_line_in_the_traceback_the_place_is_the_function() -> None:
    def takes_too_little() -> None: ...

    bug = bug_of(pointed(TypeError(), "the check 'x'", takes_too_little))
    assert bug is not None
    assert bug.place.endswith(f"test_bugs.py:{takes_too_little.__code__.co_firstlineno}")
    nowhere = bug_of(pointed(TypeError(), "the check 'x'", len))
    assert nowhere is not None
    assert str(nowhere) == "the check 'x' raised TypeError"


def test_exceptions_of_any_make_are_marked() -> None:
    @dataclass(frozen=True)
    class Frozen(Exception):
        why: str

    class Worded(Exception):
        def __str__(self) -> str:
            raise RuntimeError("it cannot even say what it is")

    for error in (Frozen("x"), Worded(), SystemExit(3)):
        assert bug_of(pointed(error, "the check 'x'")) is not None


def test_the_mark_travels_with_the_exception_and_to_what_it_causes() -> None:
    error = pointed(KeyError("price"), "the check 'x'", caught)
    assert bug_of(pickle.loads(pickle.dumps(error))) == bug_of(error)
    outer = RuntimeError("generator raised StopIteration")
    outer.__cause__ = error
    assert bug_of(outer) == bug_of(error)
    assert bug_of(RuntimeError()) is None


def test_the_finding_does_not_quote_the_exception() -> None:
    bug = bug_of(pointed(KeyError("card 4111111111111111"), "the check 'x'", caught))
    assert bug is not None
    found = bug.finding()
    assert (found.code, found.level, found.path) == ("X001", "error", "$")
    assert "4111" not in str(found.to_dict())
    assert found.message.startswith("The check 'x' raised KeyError (")
    assert bug.place in found.message
    assert found.data["place"] == bug.place


def test_the_message_of_a_refusal_is_one_line() -> None:
    assert refusal(ValueError("too\n  cheap")) == "too cheap"
    assert refusal(caught(lambda: Model(n=2))) == "n: Value error, too small"
    assert len(refusal(ValueError("x" * 1_000))) == 300


def test_a_part_of_a_reply_may_be_too_little_for_a_check() -> None:
    def index(words: list[str]) -> str:
        try:
            return words[1]
        except IndexError as error:
            raise pointed(error, "the check 'x'")  # noqa: B904 - as the checks do

    assert tried(index, ["a", "b"]) == "b"
    assert tried(index, ["a"]) is None
    with pytest.raises(ZeroDivisionError):
        tried(lambda: 1 / 0)
