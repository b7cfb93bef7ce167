"""CPU time of functions: calls enter, the best time of each leaves.

They are run in turns, so that a busy moment of the machine hits all of them alike.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

Call = Callable[[], Any]


def loops_for(call: Call, target: float) -> int:
    """How many calls fill about `target` seconds."""
    loops = 1
    while True:
        spent = _batch(call, loops)
        if spent >= target / 2 or loops >= 1_000_000:
            return max(1, int(loops * target / max(spent, 1e-9))) if spent < target else loops
        loops *= 4


def _batch(call: Call, loops: int) -> float:
    repeat = [None] * loops
    started = time.process_time()
    for _ in repeat:
        call()
    return time.process_time() - started


def race(calls: dict[str, Call], rounds: int = 15, target: float = 0.004) -> dict[str, float]:
    """Best CPU time of one call, in µs, for each of `calls`; a call that takes long is run less often."""
    loops = {name: loops_for(call, target) for name, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    was_on = gc.isenabled()
    gc.disable()
    gc.freeze()  # what was there before is not collected between the rounds: in a large process that takes longer than they do
    try:
        for turn in range(rounds):
            for name, call in calls.items():
                if turn >= 3 and best[name] > 20_000:
                    continue
                best[name] = min(best[name], _batch(call, loops[name]) / loops[name] * 1e6)
            gc.collect()
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
    return best


def timed(call: Call) -> tuple[float, Any]:
    """CPU seconds of one call, and what it gave."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 and 1.0 are, true and 1 are not, the order of keys is not looked at."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and bool(one == other)
