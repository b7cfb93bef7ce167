"""The plan, explored: every path of a bounded policy keeps its budgets, and none goes on for ever."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.effort import SOAK
from trueup.ask.plan import (
    Began,
    Cancelled,
    Event,
    Failed,
    FailureKind,
    Fault,
    Finish,
    Judged,
    Past,
    Rung,
    Send,
    Step,
    Wait,
    Waited,
    step,
)
from trueup.ask.policy import Policy, Price

TWO = (Rung("small", ("json_schema", "json_object", "text")), Rung("large", ("text",)))
ONE = (Rung("m", ("json_schema", "text")),)
FAULTS = (
    Fault("format", "a", marks=frozenset("a")), Fault("format", "b", length=True, fields=True), Fault("prose", "p"), Fault("state", "s"),
    Fault("nothing"), Fault("cut"), Fault("refusal"), Fault("unreadable"),
)  # fmt: skip
FAILURES: tuple[FailureKind, ...] = ("rate", "transient", "mode", "temperature", "choice", "fatal")


def events_after(now: float, reached: Step, chance: float) -> Iterator[Event]:
    """Everything that can happen after a step; a call takes a second and costs ten tokens."""
    if isinstance(reached, Wait):
        yield Waited(now + reached.seconds)
        yield Cancelled(now + reached.seconds / 2)
        return
    at = now + 1.0
    spent: dict[str, Any] = {"tokens": 10, "input_tokens": 4, "cost": 0.25}
    yield Judged(at, None, chance, **spent)
    for fault in FAULTS:
        yield Judged(at, fault, chance, **spent, usable=fault.kind == "format")
    for kind in FAILURES:
        yield Failed(at, kind, chance)
    yield Failed(at, "rate", chance, retry_after=7.0)


def paths(policy: Policy, began: Began, chance: float) -> Iterator[list[tuple[Step, Event | None]]]:
    """Every path from the start to a Finish."""
    past, first = step(policy, Past(), began)
    stack: list[tuple[Past, Step, list[tuple[Step, Event | None]]]] = [(past, first, [])]
    while stack:
        past, reached, so_far = stack.pop()
        assert len(so_far) < 200, "a path without an end"
        if isinstance(reached, Finish):
            yield [*so_far, (reached, None)]
            continue
        for event in events_after(past.at, reached, chance):
            after, then = step(policy, past, event)
            stack.append((after, then, [*so_far, (reached, event)]))


ATTEMPTS = 4 if SOAK else 3
SMALL = [
    (Policy(repairs=2, regenerations=1, retries=1, attempts=ATTEMPTS, deadline=9.0), ONE),
    (Policy(repairs=1, regenerations=1, retries=2, attempts=ATTEMPTS, deadline=6.0, last_tools=None), TWO),
    (Policy(repairs=2, regenerations=0, retries=1, attempts=9, tokens=35, deadline=5.5), ONE),
    (
        Policy(repairs=3, retries=0, attempts=9, money=0.8, prices={"*": Price(1, 1)}, deadline=4.5, same_fault=1),
        ONE,
    ),
]


@pytest.mark.spec("A7", "A11", "X37")
@pytest.mark.parametrize(("policy", "ladder"), SMALL)
def test_every_path_of_a_bounded_policy_ends_within_its_budgets(policy: Policy, ladder: tuple[Rung, ...]) -> None:
    count = 0
    for path in paths(policy, Began(ladder), chance=0.5):
        count += 1
        check_path(policy, path, ladder)
    assert count > 500


def check_path(policy: Policy, path: list[tuple[Step, Event | None]], ladder: tuple[Rung, ...]) -> None:
    sends = [(s, e) for s, e in path if isinstance(s, Send)]
    finish = path[-1][0]
    assert isinstance(finish, Finish)
    counted = [s for s, e in sends if not (isinstance(e, Failed) and e.kind == "rate")]
    assert len(counted) <= policy.attempts
    for rung in ladder:
        own = [(s, e) for s, e in sends if s.model == rung.model]
        done = Counter(s.purpose for s in {(s.purpose, s.nth): s for s, _ in own}.values())
        assert done["repair"] <= policy.repairs
        assert done["regenerate"] <= policy.regenerations
        assert [s.mode for s, _ in own] == sorted((s.mode for s, _ in own), key=rung.modes.index), "a mode came back"
        again = Counter((s.purpose, s.nth) for s, e in own if s.retry and not isinstance(e, Failed))
        assert all(n <= policy.retries + 2 for n in again.values())
    tokens, cost, at = 0, 0.0, 0.0
    for reached, event in path:
        if isinstance(reached, Send):
            assert policy.tokens is None or tokens < policy.tokens
            assert policy.money is None or cost < policy.money
            assert policy.deadline is None or at < policy.deadline
            assert reached.timeout is not None
            assert policy.deadline is None or at + reached.timeout <= policy.deadline + 1e-9 or policy.timeout
        if isinstance(reached, Wait):
            assert reached.seconds > 0
            assert policy.deadline is None or at + reached.seconds < policy.deadline, "a wait for nothing"
        if isinstance(event, Judged):
            tokens, cost = tokens + event.tokens, cost + (event.cost or 0.0)
        at = event.at if event is not None else at
    last = sends[-1][1]
    good = isinstance(last, Judged) and last.fault is None and path[-2][1] is last
    assert (finish.outcome in {"accepted", "repaired", "regenerated"}) == good
    assert bool(finish.reason) != good, "what ended early says why"


@pytest.mark.parametrize("fallback", [False, True])
def test_a_large_policy_has_no_loop_whatever_happens(fallback: bool) -> None:
    # The same exploration as a graph: equal pasts are visited once, so that long policies can be walked whole.
    policy = Policy(repairs=2, regenerations=1, retries=2, attempts=6 if SOAK else 5, deadline=12.0)
    start = step(policy, Past(), Began(ONE, fallback=fallback))
    depth: dict[tuple[Past, Step], int] = {}
    outcomes: set[tuple[str, str]] = set()
    stack = [(start, 0)]
    while stack:
        (past, reached), far = stack.pop()
        if depth.get((past, reached), -1) >= far:
            continue
        depth[past, reached] = far
        assert far < 60, "a path without an end"
        if isinstance(reached, Finish):
            outcomes.add((reached.outcome, reached.reason))
            continue
        stack += [(step(policy, past, event), far + 1) for event in events_after(past.at, reached, 0.5)]
    assert len(depth) > 1000
    kinds = {outcome for outcome, _ in outcomes}
    given_up = {"fallback", "failed"} if fallback else {"degraded", "failed"}
    assert kinds == {"accepted", "repaired", "regenerated"} | given_up
    reasons = {reason for _, reason in outcomes}
    assert reasons >= {
        "", "attempts", "deadline", "repairs", "regenerations", "retries", "refusal", "rejected", "unreadable",
        "cancelled",
    }  # fmt: skip


def run(policy: Policy, ladder: tuple[Rung, ...], *happens: Event) -> list[Step]:
    past, reached = step(policy, Past(), Began(ladder))
    steps = [reached]
    for event in happens:
        past, reached = step(policy, past, event)
        steps.append(reached)
    return steps


def bad(at: float, signature: str = "x", kind: str = "format") -> Judged:
    return Judged(at, Fault(kind, signature))  # type: ignore[arg-type]


@pytest.mark.spec("A7")
def test_the_same_fault_again_and_again_ends_repairing() -> None:
    steps = run(Policy(repairs=9), ONE, bad(1), bad(2), bad(3))
    assert steps[-1] == Finish("failed", "same-fault")
    steps = run(Policy(repairs=9), ONE, bad(1), bad(2), bad(3, "y"), bad(4, "y"), bad(5, "y"))
    assert steps[-1] == Finish("failed", "same-fault")
    assert all(isinstance(s, Send) for s in steps[:-1])


@pytest.mark.spec("A8")
def test_backoff_doubles_has_jitter_and_a_cap() -> None:
    def waits(chance: float) -> list[float]:
        past, _ = step(policy, Past(), Began(ONE))
        found = []
        for _ in range(7):
            past, wait = step(policy, past, Failed(past.at, "transient", chance))
            assert isinstance(wait, Wait)
            found.append(wait.seconds)
            past, _ = step(policy, past, Waited(past.at))
        return found

    policy = Policy(retries=7, deadline=None)
    assert waits(0.0) == [0.5, 1, 2, 4, 8, 15, 15]
    longest = waits(0.999999)
    assert [round(s) for s in longest] == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.spec("A8")
def test_retry_after_is_kept_to_and_a_wait_beyond_the_deadline_is_not_begun() -> None:
    steps = run(Policy(), ONE, Failed(1.0, "rate", 0.5, retry_after=20.0))
    assert isinstance(steps[-1], Wait)
    assert 20.0 <= steps[-1].seconds <= 21.0
    steps = run(Policy(), ONE, Failed(1.0, "rate", 0.5, retry_after=119.0))
    assert steps[-1] == Finish("failed", "deadline")


@pytest.mark.spec("A8")
def test_429_is_retried_until_the_deadline_and_counts_as_no_attempt() -> None:
    policy = Policy(deadline=100.0, attempts=2, retries=0)
    past, reached = step(policy, Past(), Began(ONE))
    calls = 0
    while not isinstance(reached, Finish):
        if isinstance(reached, Send):
            calls += 1
            assert reached.attempt == 1
            past, reached = step(policy, past, Failed(past.at + 0.1, "rate", 0.0))
        else:
            past, reached = step(policy, past, Waited(past.at + reached.seconds))
    assert reached == Finish("failed", "deadline")
    assert calls == 11  # waits of 0.5, 1, 2, 4, 8 and five times 15 seconds


def test_a_provider_cannot_ask_for_a_wait_that_no_clock_can_count() -> None:
    steps = run(Policy(deadline=None), ONE, Failed(1.0, "rate", 0.5, retry_after=1e300))
    assert isinstance(steps[-1], Wait)
    assert steps[-1].seconds == 86_400.5


@pytest.mark.spec("A8")
def test_429_without_a_deadline_is_retried_until_the_caller_cancels() -> None:
    policy = Policy(deadline=None, attempts=2, retries=0)
    past, reached = step(policy, Past(), Began(ONE))
    for n in range(1, 101):
        past, reached = step(policy, past, Failed(past.at + 0.1, "rate", 0.0))
        assert isinstance(reached, Wait)
        assert (reached.retry, reached.limit) == (n, None)
        past, reached = step(policy, past, Waited(past.at + reached.seconds))
        assert isinstance(reached, Send)
        assert reached.attempt == 1
    assert step(policy, past, Cancelled(past.at))[1] == Finish("failed", "cancelled")


@pytest.mark.parametrize("otherwise", ["degraded", "text"])
def test_a_part_of_a_reply_is_given_in_the_end(otherwise: Any) -> None:
    policy = Policy(otherwise=otherwise, repairs=0)
    past, _ = step(policy, Past(), Began(ONE))
    assert step(policy, past, Judged(1.0, Fault("format"), usable=True))[1] == Finish("degraded", "repairs")
    assert step(policy, past, Judged(1.0, Fault("format")))[1] == Finish("failed", "repairs")


@pytest.mark.spec("A9")
def test_modes_step_down_on_rejection_and_on_prose_and_what_worked_is_learned() -> None:
    steps = run(Policy(), TWO, Failed(1, "mode"), bad(2, "p", "prose"), Judged(3))
    assert [s.mode for s in steps if isinstance(s, Send)] == ["json_schema", "json_object", "text"]
    assert [s.purpose for s in steps if isinstance(s, Send)] == ["ask", "ask", "repair"]
    assert steps[-1] == Finish("repaired", "", ("small", "text"))
    assert run(Policy(), TWO, Judged(1))[-1] == Finish("accepted")


@pytest.mark.spec("A9")
def test_the_next_model_starts_anew_and_then_comes_the_fallback() -> None:
    policy = Policy(repairs=1)
    past, _ = step(policy, Past(), Began(TWO, fallback=True))
    seen = []
    for at in range(1, 5):
        past, reached = step(policy, past, bad(at, str(at)))
        seen.append(reached)
    assert [(s.model, s.purpose) for s in seen if isinstance(s, Send)] == [
        ("small", "repair"), ("large", "ask"), ("large", "repair"),
    ]  # fmt: skip
    assert seen[-1] == Finish("fallback", "repairs")


def test_a_temperature_that_is_refused_is_left_out_from_then_on() -> None:
    steps = run(Policy(temperature=0.7), ONE, Failed(1, "temperature"), bad(2), Failed(3, "temperature"))
    assert [s.temperature for s in steps if isinstance(s, Send)] == [0.7, None, None]
    assert steps[-1] == Finish("failed", "rejected")


def test_a_call_that_may_not_be_forced_is_not_forced_from_then_on() -> None:
    steps = run(Policy(), ONE, Failed(1, "choice"), bad(2), Failed(3, "choice"))
    assert [s.forced for s in steps if isinstance(s, Send)] == [True, False, False]
    assert steps[-1] == Finish("failed", "rejected")


@pytest.mark.spec("A7")
def test_a_correction_that_left_a_fault_in_its_place_is_followed_by_one_that_shows_the_reply_no_more() -> None:
    def wrong(at: float, *marks: str) -> Judged:
        return Judged(at, Fault("format", f"{at} {marks}", fields=True, marks=frozenset(marks)))

    def afresh(*happens: Event) -> list[tuple[bool, bool]]:
        steps = run(Policy(repairs=3, repair="fields"), ONE, *happens)
        return [(s.afresh, s.fields) for s in steps if isinstance(s, Send)]

    assert afresh(wrong(1, "a"), wrong(2, "b")) == [(False, False), (False, True), (False, True)]
    assert afresh(wrong(1, "a"), wrong(2, "a", "b")) == [(False, False), (False, True), (True, False)]
    assert afresh(wrong(1, "a"), wrong(2, "a"), wrong(3, "b"))[-1] == (False, True)


@pytest.mark.spec("Q12")
def test_a_reply_that_says_nothing_is_retried_with_fewer_tools_the_last_time() -> None:
    happens: list[Event] = []
    for at in range(3):
        happens += [Judged(at, Fault("nothing"), 0.99999), Waited(at)]
    steps = run(Policy(), ONE, *happens, Judged(9, Fault("nothing")))
    assert [s.reduced for s in steps if isinstance(s, Send)] == [False, False, False, True]
    assert [round(s.seconds) for s in steps if isinstance(s, Wait)] == [1, 2, 4]
    assert steps[-1] == Finish("failed", "retries")


@pytest.mark.spec("A5")
def test_a_reply_cut_at_the_token_limit_gets_a_higher_one() -> None:
    policy = Policy(max_tokens=100, most_tokens=250, repairs=3)
    cut = [Judged(at, Fault("format", str(at), length=True)) for at in range(3)]
    assert [s.max_tokens for s in run(policy, ONE, *cut) if isinstance(s, Send)] == [100, 200, 250, 250]
