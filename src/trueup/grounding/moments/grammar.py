r"""How words and numbers make dates and times: one pattern over the signs of `lexing.py`, and a reader per branch.

Takes the line of a text; returns moments, in order. These signs come before a token:
`_` space, `,` comma, `.` dot, `/` of, `-` until, `=` a hyphen without spaces, `<` to, `&` and, `+` plus, `~` minus,
`>` past, `{` before, `}` past or in, `@` at, `2` `9` the, `2` `^` on, `3` `#` the day (joined to a token, or after more
text), `4` in, `5` in a, `6` ago, `7` las, `8` since.
The kinds of tokens are in `words.py`. Digits have these kinds: `n` 1–31, `z` another number below 100, `o` 5th, `y` 4
digits that can be a year, `F` four other digits, `q` '24, `D` date, `d` 3/5, `e` 5.3, `E` month and year, `T` time,
`I` both, `i` a Japanese era, `j` none of these.
"""

from collections.abc import Callable
from datetime import date

from trueup.grounding.moments.clocks import Window, readings, shifted
from trueup.grounding.moments.lexing import LexedText, MomentToken, day_of, days_of
from trueup.grounding.moments.numeric import centuries, is_day
from trueup.grounding.moments.relative import days_away, period_away, units_away, weekday_away
from trueup.grounding.moments.values import Day, Moment, TimeOfDay
from trueup.verdict.patterns import lazy_regex

_DAY = "[noQw]"
_MONTH = "[MmxsG]"
_WEEKDAY = "(?:[WvV][_,.23]|x[_,.23](?=[no][_/.]))?"
_YEAR = r"(?:[_,/.=](?:u[_/])?[yq](?![_][LU]))?"
_PART = "(?:[_,]p)?"
_HOUR = "[nws]"
_BESIDE = 8  # the most characters between a weekday and its time: "Do um 9"

_RULES = (
    # dates
    ("range_before", rf"{_WEEKDAY}{_DAY}[\-=<+&]{_DAY}[_/.]{_MONTH}{_YEAR}"),
    ("day_month", rf"{_WEEKDAY}{_DAY}(?:_u(?=/))?[_/.=]{_MONTH}(?:[_,/.=](?:u[_/])?[yq](?!_[LU])|[=_.][nz](?![_.,]?[pULuMmN]|[\-=<>{{}}]))?"),
    ("range_after", rf"{_WEEKDAY}{_MONTH}[_2.][noQ][\-=<+&][noQ](?!_[pUMm]){_YEAR}"),
    ("month_day", rf"{_WEEKDAY}{_MONTH}[_2.=][noQ](?!_[UMm]){_YEAR}"),
    ("month_year", rf"{_MONTH}[_,/.=][yq]"),
    ("year_month", rf"y[_,.=/]{_MONTH}(?:[_.=][no](?!_[Up]))?"),
    ("spaced", r"[n]\.n\.y"),
    ("numbers", rf"{_WEEKDAY}[DE]"),
    ("numbers", r"[WvVx][_,.23]d|(?<=[\^#234])[de](?!_[Up])|d(?=[_,@]T)|(?<=@)d|d(?=[\-=][dD])|(?<=[dD][\-=])d|[WvVx][_,.23]e(?!_[Up])"),
    ("both", "I"),
    ("era", "i"),
    # times
    ("to_half", rf"(?:K|[nw](?:_u)?)[>{{}}][hH]_{_HOUR}{_PART}"),
    ("to_hour", rf"(?:(?:K|w|[nw]_u)[<>{{}}]|n[>{{}}]){_HOUR}(?:_U)?{_PART}"),
    ("half_past", rf"H[>]{_HOUR}(?:_U)?{_PART}"),
    ("half", rf"[hH]_{_HOUR}(?:_U)?{_PART}"),
    ("hour_and", rf"[nwse](?:_U)?[+~][JKZ]{_PART}"),
    ("hour_minute", rf"[nwsz]_U[_+~][nwzs]{_PART}|(?<=[@7])[nws][+~][nwz](?!_[uMm]){_PART}|w_[wz]{_PART}"),
    ("hours", rf"[nwseT](?:_U)?{_PART}[\-=<&][nwseT](?:_U)?[_,]p|[nwseT][\-=<][nwseT]_U|(?<=[@])[nwT][\-=<&@][nwT](?!_[uLMm])"),
    ("hour", rf"T(?:_U)?{_PART}|[nwse](?:_U)?[_,]p|[nwsez]_U|(?<=[@{{])[nwse](?!_[uLMmj]|/[Mm])"),
    ("military", "[yF]_[LU]|(?<=@)[yF]"),
    ("point", "(?:[nw]_)?N"),
    # relative ones
    ("shifted_weekday", "X[_/][WvV]|[Wv]_X"),
    ("shifted_unit", "X_u|u_X"),
    ("units_ago", "(?:[nw]_)?u_[AG]|(?<=[6{])[nw]_u"),
    ("units_ahead", "[nw]_u_B|(?<=[4}])[nw]_u|(?<=5)u"),
    ("relative", "R"),
    # the rest, if nothing else is next to it
    ("weekday_day", "[Wv][_,]o(?!_u)"),
    ("weekday", "W|v|(?<=[\\^#3])[Vx]|[Vx](?=@[TnwI])"),
    ("month", "M"),
    ("year", r"(?<=[48])y|(?<=u[_/])y"),
    ("day", r"(?<=[\^2#39])o(?!_u)|(?<=[#3])n(?!_[uUpLj])"),
)  # fmt: skip

_GRAMMAR = lazy_regex(
    lambda: (
        "(?=[A-Za-z])(?![jpULABJZ])(?:"
        + "|".join(f"(?P<{name}_{at}>{source})" for at, (name, source) in enumerate(_RULES))
        + ")"
    )
)


class MatchedTokens:
    """The tokens of one match by kind, with the day from which relative words count."""

    def __init__(self, tokens: list[MomentToken], cue: str, text: str, today: date | None) -> None:
        self.tokens, self.cue, self.text, self.today = tokens, cue, text, today

    def of(self, kinds: str) -> list[MomentToken]:
        return [token for token in self.tokens if token.kind in kinds]

    @property
    def window(self) -> Window | None:
        return next((token.value for token in self.tokens if token.kind == "p"), None)

    def moment(
        self, dates: tuple[Day, ...], times: tuple[TimeOfDay, ...] = (), *, relative: bool = False
    ) -> list[Moment]:
        if not (dates or times or relative):
            return []
        return [Moment(self.tokens[0].start, self.tokens[-1].end, dates, times, relative)]

    def ends(
        self, first: MomentToken, readings_of: Callable[[MomentToken], tuple[list[Day], list[TimeOfDay]]]
    ) -> list[Moment]:
        """Both ends of a range: the first moment ends at its own token, the second starts at the next one."""
        second = self.tokens[self.tokens.index(first) + 1]
        if second.kind in "Up":
            second = next(token for token in self.tokens[self.tokens.index(first) + 1 :] if token.kind not in "Up")
        spans = ((self.tokens[0].start, first.end, first), (second.start, self.tokens[-1].end, second))
        made = []
        for start, end, token in spans:
            dates, times = readings_of(token)
            if not (dates or times):
                return []
            made.append(Moment(start, end, tuple(dates), tuple(times)))
        return made


def parse(line: LexedText, text: str, today: date | None) -> list[Moment]:
    """The moments of a text that is split into tokens."""
    found: list[Moment] = []
    at = 0
    while (match := _GRAMMAR.search(line.signs, at)) is not None:
        start, at = match.span()
        name = (match.lastgroup or "").rpartition("_")[0]
        part = MatchedTokens(line.tokens[start // 2 : (at + 1) // 2], line.signs[start - 1], text, today)
        moments = (
            [] if name == "weekday" and _only_seems_one(part, line.tokens, (at + 1) // 2) else _READERS[name](part)
        )
        if not moments:
            at = start + 1
        found += moments
    return found


def _only_seems_one(found: MatchedTokens, tokens: list[MomentToken], after: int) -> bool:
    """Whether this is a rare word for a weekday without a time right after it: `I do need it at 5:30`."""
    token = found.tokens[0]
    return token.kind in "Vx" and found.cue not in "^#3" and tokens[after].start - token.end > _BESIDE


def _weekday(found: MatchedTokens, months: list[MomentToken]) -> int | None:
    token = found.tokens[0]
    if token in months or token.lexeme is None:
        return None
    return token.lexeme.means.get("weekday")


def _years(found: MatchedTokens) -> tuple[int | None, ...]:
    for token in found.tokens:
        if token.kind == "y":
            return (token.value,)
        if token.kind == "q":
            return centuries(token.value)
    return (None,)


def _month_token(found: MatchedTokens) -> MomentToken:
    """The token of the month, the last possible one after a weekday: `mar. 5 mars`."""
    return found.of("MmxsG")[-1] if found.tokens[0].kind == "x" else found.of("MmxsG")[0]


def _month_and_days(found: MatchedTokens, day: int, years: tuple[int | None, ...], token: MomentToken) -> list[Day]:
    assert token.lexeme is not None
    month, weekday = token.lexeme.means["month"], _weekday(found, [token])
    return [Day(year, month, day, weekday) for year in years if is_day(year, month, day)]


def _only_a_verb(found: MatchedTokens, token: MomentToken) -> bool:
    """Whether a month's name is a verb: `you may 5`, in lower case without an ordinal, a year, a weekday or a cue."""
    if token.lexeme is None or not token.lexeme.verb or not found.text[token.start].islower():
        return False
    return found.cue not in "^#239@4/,-=" and not found.of("yqoQWvV")


def _one_day(found: MatchedTokens) -> list[Moment]:
    token = _month_token(found)
    numbers = [other for other in found.of("noQwz") if other is not token]
    if _only_a_verb(found, token) or not numbers:
        return []
    years = _years(found)
    if len(numbers) == 2:  # `5 Mar 24`: a year, or the start of something else
        years = (*centuries(numbers[1].value), None)
    return found.moment(tuple(_month_and_days(found, day_of(numbers[0]), years, token)))


def _day_range(found: MatchedTokens) -> list[Moment]:
    token = _month_token(found)
    numbers = [other for other in found.of("noQw") if other is not token]
    years = _years(found)
    if _only_a_verb(found, token):
        return []
    return found.ends(numbers[0], lambda number: (_month_and_days(found, day_of(number), years, token), []))


def _month_and_year(found: MatchedTokens) -> list[Moment]:
    token = _month_token(found)
    assert token.lexeme is not None
    month = token.lexeme.means["month"]
    if days := found.of("no"):
        return found.moment(tuple(_month_and_days(found, day_of(days[0]), _years(found), token)))
    return found.moment(tuple(Day(year, month, None) for year in _years(found)))


def _spaced(found: MatchedTokens) -> list[Moment]:
    day, month, year = (token.value for token in found.tokens)
    return found.moment((Day(year, month, day),) if is_day(year, month, day) else ())


def _numbers(found: MatchedTokens) -> list[Moment]:
    token = found.tokens[-1]
    days = days_of(token)
    weekday = _weekday(found, [token]) if len(found.tokens) > 1 else None
    if weekday is not None:
        days = tuple(day._replace(weekday=weekday) for day in days)
    return found.moment(days)


def _both(found: MatchedTokens) -> list[Moment]:
    hour, minute, second, _ = found.tokens[0].value[1]
    return found.moment(days_of(found.tokens[0]), readings(hour, minute, second, exact=True))


def _era(found: MatchedTokens) -> list[Moment]:
    from trueup.grounding.moments.han import era_days

    token = found.tokens[0]
    return found.moment(era_days(token.value)) if found.text[token.start].isupper() else []


def _minutes(token: MomentToken) -> int:
    return {"K": 15, "J": 30, "Z": 45}.get(token.kind) or day_of(token)


def _sign(found: MatchedTokens, before: MomentToken, after: MomentToken, earlier: tuple[str, ...] = ("<", "{")) -> int:
    """Whether the words between two tokens subtract the minutes."""
    from trueup.grounding.moments.folding import fold
    from trueup.grounding.moments.words import vocabulary

    gap = found.text[before.end : after.start].strip().lower()
    joined = vocabulary().joined
    return -1 if (joined.get(gap) or joined.get(fold(gap)[0], "")) in earlier else 1


def _to_hour(found: MatchedTokens) -> list[Moment]:
    tokens = [token for token in found.tokens if token.kind not in "Up"]
    minutes = _minutes(tokens[0]) * _sign(found, tokens[-2], tokens[-1])
    return found.moment((), shifted(day_of(tokens[-1]), minutes, found.window) if minutes < 60 else ())


def _to_half(found: MatchedTokens) -> list[Moment]:
    tokens = [token for token in found.tokens if token.kind != "p"]
    minutes = _minutes(tokens[0]) * _sign(found, tokens[-3], tokens[-2])
    return found.moment((), shifted(day_of(tokens[-1]), minutes - 30, found.window) if abs(minutes) < 30 else ())


def _half(found: MatchedTokens) -> list[Moment]:
    half, hour = found.tokens[0], found.tokens[1]
    assert half.lexeme is not None
    before = half.lexeme.means.get("half_before", 30)
    times = shifted(day_of(hour), -before, found.window)
    if "half" in half.lexeme.means and (hour.lexeme is None or "en" in hour.lexeme.languages):  # British `half five`
        after = shifted(day_of(hour), 30, found.window)
        times = after if hour.lexeme is not None else times + after
    return found.moment((), times)


def _half_past(found: MatchedTokens) -> list[Moment]:
    return found.moment((), shifted(day_of(found.tokens[1]), 30, found.window))


def _hour_and(found: MatchedTokens) -> list[Moment]:
    tokens = found.tokens
    last = next(at for at, token in enumerate(tokens) if token.kind in "JKZ")
    minutes = _minutes(tokens[last]) * _sign(found, tokens[last - 1], tokens[last], ("~",))
    return found.moment((), shifted(day_of(tokens[0]), minutes, found.window)) if tokens[0].kind != "e" else []


def _hour_minute(found: MatchedTokens) -> list[Moment]:
    tokens = [token for token in found.tokens if token.kind != "p"]
    hour, minute = day_of(tokens[0]), day_of(tokens[-1])
    spoken = tokens[-2].kind != "U" and not found.text[tokens[0].end : tokens[-1].start].strip(" -\n")
    if minute > 59 or (spoken and (minute < 10 or not 1 <= hour <= 12)):
        return []
    return found.moment((), shifted(hour, minute * _sign(found, tokens[-2], tokens[-1], ("~",)), found.window))


def _times(token: MomentToken, window: Window | None) -> list[TimeOfDay]:
    if token.kind in "eT":
        clock = token.value[1] if token.kind == "e" else token.value
        if clock is None:
            return []
        hour, minute, second, exact = clock
        return list(readings(hour, minute, second, window, exact=exact))
    hour = day_of(token)
    return list(readings(hour, 0, window=window)) if hour <= 24 else []


def _hour(found: MatchedTokens) -> list[Moment]:
    return found.moment((), tuple(_times(found.tokens[0], found.window)))


def _hours(found: MatchedTokens) -> list[Moment]:
    numbers = found.of("nwseT")
    if len(found.of("p")) == 2:
        first = found.tokens.index(numbers[1])
        return _hour(MatchedTokens(found.tokens[:first], "", found.text, found.today)) + _hour(
            MatchedTokens(found.tokens[first:], "", found.text, found.today)
        )
    made = found.ends(numbers[0], lambda token: ([], _times(token, found.window)))
    if made and found.window and made[0].times[0].hour > made[1].times[0].hour:  # `11–1 pm` starts in the morning
        made[0] = made[0]._replace(times=tuple(_times(numbers[0], None)))
    return made


def _military(found: MatchedTokens) -> list[Moment]:
    number = found.tokens[0].value
    times = readings(number // 100, number % 100, exact=True)
    year = found.tokens[0].kind == "y" and len(found.tokens) == 1 and 1900 <= number < 2100
    return found.moment((Day(number, None, None),) if year else (), times)


def _point(found: MatchedTokens) -> list[Moment]:
    token = found.of("N")[0]
    return found.moment((), (TimeOfDay(token.value, 0),))


def _shifted_weekday(found: MatchedTokens) -> list[Moment]:
    shift = found.of("X")[0].value
    name = found.of("WvV")[0]
    return found.moment(weekday_away(shift, name.value, found.today), relative=True)


def _shifted_unit(found: MatchedTokens) -> list[Moment]:
    unit = found.of("u")[0].value
    if unit == "other":
        return []
    return found.moment(period_away(found.of("X")[0].value, unit, found.today), relative=True)


def _units(found: MatchedTokens, sign: int) -> list[Moment]:
    unit = found.of("u")[0].value
    counts = found.of("nw")
    if unit == "other":
        return []
    return found.moment(units_away(sign * (day_of(counts[0]) if counts else 1), unit, found.today), relative=True)


def _relative(found: MatchedTokens) -> list[Moment]:
    return found.moment(days_away(found.tokens[0].value, found.today), relative=True)


def _weekday_alone(found: MatchedTokens) -> list[Moment]:
    token = found.tokens[0]
    assert token.lexeme is not None
    if token.kind == "v" and not found.text[token.start].isupper() and found.cue not in "^#3":
        return []
    return found.moment((Day(None, None, None, token.lexeme.means["weekday"]),))


def _weekday_and_day(found: MatchedTokens) -> list[Moment]:
    name, day = found.tokens
    assert name.lexeme is not None
    return found.moment((Day(None, None, day_of(day), name.lexeme.means["weekday"]),))


def _month_alone(found: MatchedTokens) -> list[Moment]:
    return found.moment((Day(None, found.tokens[0].value, None),))


def _year(found: MatchedTokens) -> list[Moment]:
    return found.moment((Day(found.tokens[0].value, None, None),))


def _day(found: MatchedTokens) -> list[Moment]:
    return found.moment((Day(None, None, day_of(found.tokens[0])),))


_READERS: dict[str, Callable[[MatchedTokens], list[Moment]]] = {
    "range_before": _day_range, "day_month": _one_day, "range_after": _day_range, "month_day": _one_day,
    "month_year": _month_and_year, "year_month": _month_and_year, "spaced": _spaced, "numbers": _numbers, "both": _both,
    "era": _era, "to_half": _to_half, "to_hour": _to_hour, "half_past": _half_past, "half": _half, "hour_and": _hour_and,
    "hour_minute": _hour_minute, "hours": _hours, "hour": _hour, "military": _military, "point": _point,
    "shifted_weekday": _shifted_weekday, "shifted_unit": _shifted_unit, "units_ago": lambda found: _units(found, -1),
    "units_ahead": lambda found: _units(found, 1), "relative": _relative, "weekday": _weekday_alone, "weekday_day": _weekday_and_day, "month": _month_alone,
    "year": _year, "day": _day,
}  # fmt: skip
