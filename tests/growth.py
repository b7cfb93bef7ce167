"""How the cost of something grows with its input. No other test reads a clock, and this one only compares.

Machines differ by a factor of five and are busy with other work, so no test asserts how long a thing takes. `assert_linear`
asserts that four times the input costs about four times the CPU time. A quadratic algorithm takes sixteen times as long, and
the bound lies between the two. Other work on the machine only ever makes a measurement worse, so the best of several counts.
How long things take is printed by `bench/`.
"""

import gc
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

import pytest

from tests.effort import SOAK
from tests.shapes.shape import Shape

T = TypeVar("T")
STEP = 4  # each size is four times the one before it
BOUND = 8.0  # CPU time of one size over that of the one before: 4 is linear, 16 quadratic, and 8 is as far from either
EARLY = 20.0  # the same below the largest size, where a limit or another method for long inputs may still set in
MEASURABLE = 0.001  # seconds of CPU: below it, interrupts and cache misses are a large part of what is measured
ROUNDS = 12


def cpu(run: Callable[[T], object], given: T) -> float:
    """CPU seconds that this thread spends on one run, with the garbage collector off.

    The collector would walk over all objects that earlier tests have left.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        begun = time.thread_time()
        run(given)
        return time.thread_time() - begun
    finally:
        if was_on:
            gc.enable()


class _Measured:
    """The lowest CPU time so far for an input of one size; each measurement may lower it."""

    def __init__(self, run: Callable[[Any], object], given: Any) -> None:
        self._run, self._given = run, given
        self.best = float("inf")

    def look(self, times: int = 1) -> float:
        for _ in range(times):
            self.best = min(self.best, cpu(self._run, self._given))
        return self.best


def assert_linear(
    run: Callable[[T], object], make: Callable[[int], T], size: int, *, bound: float = BOUND, what: str = ""
) -> None:
    """`run(make(n))` takes time in proportion to n, up to a `size` in the unit of `make`.

    Sizes grow from a sixteenth of `size`, so quadratic work fails while it is still fast. The two largest decide. If
    they are too quick to be compared, or if the work changes its method between them, another size decides.
    """
    run(make(max(1, size // STEP**4)))  # what is compiled or imported on first use is not part of the growth
    n = max(1, size // STEP**2)
    less = _Measured(run, make(n))
    less.look(2)
    while n <= size:
        n *= STEP
        more = _Measured(run, make(n))
        more.look(2 if n < size else 1)
        if less.best >= MEASURABLE:
            grown = _grown(less, more, bound if n >= size else max(bound, EARLY))
            if grown > (bound if n > size else max(bound, EARLY)):
                _fail(grown, bound, f"{what} {n // STEP} → {n}")
            if n >= size and grown <= bound:
                return
        less = more


def assert_at_most(times: float, run: Callable[[], object], of: Callable[[], object]) -> None:
    """`run()` takes at most so many times the CPU time of `of()`: for a cost that must not depend on something else."""
    loops = 1
    while cpu(_repeat(of), loops) < MEASURABLE * 2 and loops < 1_000_000:
        loops *= STEP
    less, more = _Measured(_repeat(of), loops), _Measured(_repeat(run), loops)
    less.look(2)
    more.look()
    if (grown := _grown(less, more, times)) > times:
        _fail(grown, times, f"{loops} calls of each")


def lowest(peak: Callable[[T], int], given: T) -> int:
    """The lowest of three peaks of memory: threads that an earlier test has left can only add to one."""
    return min(peak(given) for _ in range(3))


def _grown(less: _Measured, more: _Measured, bound: float) -> float:
    """The ratio of the two CPU times, measured again until it is clearly inside or outside the bound."""
    for turn in range(ROUNDS):
        if more.best <= bound * less.best or (turn > 3 and more.best > 1.7 * bound * less.best):
            break
        time.sleep(0.05 * turn)  # a busy moment of the machine passes
        less.look(2)
        more.look()
    return more.best / less.best


def _fail(grown: float, bound: float, what: str) -> NoReturn:
    raise AssertionError(f"{grown:.1f} times the CPU time, where at most {bound:g} is expected: {what}")


def _repeat(run: Callable[[], object]) -> Callable[[int], object]:
    def repeated(loops: int) -> None:
        for _ in range(loops):
            run()

    return repeated


def each(shapes: Iterable[Shape]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test once for each name among the shapes, with all that have it: its argument is called `shapes`."""
    named: dict[str, list[Shape]] = {}
    for shape in shapes:
        named.setdefault(shape.name, []).append(shape)
    ids = [name[:60] for name in named]
    return lambda test: pytest.mark.growth(pytest.mark.parametrize("shapes", named.values(), ids=ids)(test))


def assert_all_linear(shapes: Iterable[Shape], part: int = 1) -> None:
    """Each of the shapes takes linear time, up to its size, or up to a part of it unless this is a soak."""
    for shape in shapes:
        size = shape.size if SOAK else shape.size // part
        assert_linear(shape.run, shape.make, size, what=f"{shape.name} {shape.variant}")
