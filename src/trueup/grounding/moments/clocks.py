"""Spoken hours and minutes → times of day.

An hour up to twelve has two readings if a word such as `pm` is missing. A part of the day (a window of hours) keeps the
readings inside it.
"""

from trueup.grounding.moments.values import TimeOfDay

Window = tuple[int, int]


def readings(
    hour: int, minute: int, second: int | None = None, window: Window | None = None, *, exact: bool = False
) -> tuple[TimeOfDay, ...]:
    """Every time of day that this can mean.

    >>> readings(5, 45)
    (TimeOfDay(hour=5, minute=45, second=None), TimeOfDay(hour=17, minute=45, second=None))
    >>> readings(5, 45, window=(12, 24))
    (TimeOfDay(hour=17, minute=45, second=None),)
    """
    if minute > 59 or hour > 24 or (hour == 24 and minute):
        return ()
    if hour == 24 or (hour == 0 and not window):
        return (TimeOfDay(0, minute, second),)
    if hour > 12:
        return (TimeOfDay(hour, minute, second),)
    both: tuple[int, ...] = (hour % 12, hour % 12 + 12) if hour != 12 else (12, 0)
    if window is not None:
        low, high = window
        both = tuple(h for h in both if (low <= h < high if low < high else h >= low or h < high)) or both
    elif exact:
        both = (hour,)
    return tuple(TimeOfDay(h, minute, second) for h in both)


def shifted(hour: int, minutes: int, window: Window | None = None) -> tuple[TimeOfDay, ...]:
    """The readings of a time some minutes after or before an hour: `quarter to six` is −15 from 6."""
    if not 0 <= hour <= 24:
        return ()
    if minutes >= 0:
        return readings(hour, minutes, window=window)
    times = readings(hour, 0, window=window)
    return tuple(TimeOfDay((time.hour - 1) % 24, 60 + minutes) for time in times)
