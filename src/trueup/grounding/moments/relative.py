"""Words such as `next Friday` and `in two weeks` → dates, given the day on which they were written.

Takes that day as `today`; without it, returns at most a weekday. This module does not read a clock.
"""

from datetime import date, timedelta

from trueup.grounding.moments.values import Day


def dated(day: date) -> Day:
    return Day(day.year, day.month, day.day)


def days_away(days: int, today: date | None) -> tuple[Day, ...]:
    """A number of days after today."""
    if today is None:
        return ()
    try:
        return (dated(today + timedelta(days=days)),)
    except OverflowError:
        return ()


def units_away(count: int, unit: str, today: date | None) -> tuple[Day, ...]:
    """A number of days, weeks, months or years after today. A day that the month does not have becomes its last one."""
    if unit in ("day", "week"):
        return days_away(count * (7 if unit == "week" else 1), today)
    if today is None:
        return ()
    month = today.year * 12 + today.month - 1 + count * (12 if unit == "year" else 1)
    for day in range(today.day, today.day - 4, -1):
        try:
            return (dated(date(month // 12, month % 12 + 1, day)),)
        except ValueError:
            continue
    return ()


def weekday_away(shift: int, weekday: int, today: date | None) -> tuple[Day, ...]:
    """`next`, `this` or `last` weekday: the nearest in that direction, and the one in that week."""
    if today is None:
        return (Day(None, None, None, weekday),)
    monday = today - timedelta(days=today.weekday())
    in_week = monday + timedelta(days=7 * shift + weekday)
    ahead = (weekday - today.weekday()) % 7
    nearest = today + timedelta(days=(ahead or 7) if shift >= 0 else ahead - 7)
    if shift == 0:
        nearest = today + timedelta(days=ahead)
    return tuple(dated(day)._replace(weekday=weekday) for day in dict.fromkeys((nearest, in_week)))


def period_away(shift: int, unit: str, today: date | None) -> tuple[Day, ...]:
    """`next week`, `this month`, `last year`: the day a week away and its week's Monday, the month, or the year."""
    if today is None:
        return ()
    if unit == "day":
        return days_away(shift, today)
    if unit == "week":
        away = today + timedelta(days=7 * shift)
        return tuple(dict.fromkeys((dated(away), dated(away - timedelta(days=away.weekday())))))
    month = today.year * 12 + today.month - 1 + shift
    return (Day(month // 12, month % 12 + 1, None),) if unit == "month" else (Day(today.year + shift, None, None),)
