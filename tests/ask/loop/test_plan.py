"""The plan, explored: every path of a bounded policy ends and keeps its budgets."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import SOAK
from trueup.ask.loop.plan import (
    AskCancelled,
    Began,
    CallFailed,
    Event,
    FailureKind,
    Finish,
    Past,
    PlanRung,
    ReplyFault,
    ReplyJudged,
    Send,
    Step,
    Unaffordable,
    Wait,
    Waited,
    step,
)
from trueup.ask.policy import Policy, Price

TWO = (PlanRung("small", ("json_schema", "json_object", "text")), PlanRung("large", ("text",)))
ONE = (PlanRung("m", ("json_schema", "text")),)
PLAIN = (PlanRung("m", ("text",)),)
FAULTS = (
    ReplyFault("format", "a", marks=frozenset("a")), ReplyFault("format", "b", length=True, fields=True), ReplyFault("prose", "p"), ReplyFault("state", "s"),
    ReplyFault("nothing"), ReplyFault("cut"), ReplyFault("refusal"), ReplyFault("unreadable"),
)  # fmt: skip
FAILURES: tuple[FailureKind, ...] = ("rate", "transient", "mode", "refusal", "fatal")
FEATURES = ("temperature", "tool_choice")


def events_after(now: float, reached: Step, chance: float) -> Iterator[Event]:
    """Everything that can happen after a step; a call takes a second and costs ten tokens."""
    if isinstance(reached, Wait):
        yield Waited(now + reached.seconds)
        yield AskCancelled(now + reached.seconds / 2)
        return
    at = now + 1.0
    spent: dict[str, Any] = {"tokens": 10, "cost": 0.25}
    yield ReplyJudged(at, None, chance, **spent)
    for fault in FAULTS:
        yield ReplyJudged(at, fault, chance, **spent, usable=fault.kind == "format")
    for kind in FAILURES:
        yield CallFailed(at, kind, chance)
    for feature in FEATURES:
        yield CallFailed(at, "feature", chance, feature=feature)
    for seconds in (7.0, 1000.0):
        yield CallFailed(at, "rate", chance, retry_after=seconds)


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
def test_every_path_of_a_bounded_policy_ends_within_its_budgets(policy: Policy, ladder: tuple[PlanRung, ...]) -> None:
    count = 0
    for path in paths(policy, Began(ladder), chance=0.5):
        count += 1
        check_path(policy, path, ladder)
    assert count > 500


def check_path(policy: Policy, path: list[tuple[Step, Event | None]], ladder: tuple[PlanRung, ...]) -> None:
    sends = [(s, e) for s, e in path if isinstance(s, Send)]
    finish = path[-1][0]
    assert isinstance(finish, Finish)
    counted = [s for s, e in sends if not (isinstance(e, CallFailed) and e.kind == "rate")]
    assert len(counted) <= policy.attempts
    for rung in ladder:
        own = [(s, e) for s, e in sends if s.model == rung.model]
        done = Counter(s.purpose for s in {(s.purpose, s.nth): s for s, _ in own}.values())
        assert done["repair"] <= policy.repairs
        assert done["regenerate"] <= policy.regenerations
        assert [s.mode for s, _ in own] == sorted((s.mode for s, _ in own), key=rung.modes.index), "a mode came back"
        again = Counter((s.purpose, s.nth) for s, e in own if s.retry and not isinstance(e, CallFailed))
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
        if isinstance(event, ReplyJudged):
            tokens, cost = tokens + event.tokens, cost + (event.cost or 0.0)
        at = event.at if event is not None else at
    last = sends[-1][1]
    good = isinstance(last, ReplyJudged) and last.fault is None and path[-2][1] is last
    assert (finish.outcome in {"accepted", "repaired", "regenerated"}) == good
    assert bool(finish.reason) != good, "what ended early says why"


@pytest.mark.parametrize("fallback", [False, True])
def test_a_large_policy_never_loops(fallback: bool) -> None:
    # The same exploration as a graph: equal pasts are visited once, so that large policies can be explored completely.
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


def run(policy: Policy, ladder: tuple[PlanRung, ...], *happens: Event) -> list[Step]:
    past, reached = step(policy, Past(), Began(ladder))
    steps = [reached]
    for event in happens:
        past, reached = step(policy, past, event)
        steps.append(reached)
    return steps


def bad(at: float, signature: str = "x", kind: str = "format") -> ReplyJudged:
    return ReplyJudged(at, ReplyFault(kind, signature))  # type: ignore[arg-type]


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
            past, wait = step(policy, past, CallFailed(past.at, "transient", chance))
            assert isinstance(wait, Wait)
            found.append(wait.seconds)
            past, _ = step(policy, past, Waited(past.at))
        return found

    policy = Policy(retries=7, deadline=None)
    assert waits(0.0) == [0.5, 1, 2, 4, 8, 15, 15]
    longest = waits(0.999999)
    assert [round(s) for s in longest] == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.spec("A8")
def test_retry_after_is_respected_and_a_wait_beyond_the_deadline_is_not_begun() -> None:
    steps = run(Policy(), ONE, CallFailed(1.0, "rate", 0.5, retry_after=20.0))
    assert isinstance(steps[-1], Wait)
    assert 20.0 <= steps[-1].seconds <= 21.0
    steps = run(Policy(), ONE, CallFailed(1.0, "rate", 0.5, retry_after=119.0))
    assert steps[-1] == Finish("failed", "deadline")


@pytest.mark.spec("A8")
@pytest.mark.parametrize("kind", ["rate", "transient"])
def test_a_wait_that_the_provider_names_does_not_grow(kind: FailureKind) -> None:
    waits = [s for s in run(Policy(retries=9, deadline=None), ONE, *retried(kind, 5.0, 9)) if isinstance(s, Wait)]
    assert [wait.seconds for wait in waits] == [5.5] * 9


@pytest.mark.spec("A8")
@pytest.mark.parametrize("after", [None, 0.0, -5.0, float("nan")])
def test_a_provider_that_does_not_know_when_is_asked_less_and_less_often(after: float | None) -> None:
    waits = [s for s in run(Policy(deadline=None), ONE, *retried("rate", after, 7)) if isinstance(s, Wait)]
    assert [wait.seconds for wait in waits] == [0.75, 1.5, 3, 6, 12, 22.5, 22.5]


def retried(kind: FailureKind, after: float | None, times: int) -> list[Event]:
    return [event for _ in range(times) for event in (CallFailed(1.0, kind, 0.5, after), Waited(1.0))]


@pytest.mark.spec("A8")
def test_429_is_retried_until_the_deadline_and_is_not_an_attempt() -> None:
    policy = Policy(deadline=100.0, attempts=2, retries=0)
    past, reached = step(policy, Past(), Began(ONE))
    calls = 0
    while not isinstance(reached, Finish):
        if isinstance(reached, Send):
            calls += 1
            assert reached.attempt == 1
            past, reached = step(policy, past, CallFailed(past.at + 0.1, "rate", 0.0))
        else:
            past, reached = step(policy, past, Waited(past.at + reached.seconds))
    assert reached == Finish("failed", "deadline")
    assert calls == 11  # waits of 0.5, 1, 2, 4, 8 and five times 15 seconds


def test_a_provider_cannot_ask_for_an_endless_wait() -> None:
    steps = run(Policy(deadline=None), ONE, CallFailed(1.0, "rate", 0.5, retry_after=1e300))
    assert isinstance(steps[-1], Wait)
    assert steps[-1].seconds == 86_400.5


@pytest.mark.spec("A8")
def test_429_without_a_deadline_is_retried_until_the_caller_cancels() -> None:
    policy = Policy(deadline=None, attempts=2, retries=0)
    past, reached = step(policy, Past(), Began(ONE))
    for n in range(1, 101):
        past, reached = step(policy, past, CallFailed(past.at + 0.1, "rate", 0.0))
        assert isinstance(reached, Wait)
        assert (reached.retry, reached.limit) == (n, None)
        past, reached = step(policy, past, Waited(past.at + reached.seconds))
        assert isinstance(reached, Send)
        assert reached.attempt == 1
    assert step(policy, past, AskCancelled(past.at))[1] == Finish("failed", "cancelled")


@pytest.mark.parametrize("otherwise", ["degraded", "text"])
def test_a_part_of_a_reply_is_given_in_the_end(otherwise: Any) -> None:
    policy = Policy(otherwise=otherwise, repairs=0)
    past, _ = step(policy, Past(), Began(ONE))
    assert step(policy, past, ReplyJudged(1.0, ReplyFault("format"), usable=True))[1] == Finish("degraded", "repairs")
    assert step(policy, past, ReplyJudged(1.0, ReplyFault("format")))[1] == Finish("failed", "repairs")


@pytest.mark.spec("A9")
def test_modes_step_down_on_rejection_and_on_prose() -> None:
    steps = run(Policy(), TWO, CallFailed(1, "mode"), bad(2, "p", "prose"), ReplyJudged(3))
    assert [s.mode for s in steps if isinstance(s, Send)] == ["json_schema", "json_object", "text"]
    assert [s.purpose for s in steps if isinstance(s, Send)] == ["ask", "ask", "repair"]
    assert steps[-1] == Finish("repaired")
    assert run(Policy(), TWO, ReplyJudged(1))[-1] == Finish("accepted")


@pytest.mark.spec("A9")
def test_the_next_model_starts_again_and_then_the_fallback_is_used() -> None:
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


def rejects(at: float, feature: str) -> CallFailed:
    return CallFailed(at, "feature", feature=feature)


def test_a_feature_that_is_rejected_is_left_out_from_then_on() -> None:
    steps = run(
        Policy(temperature=0.7), PLAIN, rejects(1, "temperature"), rejects(2, "max_tokens"), bad(3), ReplyJudged(4)
    )
    sent = [s for s in steps if isinstance(s, Send)]
    assert [s.temperature for s in sent] == [0.7, None, None, None]
    both = ["max_tokens", "temperature"]
    assert [sorted(s.without) for s in sent[1:]] == [["temperature"], both, both]
    assert [s.forced for s in run(Policy(), PLAIN, rejects(1, "tool_choice")) if isinstance(s, Send)] == [True, False]


def test_a_feature_that_is_rejected_though_it_was_left_out_ends_the_mode_and_then_the_rung() -> None:
    steps = run(Policy(), ONE, rejects(1, "strict"), rejects(2, "strict"), rejects(3, "strict"))
    assert [s.mode for s in steps if isinstance(s, Send)] == ["json_schema", "json_schema", "text"]
    assert steps[-1] == Finish("failed", "rejected")


def test_known_rejections_are_left_out_of_a_rungs_first_call() -> None:
    ladder = (PlanRung("m", ("text",), frozenset({"temperature"})), PlanRung("n", ("text",)))
    steps = run(Policy(temperature=0.7), ladder, CallFailed(1, "fatal"))
    assert [s.temperature for s in steps if isinstance(s, Send)] == [None, 0.7]


@pytest.mark.spec("A8", "A9")
def test_instead_of_a_wait_beyond_the_deadline_the_next_rung_is_asked() -> None:
    for kind in ("rate", "transient"):
        steps = run(Policy(deadline=60), TWO, CallFailed(1.0, kind, 0.5, retry_after=90.0))  # type: ignore[arg-type]
        assert [s.model for s in steps if isinstance(s, Send)] == ["small", "large"]
    steps = run(Policy(deadline=60), TWO, CallFailed(1, "rate", 0.5, 90.0), CallFailed(2, "rate", 0.5, 90.0))
    assert steps[-1] == Finish("failed", "deadline")


@pytest.mark.spec("A9")
def test_a_rung_is_waited_for_as_long_as_the_patience_lasts_if_there_is_another() -> None:
    policy = Policy(patience=10, deadline=None)
    past, reached = step(policy, Past(), Began(TWO))
    waited = 0.0
    while isinstance(reached, Send) and reached.model == "small":
        past, reached = step(policy, past, CallFailed(past.at, "rate", 0.0))
        if isinstance(reached, Wait):
            waited += reached.seconds
            past, reached = step(policy, past, Waited(past.at))
    assert 5 < waited <= 10
    assert isinstance(reached, Send)
    assert reached.model == "large"
    past, reached = step(policy, past, CallFailed(past.at, "rate", 0.0, retry_after=500.0))
    assert isinstance(reached, Wait), "the last rung is waited for"


@pytest.mark.spec("A8", "A9")
@pytest.mark.parametrize(
    "event",
    [
        CallFailed(2.0, "fatal"),
        CallFailed(2.0, "rate", 0.5, 600.0),
        CallFailed(2.0, "refusal"),
        ReplyJudged(2.0, ReplyFault("refusal")),
    ],
)
def test_a_busy_rung_is_asked_again_if_no_other_can_do_it(event: Event) -> None:
    policy = Policy(deadline=60.0, retries=0)
    steps = run(policy, TWO, CallFailed(1.0, "rate", 0.5, 15.0), event, Waited(16.5), ReplyJudged(17.0))
    assert [s.model for s in steps if isinstance(s, Send)] == ["small", "large", "small"]
    assert steps[2] == Wait(14.5, "rate", 1, None)
    assert steps[-1] == Finish("accepted")
    once = run(policy, TWO, CallFailed(1.0, "rate", 0.5, 15.0), event, Waited(16.5), CallFailed(17.0, "fatal"))
    assert isinstance(once[-1], Finish), "only once"
    late = run(policy, TWO, CallFailed(1.0, "rate", 0.5, 600.0), event)
    assert isinstance(late[-1], Finish), "it is not free before the deadline"


def test_a_refusal_of_the_provider_asks_the_next_rung() -> None:
    steps = run(Policy(), TWO, CallFailed(1, "refusal"), CallFailed(2, "refusal"))
    assert [s.model for s in steps if isinstance(s, Send)] == ["small", "large"]
    assert steps[-1] == Finish("failed", "refusal")


THREE = tuple(PlanRung(name, ("text",)) for name in ("a", "b", "c"))


def models(*happens: Event, began: tuple[float, ...] = (), policy: Policy | None = None) -> list[str]:
    policy = policy or Policy()
    past, reached = step(policy, Past(), Began(THREE, resting=began))
    found = [reached]
    for event in happens:
        past, reached = step(policy, past, event)
        found.append(reached)
    return [s.model for s in found if isinstance(s, Send)]


@pytest.mark.spec("A9")
def test_a_resting_rung_is_skipped_while_another_is_left() -> None:
    assert models(began=(9.0, 0.0, 0.0)) == ["b"]
    assert models(CallFailed(1, "fatal", resting=(0.0, 9.0, 0.0))) == ["a", "c"]
    assert models(began=(9.0, 3.0, 5.0)) == ["b"], "all rest: the one that may be asked soonest"
    down = CallFailed(1, "fatal", resting=(9.0, 3.0, 5.0))
    assert models(down, down, down, began=(9.0, 3.0, 5.0)) == ["b"], "and only that one"
    assert models(CallFailed(1, "fatal", resting=(0.0, 9.0, 7.0)), down) == ["a", "c"], "the last resort"
    passed = CallFailed(1, "fatal", resting=(0.0, 0.0, 4.0))
    assert models(passed, began=(9.0, 0.0, 4.0)) == ["b", "a"], "one that was passed over, when nothing else is left"


def test_a_rung_whose_breaker_opens_is_not_waited_for() -> None:
    assert models(CallFailed(1, "transient", resting=(30.0, 0.0, 0.0))) == ["a", "b"]
    assert models(CallFailed(1, "transient", resting=(30.0, 5.0, 5.0))) == ["a"], "nobody else is there to be asked"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["rate", "transient", "mode", "feature", "refusal", "fatal", "good", *(f.kind for f in FAULTS)]),
            st.sampled_from([None, 0.0, 3.0, 40.0, 1e9]),
            st.sampled_from(["temperature", "max_tokens", "tool_choice", "strict", ""]),
            st.tuples(*[st.sampled_from([0.0, 5.0, 60.0])] * 3),
            st.floats(0.0, 30.0),
        ),
        min_size=1,
        max_size=60,
    ),
    st.builds(
        Policy, attempts=st.integers(1, 6), repairs=st.integers(0, 3), retries=st.integers(0, 4),
        deadline=st.sampled_from([5.0, 60.0, 120.0]), patience=st.sampled_from([0.5, 10.0, 100.0]),
        eager=st.booleans(), waits=st.sampled_from([None, 0, 2]),
    ),
    st.tuples(*[st.sampled_from([None, 0.2, 1.0])] * 3), st.booleans(),
)  # fmt: skip
@pytest.mark.spec("A7", "A8", "A11", "X37")
def test_there_are_never_too_many_calls_or_waits_past_the_deadline(
    happens: list[Any], policy: Policy, shares: tuple[float | None, ...], again: bool
) -> None:
    ladder = (
        PlanRung("a", ("json_schema", "tool", "text"), share=shares[0]),
        PlanRung("b", ("json_object", "text"), share=shares[1]),
        PlanRung("c", ("text",), share=shares[2]),
    )
    past, reached = step(policy, Past(), Began(ladder, resting=happens[0][3]))
    calls, at = 0, 0.0
    for kind, after, feature, resting, takes in happens * 20:
        if isinstance(reached, Finish):
            break
        if isinstance(reached, Wait):
            assert at + reached.seconds < (policy.deadline or 0)
            at += reached.seconds
            past, reached = step(policy, past, Waited(at))
            continue
        assert reached.timeout is not None
        assert reached.timeout <= (policy.deadline or 0) - at
        at += min(takes, reached.timeout)
        calls += kind != "rate" or policy.waits is not None
        if kind in ("rate", "transient", "mode", "feature", "refusal", "fatal"):
            past, reached = step(policy, past, CallFailed(at, kind, 0.5, after, feature, resting, again=again))
        else:
            fault = None if kind == "good" else next(f for f in FAULTS if f.kind == kind)
            past, reached = step(policy, past, ReplyJudged(at, fault, 0.5, resting=resting, again=again))
        assert calls <= policy.attempts
    assert isinstance(reached, Finish) or all(one[0] == "rate" for one in happens)


@pytest.mark.spec("A7")
def test_after_a_correction_that_did_not_help_the_reply_is_not_shown_again() -> None:
    def wrong(at: float, *marks: str) -> ReplyJudged:
        return ReplyJudged(at, ReplyFault("format", f"{at} {marks}", fields=True, marks=frozenset(marks)))

    def afresh(*happens: Event) -> list[tuple[bool, bool]]:
        steps = run(Policy(repairs=3, repair="fields"), ONE, *happens)
        return [(s.afresh, s.fields) for s in steps if isinstance(s, Send)]

    assert afresh(wrong(1, "a"), wrong(2, "b")) == [(False, False), (False, True), (False, True)]
    assert afresh(wrong(1, "a"), wrong(2, "a", "b")) == [(False, False), (False, True), (True, False)]
    assert afresh(wrong(1, "a"), wrong(2, "a"), wrong(3, "b"))[-1] == (False, True)


@pytest.mark.spec("Q12")
def test_the_last_retry_after_empty_replies_has_fewer_tools() -> None:
    happens: list[Event] = []
    for at in range(3):
        happens += [ReplyJudged(at, ReplyFault("nothing"), 0.99999), Waited(at)]
    steps = run(Policy(), ONE, *happens, ReplyJudged(9, ReplyFault("nothing")))
    assert [s.reduced for s in steps if isinstance(s, Send)] == [False, False, False, True]
    assert [round(s.seconds) for s in steps if isinstance(s, Wait)] == [1, 2, 4]
    assert steps[-1] == Finish("failed", "retries")


@pytest.mark.spec("A5")
def test_a_reply_cut_at_the_token_limit_gets_a_higher_one() -> None:
    policy = Policy(max_tokens=100, most_tokens=250, repairs=3)
    cut = [ReplyJudged(at, ReplyFault("format", str(at), length=True)) for at in range(3)]
    assert [s.max_tokens for s in run(policy, ONE, *cut) if isinstance(s, Send)] == [100, 200, 250, 250]


@pytest.mark.spec("A11")
@pytest.mark.parametrize("retries", [0, 3])
def test_a_call_that_fails_at_the_deadline_ends_for_the_deadline(retries: int) -> None:
    policy = Policy(retries=retries, deadline=2.0, backoff=0.1)
    past, _ = step(policy, Past(), Began(TWO))
    assert step(policy, past, CallFailed(2.0, "transient"))[1] == Finish("failed", "deadline")
    assert step(policy, past, CallFailed(1.0, "transient"))[1] != Finish("failed", "deadline")


@pytest.mark.spec("A11")
def test_a_request_that_does_not_fit_is_not_an_attempt_and_the_next_rung_is_asked() -> None:
    past, first = step(Policy(attempts=2), Past(), Began(TWO))
    past, second = step(Policy(attempts=2), past, Unaffordable(0.0, "tokens"))
    assert isinstance(first, Send)
    assert isinstance(second, Send)
    assert (first.model, second.model) == tuple(rung.model for rung in TWO)
    assert first.attempt == second.attempt == 1
    assert step(Policy(attempts=2), past, Unaffordable(0.0, "money"))[1] == Finish("failed", "money")


@pytest.mark.spec("A11")
def test_a_call_that_failed_uses_up_the_budgets() -> None:
    policy = Policy(tokens=100, money=1.0, prices={"*": Price(1, 1)})
    past, _ = step(policy, Past(), Began(ONE))
    assert step(policy, past, CallFailed(1.0, "transient", tokens=100))[1] == Finish("failed", "tokens")
    assert step(policy, past, CallFailed(1.0, "transient", cost=1.0))[1] == Finish("failed", "money")
    assert isinstance(step(policy, past, CallFailed(1.0, "transient", tokens=99, cost=0.9))[1], Wait)


SHARED = (PlanRung("a", ("text",), share=0.6), PlanRung("b", ("text",), share=0.4))
EAGER = Policy(eager=True, waits=2, retries=2, deadline=100.0, timeout=None)


def test_a_rung_that_hangs_leaves_the_others_their_share_of_the_time() -> None:
    past, first = step(EAGER, Past(), Began(SHARED))
    assert isinstance(first, Send)
    assert first.timeout == 60.0
    past, second = step(EAGER, past, CallFailed(60.0, "transient"))
    assert isinstance(second, Send)
    assert (second.model, second.timeout) == ("b", 40.0)
    past, first = step(EAGER, Past(), Began(SHARED))
    _, second = step(EAGER, past, CallFailed(10.0, "transient"))
    assert isinstance(second, Send)
    assert second.timeout == 90.0, "time that a rung did not use is there for the next ones"


def test_repairs_end_when_the_share_of_a_rung_is_over() -> None:
    past, _ = step(EAGER, Past(), Began(SHARED))
    past, repair = step(EAGER, past, ReplyJudged(59.0, ReplyFault("format", "x")))
    assert isinstance(repair, Send)
    assert (repair.model, repair.purpose, repair.timeout) == ("a", "repair", 1.0)
    _, other = step(EAGER, past, ReplyJudged(60.0, ReplyFault("format", "y")))
    assert isinstance(other, Send)
    assert (other.model, other.purpose, other.timeout) == ("b", "ask", 40.0)


@pytest.mark.parametrize("kind", ["rate", "transient"])
@pytest.mark.spec("X37")
def test_an_eager_policy_does_not_wait_while_another_rung_is_left(kind: FailureKind) -> None:
    past, _ = step(EAGER, Past(), Began(SHARED))
    past, spare = step(EAGER, past, CallFailed(1.0, kind, 0.5, 0.1))
    assert isinstance(spare, Send)
    assert spare.model == "b"
    reached: Any = spare
    calls, at = 2, 1.0
    while not isinstance(reached, Finish):
        at += 1.0
        if isinstance(reached, Wait):
            past, reached = step(EAGER, past, Waited(at))
            calls += 1
        else:
            past, reached = step(EAGER, past, CallFailed(at, kind, 0.5, 0.1))
    assert calls == 4, "one call of the first rung, and three of the last"
    assert reached.reason == "retries"


@pytest.mark.spec("X37")
def test_an_eager_policy_skips_long_waits_and_repeats_nothing_without_a_budget() -> None:
    past, _ = step(EAGER, Past(), Began(ONE))
    assert step(EAGER, past, CallFailed(1.0, "rate", 0.5, 60.0))[1] == Finish("failed", "retries")
    assert isinstance(step(EAGER, past, CallFailed(1.0, "rate", 0.5, 2.0))[1], Wait)
    for kind in ("rate", "transient"):
        assert step(EAGER, past, CallFailed(1.0, kind, 0.5, 2.0, again=False))[1] == Finish("failed", "retries")
    assert step(EAGER, past, ReplyJudged(1.0, ReplyFault("nothing"), again=False))[1] == Finish("failed", "retries")
    past, _ = step(EAGER, Past(), Began(SHARED))
    spare = step(EAGER, past, CallFailed(1.0, "transient", 0.5, again=False))[1]
    assert isinstance(spare, Send), "another rung is no retry"
