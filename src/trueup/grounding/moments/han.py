"""Dates and times in Chinese, Japanese and Korean, with a unit after each number: `2024年3月5日 下午5点45分`.

Takes a folded text; returns moments, in order. Numbers are digits or characters (`二〇二四`, `十五`). Years may also count
from a Japanese era. A count of years, months or hours (`3年間`, `两个月`, `5時間`) is not a moment.
"""

from collections.abc import Iterator
from datetime import date
from functools import cache
from typing import Any, NamedTuple

from trueup.grounding.languages import CHARACTERS
from trueup.grounding.moments.clocks import readings, shifted
from trueup.grounding.moments.numeric import is_day
from trueup.grounding.moments.relative import days_away, period_away, units_away, weekday_away
from trueup.grounding.moments.values import Day, Moment, TimeOfDay
from trueup.grounding.moments.words import load, pattern_of
from trueup.verdict.patterns import lazy_regex

_DIGITS = {
    char: at
    for at, chars in enumerate(("〇零○", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九"))
    for char in chars
}
_CHARACTERS = "〇零○一二两兩三四五六七八九十廿卅"
WRITTEN = lazy_regex("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
STRETCH = lazy_regex("[\u3005-\u3007\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]+")


class _Words(NamedTuple):
    days: dict[str, int]
    parts: dict[str, tuple[int, int]]
    points: dict[str, int]
    eras: dict[str, int]
    weekdays: dict[str, int]
    shifts: dict[str, int]
    months: dict[str, int]
    units: dict[str, str]
    later: dict[str, int]


@cache
def _words() -> _Words:
    words = _Words({}, {}, {}, {}, {}, {}, {}, {}, {})
    for language in CHARACTERS:
        data = load(language)
        for name, table in (
            ("days", words.days),
            ("parts", words.parts),
            ("points", words.points),
            ("eras", words.eras),
        ):
            entries: dict[str, Any] = data.get(name, {})
            for written, value in entries.items():
                made: Any = tuple(value) if isinstance(value, list) else value
                table.update(dict.fromkeys(written.split("|"), made))
        for at, written in enumerate(data["weekdays"].split(", ")):
            for char in written.split("|"):
                prefixes = data.get("weekday_prefixes", "").split("|")
                suffixes = data.get("weekday_suffixes", "").split("|")
                words.weekdays.update({p + char + s: at for p in prefixes for s in suffixes if p or s})
        for name, shift in (("next", 1), ("this", 0), ("last", -1)):
            words.shifts.update(dict.fromkeys(data[name].split("|"), shift))
        for name, shift in (("next_month", 1), ("last_month", -1)):
            words.months.update(dict.fromkeys(data[name].split("|"), shift))
        for name in ("day", "week", "month"):
            words.units.update(dict.fromkeys(data[name].split("|"), name))
        for name, sign in (("later", 1), ("before", -1)):
            words.later.update(dict.fromkeys(data[name].split("|"), sign))
    # `下周` + `五`: the weekday prefix is part of the word for the week
    words.weekdays.update({char: at for at, chars in enumerate("一 二 三 四 五 六 日天".split()) for char in chars})
    return words


def _source() -> str:
    words = _words()
    number = rf"(?:\d{{1,2}}|[{_CHARACTERS}]{{1,3}})"
    year = rf"(?:\d{{4}}|[{_CHARACTERS}]{{4}})"
    era = pattern_of(word for word in words.eras if not word.isascii())
    parts, points, days = pattern_of(words.parts), pattern_of(words.points), pattern_of(words.days)
    weekday = pattern_of(word for word in words.weekdays if len(word) > 1)
    single = "[一二三四五六日天]"
    in_brackets = (
        rf"(?: ?[(（]?(?P<weekday>{weekday})[)）]?| ?[(（](?P<sign>[月火水木金土日一二三四五六월화수목금토일])[)）])?"
    )
    apart = rf"(?<![\d{_CHARACTERS}])(?<!\d[.:/])"
    starts = {word[0] for table in words[:7] for word in table if not word.isascii() and len(word) > 1} | {"差"}
    starts |= {word for table in (words.parts, words.days) for word in table if len(word) == 1} - set(_CHARACTERS)
    return rf"(?=[\d{_CHARACTERS}{''.join(sorted(starts))}])(?:" + (
        rf"(?P<shift>{pattern_of(words.shifts)}) ?(?:(?P<shifted>{weekday})|(?P<bare>{single})(?!月|号|个|個|点|點))"
        rf"|(?P<period>{pattern_of(words.months)})"
        rf"|{apart}(?P<count>{number}) ?(?P<unit>{pattern_of(words.units)}) ?(?P<later>{pattern_of(words.later)})(?![一-龥]?[午夕])"
        rf"|(?:(?P<era>{era}) ?(?P<era_year>元|{number}) ?年|{apart}(?P<year>{year}) ?[年년])"
        rf"(?: ?(?P<month>{number}) ?[月월](?: ?(?P<day>{number}) ?[日号號일]?)?)?(?!間|间|度)" + in_brackets +
        rf"|{apart}(?P<month2>{number}) ?[月월](?: ?(?P<day2>{number}) ?(?:[日号號일]|(?![\d点點时時시:年个個])))?"
        + in_brackets.replace("<weekday>", "<weekday2>").replace("<sign>", "<sign2>") +
        rf"|(?P<before>差)(?P<early>一刻|{number}分?)(?P<early_hour>{number})[点點]"
        rf"|(?P<part>{parts})?の? ?{apart}(?P<hour>{number}) ?(?:[点點时時시](?!間|间|간)|(?P<colon>:)(?=\d\d))"
        rf" ?(?:(?P<half>半|반)|(?P<quarter>[一三13])刻|(?P<ago>差一刻)|(?P<minute>{number})(?![\d{_CHARACTERS}]?[月日人个個])(?: ?[分분](?P<back>前)?)?)?"
        rf"(?: ?(?P<second>{number}) ?[秒초])?"
        rf"|{apart}(?P<day3>{number}) ?(?:[号號](?!楼|樓|线|線|店|室|门|館|馆)|日(?!間|间|後|后|前|以|目|曜|本))"
        rf"|(?P<weekday3>(?<![{_CHARACTERS}\d]){weekday})"
        rf"|(?P<point>{points})|(?P<relative>{days})"
    ) + ")"  # fmt: skip


_ANY = lazy_regex(_source)


def number_of(written: str) -> int:
    """The value of a number in digits or characters.

    >>> number_of("二〇二四"), number_of("二十五"), number_of("15"), number_of("十")
    (2024, 25, 15, 10)
    """
    if written.isdecimal() and written.isascii():
        return int(written)
    text = written.replace("廿", "二十").replace("卅", "三十")
    tens, ten, ones = text.partition("十")
    if not ten:
        return int("".join(str(_DIGITS.get(char, 0)) for char in text))
    if "十" in ones or len(tens) > 1 or len(ones) > 1:
        return 99
    return _DIGITS.get(tens, 1) * 10 + _DIGITS.get(ones, 0)


def era_days(written: str) -> tuple[Day, ...]:
    """A day with its era as a letter, such as `r6.3.5`."""
    year, month, day = map(int, written[1:].split("."))
    year += _words().eras[written[0]]
    return (Day(year, month, day),) if is_day(year, month, day) else ()


def moments_of(folded: str, today: date | None) -> Iterator[Moment]:
    """The moments in the characters of these languages."""
    at = 0
    while (match := _ANY.search(folded, at)) is not None:
        got = {name: value for name, value in match.groupdict().items() if value is not None}
        made = next((reader(got, today) for name, reader in _READERS if name in got), None)
        at = max(match.end(), match.start() + 1)
        if made is None or not (made[0] or made[1] or made[2]):
            at = match.start() + 1
            continue
        start, end = match.span()
        while folded[end - 1] == " ":
            end -= 1
        yield Moment(start, end, *made)


_Made = tuple[tuple[Day, ...], tuple[TimeOfDay, ...], bool]


def _date(got: dict[str, str], _today: date | None) -> _Made:
    year: int | None = None
    if "era" in got:
        year = _words().eras[got["era"]] + (1 if got["era_year"] == "元" else number_of(got["era_year"]))
    elif "year" in got:
        year = number_of(got["year"])
    month_written, day_written = got.get("month", got.get("month2")), got.get("day", got.get("day2"))
    month = number_of(month_written) if month_written else None
    day = number_of(day_written) if day_written else None
    if year is not None and not 1 <= year <= 2999:
        return (), (), False
    if month is not None and not (is_day(year, month, day or 1)):
        return (), (), False
    return (Day(year, month, day, _weekday_in(got)),), (), False


def _weekday_in(got: dict[str, str]) -> int | None:
    word = got.get("weekday", got.get("weekday2"))
    if word:
        return _words().weekdays[word]
    sign = got.get("sign", got.get("sign2"))
    if not sign:
        return None
    return next(
        at
        for at, chars in enumerate(("月一월", "火二화", "水三수", "木四목", "金五금", "土六토", "日일"))
        if sign in chars
    )


def _time(got: dict[str, str], _today: date | None) -> _Made:
    hour = number_of(got["hour"])
    part = got.get("part")
    window = _words().parts[part] if part else None
    if got["hour"] == "一" and not part and "half" not in got and "minute" not in got and "quarter" not in got:
        return (), (), False  # `一点` usually means "a little"
    if "colon" in got and not part:
        return (), (), False  # the grammar reads this one
    if hour > 24:
        return (), (), False
    minutes = number_of(got["minute"]) if "minute" in got else 0
    if "half" in got:
        minutes = 30
    elif "quarter" in got:
        minutes = 45 if got["quarter"] in "三3" else 15
    if "ago" in got or "back" in got:
        return (), shifted(hour, -(minutes or 15), window) if minutes < 60 else (), False
    second = number_of(got["second"]) if "second" in got else None
    return (), readings(hour, minutes, second, window), False


def _before(got: dict[str, str], _today: date | None) -> _Made:
    minutes = 15 if got["early"] == "一刻" else number_of(got["early"].rstrip("分"))
    return (), shifted(number_of(got["early_hour"]), -minutes) if 0 < minutes < 60 else (), False


def _shifted(got: dict[str, str], today: date | None) -> _Made:
    weekday = _words().weekdays[got.get("shifted") or got["bare"]]
    return weekday_away(_words().shifts[got["shift"]], weekday, today), (), True


def _count(got: dict[str, str], today: date | None) -> _Made:
    sign = _words().later[got["later"]]
    return units_away(sign * number_of(got["count"]), _words().units[got["unit"]], today), (), True


def _day(got: dict[str, str], _today: date | None) -> _Made:
    day = number_of(got["day3"])
    return ((Day(None, None, day),) if 1 <= day <= 31 else ()), (), False


_READERS = (
    ("shift", _shifted),
    ("period", lambda got, today: (period_away(_words().months[got["period"]], "month", today), (), True)),
    ("count", _count),
    ("era", _date),
    ("year", _date),
    ("month2", _date),
    ("before", _before),
    ("hour", _time),
    ("day3", _day),
    ("weekday3", lambda got, _: ((Day(None, None, None, _words().weekdays[got["weekday3"]]),), (), False)),
    ("point", lambda got, _: ((), (TimeOfDay(_words().points[got["point"]], 0),), False)),
    ("relative", lambda got, today: (days_away(_words().days[got["relative"]], today), (), True)),
)
