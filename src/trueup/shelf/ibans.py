"""`no_iban`: bank account numbers (IBAN) in a reply. Takes a reply; returns the position of each number and its
country.

A number counts if its country uses IBANs, it has that country's length, and its check digits are right (modulo 97).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding
from trueup.verdict.patterns import lazy_regex

LENGTHS = {
    part[:2]: int(part[2:])
    for part in """AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
    FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25
    MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27
    SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30""".split()
}
_CHECK = lazy_regex(r"\d\d(?:(?<=[A-Za-z]{2}\d\d)|(?<=[A-Za-z]{2} \d\d))(?=[ .\-]{0,2}[A-Za-z0-9])", re.ASCII)
_BLANKS = lazy_regex(r"[.\-]| {0,2}\n? {0,2}")
_MARKS = " .-\n"
_HINT = "Leave out every bank account number; write at most its last four characters."


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; it has no options.

    >>> [
    ...     (told.span, told.data)
    ...     for told in compile_check({})(CheckedText("Pay to ES91 2100 0418 4502 0005 1332 today."))
    ... ]
    [((7, 36), {'country': 'ES'})]
    """
    OptionReader("no_iban", given, ())
    return _look


def _look(seen: CheckedText) -> Iterator[ReadyFinding]:
    text, end = seen.text, 0
    for found in _CHECK.finditer(text):
        start = found.start() - (3 if text[found.start() - 1] == " " else 2)
        country = text[start : start + 2].upper()
        if country not in LENGTHS or start < end or (start and text[start - 1].isascii() and text[start - 1].isalnum()):
            continue
        stop = _end(text, start, LENGTHS[country])
        if stop and is_valid("".join(sign for sign in text[start:stop] if sign not in _MARKS)):
            end = stop
            yield ReadyFinding("The reply contains a bank account number", _HINT, (start, stop), {"country": country})


def _end(text: str, start: int, length: int) -> int:
    """The end of a number with this many letters and digits, with spaces, dots or dashes in it; 0 if there is none."""
    at = start
    for _ in range(length):
        if at > start and text[at : at + 1] in _MARKS:
            at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
        sign = text[at : at + 1]
        if not (sign.isascii() and sign.isalnum()):
            return 0
        at += 1
    return 0 if text[at : at + 1].isalnum() else at


def is_valid(number: str) -> bool:
    """Whether the check digits of an IBAN are right.

    >>> is_valid("GB82WEST12345698765432"), is_valid("GB82WEST12345698765431")
    (True, False)
    """
    moved = number[4:] + number[:4]
    return int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1
