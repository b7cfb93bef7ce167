"""The event loop for SDKs that can only be awaited: synchronous code gets its results, and streams that were given up are closed."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from tests.waiting import wait_for
from trueup.ask.clients.event_loop import pieces_of
from trueup.ask.drivers.worker import ThreadedPieces


class Endless:
    """A stream that never ends; `closed` is set when it is closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    async def pieces(self) -> AsyncIterator[int]:
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            await asyncio.sleep(0.05)  # closing a connection takes time
            self.closed.set()


@pytest.mark.spec("A11")
@pytest.mark.parametrize("taken", [1, 5])
def test_a_stream_that_is_given_up_between_two_pieces_is_closed(taken: int) -> None:
    endless = Endless()
    held = endless.pieces()  # kept, so that the garbage collector does not close it
    pieces = ThreadedPieces(lambda: pieces_of(held))
    assert [pieces.take(60) for _ in range(taken)] == list(range(taken))
    pieces.close()
    wait_for(endless.closed.is_set)


def test_a_stream_that_is_not_read_to_its_end_is_closed() -> None:
    endless = Endless()
    held = endless.pieces()
    pieces = pieces_of(held)
    assert next(pieces) == 0
    pieces.close()  # type: ignore[attr-defined]
    wait_for(endless.closed.is_set)
