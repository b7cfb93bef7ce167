"""Deadlines: each ends what is under it in its time, and nothing else; they share one timer."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.gateway import within
from trueup.gateway.within import Within


async def _sleep(deadline: float | None, seconds: float) -> tuple[str, float]:
    start = time.monotonic()
    try:
        with Within(deadline):
            await asyncio.sleep(seconds)
    except TimeoutError:
        return "late", time.monotonic() - start
    return "done", time.monotonic() - start


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)).filter(lambda pair: pair[0] != pair[1]), max_size=12))
def test_every_deadline_is_its_own(pairs: list[tuple[int, int]]) -> None:
    async def run() -> list[tuple[str, float]]:
        return await asyncio.gather(*(_sleep(limit / 40, work / 40) for limit, work in pairs))

    for (limit, work), (found, took) in zip(pairs, asyncio.run(run()), strict=True):
        assert found == ("late" if limit < work else "done")
        assert took >= min(limit, work) / 40 - 0.003


def test_an_inner_deadline_is_not_the_outer_one_nor_the_other_way_round() -> None:
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

    assert asyncio.run(run()) == "outer"


def test_who_is_cancelled_is_cancelled() -> None:
    async def run() -> None:
        task = asyncio.ensure_future(_sleep(5, 5))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_no_deadline_and_none_that_is_left_behind() -> None:
    async def run() -> None:
        assert (await _sleep(None, 0.001))[0] == "done"
        assert (await _sleep(5, 0.001))[0] == "done"
        watch = within._watches[asyncio.get_running_loop()]
        assert not watch.live
        assert watch.timer is not None
        await _sleep(0.001, 1)
        assert not watch.live

    asyncio.run(run())
    asyncio.run(_sleep(1, 0.001))
    assert len([loop for loop in within._watches if not loop.is_closed()]) <= 1
