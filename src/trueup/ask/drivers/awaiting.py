"""Waits for asynchronous custom checks: takes an awaitable, returns its result. A check that takes longer than 30 s raises a TimeoutError.

Asynchronous code awaits it in its own event loop. For other code, a new event loop runs it; if the thread already has a
running loop, the new one runs in another thread while this thread waits.
"""

import asyncio
import contextvars
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SECONDS = 30.0


async def bounded(awaited: Awaitable[Any]) -> Any:
    """The result of an awaitable. It raises only subclasses of Exception, unless the caller itself was cancelled."""
    limit = asyncio.timeout(SECONDS)
    try:
        async with limit:
            result = await awaited
    except TimeoutError as error:
        if not limit.expired():  # a TimeoutError of the awaitable itself
            raise
        raise TimeoutError(_late()) from error
    except SystemExit as error:  # it would end the event loop
        raise RuntimeError(f"it called exit({error.code!r})") from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("it was cancelled") from error  # by something that it awaited, not by the caller
    deadline = limit.when()
    if deadline is not None and asyncio.get_running_loop().time() > deadline:  # it blocked the loop or ignored this
        raise TimeoutError(_late())
    return result


def _late() -> str:
    return f"no answer within {SECONDS:g} s"


def finish(awaited: Awaitable[Any]) -> Any:
    """The same for code that cannot await.

    >>> async def answer():
    ...     return 42
    >>> finish(answer())
    42
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(bounded(awaited))
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(contextvars.copy_context().run, asyncio.run, bounded(awaited)).result()
