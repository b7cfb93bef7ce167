"""Bugs in a type's validators are raised with the validator's line by every way of judging; refusals are findings."""

import asyncio
import dataclasses
from typing import Annotated, Any

import msgspec
import pydantic
import pytest

from trueup import Contract
from trueup.ask.policy import Policy
from trueup.verdict.bugs import bug_of


def judged(n: Any) -> Any:
    """The operation of every type here on its number."""
    if n == 1:
        return dict[str, int]()["no such key"]
    if n == 2:
        raise ValueError("two is too little")
    if n == 3:
        raise AssertionError("three is not enough")
    return n


class Model(pydantic.BaseModel):
    n: Annotated[int, pydantic.AfterValidator(judged)]


class Early(pydantic.BaseModel):
    n: Annotated[int, pydantic.BeforeValidator(judged)]


class Struct(msgspec.Struct):
    n: int

    def __post_init__(self) -> None:
        judged(self.n)


@dataclasses.dataclass
class Data:
    n: int

    def __post_init__(self) -> None:
        judged(self.n)


BUG = '{"n": 1}'
TYPES = pytest.mark.parametrize("kind", [Model, Early, Struct, Data], ids=lambda kind: kind.__name__)
WAYS: dict[str, Any] = {
    "check": lambda contract: contract.check(BUG),
    "check, mended": lambda contract: contract.check('```json\n{"n": 1,}\n```'),
    "acheck": lambda contract: asyncio.run(contract.acheck(BUG)),
    "check_value": lambda contract: contract.check_value({"n": 1}),
    "ask": lambda contract: contract.ask(lambda messages: BUG, "Which?"),
    "aask": lambda contract: asyncio.run(contract.aask(lambda messages: BUG, "Which?")),
}


@TYPES
@pytest.mark.parametrize("way", WAYS)
def test_a_bug_is_raised_with_the_line_of_the_validator(kind: Any, way: str) -> None:
    with pytest.raises(KeyError, match="no such key") as caught:
        WAYS[way](Contract(kind))
    bug = bug_of(caught.value)
    assert bug is not None
    assert (bug.kind, bug.function) == ("KeyError", "judged")
    assert bug.place == f"tests/contract/test_type_bugs.py:{judged.__code__.co_firstlineno + 3}"
    assert kind.__name__ in bug.what


@TYPES
def test_a_bug_ends_a_stream(kind: Any) -> None:
    stream = Contract(kind).stream()
    for piece in ('{"n"', ": 1", "}"):
        stream.feed(piece)
    with pytest.raises(KeyError, match="no such key"):
        stream.finish()


@TYPES
@pytest.mark.parametrize(("n", "says"), [(2, "two is too little"), (3, "three is not enough")])
def test_a_refusal_is_a_finding_and_is_sent_to_the_model(kind: Any, n: int, says: str) -> None:
    contract = Contract(kind)
    verdict = contract.check(f'{{"n": {n}}}')
    assert not verdict.ok
    assert says in verdict.findings[0].message
    asked: list[Any] = []

    def model(messages: Any) -> str:
        asked.append(messages)
        return f'{{"n": {n}}}' if len(asked) == 1 else '{"n": 4}'

    assert contract.ask(model, "Which?", Policy(backoff=0.01)).outcome == "repaired"
    assert says in str(asked[1])


@TYPES
def test_the_model_is_asked_once(kind: Any) -> None:
    asked: list[Any] = []

    def model(messages: Any) -> str:
        asked.append(messages)
        return BUG

    with pytest.raises(KeyError):
        Contract(kind).ask(model, "Which?")
    assert len(asked) == 1


@pytest.mark.parametrize(
    "reply",
    [
        '{"n": 1, "m": 2}',
        '[{"n": 1, "m": 2}]',
        '{"response": {"n": 1, "m": 2}}',
        '{"N": 1, "M": 2}',
        '"{\\"n\\": 1, \\"m\\": 2}"',
        '{"q": 1} and {"n": 1, "m": 2}',
    ],
)
def test_a_validator_that_fails_on_one_reading_does_not_hide_another(reply: str) -> None:
    class Careless(pydantic.BaseModel):
        n: int
        m: int

        @pydantic.model_validator(mode="before")
        @classmethod
        def ordered(cls, data: Any) -> Any:
            assert data["n"] <= data["m"]
            return data

    contract = Contract(Careless)
    assert contract.check(reply).unwrap() == Careless(n=1, m=2)
    with pytest.raises(KeyError, match=r"'[nm]'"):  # of the object, or of the envelope around it
        contract.check(reply.replace("m", "x").replace("M", "x"))


@pytest.mark.parametrize("kind", [KeyError, TypeError, RecursionError])
@pytest.mark.parametrize("arguments", ['{"n": 1}', '{"n": 1', {"n": 1}], ids=["text", "cut", "object"])
def test_a_bug_in_the_annotation_of_a_tool_is_raised_whatever_its_kind(kind: type[Exception], arguments: Any) -> None:
    def careless(n: int) -> int:
        raise kind("mine")

    def tool(n: Annotated[int, pydantic.AfterValidator(careless)]) -> int:
        return n

    reply = {"tool_calls": [{"id": "1", "function": {"name": "tool", "arguments": arguments}}]}
    with pytest.raises(kind, match="mine") as raised:
        Contract(tools=[tool]).check(reply)
    bug = bug_of(raised.value)
    assert bug is not None
    assert (bug.what, bug.function.rpartition(".")[2]) == ("the type Annotated[int, …]", "careless")
