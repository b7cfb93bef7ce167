"""Steps: one generator gives the same result with and without an event loop."""

import asyncio
from functools import partial
from typing import Any

import pytest

from trueup.checks.steps import Steps, arun, is_async, pending, refuse, run


async def answer(value: Any) -> Any:
    await asyncio.sleep(0)
    if isinstance(value, Exception):
        raise value
    return value


async def several() -> Any:
    for value in (1, 2):
        yield value


def summed(*values: Any) -> Steps[list[Any]]:
    found: list[Any] = []
    for value in values:
        try:
            found.append((yield answer(value)))
        except ValueError as error:
            found.append(str(error))
    return found


async def plainly(awaited: Any) -> Any:
    return await awaited


def test_both_drivers_give_the_same_result() -> None:
    values = (1, ValueError("no"), 3)
    assert run(summed(*values), asyncio.run) == asyncio.run(arun(summed(*values), plainly)) == [1, "no", 3]
    assert run(summed(), refuse) == asyncio.run(arun(summed(), plainly)) == []


def test_an_uncaught_exception_propagates() -> None:
    with pytest.raises(KeyError):
        run(summed(KeyError("x")), asyncio.run)
    with pytest.raises(KeyError):
        asyncio.run(arun(summed(KeyError("x")), plainly))
    with pytest.raises(TypeError, match="it is asynchronous"):
        run(summed(1), refuse)


def test_awaitable_answers_are_recognized() -> None:
    awaited = pending(several())
    assert awaited is not None
    assert asyncio.run(plainly(awaited)) == [1, 2]
    assert pending([1]) is None


class Called:
    async def __call__(self) -> None: ...


class Plain:
    def __call__(self) -> None: ...


def test_asynchronous_functions_are_recognized() -> None:
    assert all(map(is_async, (answer, several, partial(answer, 1), Called(), Called().__call__)))
    assert not any(map(is_async, (len, Plain(), Called, lambda: 1, "text", partial(len, []))))
