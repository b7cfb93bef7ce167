"""An opening and a loop give the same answer, for any first reply."""

from typing import Any

import pytest

from tests.ask.stage import BAD, GOOD, PROSE, SCHEMA, StageClock
from trueup import Contract
from trueup.ask.answer import Answer
from trueup.ask.clients.request import CallFailure
from trueup.ask.loop.loop import Loop, Traits, known
from trueup.ask.loop.plan import Finish, Step, Wait
from trueup.ask.memory import MODES as LEARNED
from trueup.ask.policy import MODES, Policy, Price
from trueup.ask.requests.first_call import opening_of

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
CLIENT = Traits("opening", MODES, "openai", finishes=True)


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Forget what other tests learned about the model."""
    LEARNED.forget()


TOOLS = [{"type": "function", "function": {"name": "book", "parameters": {"type": "object", "properties": {}}}}]
STATES = {"ASKING": {"forbid": [{"terms": ["Ana"], "why": "names a stylist"}], "fallback": "Which day?"}}
CONTRACTS = {
    "schema": Contract(SCHEMA, name="person"),
    "tools": Contract(tools=TOOLS, name="tools"),
    "states": Contract(states=STATES, name="states"),
    "all": Contract(SCHEMA, tools=TOOLS, states={"ASKING": {"forbid": [{"terms": ["Ana"]}]}}, name="all"),
    "text": Contract(name="text"),
}


def chat(content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more}
    return {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}}  # fmt: skip


CALL = {"id": "1", "type": "function", "function": {"name": "book", "arguments": "{}"}}
REPLIES: dict[str, Any] = {
    "good": chat(GOOD), "fixed": chat(f"Here it is:\n```json\n{GOOD}\n```"), "bad": chat(BAD), "prose": chat(PROSE),
    "empty": chat(""), "echo": chat('{"name": "<text>", "age": 1}'), "state": chat("Ana is free."),
    "call": chat(None, tool_calls=[CALL]), "refusal": chat(None, refusal="I must not."), "error": {"error": {"message": "no"}},
    "unfinished": {"choices": [{"index": 0, "message": {"role": "assistant", "content": GOOD}}]}, "unknown": {"a": 1},
}  # fmt: skip


def ended(loop: Loop, step: Step, clock: StageClock) -> Answer:
    """Finish the ask: every further reply is good, and waits pass."""
    while not isinstance(step, Finish):
        if isinstance(step, Wait):
            clock.wait(step.seconds)
            step = loop.waited()
        else:
            loop.request()
            clock.time += 1
            step = loop.replied(chat(GOOD))
    return loop.answer()


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_an_opening_answers_like_a_loop(contract: str, reply: str) -> None:
    judge, raw, context = CONTRACTS[contract], REPLIES[reply], {"state": "ASKING"}
    clock = StageClock()
    plain = Loop(judge, CLIENT, MESSAGES, Policy(), context=context, clock=clock)  # type: ignore[arg-type]
    plain.start()
    request = plain.request()
    clock.time += 1
    expected = ended(plain, plain.replied(raw), clock)

    LEARNED.forget()
    clock = StageClock()
    opening = opening_of(judge, CLIENT, Policy(), clock=clock)  # type: ignore[arg-type]
    assert opening is not None
    assert opening.request(MESSAGES) == request
    began = clock.time
    clock.time += 1
    seen = known(context, MESSAGES)
    verdict = opening.judge(raw, seen)
    found = opening.answer(verdict, MESSAGES, began, began)
    if found is None:
        loop = opening.loop(MESSAGES, seen, began, began)
        found = ended(loop, loop.judged(verdict), clock)
    else:
        assert verdict.ok
    assert found.to_dict() == expected.to_dict()
    assert found.next_messages == expected.next_messages


def test_an_opening_continues_after_a_failure_like_a_loop() -> None:
    clock = StageClock()
    opening = opening_of(CONTRACTS["schema"], CLIENT, Policy(), clock=clock)  # type: ignore[arg-type]
    assert opening is not None
    clock.time = 2.0
    loop = opening.loop(MESSAGES, known(None, MESSAGES), 0.0, 1.0)
    answer = ended(loop, loop.failed(CallFailure("no line")), clock)
    assert [attempt.failure is None for attempt in answer.attempts] == [False, True]
    assert (answer.attempts[0].at, answer.attempts[0].seconds) == (1.0, 1.0)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(tokens=1000), Policy(money=1.0, prices={"*": Price(1, 1)}), Policy(prices={"*": Price(1, 1)}),
        Policy(models=("a", "b")), Policy(modes=("text",)), Policy(instruct="always"),
    ],
)  # fmt: skip
def test_there_is_no_opening_if_first_calls_differ(policy: Policy) -> None:
    assert opening_of(CONTRACTS["schema"], CLIENT, policy) is None  # type: ignore[arg-type]
