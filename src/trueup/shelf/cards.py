"""`no_card`: payment card numbers in a reply. Takes a reply; returns the position of each number and its issuer.

A number counts if it is in the range of an issuer, has its length, is grouped like a card number, and has the right
check digit (Luhn). A random number of sixteen digits passes all four tests about once in fifty times. Old cards of 13
digits and cards of 19 digits count only if they are written in groups: article numbers also have 13 digits.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding
from trueup.verdict.patterns import lazy_regex

_RUN = lazy_regex(
    r"[2-6](?<![\w+].)(?<!\w-.)(?<!\d[.,].)\d{3}(?:(?: {1,2}|[.\-])?\d){9,15}(?![\w%]|[.,\-]\d)", re.ASCII
)
_MARKS = lazy_regex(r"[ .\-]+")
_GROUPS = frozenset({(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 2), (6, 13), (4, 3, 3, 3)})
_ISSUERS = (  # from and to, by their first digits, with the lengths
    ("American Express", ((34, 34), (37, 37)), (15,)),
    ("Diners Club", ((300, 305), (36, 36), (38, 39)), (14,)),
    ("JCB", ((3528, 3589),), (16, 19)),
    ("Visa", ((4, 4),), (13, 16, 19)),
    ("Mastercard", ((51, 55), (2221, 2720)), (16,)),
    ("Mir", ((2200, 2204),), (16,)),
    ("Discover", ((6011, 6011), (644, 649), (65, 65)), (16, 19)),
    ("UnionPay", ((62, 62),), (16, 17, 18, 19)),
    ("Maestro", ((5018, 5018), (5020, 5020), (5038, 5038), (5893, 5893), (6304, 6304), (6759, 6759), (6761, 6763)), (16,)),
)  # fmt: skip
_GROUPED_ONLY = frozenset({("Visa", 13), ("Visa", 19), ("JCB", 19), ("Discover", 19)})
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_HINT = "Leave out every card number; write at most its last four digits."


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; it has no options.

    >>> [(told.span, told.data) for told in compile_check({})(CheckedText("Charged to 4111 1111 1111 1111."))]
    [((11, 30), {'issuer': 'Visa'})]
    """
    OptionReader("no_card", given, ())
    return _look


def _look(seen: CheckedText) -> Iterator[ReadyFinding]:
    for found in _RUN.finditer(seen.text):
        groups = _MARKS.split(found[0])
        digits = "".join(groups)
        is_grouped = len(groups) > 1
        if is_grouped and (tuple(map(len, groups)) not in _GROUPS or len(set(_MARKS.findall(found[0]))) > 1):
            continue
        if not is_grouped and seen.text[max(0, found.start() - 1) : found.start()] in ("/", "#"):
            continue  # a part of a path, or the number of an item
        issuer = issuer_of(digits)
        if issuer and (is_grouped or (issuer, len(digits)) not in _GROUPED_ONLY) and _is_drawn(digits):
            yield ReadyFinding("The reply contains a payment card number", _HINT, found.span(), {"issuer": issuer})


def _is_drawn(digits: str) -> bool:
    return len(set(digits)) > 1 and luhn(digits)


def issuer_of(digits: str) -> str:
    """The issuer that a number belongs to by range and length; empty if there is none."""
    for issuer, ranges, lengths in _ISSUERS:
        if len(digits) in lengths and any(low <= int(digits[: len(str(low))]) <= high for low, high in ranges):
            return issuer
    return ""


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others.

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    back = digits[::-1]
    return (sum(map(int, back[::2])) + sum(_DOUBLED[int(one)] for one in back[1::2])) % 10 == 0
