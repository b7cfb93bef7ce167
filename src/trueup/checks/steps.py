"""Steps: checks that may have to wait, written once as generators and run in two ways, with and without asyncio.

A generator yields an awaitable, is sent its result, and finally returns its own result. An exception from the awaitable
is raised inside the generator, which decides whether it refuses the reply or is a bug. The caller decides how to wait.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[Awaitable[Any], Any, T]

MOST = 1_000  # findings of one check


def run(steps: Steps[T], wait: Callable[[Awaitable[Any]], Any]) -> T:
    """The result of steps; `wait` runs an awaitable to its end.

    >>> def steps():
    ...     return 7
    ...     yield
    >>> run(steps(), refuse)
    7
    """
    try:
        awaited = next(steps)
        while True:
            try:
                result = wait(awaited)
            except Exception as error:  # noqa: BLE001 - the waiting check decides what an error means
                awaited = steps.throw(error)
            else:
                awaited = steps.send(result)
    except StopIteration as done:
        result_of_all: T = done.value
        return result_of_all


async def arun(steps: Steps[T], wait: Callable[[Awaitable[Any]], Awaitable[Any]]) -> T:
    """The same, inside a running event loop."""
    try:
        awaited = next(steps)
        while True:
            try:
                result = await wait(awaited)
            except Exception as error:  # noqa: BLE001 - as above
                awaited = steps.throw(error)
            else:
                awaited = steps.send(result)
    except StopIteration as done:
        result_of_all: T = done.value
        return result_of_all


def refuse(awaited: Awaitable[Any]) -> Any:
    """The `wait` of code that cannot wait: it closes the awaitable and raises a TypeError."""
    close = getattr(awaited, "close", None)
    if close is not None:
        close()
    raise TypeError("it is asynchronous; judge the reply with a contract's check or acheck")


def pending(answer: Any, gathered: list[Any] | None = None) -> Awaitable[Any] | None:
    """The awaitable that will give an answer, or None if the answer is already there.

    An async generator becomes a list: `gathered`, which keeps the values that were yielded before an exception.
    """
    if hasattr(answer, "__await__"):  # faster than asking for an Awaitable
        awaitable: Awaitable[Any] = answer
        return awaitable
    return _gathered(answer, [] if gathered is None else gathered) if hasattr(answer, "__aiter__") else None


async def _gathered(answers: AsyncIterable[Any], gathered: list[Any]) -> list[Any]:
    """The values of an async generator, at most one more than allowed: that is enough to refuse it."""
    async for answer in answers:
        gathered.append(answer)
        if len(gathered) > MOST:
            break
    return gathered


def is_async(function: Any) -> bool:
    """Whether calling a function gives something to await.

    >>> async def later(): ...
    >>> is_async(later), is_async(len)
    (True, False)
    """
    if not callable(function):
        return False
    from inspect import isasyncgenfunction, iscoroutinefunction  # large, and needed only where there are functions

    called = getattr(function, "func", function)  # functools.partial
    own = None if isinstance(called, type) else getattr(type(called), "__call__", None)  # noqa: B004 - of a callable object
    return any(iscoroutinefunction(one) or isasyncgenfunction(one) for one in (called, own))
