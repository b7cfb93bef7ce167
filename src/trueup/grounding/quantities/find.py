"""Numbers, amounts and measures: takes any text; returns spans with every plausible reading.

One scan each finds figures in any notation, words and characters, in linear time. Quantities may overlap: `3/4` is 0.75
as well as 3 and 4. Lookups need every candidate, so doubtful numbers are included; `words` marks those that may be
ordinary words. This module never raises.
"""

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from trueup.grounding.quantities import affixes, han
from trueup.grounding.quantities.compose import together
from trueup.grounding.quantities.notation import canonical as canonical
from trueup.grounding.quantities.notation import figures, joined, latin, negated, plus, quotient, shifted
from trueup.grounding.quantities.units import names
from trueup.grounding.quantities.vocabulary import characters
from trueup.grounding.quantities.words import spoken_numbers
from trueup.verdict.patterns import lazy_regex


class Quantity(NamedTuple):
    """A number in a text, with its unit."""

    start: int
    end: int
    values: tuple[str, ...]  # canonical decimals, most likely first
    unit: str
    words: bool


_CHAIN = r"\d++(?:[.,'’٫٬]\d++|(?<=[０-９])[．，](?=[０-９])\d++)*+"
# Digits, and a lookahead: punctuation, or a word, which ends the number unless it is a known one.
_DIGITS = lazy_regex(rf"{_CHAIN}(?:(?={affixes.STOP})|(?= {affixes.WORD})|)")
_PLAIN_FIGURES = frozenset("0123456789.,")
_SPACES = " \u00a0\u202f\u2009"
_GROUPS = lazy_regex(rf"\d{{1,3}}([{_SPACES}])\d{{3}}(?!\d)(?:\1\d{{3}}(?!\d))*+(?:[.,](\d++))?")
_POWER = lazy_regex(r"[eE]([+-]?\d{1,3})(?!\w)|\s?[×x*·]\s?10(?:\^([+−-]?\d{1,3})(?!\d)|([⁻]?[⁰¹²³⁴-⁹]{1,3}))")
_OF_TEN = lazy_regex(r"10(?:\^([+−-]?\d{1,3})(?!\d)|([⁻]?[⁰¹²³⁴-⁹]{1,3}))")
_FRACTION = lazy_regex(r"(\d{1,6})[/⁄](\d{1,6})(?![\d/⁄])")
_MIXED = lazy_regex(r"(\d{1,6})[ \u00a0-](\d{1,3})[/⁄](\d{1,3})(?![\d/⁄])")
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_VULGARS = lazy_regex(f"[{_VULGAR}]")
_POWER_SIGNS = frozenset("eE×x*·^⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_UNRAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
_ACCOUNTS = frozenset("),-")
_LETTERS, _CHARACTERS = "@", "\u3000"
_OPENINGS = frozenset(" \t\n(-−+$€£¥[:=")
_EVERY_TIME = frozenset({"h", "d", "wk", "mo", "a", "min", "kg", "km", "L", "t", "lb", "mi"})


def quantities(text: str) -> list[Quantity]:
    """Every number, amount and measure of a text, in order of their starts.

    >>> [(q.values, q.unit) for q in quantities("2 kg for €1.234,50, about twenty percent")]
    [(('2',), 'kg'), (('1234.5',), 'EUR'), (('20',), '%')]
    """
    found = list(_in_figures(text))
    if not text.isascii():
        found += _in_signs(text, [(q.start, q.end) for q in found])
    found += _in_words(text, [(q.start, q.end) for q in found])
    found.sort()
    return together(text, found)


def _in_figures(text: str) -> Iterator[Quantity]:
    """Numbers that start with a figure."""
    done = 0
    powers = han.continuing() if not text.isascii() else ""
    meaningful, noisy, prefixes = affixes.meaningful(), affixes.noisy(), affixes.last_of_prefixes()
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        if start < done:
            continue
        chain = match[0]
        if powers and text[end : end + 1] in powers and end - start <= 30:
            run = _characters(text, start, words=False)
            if run is not None:
                yield run
                done = run.end
                continue
        stop = match.lastindex
        alone = (stop == 1 or (stop == 2 and match[2].lower() not in meaningful)) and (
            not start
            or (before := text[start - 1]) not in noisy
            or (before == " " and text[start - 2 : start - 1] not in prefixes)
        )
        if chain.isdecimal():
            if alone:
                yield Quantity(start, end, (joined(chain),), "", words=False)
                continue
            for quantity, after_it in _digits(text, start, end, chain):
                yield quantity
                done = after_it
        elif alone and text[end : end + 1] != ")" and _PLAIN_FIGURES.issuperset(chain):
            for figure in figures(chain):
                yield Quantity(start + figure.start, start + figure.end, figure.values, "", words=False)
            done = end
        else:
            for figure in figures(chain):
                quantity, done = _figure(
                    text, start + figure.start, start + figure.end, figure.values, amount=figure.amount
                )
                yield quantity


def _digits(text: str, start: int, end: int, chain: str) -> Iterator[tuple[Quantity, int]]:
    """Digits without separators and the number that they belong to, and where the next number may start."""
    after = text[end : end + 1]
    grouped = _GROUPS.match(text, start) if after and after in _SPACES and end - start <= 3 else None
    if grouped:
        whole = grouped[0] if not grouped[2] else grouped[0][: -len(grouped[2]) - 1]
        value = joined("".join([c for c in whole if c.isdecimal()]), grouped[2] or "")
        yield _figure(text, start, grouped.end(), (value,), amount=True)[0], grouped.end()
        if grouped[2] or grouped[1] != " " or grouped.end() - start > 7:
            return
    if after and after in "/⁄ \u00a0-":
        for quantity in _fractions(text, start, chain):
            yield quantity, end
    yield _figure(text, start, end, (joined(chain),), amount=False)


def _fractions(text: str, start: int, chain: str) -> Iterator[Quantity]:
    """3/4 and 1 3/4, unless they are part of a date."""
    if len(chain) > 6 or (start and text[start - 1] in "/⁄"):
        return
    if match := _FRACTION.match(text, start):
        above, below = int(match[1]), int(match[2])
        if below:
            yield _figure(text, start, match.end(), (quotient(above, below),), amount=False)[0]
    elif (match := _MIXED.match(text, start)) and 0 < int(match[2]) < int(match[3]):
        value = quotient(int(match[1]) * int(match[3]) + int(match[2]), int(match[3]))
        yield _figure(text, start, match.end(), (value,), amount=False)[0]


def _figure(text: str, start: int, end: int, values: tuple[str, ...], *, amount: bool) -> tuple[Quantity, int]:
    """A number in figures with the text around it, and where the next number may start."""
    after = text[end : end + 1]
    if after in _POWER_SIGNS or (after == " " and text[end + 1 : end + 2] in "×x*·"):
        end, values = _powered(text, start, end, values)
        after = text[end : end + 1]
    elif after and (after in _VULGAR or (after == " " and text[end + 1 : end + 2] in _VULGAR and end + 1 < len(text))):
        end += 1 + (after == " ")
        values = tuple(plus(value, canonical(unicodedata.numeric(text[end - 1]))) for value in values)
    if (
        start
        and text[start - 1] == "."
        and (start == 1 or text[start - 2] in _OPENINGS)
        and values[0].isdigit()
        and not amount
    ):
        values, start = (joined("", latin(text[start:end])),) if text[start:end].isdecimal() else values, start - 1
    left = affixes.before(text, start)
    if not left.unit and start and _LETTERS < text[start - 1] < _CHARACTERS and text[start - 1].isalpha():
        right = affixes.Behind(end, (), "", half=False)  # B2B
    else:
        right = affixes.behind(text, end, money=bool(left.unit))
    if not (left.unit or left.negative or right.end > end or after in _ACCOUNTS):
        return Quantity(left.start, end, values, "", words=False), end
    quantity = _assembled(text, left, right, values, words=False)
    quantity = _accounted(text, quantity, amount=amount or bool(left.unit))
    return quantity, max(end, quantity.end if right.powers or right.unit else end)


def _assembled(
    text: str, left: affixes.Prefix, right: affixes.Behind, values: tuple[str, ...], *, words: bool
) -> Quantity:
    """The readings of a number with its sign, power of ten, half and unit."""
    end = right.end
    if right.half:
        values = tuple(plus(value, "0.5") for value in values)
    values = affixes.scaled(values, right.powers, plain=right.plain)
    unit = right.unit if not left.unit or right.unit in names().money else left.unit
    if unit in _EVERY_TIME and text.startswith("半", end):
        values, end = tuple(plus(value, "0.5") for value in values), end + 1
    if left.negative:
        negative = tuple(negated(value) for value in values)
        values = (*negative, *values) if left.bullet else negative
    return Quantity(left.start, end, values, unit, words)


def _accounted(text: str, found: Quantity, *, amount: bool) -> Quantity:
    """A negative amount as in bookkeeping: (1,234.50), 1,234.50-; also 12,- for a whole price."""
    after = text[found.end : found.end + 1]
    if after == ")" and amount and found.start and text[found.start - 1] == "(" and found.values[0][0] != "-":
        negative = tuple(negated(value) for value in found.values)
        clear = bool(found.unit) or "." in found.values[0]
        values = (*negative, *found.values) if clear else (*found.values, *negative)
        return found._replace(start=found.start - 1, end=found.end + 1, values=values)
    if after == "-" and amount and found.values[0][0] != "-" and not text[found.end + 1 : found.end + 2].strip():
        return found._replace(end=found.end + 1, values=(*(negated(value) for value in found.values), *found.values))
    if after == "," and text[found.end + 1 : found.end + 2] in {"-", "–", "—"}:
        end = found.end + 2
        right = affixes.behind(text, end, money=bool(found.unit))
        return found._replace(end=right.end if right.unit else end, unit=found.unit or right.unit)
    return found


def _powered(text: str, start: int, end: int, values: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """4.2e9, 3×10^5 and 10⁶."""
    match = _POWER.match(text, end)
    if match is None and text[start:end] == "10":
        match, values = _OF_TEN.match(text, start), ("1",)
        if match is None:
            return end, ("10",)
    if match is None:
        return end, values
    power = int(match[match.lastindex or 1].translate(_UNRAISED))
    return match.end(), tuple(shifted(value, power) for value in reversed(values))


def _in_signs(text: str, covered: list[tuple[int, int]]) -> Iterator[Quantity]:
    """Numbers that start with a character or a fraction sign."""
    free = _Free(text, covered)
    done = 0
    single, more = han.lonely()
    for start in han.starts(text):
        if start < done or not free(start):
            continue
        if (
            (values := single.get(text[start]))
            and (after := text[start + 1 : start + 2]) not in more
            and not after.isdecimal()
        ):
            yield Quantity(start, start + 1, values, "", words=True)
            continue
        found = _characters(text, start, words=True)
        if found is not None:
            yield found
            done = found.end
    ends = {end for _, end in covered}
    for match in _VULGARS.finditer(text):
        if not any(match.end() + gap in ends for gap in range(3)) or not text[match.start() - 1 : match.start()].strip(
            " "
        ):
            value = canonical(unicodedata.numeric(match[0]))
            yield _figure(text, match.start(), match.end(), (value,), amount=False)[0]


class _Free:
    """Whether a place is outside all spans. Places must be given in ascending order."""

    def __init__(self, text: str, spans: list[tuple[int, int]]) -> None:
        self._spans = iter([*sorted(spans), (len(text) + 1, len(text) + 1)])
        self._span = next(self._spans)

    def __call__(self, place: int) -> bool:
        while self._span[1] <= place:
            self._span = next(self._spans)
        return place < self._span[0]


def _characters(text: str, start: int, *, words: bool) -> Quantity | None:
    """A number in Chinese, Japanese or Korean characters."""
    run = han.read_run(text, start)
    if run is None:
        return None
    end, values, unit = run
    left = affixes.before(text, start)
    measures = characters().measure
    if text.startswith(measures, end) and text.startswith("半", end + 1):
        end, values = end + 2, tuple(plus(value, "0.5") for value in values)
    right = (
        affixes.Behind(end, (), unit, half=False)
        if unit
        else affixes.behind(text, end, money=bool(left.unit), words=True)
    )
    return _assembled(text, left, right, values, words=words)


def _in_words(text: str, covered: list[tuple[int, int]]) -> Iterator[Quantity]:
    """Numbers in words, unless the word is the scale or the unit of another number."""
    free = _Free(text, covered)
    done = 0
    for number in spoken_numbers(small(text)):
        if not free(number.start) or (number.start < done and not number.run):
            continue
        if affixes.nothing_behind(text, number.end):
            done = done if number.run else number.end
            yield Quantity(number.start, number.end, number.values, "", words=True)
            continue
        right = affixes.behind(text, number.end, money=False, words=True)
        values = number.values
        if right.half and number.last_scale:  # a million and a half
            values = tuple(plus(value, str(number.last_scale // 2)) for value in values)
            right = right._replace(half=False)
        left = affixes.Prefix(number.start, negative=False, unit="", bullet=False)
        quantity = _assembled(text, left, right, values, words=True)
        done = done if number.run else quantity.end
        yield quantity


def small(text: str) -> str:
    """The text in lower case, with every character at its place."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join([c.lower() if len(c.lower()) == 1 else c for c in text])
