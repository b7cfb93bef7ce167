"""Both drivers carry out one plan: the same script gives the same history, waits can be cancelled, callers' data is not changed."""

import asyncio
import copy
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ask.stage import BAD, GOOD, PROSE, SCHEMA, Log, Model, StageClock
from tests.garbage import garbage_of
from trueup import Contract, Policy, Price
from trueup.ask.answer import Answer
from trueup.ask.clients.request import CallFailure
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.sync import ask
from trueup.ask.memory import Memory
from trueup.verdict.events import Finished, Judged, Repairing, Sent, SteppedDown, Waiting

CONTRACT = Contract(SCHEMA)
TURNS = [
    GOOD, BAD, PROSE, "", '{"name": "Ada"}', '```json\n{"name": "Ada", "age": 36,}\n```', None,
    CallFailure("busy", "rate"), CallFailure("busy", "rate", retry_after=3.0), CallFailure("down", "transient", 503),
    CallFailure("no such mode", "mode", 400), CallFailure("no", "fatal", 401), CallFailure("hot", "feature", 400, feature="temperature"),
    {"choices": [{"message": {"content": GOOD}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 5}},
    {"choices": [{"message": {"content": '{"name": "A'}, "finish_reason": "length"}]},
    {"error": {"message": "overloaded", "type": "overloaded_error", "code": 529}},
]  # fmt: skip
POLICIES = st.builds(
    Policy,
    repairs=st.integers(0, 3),
    retries=st.integers(0, 3),
    repair=st.sampled_from(["whole", "fields"]),
    models=st.sampled_from([(), ("small", "large")]),
    attempts=st.integers(1, 8),
    deadline=st.sampled_from([5.0, 60.0]),
    tokens=st.sampled_from([None, 60]),
    fallback=st.sampled_from([None, {"name": "nobody", "age": 0}]),
    otherwise=st.sampled_from(["degraded", "failed"]),
)


def run_sync(script: list[Any], policy: Policy, **options: Any) -> tuple[Answer, Log, Model]:
    clock, log = StageClock(), Log()
    model = Model(script, clock)
    answer = ask(
        CONTRACT, model, "Who?", policy, on_event=log, clock=clock, wait=clock.wait, memory=Memory(), **options
    )
    return answer, log, model


def run_async(script: list[Any], policy: Policy) -> tuple[Answer, Log, Model]:
    clock, log = StageClock(), Log()
    model = Model(script, clock)
    going = aask(CONTRACT, model.aplay, "Who?", policy, on_event=log, clock=clock, wait=clock.await_, memory=Memory())
    return asyncio.run(going), log, model


def history(answer: Answer) -> dict[str, Any]:
    """Everything in an answer except the names of the functions that were asked."""
    found = answer.to_dict()
    return {**found, "attempts": [{**attempt, "client": ""} for attempt in found["attempts"]]}


@pytest.mark.spec("A13")
@given(script=st.lists(st.sampled_from(TURNS), min_size=1, max_size=8), policy=POLICIES)
def test_sync_and_async_have_the_same_history(script: list[Any], policy: Policy) -> None:
    one, first, asked = run_sync(script, policy)
    two, second, again = run_async(script, policy)
    assert first.told == second.told
    assert history(one) == history(two)
    assert [seen["messages"] for seen in asked.seen] == [seen["messages"] for seen in again.seen]


@given(script=st.lists(st.sampled_from(TURNS), min_size=1, max_size=8), policy=POLICIES)
def test_an_answer_is_consistent(script: list[Any], policy: Policy) -> None:
    answer, log, model = run_sync(script, policy)
    assert answer.ok == (answer.outcome in {"accepted", "repaired", "regenerated", "fallback"})
    assert answer.ok == answer.verdict.ok or answer.outcome == "failed"
    assert not answer.ok or CONTRACT.check(answer.text or answer.verdict.reply).ok
    assert len(answer.attempts) == len(model.seen) == len(log.of(Sent))
    assert answer.stopped is None or answer.stopped in answer.findings
    finished = log.of(Finished)
    assert [event.outcome for event in finished] == [answer.outcome]
    assert log.events[-1] is finished[0]
    counted = [a for a in answer.attempts if a.failure is None or a.failure.kind != "rate"]
    assert len(counted) <= policy.attempts


@pytest.mark.spec("A7", "A10")
@pytest.mark.parametrize("reply", [BAD, PROSE, "{", '{"name": 5}'])
def test_an_always_bad_model_gets_exactly_two_repairs(reply: str) -> None:
    answer, log, model = run_sync([reply], Policy())
    assert len(model.seen) == 3
    assert answer.repairs == 2
    assert answer.outcome in {"degraded", "failed"}
    assert [event.nth for event in log.of(Repairing)] == [1, 2]
    assert [seen.get("temperature") for seen in model.seen] == [None, 0.0, 0.0]


@pytest.mark.spec("A7")
@pytest.mark.parametrize("attempts", [1, 2, 5])
@pytest.mark.parametrize("reply", ["", " ", BAD, PROSE, CallFailure("down", "transient", 503)])
def test_there_are_never_more_calls_than_attempts(attempts: int, reply: Any) -> None:
    answer, _, model = run_sync([reply], Policy(attempts=attempts, repairs=9, retries=9, same_fault=9))
    assert (len(model.seen), answer.reason) == (attempts, "attempts")


@pytest.mark.spec("A7")
def test_no_repairs_means_one_call() -> None:
    answer, _, model = run_sync([BAD], Policy(repairs=0, otherwise="failed"))
    assert len(model.seen) == 1
    assert (answer.outcome, answer.value) == ("failed", None)


@pytest.mark.spec("A7")
def test_each_attempt_is_judged_again_and_a_valid_repair_is_the_answer() -> None:
    answer, log, _ = run_sync([BAD, GOOD], Policy())
    assert (answer.outcome, answer.value, answer.repairs) == ("repaired", {"name": "Ada", "age": 36}, 1)
    assert [event.ok for event in log.of(Judged)] == [False, True]


@pytest.mark.spec("A7")
def test_the_best_candidate_is_given_when_all_fail() -> None:
    better, worse = '{"name": "Ada", "age": "x"}', '{"age": "x"}'
    answer, _, _ = run_sync([worse, better, worse], Policy())
    assert answer.outcome == "degraded"
    assert (answer.data, answer.value) == ({"name": "Ada", "age": "x"}, None)
    assert not answer
    assert not answer.verdict


@pytest.mark.spec("A7")
def test_only_the_failing_fields_are_requested_and_the_whole_is_judged() -> None:
    answer, _, model = run_sync([BAD, '{"age": 36}'], Policy(repair="fields"))
    assert (answer.outcome, answer.value) == ("repaired", {"name": "Ada", "age": 36})
    asked = model.seen[1]["response_format"]["json_schema"]["schema"]
    assert list(asked["properties"]) == ["age"]
    answer, _, _ = run_sync([BAD, '{"age": -1}', '{"age": 1}'], Policy(repair="fields"))
    assert answer.value == {"name": "Ada", "age": 1}


@pytest.mark.spec("A14")
@given(script=st.lists(st.sampled_from(TURNS), min_size=1, max_size=5))
def test_the_callers_messages_are_not_changed(script: list[Any]) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Who?"}]},
    ]
    before = copy.deepcopy(messages)
    clock = StageClock()
    ask(
        CONTRACT, Model(script, clock), messages, Policy(repair="fields"), clock=clock, wait=clock.wait, memory=Memory()
    )
    assert messages == before


@pytest.mark.spec("A11")
@pytest.mark.parametrize(
    ("policy", "budget"),
    [
        (Policy(attempts=2), "attempts"),
        (Policy(deadline=1.5), "deadline"),
        (Policy(tokens=20), "tokens"),
        (Policy(money=0.00001, prices={"*": Price(1.0, 1.0)}), "money"),
    ],
)
def test_the_first_budget_that_runs_out_ends_it_and_is_named(policy: Policy, budget: str) -> None:
    reply = {
        "choices": [{"message": {"content": BAD}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5},
    }
    answer, _, model = run_sync([reply], policy)
    assert answer.reason == budget
    assert answer.stopped is not None
    assert answer.stopped.code == "A001"
    assert answer.stopped.data["budget"] == budget
    assert len(model.seen) <= 2


@pytest.mark.spec("A11")
def test_a_budget_of_tokens_works_if_the_provider_does_not_count() -> None:
    answer, _, model = run_sync([BAD], Policy(tokens=25))
    assert answer.reason == "tokens"
    assert len(model.seen) == 1


@pytest.mark.spec("A11")
def test_an_unknown_price_is_unknown_and_never_zero() -> None:
    answer, _, _ = run_sync([TURNS[13]], Policy())
    assert answer.usage == {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    assert answer.cost is None
    answer, _, _ = run_sync([TURNS[13]], Policy(prices={"*": Price(1.0, 2.0)}))
    assert answer.cost == pytest.approx(19e-6)
    with pytest.raises(ValueError, match="money needs prices, and the price of the client's own model"):
        run_sync([TURNS[13]], Policy(money=1.0))


@pytest.mark.spec("A9")
def test_a_mode_that_was_rejected_is_remembered_for_the_model() -> None:
    memory, clock = Memory(), StageClock()
    refuses = CallFailure("response_format json_schema is not supported", "mode", 400)
    model = Model([refuses, GOOD, GOOD], clock)
    log = Log()
    ask(CONTRACT, model, "Who?", clock=clock, wait=clock.wait, memory=memory, on_event=log)
    assert [(e.before, e.after) for e in log.of(SteppedDown)] == [("json_schema", "json_object")]
    ask(CONTRACT, model, "Who?", clock=clock, wait=clock.wait, memory=memory)
    kinds = [seen["response_format"]["type"] for seen in model.seen]
    assert kinds == ["json_schema", "json_object", "json_object"]


@pytest.mark.spec("A10")
def test_every_wait_attempt_repair_and_fallback_is_an_event() -> None:
    script = [CallFailure("busy", "rate", 429, 2.0), BAD, CallFailure("down", "transient", 500), PROSE, BAD]
    answer, log, _ = run_sync(script, Policy(fallback={"name": "nobody", "age": 0}))
    assert answer.outcome == "fallback"
    assert log.names == [
        "sent", "failed", "waiting", "sent", "replied", "judged", "repairing", "sent", "failed", "waiting", "sent",
        "replied", "judged", "stepped_down", "repairing", "sent", "replied", "judged", "fell_back", "finished",
    ]  # fmt: skip
    first, second = log.of(Waiting)
    assert (first.reason, first.most, first.purpose) == ("rate", None, "ask")
    assert first.delay >= 2.0
    assert (second.reason, second.nth, second.most, second.purpose) == ("transient", 1, 3, "repair")
    assert all(event.started == 1_700_000_000.0 for event in log.events)  # type: ignore[attr-defined]


@pytest.mark.spec("A8")
def test_a_wait_is_cancelled_at_once_sync() -> None:
    cancel = threading.Event()
    model = Model([CallFailure("busy", "rate", 429, 50.0)])

    def watch(event: Any) -> None:
        if isinstance(event, Waiting):
            threading.Thread(target=cancel.set).start()

    answer = CONTRACT.ask(model, "Who?", cancel=cancel, on_event=watch)
    assert (answer.outcome, answer.reason) == ("failed", "cancelled")
    assert answer.stopped is not None
    assert answer.stopped.code == "A005"
    assert answer.seconds < 20


@pytest.mark.spec("A8")
def test_a_wait_is_cancelled_at_once_async() -> None:
    model = Model([CallFailure("busy", "rate", 429, 50.0)])

    async def run() -> None:
        waiting = asyncio.Event()
        task = asyncio.create_task(
            CONTRACT.aask(model.aplay, "Who?", on_event=lambda e: waiting.set() if isinstance(e, Waiting) else None)
        )
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)

    asyncio.run(run())


def test_a_call_that_outlasts_its_timeout_is_a_failure_async() -> None:
    calls = []

    async def slow(messages: Any) -> str:
        calls.append(messages)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return GOOD

    async def no_wait(_: float) -> None:
        return None

    answer = asyncio.run(aask(CONTRACT, slow, "Who?", Policy(timeout=0.01), wait=no_wait))
    assert answer.outcome == "accepted"
    assert answer.attempts[0].failure is not None
    assert answer.attempts[0].failure.code == "timeout"


def test_a_bug_in_the_callers_own_code_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        CONTRACT.ask(Model([KeyError("oops")]), "Who?")
    with pytest.raises(TypeError, match="aask"):
        CONTRACT.ask(Model([GOOD]).aplay, "Who?")


def test_a_plain_callable_is_asked_in_words() -> None:
    model = Model([GOOD])
    answer = CONTRACT.ask(model.plain, "Who?")
    assert answer.outcome == "accepted"
    assert '{"name": "<text>", "age": <integer>}' in model.seen[0]["messages"][0]["content"]
    model = Model([GOOD])
    CONTRACT.ask(model.plain, "Who?", Policy(instruct="never"))
    assert model.seen[0]["messages"] == [{"role": "user", "content": "Who?"}]


def test_the_policys_fallback_must_keep_the_contract() -> None:
    with pytest.raises(ValueError, match="fallback does not satisfy the contract"):
        CONTRACT.ask(Model([GOOD]), "Who?", Policy(fallback={"name": "nobody"}))


def test_next_messages_let_a_caller_run_the_loop() -> None:
    answer = CONTRACT.ask(Model([BAD]), "Who?", Policy(repairs=0))
    told = answer.next_messages[-1]["content"]
    assert told.startswith("Who?\n\n")
    assert "[V001 $.age]" in told
    answer = CONTRACT.ask(Model([GOOD]), answer.next_messages)
    assert answer.next_messages[-1] == {"role": "assistant", "content": GOOD}


@pytest.mark.parametrize("policy", ["Policy()", "Policy(deadline=None, timeout=None)"], ids=["in a worker", "here"])
def test_an_ask_leaves_nothing_to_the_garbage_collector(policy: str) -> None:
    """Everything that it used, including the reply, is freed together with the answer."""
    prepare = f"from trueup import Contract, Policy\ncontract, policy = Contract({SCHEMA!r}), {policy}"
    assert garbage_of(prepare, f"contract.ask(lambda _: {GOOD!r}, 'Who?', policy)") == 0
