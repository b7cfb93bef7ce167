"""An event loop for SDKs that can only be awaited, so that synchronous code can ask them.

Takes a coroutine or an asynchronous iterator; returns its result or its pieces in the waiting thread. One loop in a daemon thread serves
the whole process, because connections that an SDK keeps open belong to the loop in which they were opened. Calls that are given up are
cancelled.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import Any, TypeVar

from trueup.ask.drivers.worker import stopping

R = TypeVar("R")
_END: Any = object()
_THREAD = "trueup-loop"
_MOMENT = 0.2  # seconds
_lock = threading.Lock()
_running: list[asyncio.AbstractEventLoop] = []
if hasattr(os, "register_at_fork"):  # a child process does not have its parent's threads
    os.register_at_fork(after_in_child=_running.clear)


def wait(awaited: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine in the loop and return its result.

    >>> async def three():
    ...     return 3
    >>> wait(three())
    3
    """
    future: Future[R] = asyncio.run_coroutine_threadsafe(awaited, _loop())
    try:
        with stopping(future.cancel):
            return future.result()
    finally:
        future.cancel()  # if waiting was interrupted; no effect if the call has ended


def leave(awaited: Coroutine[Any, Any, object]) -> None:
    """Run a coroutine in the loop without waiting for its result; a caller in another thread waits a moment for its end."""
    future = asyncio.run_coroutine_threadsafe(awaited, _loop())
    if threading.current_thread().name != _THREAD:
        wait_for([future], timeout=_MOMENT)


def pieces_of(pieces: AsyncIterator[R]) -> Iterator[R]:
    """The pieces of an asynchronous iterator, which is closed at the end, even if the call was given up."""
    try:
        while (piece := wait(_next(pieces))) is not _END:
            yield piece
    finally:
        leave(_closed(pieces))


async def _next(pieces: AsyncIterator[Any]) -> Any:
    return await anext(pieces, _END)


async def _closed(pieces: AsyncIterator[Any]) -> None:
    close = getattr(pieces, "aclose", None)
    if close is not None:
        await close()


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        if not _running:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name=_THREAD, daemon=True).start()
            _running.append(loop)
        return _running[0]
