"""The values of this package: a day, a time of day, and a mention of either in a text."""

from typing import NamedTuple


class Day(NamedTuple):
    """A date. Missing parts are None; Monday is 0."""

    year: int | None
    month: int | None
    day: int | None
    weekday: int | None = None


class TimeOfDay(NamedTuple):
    """A time of day on the 24-hour clock."""

    hour: int
    minute: int
    second: int | None = None


class Moment(NamedTuple):
    """A mention of a date or a time, with every plausible reading, most likely first."""

    start: int
    end: int
    dates: tuple[Day, ...]
    times: tuple[TimeOfDay, ...]
    relative: bool = False
