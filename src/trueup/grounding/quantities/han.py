"""Numbers in Chinese, Japanese and Korean characters, alone or mixed with figures: 三百二十, 3億5000万, 二〇二四.

Takes a text and a place; returns the end of the number and its readings. A run has a fixed maximum length, so that no
text can produce numbers of unbounded size.
"""

from functools import cache
from typing import NamedTuple

from trueup.grounding.quantities.notation import canonical, joined, latin, plus, quotient, shifted
from trueup.grounding.quantities.units import names
from trueup.grounding.quantities.vocabulary import characters, hangul
from trueup.verdict.patterns import lazy_regex

_MOST = 40  # the most characters or figures of one number
_DIGITS = 30  # the most digits of a figure inside it


class HanNumber(NamedTuple):
    end: int
    values: tuple[str, ...]
    unit: str  # "%" if the characters mean that


@cache
def tables() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """The digits, the powers of ten and the other numbers of all characters."""
    known = characters()
    digits, powers = hangul()
    return {**known.digits, **digits}, {**known.powers, **powers}, known.tens


@cache
def continuing() -> frozenset[str]:
    """The characters after a figure that continue the number: 3億, 4割."""
    return frozenset([*tables()[1], *characters().tenths])


def _run_source() -> str:
    digits, powers, tens = tables()
    signs = "".join([*digits, *powers, *tens])
    figure = rf"\d{{1,{_DIGITS}}}+(?:,\d{{3}}(?!\d))*+(?:\.\d{{1,{_DIGITS}}}+)?"
    return rf"(?:{figure}|[{signs}]){{1,{_MOST}}}+"


def _piece_source() -> str:
    digits, powers, tens = tables()
    signs = "".join([*powers, *tens])
    return rf"([\d.,]+)|([{''.join(digits)}]+)|([{signs}])"


def _start_source() -> str:
    known = characters()
    return f"[{''.join([*known.digits, *known.powers, *known.tens, *known.half])}]"


def _literal_source() -> str:
    return "|".join(sorted(characters().literal, key=len, reverse=True))


def _hangul_source() -> str:
    """A pattern for Korean, where digits are also syllables of words: a power of ten next to a digit or a unit."""
    digits, powers = hangul()
    both = "".join([*digits, *powers])
    return f"[{both}](?<![가-힣].)(?:(?<=[{''.join(powers)}])(?=[{both}원개명년])|(?=[{''.join(powers)}]))"


_ANY = lazy_regex("[\u3005-\u9fff가-힣]")
_HANGUL = lazy_regex("[가-힣]")
_STARTS = lazy_regex(_start_source)
_LITERALS = lazy_regex(_literal_source)
_HANGUL_STARTS = lazy_regex(_hangul_source)


def starts(text: str) -> list[int]:
    """The places where a number may start, in order."""
    if not _ANY.search(text):
        return []
    found = [match.start() for match in _STARTS.finditer(text)]
    others = [match.start() for match in _LITERALS.finditer(text)]
    if _HANGUL.search(text):
        others += [match.start() for match in _HANGUL_STARTS.finditer(text)]
    return sorted({*found, *others}) if others else found


@cache
def lonely() -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """The readings of each digit, and every character that may continue a number after it."""
    digits, powers, tens = tables()
    known = characters()
    marks = [*known.tenths, *known.part, *known.point, *known.half, *known.measure, *names().glued, *names().exact]
    more = {*digits, *powers, *tens, *(mark[0] for mark in marks), *"0123456789 -"}
    return {glyph: (str(value),) for glyph, value in known.digits.items()}, frozenset(more)


_RUN = lazy_regex(_run_source)
_PIECE = lazy_regex(_piece_source)


def read_run(text: str, start: int) -> HanNumber | None:
    """The number at a place, with the characters after it that belong to it; None if there is none.

    >>> read_run("3億5000万", 0).values, read_run("百分之四十五", 0)
    (('350000000',), HanNumber(end=6, values=('45',), unit='%'))
    """
    known = characters()
    for marks, unit in ((known.percent, "%"), (known.permille, "‰")):
        if text.startswith(marks, start):
            size = next(len(mark) for mark in marks if text.startswith(mark, start))
            run = _RUN.match(text, start + size)
            return HanNumber(*_decimals(text, run.end(), _values(run[0])), unit) if run else None
    if text.startswith(known.half, start):
        return HanNumber(start + 1, ("0.5",), "")
    run = _RUN.match(text, start)
    if run is None:
        return _literal(text, start)
    end, values = _decimals(text, run.end(), _values(run[0]))
    if text.startswith(known.part, end):
        below = _RUN.match(text, end + 2)
        if below and (made := _fraction(values[0], _values(below[0])[0])):
            return HanNumber(below.end(), (made,), "")
    return _tenths(text, end, values)


def _literal(text: str, start: int) -> HanNumber | None:
    known = characters().literal
    for size in (4, 3, 2):
        if (value := known.get(text[start : start + size])) is not None:
            return HanNumber(start + size, (str(value),), "")
    return None


def _fraction(below: str, above: str) -> str | None:
    if not (below.isdigit() and above.isdigit()) or len(below) > 15 or len(above) > 15 or below == "0":
        return None
    return quotient(int(above), int(below))


def _decimals(text: str, end: int, values: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """The decimals after 点: 三点五, 一点五万."""
    known = characters()
    if not text.startswith(known.point, end):
        return end, values
    run = _RUN.match(text, end + 1)
    if run is None:
        return end, values
    piece = _PIECE.match(run[0])
    if piece is None or piece.lastindex != 2:
        return end, values
    figures = "".join(str(tables()[0][glyph]) for glyph in piece[0])
    value, after = joined(values[0], figures), end + 1 + piece.end()
    while (power := tables()[1].get(text[after : after + 1])) and after < end + _MOST:
        value, after = shifted(value, power), after + 1
    # 三点五 also means half past three
    return after, (value,)


def _tenths(text: str, end: int, values: tuple[str, ...]) -> HanNumber:
    """4割5分 is 45 %."""
    known = characters()
    if text[end : end + 1] not in known.tenths or not text[end : end + 1]:
        return HanNumber(end, values, "")
    made, end = tuple(shifted(value, 1) for value in values), end + 1
    if (more := _RUN.match(text, end)) and text[more.end() : more.end() + 1] == "分":
        made, end = tuple(plus(value, _values(more[0])[0]) for value in made), more.end() + 1
    return HanNumber(end, made, "%")


def _values(run: str) -> tuple[str, ...]:
    """The readings of a run of characters and figures, computed as whole numbers of the last decimal place."""
    digits, powers, tens = tables()
    places = (
        max((len(figure.partition(".")[2]) for figure in run.split() if "." in figure), default=0) if "." in run else 0
    )
    one = 10 ** min(places, _DIGITS * _MOST)
    total = section = last = 0
    number = ""
    for piece in _PIECE.finditer(run):
        if piece.lastindex == 1:
            number += piece[0].replace(",", "")
        elif piece.lastindex == 2:
            number += "".join([str(digits[glyph]) for glyph in piece[0]])
        elif piece[0] in tens:
            section += tens[piece[0]] * one
        else:
            power = powers[piece[0]]
            if power < 4:
                section += (_whole(number, places) if number else one) * 10**power
            else:
                section += _whole(number, places)
                # 3億5000万 adds, 一万亿 multiplies everything
                if last >= 4 and power > last:
                    total = (total + section) * 10**power
                else:
                    total += (section or one) * 10**power
                section = 0
            number, last = "", power
    whole = total + section
    value = shifted(canonical(whole + _whole(number, places)), -places)
    if len(number) == 1 and last >= 2 and number != "0":  # 三万五 is 35000
        return value, shifted(canonical(whole + int(number) * one * 10 ** (last - 1)), -places)
    return (value,)


def _whole(figure: str, places: int) -> int:
    """A figure as a whole number of its last decimal place."""
    if not figure:
        return 0
    before, _, behind = latin(
        figure.replace(".", "", figure.count(".") - 1) if figure.count(".") > 1 else figure
    ).partition(".")
    return int(before + behind[:places].ljust(places, "0"))
