"""Digits without words: `2024-03-05`, `3/5/24`, `05.03.`, `17:45`, `20240305`, `1745`, a day, a year.

Takes a run of digits with its separators; returns a letter of the grammar and a value. An address, a version, a price
or a telephone number is also one run, but matches no form. This module ignores the text around the run.
"""

from calendar import isleap
from typing import Any

from trueup.grounding.moments.values import Day
from trueup.verdict.patterns import lazy_regex

_LONGEST = 32
_FORMS = lazy_regex(
    r"(?P<ymd>(?P<y1>\d{4})(?P<s1>[-/.])(?P<m1>\d{1,2})(?P=s1)(?P<d1>\d{1,2}))"
    r"|(?P<dmy>(?P<d2>\d{1,2})(?P<s2>[-/.])(?P<m2>\d{1,2})(?P=s2)(?P<y2>\d{4}|\d{2}))"
    r"|(?P<clock>(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?)"
    r"|(?P<my>(?P<m3>\d{1,2})[-/.](?P<y3>\d{4}))"
    r"|(?P<ym>(?P<y4>\d{4})[-/](?P<m4>\d{1,2}))"
    r"|(?P<pair>(?P<one>\d{1,2})(?P<s5>[/.])(?P<two>\d{1,2}))"
)
_DAYS = (
    0,
    31,
    29,
    31,
    30,
    31,
    30,
    31,
    31,
    30,
    31,
    30,
    31,
)  # an unknown year may have a 29th of February


def is_day(year: int | None, month: int, day: int) -> bool:
    """Whether the calendar contains this day."""
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month] and (day != 29 or month != 2 or year is None or isleap(year))


def centuries(year: int) -> tuple[int, ...]:
    """The years that two digits can mean, most likely first."""
    return (2000 + year, 1900 + year) if year < 50 else (1900 + year, 2000 + year)


def classify(run: str) -> tuple[str, Any]:
    """The kind of a run of digits, and its value; kind `j` if it is not a date or a time.

    >>> classify("2024-02-30"), classify("17:45"), classify("5")
    (('j', None), ('T', (17, 45, None, True)), ('n', 5))
    """
    if run.isdecimal():
        return _whole(run)
    form = _FORMS.fullmatch(run) if len(run) <= _LONGEST else None
    if form is None:
        return "j", None
    return _READERS[form.lastgroup or ""](form)


def _whole(run: str) -> tuple[str, Any]:
    if len(run) <= 2:
        number = int(run)
        return ("n" if 1 <= number <= 31 else "z"), number
    if len(run) == 4:
        return ("y" if 1000 <= int(run) < 3000 else "F"), int(run)
    if len(run) == 8:
        year, month, day = int(run[:4]), int(run[4:6]), int(run[6:])
        if 1900 <= year < 2100 and is_day(year, month, day):
            return "D", (Day(year, month, day),)
    return "j", None


def _ymd(form: Any) -> tuple[str, Any]:
    year, month, day = int(form["y1"]), int(form["m1"]), int(form["d1"])
    if year >= 1000 and is_day(year, month, day):
        return "D", (Day(year, month, day),)
    return "j", None


def _dmy(form: Any) -> tuple[str, Any]:
    first, sign, second, written = int(form["d2"]), form["s2"], int(form["m2"]), form["y2"]
    years = (int(written),) if len(written) == 4 else centuries(int(written))
    orders: tuple[tuple[int, int], ...] = ((first, second), (second, first))
    if sign != "/":
        orders = orders[::-1]
    if sign == "." and is_day(None, second, first):
        orders = ((second, first),)
    days = [Day(year, month, day) for year in years for month, day in orders if year and is_day(year, month, day)]
    if len(written) == 2 and len(form["d2"]) == 2 and sign != "." and is_day(2000 + first, second, int(written)):
        days.append(Day(2000 + first, second, int(written)))
    return ("D", tuple(dict.fromkeys(days))) if days else ("j", None)


def _clock(form: Any) -> tuple[str, Any]:
    hour, minute, second = int(form["hour"]), int(form["minute"]), form["second"] and int(form["second"])
    if hour > 24 or minute > 59 or (second or 0) > 59 or (hour == 24 and minute):
        return "j", None
    return "T", (hour, minute, second, (len(form["hour"]) == 2 and hour < 10) or hour > 12)


def _my(form: Any) -> tuple[str, Any]:
    month, year = int(form["m3"]), int(form["y3"])
    return ("E", (Day(year, month, None),)) if 1 <= month <= 12 and 1800 <= year < 2200 else ("j", None)


def _ym(form: Any) -> tuple[str, Any]:
    year, month = int(form["y4"]), int(form["m4"])
    return ("E", (Day(year, month, None),)) if 1 <= month <= 12 and 1800 <= year < 2200 else ("j", None)


def _pair(form: Any) -> tuple[str, Any]:
    """`3/5` or `5.3`: possibly a date, a time, a fraction or a price. The grammar requires a cue."""
    first, sign, second = int(form["one"]), form["s5"], int(form["two"])
    orders = ((second, first),) if sign == "." else ((first, second), (second, first))
    days = tuple(dict.fromkeys(Day(None, month, day) for month, day in orders if is_day(None, month, day)))
    clock = (
        (first, second, None, False) if sign == "." and len(form["two"]) == 2 and first <= 24 and second < 60 else None
    )
    if sign == "/":
        padded = len(form["one"]) == len(form["two"]) == 2
        return ("D" if padded else "d", days) if days else ("j", None)
    return ("e", (days, clock)) if days or clock else ("j", None)


_READERS = {"ymd": _ymd, "dmy": _dmy, "clock": _clock, "my": _my, "ym": _ym, "pair": _pair}
