"""Reads scalars as the type that a schema wants: text as number, boolean or null, numbers as text.

Takes a scalar and the wanted types; returns the readings, each with its code. A text with two readings (`1,5`, `1.234,56`,
`12.000` for an integer), a number that is too large and a number with an underscore are not read at all.
"""

from decimal import Decimal
from math import isfinite
from typing import Any

from trueup.verdict.patterns import lazy_regex

Reading = tuple[Any, str]

_NUMBER = lazy_regex(r"\s*([+-]?[0-9]+)(?:\.([0-9]+))?([eE][+-]?[0-9]{1,4})?\s*\Z")
# Twelve, or twelve thousand in much of Europe.
_GROUPED = lazy_regex(r"\s*[+-]?[1-9][0-9]{0,2}\.000\s*\Z")
_POINT_FIRST = lazy_regex(r"\s*[+-]?\.[0-9]+\s*\Z")
_BOOLEANS = {"true": True, "false": False}
NULLS = frozenset({"null", "none"})
_ANSWERS = {
    **dict.fromkeys(("yes", "on", "sí", "sì", "ja", "oui", "sim", "да", "はい", "是"), True),
    **dict.fromkeys(("no", "off", "nein", "non", "não", "nee", "нет", "いいえ", "否"), False),
}

_CURRENCY = r"(?:[$€£¥₹₽₩]|US\$|A\$|C\$|USD|EUR|GBP|JPY|CHF|CAD|AUD|INR|CNY)"
_DRESSED = lazy_regex(
    rf"(?P<minus>[-+\u2212]?)\s*(?:{_CURRENCY}\s*)?(?P<inner>[-+\u2212]?)"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?P<fraction>\.[0-9]+)?"
    r"\s*(?P<unit>[^\s\d.,;:+-]{0,12})\Z"
)
# Words that scale a number ("5k", "3 million") or are ambiguous ("5 m") are intentionally missing.
_UNITS = frozenset(
    "% percent pct € $ £ ¥ usd eur gbp jpy chf dollar dollars euro euros cents pounds "
    "kg g mg µg lb lbs oz t km cm mm mi ft yd miles meters metres ms s sec secs second seconds min mins minute "
    "minutes h hr hrs hour hours day days week weeks month months year years yr yrs px pt pts points "
    "items units pieces pcs people persons times stars bytes kb mb gb tb kib mib gib w kw kwh mw v mv a hz khz mhz ghz "
    "l ml °c °f ° bpm rpm kcal cal mmhg km/h mph m² km²".split()
)

# The largest whole number up to which floats have no gaps.
_EXACT = 2**53


def recast(value: Any, types: frozenset[str], *, eager: bool) -> list[Reading]:
    """Every reading of a scalar as one of the types, with the code of its coercion.

    >>> recast(" 7 ", frozenset({"integer"}), eager=False)
    [(7, 'C001')]
    >>> recast("1_000", frozenset({"integer"}), eager=True)
    []
    """
    kind = type(value)
    if kind is str:
        return _from_text(value, types, eager=eager)
    if kind is float:
        return _from_float(value, types)
    if "string" in types:
        if kind is int:
            text = int_text(value)
            return [] if text is None else [(text, "C008")]
        if kind is bool:
            return [("true" if value else "false", "C016")]
    return []


def _from_float(value: float, types: frozenset[str]) -> list[Reading]:
    if "integer" in types and value.is_integer():
        # Beyond this, the float is valid as it is, and the digits of an integer would be invented.
        return [(int(value), "C004")] if -_EXACT <= value <= _EXACT else []
    return [(repr(value), "C008")] if "string" in types and isfinite(value) else []


def _from_text(text: str, types: frozenset[str], *, eager: bool) -> list[Reading]:
    readings: list[Reading] = []
    if "integer" in types:
        read, code = (read_number, "C002") if "number" in types else (read_whole, "C001")
        number = read(text)
        if number is None and eager:
            bare, code = undressed(text), "C014"
            number = None if bare is None else read(bare)
        if number is not None:
            readings.append((number, code))
    if len(text) <= 16:
        word = text.strip().lower()
        if "boolean" in types and word in _BOOLEANS:
            readings.append((_BOOLEANS[word], "C003"))
        elif "boolean" in types and eager and word in _ANSWERS:
            readings.append((_ANSWERS[word], "C013"))
        if "null" in types and word in NULLS:
            readings.append((None, "C005"))
    return readings


def int_text(value: int) -> str | None:
    """The digits of an integer; None if Python refuses to write so many."""
    try:
        return str(value)
    except ValueError:
        return None


def read_number(text: str) -> int | float | None:
    """The number that a text spells in plain decimal digits, as in JSON.

    >>> read_number("5.0"), read_number("1e400"), read_number("high")
    (5.0, None, None)
    """
    match = _NUMBER.match(text)
    if match is None:
        return float(text) if _POINT_FIRST.match(text) else None
    if match[2] is None and match[3] is None:
        try:
            return int(text)
        except ValueError:  # more digits than Python reads
            return None
    number = float(text)
    return number if isfinite(number) else None


def read_whole(text: str) -> int | None:
    """The integer that a text spells, exact in every digit; None if it has a fraction or may have thousands separators.

    >>> read_whole("12.00"), read_whole("12.000")
    (12, None)
    >>> read_whole("5.0"), read_whole("123456789012345678901.0"), read_whole("5.00000000000000000001")
    (5, 123456789012345678901, None)
    """
    number = read_number(text)
    if not isinstance(number, float):
        return number
    if _GROUPED.match(text):
        return None
    # A float would lose the last digits of a long number.
    exact = Decimal(text.strip())
    return int(exact) if exact == exact.to_integral_value() else None


def undressed(text: str) -> str | None:
    """The digits without a currency sign, a percent sign, a unit or thousands separators.

    >>> undressed("$1,234.50"), undressed("1,036"), undressed("45 %")
    ('1234.50', '1036', '45')
    >>> undressed("1,5"), undressed("1.234,56"), undressed("5k")
    (None, None, None)
    """
    match = _DRESSED.match(text.strip().strip("*_`").strip()) if len(text) <= 64 else None
    if match is None or (match["minus"] and match["inner"]):
        return None
    if match["unit"] and match["unit"].lower() not in _UNITS:
        return None
    sign = "-" if (match["minus"] or match["inner"]) in ("-", "\u2212") else ""
    return f"{sign}{match['digits'].replace(',', '')}{match['fraction'] or ''}"
