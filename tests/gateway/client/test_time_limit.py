"""Deadlines: each ends what is under it in its time, and nothing else; they share one timer."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.gateway.client import time_limit
from trueup.gateway.client.time_limit import Within


class Clockwork(asyncio.SelectorEventLoop):
    """A loop whose time passes only while everybody waits, and then at once: seconds on it are exact on any machine."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__()
        waits = self._selector.select  # type: ignore[attr-defined]

        def select(timeout: float | None) -> Any:
            assert timeout is not None, "everybody waits, and for nothing"
            self.now += max(timeout, 0.0)
            return waits(0)

        self._selector.select = select  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now


def played(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=Clockwork) as runner:
        return runner.run(work)


async def _sleep(deadline: float | None, seconds: float) -> tuple[str, float]:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Clockwork)
    start = loop.now
    try:
        with Within(deadline):
            await asyncio.sleep(seconds)
    except TimeoutError:
        return "late", loop.now - start
    return "done", loop.now - start


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)).filter(lambda pair: pair[0] != pair[1]), max_size=12))
def test_every_deadline_is_separate(pairs: list[tuple[int, int]]) -> None:
    async def run() -> list[tuple[str, float]]:
        return await asyncio.gather(*(_sleep(limit / 40, work / 40) for limit, work in pairs))

    for (limit, work), (found, took) in zip(pairs, played(run()), strict=True):
        assert found == ("late" if limit < work else "done")
        assert took == pytest.approx(min(limit, work) / 40, abs=0.002)


def test_inner_and_outer_deadlines_are_distinguished() -> None:
    async def run() -> str:
        try:
            with Within(0.05):
                try:
                    with Within(5):
                        await asyncio.sleep(5)
                except TimeoutError:
                    return "inner"
        except TimeoutError:
            return "outer"
        return "none"

    assert played(run()) == "outer"


def test_a_cancellation_is_not_reported_as_a_timeout() -> None:
    async def run() -> None:
        task = asyncio.ensure_future(_sleep(5, 5))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    played(run())


def test_no_deadline_stays_active_after_its_block() -> None:
    async def run() -> None:
        assert (await _sleep(None, 0.001))[0] == "done"
        assert (await _sleep(5, 0.001))[0] == "done"
        watch = time_limit._watches[asyncio.get_running_loop()]
        assert not watch.live
        assert watch.timer is not None
        await _sleep(0.001, 1)
        assert not watch.live

    played(run())
    played(_sleep(1, 0.001))
    assert len([loop for loop in time_limit._watches if not loop.is_closed()]) <= 1


@pytest.mark.parametrize(("more", "ended"), [(4.0, 5.0), (0.5, 2.0), (0.0, 2.0)])
def test_a_deadline_can_be_extended_and_not_shortened(more: float, ended: float) -> None:
    async def put_off(limit: Within) -> None:
        with limit:
            await asyncio.sleep(1)
            limit.extend(more)
            await asyncio.sleep(100)

    async def run() -> float:
        limit = Within(2)
        with pytest.raises(TimeoutError):
            await put_off(limit)
        limit.extend(9)  # it is over
        return asyncio.get_running_loop().time()

    assert played(run()) == pytest.approx(ended, abs=0.01)
