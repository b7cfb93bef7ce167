"""CPU time of functions: takes calls; returns the best time of each.

The calls alternate, so that a busy moment of the machine affects all of them equally.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

Call = Callable[[], Any]


def loops_for(call: Call, target: float) -> int:
    """The number of calls that take about `target` seconds."""
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
    """The best CPU time of one call, in µs, for each of `calls`. Slow calls run less often."""
    loops = {name: loops_for(call, target) for name, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    was_on = gc.isenabled()
    gc.disable()
    gc.freeze()  # keep older objects out of collections between rounds: in a large process they take longer
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
    """The CPU seconds of one call, and its result."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: 1 and 1.0 are, true and 1 are not, and the order of keys does not count."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and bool(one == other)
