"""Whether a mention means a value: as a date, as a weekday, as a time.

Takes two moments; returns yes or no. Any reading of one may match any reading of the other.
"""

from datetime import date

from trueup.grounding.moments.values import Day, Moment, TimeOfDay


def same_date(value: Moment, mention: Moment, *, loosely: bool = False) -> bool:
    """Whether a mention gives the date of a value: all parts that both have agree, and the mention identifies the date.

    A day requires the month and the day, or with `loosely` the day alone. A month requires the month, a year the year.


    >>> from trueup.grounding.moments.read import read_moment
    >>> same_date(read_moment("2024-03-05"), read_moment("March 5"))
    True
    """
    return any(_agree(one, other, loosely=loosely) for one in value.dates for other in mention.dates)


def weekday_only(value: Moment, mention: Moment) -> bool:
    """Whether a mention is only a weekday, and the value's date is on that weekday."""
    said = {day.weekday for day in mention.dates if day[:3] == (None, None, None)}
    return bool(said) and any(_weekday(day) in said for day in value.dates if _weekday(day) is not None)


def same_time(value: Moment, mention: Moment) -> bool:
    """Whether a mention gives the time of a value. Seconds count if both have them.

    >>> from trueup.grounding.moments.read import read_moment
    >>> same_time(read_moment("17:45"), read_moment("5:45")), same_time(read_moment("05:45"), read_moment("5:45 pm"))
    (True, False)
    """
    return any(_same_clock(one, other) for one in value.times for other in mention.times)


def _same_clock(one: TimeOfDay, other: TimeOfDay) -> bool:
    return one[:2] == other[:2] and (one.second is None or other.second is None or one.second == other.second)


def _agree(value: Day, mention: Day, *, loosely: bool) -> bool:
    if any(one is not None and other is not None and one != other for one, other in zip(value, mention, strict=True)):
        return False
    year, month, day, weekday = value
    if day is not None:
        return mention.day is not None and (mention.month is not None or month is None or loosely)
    if month is not None:
        return mention.month is not None
    if year is not None:
        return mention.year is not None
    return weekday is not None and _weekday(mention) == weekday


def _weekday(day: Day) -> int | None:
    if day.weekday is not None:
        return day.weekday
    if day.year is None or day.month is None or day.day is None:
        return None
    try:
        return date(day.year, day.month, day.day).weekday()
    except ValueError:
        return None
