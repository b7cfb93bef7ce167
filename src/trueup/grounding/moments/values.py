"""The values of this room: a day and a time of day as far as they are said, and a mention of either in a text."""

from typing import NamedTuple


class Day(NamedTuple):
    """A date; what is not said is None. Monday is 0."""

    year: int | None
    month: int | None
    day: int | None
    weekday: int | None = None


class TimeOfDay(NamedTuple):
    """A time of day on the clock of 24 hours."""

    hour: int
    minute: int
    second: int | None = None


class Moment(NamedTuple):
    """A mention of a date or a time, with every plausible reading, likeliest first."""

    start: int
    end: int
    dates: tuple[Day, ...]
    times: tuple[TimeOfDay, ...]
    relative: bool = False
