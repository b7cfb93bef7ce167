"""Ladders across clients: each rung is asked in its own shapes, remembers its own rejections, and has its own circuit breaker."""

import asyncio
import threading
from typing import Any

import pytest

from tests.ask.stage import BAD, GOOD, PROSE, SCHEMA, Log, Model, StageClock
from trueup import Contract, Policy, Rung
from trueup.ask.answer import Answer
from trueup.ask.clients.client import Client
from trueup.ask.clients.request import CallFailure, Request, TransportFailure
from trueup.ask.conversation import Conversation
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.sync import ask
from trueup.ask.memory import Memory
from trueup.ask.rungs import find_ladder, provider_of
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.testing.server import ScriptedServer
from trueup.verdict.events import BreakerChanged, SteppedDown
from trueup.watch.progress import said

CONTRACT = Contract(SCHEMA)
DOWN = CallFailure("down", "transient", 503)
BUSY = CallFailure("busy", "rate", 429, 300.0)
REFUSED = CallFailure("no such key", "fatal", 401)


class Played(Client):
    """A client that plays a script, with a provider's name."""

    def __init__(self, key: str, script: list[Any], provider: str = "openai", clock: StageClock | None = None) -> None:
        self.key = key
        self.kind = key
        self.provider = provider
        self.model = Model(script, clock)
        self.requests: list[Request] = []

    def send(self, request: Request) -> Any:
        self.requests.append(request)
        return self.model(request.messages)

    async def asend(self, request: Request) -> Any:
        return self.send(request)

    def stream(self, request: Request) -> Any:
        yield from self.send(request)

    async def astream(self, request: Request) -> Any:
        for piece in self.send(request):
            yield piece

    @property
    def calls(self) -> int:
        return len(self.requests)


class Awaited(Played):
    """A client that can only be awaited."""

    is_async = True  # type: ignore[assignment]


def run(
    call: Any, policy: Policy | None = None, memory: Memory | None = None, clock: Any = None, **more: Any
) -> Answer:
    clock = clock or StageClock()
    options: dict[str, Any] = {"clock": clock, "wait": clock.wait, "memory": memory or Memory(), **more}
    return ask(CONTRACT, call, "Who?", policy, **options)


@pytest.mark.spec("A9")
@pytest.mark.parametrize("first", [[REFUSED], [BUSY], [DOWN], [BAD], [PROSE], [{"choices": []}]])
def test_the_next_client_is_asked_if_one_cannot_do_it(first: list[Any]) -> None:
    one, two = Played("one", first), Played("two", [GOOD])
    answer = run([Rung(one, "small"), (two, "large")])
    assert (answer.ok, answer.value) == (True, {"name": "Ada", "age": 36})
    assert (answer.attempts[0].client, answer.attempts[0].model) == ("one", "small")
    assert (answer.attempts[-1].client, answer.attempts[-1].model) == ("two", "large")
    assert [request.model for request in two.requests] == ["large"]


@pytest.mark.spec("A8", "A9")
def test_a_rate_limit_beyond_the_deadline_is_not_waited_for() -> None:
    clock = StageClock()
    answer = run([Played("one", [BUSY]), Played("two", [GOOD])], Policy(deadline=60), clock=clock)
    assert (answer.outcome, clock.waits) == ("accepted", [])
    assert [attempt.client for attempt in answer.attempts] == ["one", "two"]


@pytest.mark.spec("A8", "A9")
def test_the_models_of_one_client_work_in_the_same_way() -> None:
    clock = StageClock()
    answer = run(Model([BUSY, GOOD], clock), Policy(models=("small", "large"), deadline=60), clock=clock)
    assert [attempt.model for attempt in answer.attempts] == ["small", "large"]
    assert clock.waits == []


def test_every_way_of_asking_takes_rungs() -> None:
    def rungs() -> list[Any]:
        return [Played("one", [REFUSED]), Rung(Played("two", [GOOD]), "large")]

    clock = StageClock()
    given: dict[str, Any] = {"clock": clock, "memory": Memory()}

    async def awaited() -> list[Answer]:
        answer = await aask(CONTRACT, rungs(), "Who?", **given)
        stream = AsyncAskStream(CONTRACT, rungs(), "Who?", **given)
        assert [part.value async for part in stream if part.kind == "value"][-1] == {"name": "Ada", "age": 36}
        return [answer, stream.answer]

    stream = AskStream(CONTRACT, rungs(), "Who?", **given)
    assert [part.value for part in stream if part.kind == "value"][-1] == {"name": "Ada", "age": 36}
    talk = Conversation(CONTRACT, rungs())
    answers = [
        CONTRACT.ask(rungs(), "Who?", **given),
        stream.answer,
        talk.ask("Who?", **given),
        *asyncio.run(awaited()),
    ]
    for answer in answers:
        assert [(attempt.client, attempt.model) for attempt in answer.attempts] == [("one", ""), ("two", "large")]
        assert answer.ok


def test_each_rung_is_asked_in_the_shapes_of_its_provider() -> None:
    def book(day: str) -> None:
        """Book a day."""

    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": "{}"}}
    wrong = {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    block = {"type": "tool_use", "id": "c2", "name": "book", "input": {}}
    other = {"type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}
    one = Played("one", [wrong])
    two = Played("two", [other, {**other, "content": [{**block, "input": {"day": "Monday"}}]}], "anthropic")
    clock = StageClock()
    answer = Contract(tools=[book]).ask(
        [one, two], "Book Monday.", Policy(repairs=1), clock=clock, wait=clock.wait, memory=Memory()
    )
    assert [attempt.client for attempt in answer.attempts] == ["one", "one", "two", "two"]
    assert one.requests[1].messages[-1]["role"] == "tool"
    assert two.requests[0].messages == [{"role": "user", "content": "Book Monday."}], "nothing of another's reply"
    assert two.requests[1].messages[-1]["content"][0]["type"] == "tool_result"
    assert answer.calls[0].args == {"day": "Monday"}


@pytest.mark.parametrize("mode", ["json_schema", "json_object", "text"])
def test_a_rung_may_name_the_only_mode(mode: Any) -> None:
    one, two = Played("one", [CallFailure("response_format", "mode", 400)]), Played("two", [GOOD])
    answer = run([(one, "m", mode), two])
    assert [(attempt.client, attempt.mode) for attempt in answer.attempts] == [("one", mode), ("two", "json_schema")]


def test_the_same_client_may_be_on_several_rungs() -> None:
    one = Played("one", [CallFailure("no json_schema", "mode", 400), GOOD])
    answer = run([(one, "m", "json_schema"), (one, "m", "text")])
    assert [attempt.mode for attempt in answer.attempts] == ["json_schema", "text"]


def test_each_client_without_a_model_is_asked_for_the_policys_models() -> None:
    one, two = Played("one", [REFUSED]), Played("two", [REFUSED])
    answer = run([one, two], Policy(models=("a", "b"), breaker=0))
    assert [(attempt.client, attempt.model) for attempt in answer.attempts] == [
        ("one", "a"), ("one", "b"), ("two", "a"), ("two", "b"),
    ]  # fmt: skip
    assert answer.reason == "rejected"


async def _awaited(messages: Any) -> str:
    return GOOD


@pytest.mark.parametrize(
    ("call", "policy", "error", "match"),
    [
        ([], None, ValueError, "the list of rungs is empty"),
        ([(Played("x", []), "m")], Policy(models=("n",)), ValueError, r"name them in the rungs, as in Rung"),
        ((Played("x", []), Played("y", [])), None, TypeError, "A tuple is one rung: give a list"),
        ([(Played("x", []), "m", "text", 1, 2)], None, TypeError, "got 5 parts"),
        ([(Played("x", []), "m", "text", 0)], None, ValueError, "the share of a rung must be a number above 0"),
        ([(Played("x", []), "m", "prose")], None, ValueError, "the mode of a rung must be one of json_schema"),
        (
            [Rung(lambda messages: "", "m", "json_schema")],
            None,
            ValueError,
            "cannot be asked in the mode 'json_schema'",
        ),
        ([Played("x", [GOOD]), Awaited("y", [GOOD])], None, TypeError, "y is asynchronous; use `await contract.aask"),
        ([Played("x", [GOOD]), _awaited], None, TypeError, "is asynchronous; use `await contract.aask"),
        ([Played("x", [GOOD]), 5], None, TypeError, "cannot ask an object of type int"),
    ],
)
def test_an_invalid_rung_is_refused_before_anything_is_sent(call: Any, policy: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        run(call, policy)
    with pytest.raises(error, match=match):
        AskStream(CONTRACT, call, "Who?", policy)
    played = [one for one in call if isinstance(one, Played)] if isinstance(call, list) else []
    assert all(one.calls == 0 for one in played)


def test_a_client_that_can_only_be_awaited_is_asked_by_aask() -> None:
    clock = StageClock()
    asked = aask(CONTRACT, [Awaited("y", [GOOD])], "Who?", clock=clock, memory=Memory())
    assert asyncio.run(asked).outcome == "accepted"


def test_a_history_that_all_rungs_read_is_in_the_shape_they_share_or_in_openais() -> None:
    def ladder(*providers: str) -> Any:
        return find_ladder([Played("x", [], provider) for provider in providers]).rungs

    assert provider_of(ladder("anthropic", "anthropic")) == "anthropic"
    assert provider_of(ladder("anthropic", "gemini")) == "openai"


def test_a_step_to_another_client_is_an_event_that_names_both() -> None:
    log = Log()
    run([Played("one", [REFUSED]), (Played("two", [GOOD]), "m")], on_event=log)
    (stepped,) = log.of(SteppedDown)
    assert (stepped.what, stepped.before, stepped.after, stepped.reason) == ("client", "one", "two m", "fatal")


def test_addresses_on_rungs_are_closed_at_the_end() -> None:
    with ScriptedServer([GOOD, GOOD]) as server:
        answer = run([Played("one", [REFUSED]), (f"{server.url}/v1", "m")])
        assert answer.attempts[-1].client == f"http:{server.url}/v1/chat/completions"
    assert answer.ok


# Rejections are remembered for an address and model.


def rejecting(key: str, feature: str, said: str = "") -> Played:
    return Played(key, [CallFailure(said or f"{feature} is not supported", "feature", 400, feature=feature), GOOD])


@pytest.mark.spec("A9")
@pytest.mark.parametrize(
    "feature", ["temperature", "max_tokens", "tool_choice", "stream_options", "strict", "parallel"]
)
def test_a_rejected_feature_costs_one_call_once(feature: str) -> None:
    memory = Memory()

    def book(day: str) -> None:
        """Book a day."""

    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"day": "Monday"}'}}
    made = {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    failure = CallFailure(f"{feature} is not supported", "feature", 400, feature=feature)
    one = Played("one", [failure, made])
    contract, clock = Contract(tools=[book], calls={"required": True}), StageClock()
    policy = Policy(temperature=0.5, max_tokens=50, models=("m",))
    options: dict[str, Any] = {"clock": clock, "wait": clock.wait, "memory": memory}
    assert [len(contract.ask(one, "Book.", policy, **options).attempts) for _ in range(3)] == [2, 1, 1]
    assert [sorted(request.without) for request in one.requests] == [[], [feature], [feature], [feature]]
    elsewhere = Played("elsewhere", [made])
    contract.ask(elsewhere, "Book.", policy, **options)
    contract.ask(one, "Book.", Policy(models=("other",)), **options)
    assert elsewhere.requests[0].without == one.requests[-1].without == frozenset(), "another address, another model"


@pytest.mark.spec("A9")
def test_one_reply_in_prose_does_not_change_how_the_model_is_asked_the_next_time() -> None:
    memory = Memory()
    one = Played("one", [PROSE, GOOD])
    first, second = run(one, memory=memory), run(one, memory=memory)
    assert [attempt.mode for attempt in first.attempts] == ["json_schema", "json_object"]
    assert [attempt.mode for attempt in second.attempts] == ["json_schema"]


@pytest.mark.spec("A9")
def test_a_feature_that_is_blamed_when_it_is_left_out_too_is_not_remembered() -> None:
    memory = Memory()
    failure = CallFailure("see the manual about the temperature", "feature", 400, feature="temperature")
    policy = Policy(temperature=0.5)
    run(Played("one", [failure, failure, GOOD]), policy, memory=memory)
    assert memory.known("one", "") == {"json_schema"}
    answer = run(again := Played("one", [GOOD]), policy, memory=memory)
    assert (answer.ok, again.requests[0].temperature) == (True, 0.5)


@pytest.mark.spec("A8", "A9")
def test_a_rung_that_does_not_work_does_no_harm() -> None:
    busy = CallFailure("busy", "rate", 429, 15.0)
    one, two = Played("one", [busy, GOOD]), Played("two", [REFUSED])
    log, clock = Log(), StageClock()
    answer = run([(one, "m"), (two, "m")], Policy(deadline=60), clock=clock, on_event=log)
    assert (answer.ok, one.calls, two.calls) == (True, 2, 1)
    steps = [(event.before, event.after) for event in log.events if isinstance(event, SteppedDown)]
    assert steps == [("one m", "two m"), ("two m", "one m")]


@pytest.mark.spec("A9")
def test_an_error_that_only_looked_like_a_rejection_is_forgotten_with_the_ask() -> None:
    memory = Memory()
    failure = CallFailure("the schema of the messages is wrong", "mode", 400)
    run(Played("one", [failure]), memory=memory)
    assert memory.known("one", "") == frozenset()
    run(Played("one", [failure, GOOD]), memory=memory)
    assert memory.known("one", "") == {"json_schema"}


def test_a_schema_that_is_rejected_does_not_rule_out_the_mode_for_others() -> None:
    memory = Memory()
    failure = CallFailure("invalid schema", "mode", 400, feature="schema")
    one = Played("one", [failure, GOOD])
    assert [attempt.mode for attempt in run(one, memory=memory).attempts] == ["json_schema", "json_object"]
    assert [attempt.mode for attempt in run(one, memory=memory).attempts] == ["json_object"]
    clock = StageClock()
    other = Contract({"type": "object"}).ask(one, "Who?", clock=clock, wait=clock.wait, memory=memory)
    assert [attempt.mode for attempt in other.attempts] == ["json_schema"]


def test_a_parameter_of_the_caller_is_not_left_out() -> None:
    answer = run(rejecting("one", "temperature"), Policy(parameters={"temperature": 2}))
    assert [attempt.failure and attempt.failure.kind for attempt in answer.attempts] == ["fatal"]
    assert answer.reason == "rejected"


# Circuit breakers.


def test_a_breaker_opens_is_tried_again_and_closes() -> None:
    memory, clock, log = Memory(), StageClock(), Log()
    policy = Policy(retries=0, breaker=3, cooldown=30)
    one, two = Played("one", [DOWN, DOWN, DOWN, DOWN, GOOD]), Played("two", [GOOD])

    def asked() -> list[str]:
        return [a.client for a in run([one, two], policy, memory, clock, on_event=log).attempts]

    assert [asked() for _ in range(3)] == [["one", "two"]] * 3
    assert asked() == ["two"], "its breaker is open"
    clock.time += 31
    assert asked() == ["one", "two"], "one call tries it, and it is still down"
    assert asked() == ["two"]
    clock.time += 31
    assert asked() == ["one"], "it works again"
    assert asked() == ["one"]
    changes = [(event.state, event.client, event.failures) for event in log.of(BreakerChanged)]
    assert changes == [
        ("open", "one", 3), ("half-open", "one", 3), ("open", "one", 4), ("half-open", "one", 4), ("closed", "one", 0),
    ]  # fmt: skip
    assert [said(event) for event in log.of(BreakerChanged)][:2] == [
        "one has failed 3 times in a row: asking others for a while",
        "trying one again",
    ]


def test_if_every_breaker_is_open_the_soonest_to_close_is_asked() -> None:
    memory, clock = Memory(), StageClock()
    policy = Policy(retries=0, breaker=1, cooldown=30)
    one, two = Played("one", [DOWN]), Played("two", [GOOD])
    for key, cooldown in (("one", 60.0), ("two", 30.0)):
        memory.breakers.failed((key, ""), clock.time, limit=1, cooldown=cooldown)
    answer = run([one, two], policy, memory, clock)
    assert answer.ok
    assert len(answer.attempts) == 1, "never without a call"


def test_a_single_client_has_no_breaker() -> None:
    memory, log = Memory(), Log()
    one = Played("one", [DOWN])
    for _ in range(4):
        assert len(run(one, Policy(retries=2, breaker=1), memory, on_event=log).attempts) == 3
    assert log.of(BreakerChanged) == []


@pytest.mark.parametrize(
    ("failure", "opens"),
    [
        (DOWN, True),
        (CallFailure("busy", "rate", 429, 100.0), True),
        (CallFailure("no such key", "fatal", 401), True),
        (CallFailure("gone", code="ConnectError"), True),
        (CallFailure("the messages are too long", "fatal", 400), False),
        (CallFailure("blocked", "refusal", 400), False),
        (BAD, False),
        ("", False),
    ],
)
def test_only_failures_that_the_next_call_would_have_too_open_a_breaker(failure: Any, opens: bool) -> None:
    memory, clock = Memory(), StageClock()
    run([Played("one", [failure]), Played("two", [GOOD])], Policy(breaker=1), memory, clock)
    assert (memory.breakers.rest(("one", ""), clock.time) > 0) == opens


def test_a_call_that_the_deadline_cut_short_does_not_count_against_the_model() -> None:
    memory, clock = Memory(), StageClock()
    late = CallFailure("the call took too long", code="timeout")
    rungs = [Played("one", [late]), Played("two", [late])]
    run(rungs, Policy(breaker=1, deadline=5, retries=0), memory, clock)
    assert not memory.breakers
    run(rungs, Policy(breaker=1, timeout=5, retries=0), memory, clock)
    assert memory.breakers.rest(("one", ""), clock.time) > 0


def test_a_breaker_rests_for_as_long_as_the_provider_asks() -> None:
    memory, clock = Memory(), StageClock()
    run([Played("one", [BUSY]), Played("two", [GOOD])], Policy(breaker=1, cooldown=30), memory, clock)
    assert memory.breakers.rest(("one", ""), clock.time) == pytest.approx(300.0)


def test_each_model_of_an_address_has_its_own_breaker() -> None:
    memory, clock = Memory(), StageClock()
    model = Model([DOWN, GOOD, GOOD], clock)
    policy = Policy(models=("small", "large"), retries=0, breaker=1)
    first = run(model, policy, memory, clock)
    second = run(model, policy, memory, clock)
    assert [[a.model for a in answer.attempts] for answer in (first, second)] == [["small", "large"], ["large"]]


def test_one_of_many_concurrent_asks_tests_a_model_that_was_down() -> None:
    memory, clock = Memory(), StageClock()
    breakers, place = memory.breakers, ("one", "")
    breakers.failed(place, 0.0, limit=1, cooldown=10)
    states: list[Any] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        if breakers.rest(place, 11.0) == 0.0:
            states.append(breakers.begin(place, 11.0, 10))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states.count("half-open") == 1
    assert breakers.rest(place, 12.0) == pytest.approx(9.0), "the others rest meanwhile"
    assert breakers.rest(place, 22.0) == 0.0, "a trial that never ended is followed by another"
    assert clock.waits == []


def test_breakers_and_rejections_are_bounded() -> None:
    memory = Memory(most=10)
    for n in range(100):
        memory.breakers.failed((f"k{n}", ""), 0.0, limit=1, cooldown=10)
        memory.reject(f"k{n}", "", {"temperature"})
    assert sum(memory.breakers.rest((f"k{n}", ""), 0.0) > 0 for n in range(100)) == 10
    assert sum(bool(memory.known(f"k{n}", "")) for n in range(100)) == 10
    memory.forget()
    assert not memory.breakers
    assert memory.known("k99", "") == frozenset()


def test_a_bug_of_the_callers_on_a_rung_is_raised() -> None:
    def broken(messages: Any) -> str:
        raise KeyError("price")

    with pytest.raises(KeyError, match="price"):
        run([broken, Played("two", [GOOD])])
    with pytest.raises(TransportFailure):
        raise TransportFailure(DOWN)


def test_a_history_that_is_not_a_list_is_refused_before_the_first_call() -> None:
    one = Played("one", [GOOD])
    for history in (5, "x", {"role": "user"}):
        with pytest.raises(TypeError, match="history must be a list of the messages"):
            run(one, context={"history": history})
    assert one.calls == 0
