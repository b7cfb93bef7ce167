"""Words such as `next Friday` and `in two weeks` → dates, given the day that they are said on.

The day said on enters as `today`; without it no date leaves, at most a weekday. It reads no clock.
"""

from datetime import date, timedelta

from trueup.grounding.moments.values import Day


def dated(day: date) -> Day:
    return Day(day.year, day.month, day.day)


def days_away(days: int, today: date | None) -> tuple[Day, ...]:
    """So many days after today."""
    if today is None:
        return ()
    try:
        return (dated(today + timedelta(days=days)),)
    except OverflowError:
        return ()


def units_away(count: int, unit: str, today: date | None) -> tuple[Day, ...]:
    """So many days, weeks, months or years after today; the day of the month is kept where the month has it."""
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
    """`next`, `this` or `last` weekday: in the week after, of or before this one, and the nearest in that direction."""
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
    """`next week`, `this month`, `last year`: the day a week away and that week's Monday, the month, or the year."""
    if today is None:
        return ()
    if unit == "day":
        return days_away(shift, today)
    if unit == "week":
        away = today + timedelta(days=7 * shift)
        return tuple(dict.fromkeys((dated(away), dated(away - timedelta(days=away.weekday())))))
    month = today.year * 12 + today.month - 1 + shift
    return (Day(month // 12, month % 12 + 1, None),) if unit == "month" else (Day(today.year + shift, None, None),)
