"""A short string with only a date, a time or both → its moment.

Takes a reply's value, such as `2024-03-05T17:45:00Z` or `March 5th`; returns one moment, or None if the string contains
anything else. The grammar is the same as in `find.py`, but a value needs no cue.
"""

from datetime import date

from trueup.grounding.moments.find import moments
from trueup.grounding.moments.values import Day, Moment, TimeOfDay
from trueup.verdict.patterns import lazy_regex

_LONGEST = 80
_REST = lazy_regex(
    r"[\s,.;:()@（）、。年]*(?:\b(?:the|on|at|el|den|am|le|il|um|a las|a la|à|alle|às|om|op|de|del|du|kl)\b[\s,.;:()@]*)*",
    2,
)
_YEAR = lazy_regex(r"(?:19|20)\d\d")
_NUMBER = lazy_regex(r"[\d.,]+")
_PREFIXES = ("", "on the ", "on ", "at ")


def read_moment(text: str, today: date | None = None) -> Moment | None:
    """The moment that a whole string means.

    >>> read_moment("5:45 pm").times
    (TimeOfDay(hour=17, minute=45, second=None),)
    >>> read_moment("5 apples") is None
    True
    """
    if len(text) > _LONGEST or not text.strip():
        return None
    stripped = text.strip()
    if _YEAR.fullmatch(stripped):
        return Moment(0, len(text), (Day(int(stripped), None, None),), ())
    for prefix in _PREFIXES:
        if prefix == "at " and _NUMBER.fullmatch(stripped):
            break
        found = [
            moment._replace(start=max(0, moment.start - len(prefix)), end=moment.end - len(prefix))
            for moment in moments(prefix + text, today)
        ]
        if found and _nothing_else(text, found):
            return _joined(text, found)
    return None


def _nothing_else(text: str, found: list[Moment]) -> bool:
    rest, at = [], 0
    for moment in found:
        rest.append(text[at : moment.start])
        at = moment.end
    rest.append(text[at:])
    return all(_REST.fullmatch(piece) for piece in rest)


def _joined(text: str, found: list[Moment]) -> Moment | None:
    """One moment from several in a string: at most one date, one weekday that belongs to it, and one time."""
    dates: tuple[Day, ...] = ()
    times: tuple[TimeOfDay, ...] = ()
    relative = False
    for moment in found:
        relative = relative or moment.relative
        if moment.times and times:
            return None
        times = times or moment.times
        if not moment.dates:
            continue
        if not dates:
            dates = moment.dates
        elif all(day[:3] == (None, None, None) for day in moment.dates):
            dates = tuple(day._replace(weekday=moment.dates[0].weekday) for day in dates)
        elif all(day[:3] == (None, None, None) for day in dates):
            dates = tuple(day._replace(weekday=dates[0].weekday) for day in moment.dates)
        else:
            return None
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return Moment(start, end, dates, times, relative)
