"""Scalars read as the type a schema asks for: text to number, boolean or null, numbers to text.

A scalar and the wanted types enter; the readings, each with its code, leave. A text with two readings
(`1,5`, `1.234,56`), a number too large to hold and a number with an underscore are not read at all.
"""

import re
from decimal import Decimal
from math import isfinite
from typing import Any

Reading = tuple[Any, str]

_NUMBER = re.compile(r"\s*([+-]?[0-9]+)(?:\.([0-9]+))?([eE][+-]?[0-9]{1,4})?\s*\Z")
_POINT_FIRST = re.compile(r"\s*[+-]?\.[0-9]+\s*\Z")
_BOOLEANS = {"true": True, "false": False}
_NULLS = frozenset({"null", "none"})
_ANSWERS = {"yes": True, "no": False, "on": True, "off": False}

_CURRENCY = r"(?:[$€£¥₹₽₩]|US\$|A\$|C\$|USD|EUR|GBP|JPY|CHF|CAD|AUD|INR|CNY)"
_DRESSED = re.compile(
    rf"(?P<minus>[-+\u2212]?)\s*(?:{_CURRENCY}\s*)?(?P<inner>[-+\u2212]?)"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?P<fraction>\.[0-9]+)?"
    r"\s*(?P<unit>[^\s\d.,;:+-]{0,12})\Z"
)
# Words that scale a number ("5k", "3 million") or may mean two things ("5 m") are not here, on purpose.
_UNITS = frozenset(
    "% percent pct € $ £ ¥ usd eur gbp jpy chf dollar dollars euro euros cents pounds "
    "kg g mg µg lb lbs oz t km cm mm mi ft yd miles meters metres ms s sec secs second seconds min mins minute "
    "minutes h hr hrs hour hours day days week weeks month months year years yr yrs px pt pts points "
    "items units pieces pcs people persons times stars bytes kb mb gb tb kib mib gib w kw kwh mw v mv a hz khz mhz ghz "
    "l ml °c °f ° bpm rpm kcal cal mmhg km/h mph m² km²".split()
)

# The largest whole number that a float holds without a gap.
_EXACT = 2**53


def recast(value: Any, types: frozenset[str], eager: bool) -> list[Reading]:
    """Every reading of a scalar as one of the types, with the code of its coercion.

    >>> recast(" 7 ", frozenset({"integer"}), eager=False)
    [(7, 'C001')]
    >>> recast("1_000", frozenset({"integer"}), eager=True)
    []
    """
    kind = type(value)
    if kind is str:
        return _from_text(value, types, eager)
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
        # Beyond this the float is valid as it stands, and its digits as an integer would be made up.
        return [(int(value), "C004")] if -_EXACT <= value <= _EXACT else []
    return [(repr(value), "C008")] if "string" in types and isfinite(value) else []


def _from_text(text: str, types: frozenset[str], eager: bool) -> list[Reading]:
    readings: list[Reading] = []
    if "integer" in types:
        code = "C002" if "number" in types else "C001"
        number = read_number(text)
        if number is None and eager:
            number, code = dressed_number(text), "C014"
        if number is not None and "number" not in types:
            number = whole(number)
        if number is not None:
            readings.append((number, code))
    if len(text) <= 16:
        word = text.strip().lower()
        if "boolean" in types and word in _BOOLEANS:
            readings.append((_BOOLEANS[word], "C003"))
        elif "boolean" in types and eager and word in _ANSWERS:
            readings.append((_ANSWERS[word], "C013"))
        if "null" in types and word in _NULLS:
            readings.append((None, "C005"))
    return readings


def int_text(value: int) -> str | None:
    """The digits of an integer; None when Python refuses to write so many."""
    try:
        return str(value)
    except ValueError:
        return None


def read_number(text: str) -> int | float | None:
    """The number that a text spells in plain decimal digits, exact when it is whole.

    >>> read_number("5.0"), read_number("1e400"), read_number("high")
    (5.0, None, None)
    """
    match = _NUMBER.match(text)
    if match is None:
        return float(text) if _POINT_FIRST.match(text) else None
    whole_part, fraction, exponent = match.groups()
    if fraction is None and exponent is None:
        try:
            return int(whole_part)
        except ValueError:  # more digits than Python reads
            return None
    number = float(text)
    if not isfinite(number):
        return None
    if abs(number) >= _EXACT or number.is_integer():
        # Through the float the last digits of a long number would be lost.
        exact = Decimal(text.strip())
        if exact != number:
            return int(exact) if exact == exact.to_integral_value() else None
    return number


def whole(number: int | float) -> int | None:
    """The integer that a number is, or None when it has a fraction."""
    if isinstance(number, int):
        return number
    return int(number) if number.is_integer() else None


def dressed_number(text: str) -> int | float | None:
    """The number inside a sign of currency, a percent sign, a unit or thousands separators.

    >>> dressed_number("$1,234.50"), dressed_number("1,036"), dressed_number("45 %")
    (1234.5, 1036, 45)
    >>> dressed_number("1,5"), dressed_number("1.234,56"), dressed_number("5k")
    (None, None, None)
    """
    match = _DRESSED.match(text.strip().strip("*_`").strip()) if len(text) <= 64 else None
    if match is None or (match["minus"] and match["inner"]):
        return None
    if match["unit"] and match["unit"].lower() not in _UNITS:
        return None
    sign = "-" if (match["minus"] or match["inner"]) in ("-", "\u2212") else ""
    return read_number(f"{sign}{match['digits'].replace(',', '')}{match['fraction'] or ''}")
