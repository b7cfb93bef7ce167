"""The gate before a provider: calls that are refused together make it wait once, and longer only if the next ones are refused too."""

import asyncio
from typing import Any

import pytest

from trueup.batch.pipeline.providers.rate_limits import PATIENCE, RateGate


class Clock:
    """The time of a loop, set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    return clock


def burst(gate: RateGate, calls: int, **more: Any) -> list[float | None]:
    """Calls that are sent together and refused one after the other."""
    sent = gate.bursts
    return [gate.refused(sent, **more) for _ in range(calls)]


@pytest.mark.spec("B17")
def test_the_wait_doubles_once_for_each_burst(clock: Clock) -> None:
    gate = RateGate({})
    waits = []
    for _ in range(5):
        told = burst(gate, 16)
        assert set(told) == {told[0]}
        waits.append(told[0])
        clock.now += 100
    assert waits == [0.5, 1, 2, 4, 8]


def test_an_answer_resets_the_waits(clock: Clock) -> None:
    gate = RateGate({})
    burst(gate, 3)
    clock.now += 1
    assert burst(gate, 3) == [1, 1, 1]
    gate.answered()
    clock.now += 10
    assert burst(gate, 3) == [0.5, 0.5, 0.5]


def test_the_wait_that_the_provider_asks_for_is_kept(clock: Clock) -> None:
    gate = RateGate({})
    assert burst(gate, 2, asked=7.0) == [7, 7]
    clock.now += 7
    assert burst(gate, 2) == [0.5, 0.5]  # an explicit wait is not doubled


def test_waiting_ends_if_every_answer_is_a_refusal(clock: Clock) -> None:
    gate = RateGate({})
    assert burst(gate, 1) == [0.5]
    clock.now += PATIENCE
    assert burst(gate, 1) == [None]
