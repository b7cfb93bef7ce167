"""An answer's value: set if a reply satisfies the contract, None otherwise; `data` contains the best data."""

import copy
import pickle
from typing import Any

import pytest
from pydantic import BaseModel

from tests.ask.stage import BAD, GOOD, PROSE
from trueup import Contract, Policy, Rejected
from trueup.ask.stream import AskStream


class Person(BaseModel):
    name: str
    age: int


ADA = Person(name="Ada", age=36)
DATA = {"name": "Ada", "age": 36}
BAD_DATA = {"name": "Ada", "age": "old"}
CONTRACT = Contract(Person)
NONE_MORE = {"repairs": 0, "retries": 0}


@pytest.mark.parametrize(
    ("replies", "policy", "outcome", "value", "data"),
    [
        ([GOOD], {}, "accepted", ADA, DATA),
        ([BAD, GOOD], {}, "repaired", ADA, DATA),
        ([BAD], {"fallback": DATA, **NONE_MORE}, "fallback", ADA, DATA),
        ([BAD], NONE_MORE, "degraded", None, BAD_DATA),
        ([BAD], {"otherwise": "text", **NONE_MORE}, "degraded", None, BAD_DATA),
        ([PROSE], {"otherwise": "text", **NONE_MORE}, "degraded", None, None),
        ([BAD], {"otherwise": "failed", **NONE_MORE}, "failed", None, None),
    ],
)
def test_only_a_valid_reply_has_a_value(
    replies: list[str], policy: dict[str, Any], outcome: str, value: Person | None, data: Any
) -> None:
    script = iter(replies)
    answer = CONTRACT.ask(lambda messages: next(script), "Who?", Policy(**policy))
    assert (answer.outcome, answer.value, answer.data) == (outcome, value, data)
    assert bool(answer) is answer.ok is (value is not None)
    if value is None:
        with pytest.raises(Rejected):
            answer.unwrap()
    else:
        assert answer.unwrap() == value


def test_a_stream_shows_the_data_that_it_keeps_of_a_degraded_answer() -> None:
    policy = Policy(otherwise="text", repairs=0, retries=0)
    asked = AskStream(CONTRACT, lambda messages: iter(['{"name": ', '"Ada"}']), "Who?", policy)
    parts = list(asked)
    assert (asked.answer.outcome, asked.answer.value) == ("degraded", None)
    assert (parts[-1].kind, parts[-1].value) == ("value", {"name": "Ada"})


@pytest.mark.parametrize("reply", [GOOD, BAD])
def test_an_answer_may_be_sent_to_another_process(reply: str) -> None:
    answer = CONTRACT.ask(lambda messages: reply, "Who?", Policy(**NONE_MORE))
    there = pickle.loads(pickle.dumps(answer))
    assert there.to_dict() == answer.to_dict()
    assert (there.value, there.data, there.next_messages) == (answer.value, answer.data, answer.next_messages)
    assert copy.deepcopy(answer).next_messages == answer.next_messages != []
