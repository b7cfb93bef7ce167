"""Reads bare tokens: numbers in forms that JSON does not have, foreign literals, words without quotes.

Takes a run of characters; returns its value and the code of the fix. Tokens are never evaluated as code.
"""

import math
import re
from typing import Any

from trueup.recover.json.lexer import FOREIGN, LITERALS, NON_FINITE, NUMBER, ODD_NUMBER
from trueup.verdict.patterns import lazy_regex

MAX_DIGITS = 4300
_CUT_WORDS = (("true", True), ("false", False), ("null", None), ("True", True), ("False", False), ("None", None))
_CUT_NUMBER = lazy_regex(r"-|\\|-?[0-9]{1,300}(?:\.|\.[0-9]{1,300}[eE][+-]?|[eE][+-]?)")
NOTHING = object()
_SEPARATED = lazy_regex(r"[0-9]{1,3}(?:_[0-9]{3})+|[0-9]+(?:_[0-9]+)+")


def read_number(token: str) -> tuple[Any, str | None] | None:
    """The value of a JSON number, exact for integers; None if the token is not a number."""
    if NUMBER.fullmatch(token) is None:
        return None
    if "." in token or "e" in token or "E" in token:
        value = float(token)
        return (None, "S034") if math.isinf(value) else (value, None)
    if len(token) > MAX_DIGITS:
        return None, "S034"
    return int(token), None


def read_token(token: str) -> tuple[Any, str | None]:
    """The value of a bare token, and the code of the fix that it took.

    >>> read_token("0xFF"), read_token("1/4"), read_token("None"), read_token("hello")
    ((255, 'S020'), ('1/4', 'S015'), (None, 'S018'), ('hello', 'S015'))
    """
    if token in LITERALS:
        return LITERALS[token], None
    if not token:
        return token, "S015"
    if token in FOREIGN:
        return FOREIGN[token], "S018"
    if token in ("...", "…"):
        return None, "S027"
    if token == "undefined":
        return None, "S019"
    if token in NON_FINITE:
        return None, "S033"
    number = read_number(token)
    if number is not None:
        return number
    odd = ODD_NUMBER.fullmatch(token) if len(token) <= MAX_DIGITS else None
    if odd is not None:
        number = _odd_number(odd)
        if number is not None:
            return number
    if token[0] in "−–" and (number := read_number("-" + token[1:])) is not None:
        return number[0], number[1] or "S024"
    lowered = token.lower()
    if lowered in LITERALS:
        return LITERALS[lowered], "S018"
    return token, "S015"


def _odd_number(odd: re.Match[str]) -> tuple[Any, str | None] | None:
    sign, hexadecimal, binary, octal, plain = odd.groups()
    factor = -1 if sign == "-" else 1
    for digits, base in ((hexadecimal, 16), (binary, 2), (octal, 8)):
        if digits:
            return factor * int(digits, base), "S020"
    return _plain_number(factor, plain)


def _plain_number(factor: int, plain: str) -> tuple[Any, str | None] | None:
    """A decimal with a plus sign, without a digit before or after the point, or with separators; `007` stays text."""
    if not any(c.isdigit() for c in plain):
        return None
    whole = re.split(r"[.eE]", plain, maxsplit=1)[0]
    if (len(whole) > 1 and whole[0] == "0") or plain.endswith("_") or "__" in plain:
        return None
    if "_" in plain and not _SEPARATED.match(plain):
        return None
    digits = plain.replace("_", "")
    if not ("." in digits or "e" in digits or "E" in digits):
        return factor * int(digits), "S020"
    value = factor * float(digits)
    return (None, "S034") if math.isinf(value) else (value, "S020")


def iso_date(numbers: list[int]) -> str:
    """The text of a date, or of a date and time, from its numbers.

    >>> iso_date([2024, 1, 5]), iso_date([2024, 1, 5, 9, 30])
    ('2024-01-05', '2024-01-05T09:30:00')
    """
    date = "{:04}-{:02}-{:02}".format(*numbers)
    time = [*numbers[3:], 0]
    return date if len(numbers) == 3 else f"{date}T{time[0]:02}:{time[1]:02}:{time[2]:02}"


def cut_word(token: str) -> tuple[object, str] | None:
    """The completion of a bare token at the very end of the text; None if it may be complete."""
    for word, value in _CUT_WORDS:
        if len(token) < len(word) and word.startswith(token):
            return value, "S030"
    if _CUT_NUMBER.fullmatch(token):
        stem = token.rstrip("\\+-eE._")
        return (NOTHING if not stem else float(stem) if "." in stem else int(stem)), "S030"
    return None
