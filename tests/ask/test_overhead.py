"""What the loop costs beyond the call itself, when the first reply is accepted."""

import time
from collections.abc import Callable

import pytest

from tests.ask.stage import GOOD, SCHEMA
from trueup import Contract

CONTRACT = Contract(SCHEMA)
MESSAGES = [{"role": "user", "content": "Who?"}]


def cost(call: Callable[[], object], loops: int = 300) -> float:
    """CPU seconds of one call, the best of several rounds."""
    call()
    best = 1.0
    for _ in range(9):
        begun = time.process_time()
        for _ in range(loops):
            call()
        best = min(best, (time.process_time() - begun) / loops)
    return best


@pytest.mark.perf
def test_the_loop_adds_less_than_100_microseconds() -> None:
    alone = cost(lambda: CONTRACT.check(GOOD))
    asked = cost(lambda: CONTRACT.ask(lambda _: GOOD, MESSAGES))
    assert asked - alone < 100e-6
