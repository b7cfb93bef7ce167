"""Windows: the time windows that the page offers. It takes a name and a time, and returns the start of the window and
its steps.

A window begins with a whole step, so its first bar is complete. Long windows have steps of whole hours, like the
tallies of a store.
"""

from typing import NamedTuple

from trueup.store.errors import MICROS

_SIZES = {"5m": (300, 5), "1h": (3600, 60), "24h": (86_400, 3600), "7d": (7 * 86_400, 3 * 3600)}
NAMES = tuple(_SIZES)


class Window(NamedTuple):
    """A time window up to now, in steps of equal length; all in microseconds."""

    name: str
    since: int
    now: int
    step: int

    @property
    def is_long(self) -> bool:
        """Whether its steps are hours."""
        return self.step >= 3600 * MICROS

    @property
    def times(self) -> range:
        """The start of each step."""
        return range(self.since, self.now + 1, self.step)

    def step_of(self, at: int) -> int:
        """The number of the step that a time falls into."""
        return min(max(0, (at - self.since) // self.step), len(self.times) - 1)


def window(name: str, now: int) -> Window:
    """The window with this name that ends now.

    >>> found = window("5m", 1_000_000_007_000_000)
    >>> len(found.times), (found.now - found.since) / MICROS
    (60, 297.0)
    """
    length, step = (seconds * MICROS for seconds in _SIZES[name])
    return Window(name, now - now % step + step - length, now, step)
