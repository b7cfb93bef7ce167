"""Budgets of tokens and money: a call that is known to exceed them is not made, and the usage of every call is counted."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ask.stage import BAD, GOOD, PROSE, SCHEMA, Log, StageClock
from trueup import Contract, Policy, Price
from trueup.ask.answer import Answer
from trueup.ask.budgets.allowance import AskBudget, too_high
from trueup.ask.budgets.tokens import estimate
from trueup.ask.clients.call import CallableClient
from trueup.ask.clients.request import CallFailure, Request, TransportFailure, failure_of
from trueup.ask.memory import Memory
from trueup.verdict.events import Failed, Finished, Sent, Warned

CONTRACT = Contract(SCHEMA)
QUESTION = "Who wrote the first program, and how old did she get?"


def count(text: str) -> int:
    """A tokenizer that counts one token for every four characters."""
    return -(-len(text) // 4)


class Provider:
    """A model that counts tokens: its replies are as long as in the script, but no longer than the request's limit."""

    def __init__(self, script: list[tuple[str, float, int]]) -> None:
        self._script = script
        self._asked: Request | None = None
        self.limits: list[int | None] = []

    def look(self, request: Request) -> None:
        self._asked = request

    def __call__(self, messages: Any, max_tokens: int | None = None) -> Any:
        assert self._asked is not None
        text, share, length = self._script[min(len(self.limits), len(self._script) - 1)]
        self.limits.append(max_tokens)
        sent = estimate(self._asked, count).most
        taken, given = max(1, round(share * sent)), min(length, max_tokens or length)
        usage: dict[str, Any] = {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given}
        usage["prompt_tokens_details"] = {"cache_write_tokens": taken // 2, "cached_tokens": taken // 4}
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage, "model": "m"}


def ask(provider: Provider, policy: Policy, **more: Any) -> Answer:
    clock = StageClock()
    return CONTRACT.ask(
        provider, QUESTION, policy, on_request=provider.look, memory=Memory(), clock=clock, wait=clock.wait, **more
    )


TURNS = st.tuples(st.sampled_from([GOOD, BAD, PROSE, "", '{"name": "Ada"']), st.floats(0.1, 1.0), st.integers(0, 4_000))


@pytest.mark.spec("A11")
@given(script=st.lists(TURNS, min_size=1, max_size=6), tokens=st.integers(1, 4_000), repairs=st.integers(0, 4))
def test_counted_calls_never_exceed_a_budget_of_tokens(
    script: list[tuple[str, float, int]], tokens: int, repairs: int
) -> None:
    answer = ask(Provider(script), Policy(tokens=tokens, repairs=repairs, tokenizer=count))
    assert answer.usage.get("total_tokens", 0) <= tokens
    assert not answer.warned
    assert answer.ok or answer.stopped is not None
    if answer.reason == "tokens":
        assert answer.stopped is not None
        assert answer.stopped.data["spent"] == answer.usage.get("total_tokens", 0)


@pytest.mark.spec("A11")
@given(
    script=st.lists(TURNS, min_size=1, max_size=6),
    money=st.floats(1e-6, 0.05),
    taken=st.floats(0, 20),
    given=st.floats(0, 100),
)
def test_counted_calls_never_exceed_a_budget_of_money(
    script: list[tuple[str, float, int]], money: float, taken: float, given: float
) -> None:
    price = Price(taken, given, cache_write=taken * 2, long_after=300, long=Price(taken * 2, given * 2))
    answer = ask(Provider(script), Policy(money=money, prices={"*": price}, tokenizer=count))
    assert (answer.cost or 0.0) <= money * (1 + 1e-9)
    assert not answer.warned


@pytest.mark.spec("A11")
def test_a_small_budget_of_money_is_not_exceeded() -> None:
    provider = Provider([(GOOD, 1.0, 1_000_000)])
    answer = ask(provider, Policy(money=0.0001, prices={"*": Price(0.5, 2.0)}))
    assert answer.cost is not None
    assert answer.cost <= 0.0001
    assert provider.limits[0] is not None
    assert provider.limits[0] < 50


@pytest.mark.spec("A11")
@pytest.mark.parametrize("budget", [{"tokens": 40}, {"money": 0.00004, "prices": {"*": Price(1.0, 1.0)}}])
def test_a_counted_request_that_does_not_fit_is_not_sent(budget: dict[str, Any]) -> None:
    provider, log = Provider([(GOOD, 1.0, 10)]), Log()
    answer = ask(provider, Policy(**budget, tokenizer=count), on_event=log)
    name = next(iter(budget))
    assert provider.limits == []
    assert (answer.outcome, answer.reason, answer.attempts) == ("failed", name, ())
    assert answer.stopped is not None
    assert answer.stopped.data["budget"] == name
    assert answer.stopped.data["limit"] == budget[name]
    assert answer.stopped.data["spent"] == 0
    assert answer.stopped.data["needs"] > budget[name]
    assert log.names == ["finished"]


@pytest.mark.spec("A11")
@pytest.mark.parametrize("budget", [{"tokens": 100}, {"money": 0.0001, "prices": {"*": Price(1.0, 1.0)}}])
def test_a_request_that_may_fit_is_sent_with_a_warning(budget: dict[str, Any]) -> None:
    provider, log = Provider([(GOOD, 0.5, 10)]), Log()
    answer = ask(provider, Policy(**budget), on_event=log)
    name = next(iter(budget))
    assert answer.ok
    assert log.names[:2] == ["warned", "sent"]
    warned = log.of(Warned)[0]
    assert (warned.budget, warned.allowed, warned.spent) == (name, budget[name], 0)
    assert warned.needs > budget[name]
    assert [finding.code for finding in answer.findings] == ["A007"]
    assert answer.findings[0].level == "warning"


@pytest.mark.spec("A11")
def test_a_reply_is_limited_to_the_rest_of_the_budget() -> None:
    provider, log = Provider([(BAD, 1.0, 30), (GOOD, 1.0, 30)]), Log()
    answer = ask(provider, Policy(tokens=900, tokenizer=count), on_event=log)
    first, second = log.of(Sent)
    assert provider.limits == [900 - first.estimate, 900 - first.estimate - 30 - second.estimate]
    assert [first.max_tokens, second.max_tokens] == provider.limits
    assert first.counted
    assert answer.outcome == "repaired"


@pytest.mark.parametrize(
    ("policy", "limit"),
    [
        (Policy(tokens=100_000, max_tokens=50, tokenizer=count), 50),
        (Policy(tokens=100_000, parameters={"max_tokens": 70}, tokenizer=count), 70),
        (Policy(max_tokens=50), 50),
        (Policy(), None),
    ],
)
def test_the_callers_own_limit_is_never_raised(policy: Policy, limit: int | None) -> None:
    provider = Provider([(GOOD, 1.0, 10)])
    ask(provider, policy)
    assert provider.limits == [limit]


@pytest.mark.parametrize(
    "parameters",
    [
        {"options": {"num_predict": 9_000, "seed": 1}},
        {"options": {"num_predict": -1}},  # no limit, in Ollama
        {"inferenceConfig": {"maxTokens": 9_000}},
        {"extra_body": {"max_completion_tokens": 9_000}},
    ],
)
def test_a_limit_inside_a_parameter_is_lowered(parameters: dict[str, dict[str, int]]) -> None:
    request = Request([{"role": "user", "content": "Hi"}], parameters=parameters)
    fit = AskBudget(Policy(tokens=500, tokenizer=count)).fit(request, 0, 0.0)
    [(outer, inner)] = fit.request.parameters.items()
    assert 400 < next(iter(inner.values())) < 500
    assert inner.keys() == parameters[outer].keys()
    assert fit.request.max_tokens is None


def test_a_limit_among_the_parameters_is_lowered_too() -> None:
    request = Request([{"role": "user", "content": "?"}], parameters={"max_completion_tokens": 9_000, "n": 2})
    fit = AskBudget(Policy(tokens=100, tokenizer=count)).fit(request, 0, 0.0)
    assert fit.request.parameters == {"max_completion_tokens": (100 - fit.estimate.most) // 2, "n": 2}


def test_a_limit_above_what_a_model_can_write_is_not_sent() -> None:
    request = Request([{"role": "user", "content": "?"}], model="gpt-4o")
    assert AskBudget(Policy(tokens=100_000, tokenizer=count)).fit(request, 0, 0.0).request.max_tokens is None
    assert AskBudget(Policy(tokens=10_000, tokenizer=count)).fit(request, 0, 0.0).request.max_tokens is not None


@pytest.mark.spec("A9", "A11")
def test_a_cheaper_rung_is_asked_if_the_first_does_not_fit() -> None:
    seen: list[str] = []

    def model(messages: Any, model: str, max_tokens: int) -> str:
        seen.append(model)
        return GOOD

    prices = {"large": Price(1_000.0, 1_000.0), "small": Price(0.1, 0.1)}
    log = Log()
    answer = CONTRACT.ask(
        model, QUESTION, Policy(models=("large", "small"), money=0.001, prices=prices, tokenizer=count), on_event=log
    )
    assert seen == ["small"]
    assert answer.ok
    assert len(answer.attempts) == 1
    assert log.names == ["sent", "replied", "judged", "finished"]


@pytest.mark.spec("A11")
def test_a_budget_ends_the_ask_before_a_repair_that_does_not_fit() -> None:
    provider = Provider([(BAD, 1.0, 10)])
    first = ask(provider, Policy(repairs=0, tokenizer=count)).usage["total_tokens"]
    answer = ask(Provider([(BAD, 1.0, 10)]), Policy(tokens=first + 40, tokenizer=count))
    assert (answer.outcome, answer.reason, len(answer.attempts)) == ("degraded", "tokens", 1)
    assert answer.stopped is not None
    assert "and the next one needs" in answer.stopped.message


def test_the_providers_count_predicts_the_next_request() -> None:
    allowance = AskBudget(Policy(tokens=1_000))
    request = Request([{"role": "user", "content": "x" * 600}])
    assert not allowance.fit(request, 0, 0.0).estimate.least
    allowance.measure(request, 400)
    fit = allowance.fit(request, 500, 0.0)
    assert fit.estimate.likely == pytest.approx(400, abs=1)
    assert fit.refused is None
    assert allowance.fit(request, 700, 0.0).refused == "tokens"


def test_a_measured_request_that_fits_causes_no_warning() -> None:
    allowance = AskBudget(Policy(tokens=1_000))
    request = Request([{"role": "user", "content": "x" * 3_000}])
    assert allowance.fit(request, 0, 0.0).risked == "tokens"
    allowance.measure(request, 500)
    fit = allowance.fit(request, 0, 0.0)
    assert (fit.risked, fit.refused) == (None, None)
    assert fit.request.max_tokens is not None
    assert 300 < fit.request.max_tokens < 500


def test_what_a_provider_adds_to_every_request_is_not_multiplied() -> None:
    allowance = AskBudget(Policy(tokens=4_000))
    allowance.measure(Request([{"role": "user", "content": "x" * 30}]), 330)  # the provider added 300 of them
    longer = allowance.fit(Request([{"role": "user", "content": "x" * 3_000}]), 0, 0.0)
    assert longer.refused is None
    assert 330 + 500 < longer.estimate.likely <= 330 + 1_000


def test_tokens_that_a_provider_adds_to_a_tokenizers_count_are_counted_later() -> None:
    allowance = AskBudget(Policy(tokens=1_000, tokenizer=count))
    request = Request([{"role": "user", "content": "x" * 400}])
    alone = allowance.estimate(request).likely
    allowance.measure(request, alone + 300)
    assert allowance.estimate(request) == (alone + 300, alone + 300, alone + 300, "")
    allowance.measure(request, alone - 50)
    assert allowance.estimate(request).least == alone


def test_a_run_keeps_its_measures_from_turn_to_turn() -> None:
    asked: list[int] = []

    def model(messages: Any, tools: Any = None, max_tokens: int | None = None) -> Any:
        asked.append(len(str(messages)) // 4)
        call = {"id": f"c{len(asked)}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        usage = {"prompt_tokens": asked[-1], "completion_tokens": 10}
        return {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}], "usage": usage}

    def look() -> str:
        """Look it up."""
        return "word " * 2_000

    run = Contract().run(model, QUESTION, Policy(tokens=6_000), tools=[look])
    assert run.reason == "tokens"
    assert sum(asked) + 10 * len(asked) <= 6_000


@pytest.mark.spec("A11")
@pytest.mark.parametrize("budget", [{"tokens": 5_000}, {"money": 0.01}])
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 90, "completion_tokens": 0, "total_tokens": 90},
        {"prompt_tokens": -9, "completion_tokens": -9, "total_tokens": -18},
        {"total_tokens": 700},
        {"prompt_tokens": 100, "completion_tokens": 600, "total_tokens": 1},
        {"prompt_tokens": 10**15, "completion_tokens": "many"},
        "none",
        None,
    ],
)
def test_a_reply_that_was_counted_wrongly_is_charged_too(usage: Any, budget: dict[str, Any]) -> None:
    def model(messages: Any) -> Any:  # it does not take a limit
        return {"choices": [{"message": {"content": PROSE * 100}, "finish_reason": "stop"}], "usage": usage}

    clock = StageClock()
    policy = Policy(repairs=9, same_fault=9, prices={"*": Price(2.0, 8.0)}, **budget)
    answer = CONTRACT.ask(model, QUESTION, policy, memory=Memory(), clock=clock, wait=clock.wait)
    assert answer.reason in budget
    assert answer.usage["total_tokens"] == answer.usage["input_tokens"] + answer.usage["output_tokens"]


def test_a_request_without_room_for_a_short_reply_is_not_sent() -> None:
    request = Request([{"role": "user", "content": "x" * 400}])
    needs = estimate(request, count).most
    for spare, wanted, fits in ((15, None, False), (16, None, True), (15, 5, True), (4, 5, False)):
        allowance = AskBudget(Policy(tokens=needs + spare, tokenizer=count))
        fit = allowance.fit(request.replace(max_tokens=wanted), 0, 0.0)
        assert (fit.refused is None) == fits
    by_bytes = AskBudget(Policy(tokens=50)).fit(request, 0, 0.0)
    assert (by_bytes.risked, by_bytes.request.max_tokens) == ("tokens", 16)


def test_a_reply_has_room_for_the_thinking_that_the_caller_allows() -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2_000}, "max_tokens": 8_000}
    request = Request([{"role": "user", "content": "x" * 400}], parameters=thinking)
    policy = Policy(tokens=2_000, tokenizer=count)
    assert AskBudget(policy).fit(request, 0, 0.0).refused == "tokens"
    limit = (
        AskBudget(msgspec.structs.replace(policy, tokens=3_000)).fit(request, 0, 0.0).request.parameters["max_tokens"]
    )
    assert 2_000 < limit < 3_000


def test_a_model_that_a_hook_chose_needs_a_price_too() -> None:
    with pytest.raises(ValueError, match="money needs prices, and the price of 'unheard-of'"):
        CONTRACT.ask(
            lambda messages: GOOD, QUESTION, Policy(models=("gpt-4o",), money=1.0),
            on_request=lambda request: request.replace(model="unheard-of"),
        )  # fmt: skip


def test_possible_cache_writes_are_charged_in_advance() -> None:
    plain = [{"role": "user", "content": "x" * 400}]
    marked = [
        {"role": "user", "content": [{"type": "text", "text": "x" * 400, "cache_control": {"type": "ephemeral"}}]}
    ]
    prices = {"*": Price(1.0, 0.0, cache_write=10.0)}
    for model, messages, fits in (("claude-x", plain, True), ("claude-x", marked, False), ("gpt-x", plain, False)):
        request = Request(messages, model=model)
        fit = AskBudget(Policy(money=0.0005, prices=prices, tokenizer=count)).fit(request, 0, 0.0)
        assert (fit.refused is None) == fits


@pytest.mark.parametrize(("mark", "fits"), [({"type": "ephemeral"}, True), ({"type": "ephemeral", "ttl": "1h"}, False)])
def test_only_input_that_is_cached_for_an_hour_has_that_price(mark: dict[str, str], fits: bool) -> None:
    block = {"type": "text", "text": "x" * 400, "cache_control": mark}
    policy = Policy(
        money=0.0005, prices={"*": Price(1.0, 0.0, cache_write=1.25, cache_write_hour=10.0)}, tokenizer=count
    )
    hello = [{"role": "user", "content": "Hi"}]
    for request in (
        Request([{"role": "user", "content": [block]}], model="claude-x"),
        Request(hello, model="claude-x", parameters={"system": [block]}),
        Request([{"role": "user", "content": "x" * 400}], model="claude-x", parameters={"cache_control": mark}),
    ):
        assert (AskBudget(policy).fit(request, 0, 0.0).refused is None) == fits


def test_money_is_not_limited_without_a_price() -> None:
    with pytest.raises(ValueError, match="money needs prices, and the price of 'unheard-of' is not known"):
        Policy(money=1.0, models=("unheard-of",))
    with pytest.raises(ValueError, match="money needs prices, and the price of the client's own model is not known"):
        CONTRACT.ask(lambda messages: GOOD, QUESTION, Policy(money=1.0))
    assert Policy(money=1.0, models=("gpt-4o-mini",)).price("gpt-4o-mini") is not None


def test_without_a_budget_nothing_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise AssertionError("estimated without a budget")

    monkeypatch.setattr("trueup.ask.budgets.allowance.estimate", fail)
    answer = CONTRACT.ask(lambda messages: GOOD, QUESTION)
    assert answer.ok
    assert (answer.usage, answer.cost, answer.estimated) == ({}, None, False)


# Calls that end early are counted


def stream_of(text: str, *, cut: BaseException | None = None) -> Iterator[Any]:
    for start in range(0, len(text), 8):
        yield {"choices": [{"index": 0, "delta": {"content": text[start : start + 8]}}], "model": "m"}
    if cut is not None:
        raise cut
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "model": "m"}


PRICED = Policy(repairs=0, retries=0, prices={"*": Price(1.0, 2.0)})


def check_estimated(answer: Answer, log: Log, received: int) -> None:
    """A call that ended early is counted by what was sent and received, and marked as an estimate."""
    attempt = answer.attempts[0]
    assert attempt.estimated
    assert attempt.usage["input_tokens"] > len(QUESTION) // 4
    assert attempt.usage["output_tokens"] == -(-received // 3)
    assert answer.estimated
    assert answer.usage["total_tokens"] > 0
    assert answer.cost is not None
    assert answer.cost > 0
    finished = log.of(Finished)[0]
    assert (finished.tokens, finished.cost, finished.estimated) == (answer.usage["total_tokens"], answer.cost, True)


@pytest.mark.spec("A11", "A15")
def test_a_stream_that_breaks_off_is_counted() -> None:
    log = Log()
    text = '{"name": "Ada Lovelace", '
    stream = CONTRACT.ask_stream(
        lambda messages: stream_of(text, cut=ConnectionError("reset")), QUESTION, PRICED, on_event=log
    )
    list(stream)
    check_estimated(stream.answer, log, len(text))
    failed = log.of(Failed)[0]
    assert (failed.tokens, failed.estimated) == (stream.answer.usage["total_tokens"], True)


@pytest.mark.spec("A11", "A15")
@pytest.mark.parametrize(
    "counted", [{}, {"usage": {"prompt_tokens": 1_234, "completion_tokens": 1, "total_tokens": 1_235}}]
)
def test_a_reply_that_just_stops_is_counted(counted: dict[str, Any]) -> None:
    """The stream ends normally, but without a finish reason."""

    class Client(CallableClient):
        finishes = True

    def model(messages: Any) -> Iterator[Any]:
        yield {"choices": [{"index": 0, "delta": {"content": '{"name": "Ada Lovelace", '}}], "model": "m", **counted}

    stream = CONTRACT.ask_stream(Client(model), QUESTION, PRICED)
    list(stream)
    attempt = stream.answer.attempts[0]
    assert attempt.estimated
    assert attempt.usage["output_tokens"] == 9
    assert (attempt.usage["input_tokens"] == 1_234) == bool(counted)
    assert stream.answer.cost


@pytest.mark.spec("A11", "A15")
def test_a_stream_that_is_given_up_is_counted() -> None:
    log = Log()
    call = {"index": 0, "id": "1", "type": "function", "function": {"name": "fly", "arguments": ""}}

    def model(messages: Any) -> Iterator[Any]:
        yield {"choices": [{"index": 0, "delta": {"content": "On my way. "}}]}
        yield {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        yield from stream_of("nobody reads this")

    contract = Contract(tools=[{"name": "book", "parameters": {"type": "object"}}])
    stream = contract.ask_stream(model, QUESTION, PRICED, on_event=log)
    list(stream)
    assert stream.answer.attempts[0].aborted
    check_estimated(stream.answer, log, len("On my way. "))


@pytest.mark.spec("A11")
def test_counts_that_came_before_the_end_of_a_stream_are_used() -> None:
    def broken(messages: Any) -> Iterator[Any]:
        usage = {"input_tokens": 1_234, "output_tokens": 1, "cache_read_input_tokens": 0}
        yield {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}}
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 30}}
        raise ConnectionError("reset")

    stream = CONTRACT.ask_stream(broken, QUESTION, PRICED)
    list(stream)
    attempt = stream.answer.attempts[0]
    assert (attempt.usage["input_tokens"], attempt.usage["output_tokens"], attempt.estimated) == (1_234, 10, True)


@pytest.mark.spec("A11")
@pytest.mark.parametrize(
    "failure", [TimeoutError("late"), ConnectionResetError("reset")], ids=lambda e: type(e).__name__
)
def test_a_call_that_timed_out_or_was_reset_is_counted(failure: BaseException) -> None:
    def model(messages: Any) -> str:
        raise failure

    log = Log()
    answer = CONTRACT.ask(model, QUESTION, PRICED, on_event=log)
    check_estimated(answer, log, 0)


@pytest.mark.spec("A11")
def test_failures_use_up_a_budget() -> None:
    calls: list[int] = []

    def model(messages: Any) -> str:
        calls.append(1)
        raise TimeoutError("late")

    clock = StageClock()
    answer = CONTRACT.ask(
        model, QUESTION, Policy(tokens=250, retries=9, tokenizer=count), clock=clock, wait=clock.wait, memory=Memory()
    )
    assert answer.reason == "tokens"
    assert 1 < len(calls) < 9
    assert answer.usage["total_tokens"] <= 250


@pytest.mark.parametrize(
    "error",
    [
        TransportFailure(CallFailure("bad request", "fatal", 400)),
        TransportFailure(CallFailure("overloaded", "transient", 503)),
        ConnectionRefusedError("nobody listens"),
    ],
    ids=["rejected", "overloaded", "refused"],
)
def test_a_call_that_was_refused_or_never_arrived_costs_nothing(error: BaseException) -> None:
    def model(messages: Any) -> str:
        raise error

    answer = CONTRACT.ask(model, QUESTION, PRICED)
    assert (answer.usage, answer.cost, answer.estimated) == ({}, None, False)


def test_an_sdk_that_could_not_connect_says_so_through_its_cause() -> None:
    class ConnectError(Exception):
        pass

    class APIConnectionError(Exception):
        pass

    error = APIConnectionError("Connection error.")
    error.__cause__ = ConnectError("refused")
    failure = failure_of(error)
    assert failure is not None
    assert failure.unsent
    other = failure_of(APIConnectionError("Connection error."))
    assert other is not None
    assert not other.unsent


@pytest.mark.spec("A11")
def test_a_call_that_is_cancelled_is_counted() -> None:
    cancel, log = threading.Event(), Log()
    stream = CONTRACT.ask_stream(lambda messages: stream_of(GOOD * 9), QUESTION, PRICED, on_event=log, cancel=cancel)
    for _ in stream:
        cancel.set()
    assert stream.answer.reason == "cancelled"
    attempt = stream.answer.attempts[0]
    assert attempt.failure is not None
    assert attempt.failure.code == "cancelled"
    assert attempt.usage["output_tokens"] > 0
    assert log.of(Finished)[0].cost == stream.answer.cost != 0
    assert stream.answer.estimated


@pytest.mark.spec("A11")
def test_a_stream_that_is_closed_is_counted() -> None:
    log = Log()
    stream = CONTRACT.ask_stream(lambda messages: stream_of(GOOD * 9), QUESTION, PRICED, on_event=log)
    next(iter(stream))
    stream.close()
    assert stream.answer.reason == "cancelled"
    assert stream.answer.estimated
    assert log.of(Finished)[0].cost == stream.answer.cost


@pytest.mark.spec("A11")
def test_a_task_that_is_cancelled_is_counted() -> None:
    log = Log()

    async def model(messages: Any) -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(60)
        return GOOD

    async def main() -> None:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(CONTRACT.aask(model, QUESTION, PRICED, on_event=log))

    asyncio.run(main())
    finished = log.of(Finished)[0]
    assert (finished.reason, finished.estimated) == ("cancelled", True)
    assert finished.cost


# A limit that the provider rejects


@pytest.mark.parametrize(
    ("said", "feature"),
    [
        ("max_tokens is too large: 90000. This model supports at most 16384 completion tokens, whereas you provided 90000.", "limit:16384"),
        ("max_tokens: 90000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-5", "limit:64000"),
        ("`max_tokens` must be less than or equal to `32,768`, the maximum value for this model", "limit:32768"),
        ("max_tokens is too large", "limit:0"),
        ("The maximum tokens you requested exceeds the model limit of 4096. Try again with a lower value.", "limit:4096"),
        ("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 99999, but got 90000.", ""),
        ("`max_tokens` must be greater than `thinking.budget_tokens`.", ""),
        ("max_tokens must be at least 100000, got 90000", ""),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", ""),
        ("This model does not exist", ""),
    ],
)  # fmt: skip
def test_a_limit_that_is_too_high_is_lowered_to_what_the_provider_names(said: str, feature: str) -> None:
    assert too_high(Request([], max_tokens=90_000), said) == feature


@pytest.mark.spec("A9", "A11")
@pytest.mark.parametrize("named", ["16384", "the maximum"])
def test_a_rejected_limit_is_tried_again_lower_and_then_left_out(named: str) -> None:
    limits: list[int | None] = []

    def model(messages: Any, max_tokens: int | None = None) -> str:
        limits.append(max_tokens)
        if max_tokens is not None and (max_tokens > 16_384 or named != "16384"):
            said = f"max_tokens is too large: {max_tokens}. It is at most {named}."
            raise TransportFailure(CallFailure(said, "fatal", 400))
        return GOOD

    memory, clock = Memory(), StageClock()
    policy = Policy(tokens=1_000_000, tokenizer=count)
    for _ in range(2):
        answer = CONTRACT.ask(model, QUESTION, policy, memory=memory, clock=clock, wait=clock.wait)
        assert answer.ok
    last = 16_384 if named == "16384" else None
    assert limits[1:] == [last, last]


def test_a_limit_that_is_always_rejected_ends_the_ask() -> None:
    limits: list[int | None] = []

    def model(messages: Any, max_tokens: int | None = None) -> str:
        limits.append(max_tokens)
        raise TransportFailure(CallFailure(f"max_tokens {max_tokens or 9} exceeds the maximum of 5", "fatal", 400))

    answer = CONTRACT.ask(model, QUESTION, Policy(tokens=1_000_000, tokenizer=count), memory=Memory())
    assert answer.reason == "rejected"
    assert limits[1:] == [5, None]
