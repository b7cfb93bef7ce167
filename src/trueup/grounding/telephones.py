"""Telephone numbers: takes a number and a document; returns its places there, in any grouping and with any prefix.

`+34 966 864 328`, `0034 966864328` and `966-864-328` are the same number, and so are `+81 3 2372 6759`,
`+81 (0)3 2372 6759` and `03-2372-6759`.
"""

from collections.abc import Iterator

from trueup.grounding.documents import IndexedText
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_WHOLE = lazy_regex(r"\+?[\d\s().\-/\u00a0\u2010-\u2015]{7,30}\Z")
_RUN = lazy_regex(r"(?<![\w.,])[+(]?\d[\d ().\-/\u00a0\u2010-\u2015]{5,28}\d(?![\w])")
_TRUNK = lazy_regex(r"\(0\)")
_LEAST, _LEAST_LOCAL = 7, 8  # the fewest digits of a number, and of a number without its country code


def is_telephone(value: str) -> bool:
    """Whether a text may be a telephone number and nothing else.

    >>> is_telephone("+34 966 864 328"), is_telephone("2024-03-05"), is_telephone("1,234.50")
    (True, False, False)
    """
    if _WHOLE.match(value) is None:
        return False
    digits = sum(map(str.isdigit, value))
    return digits >= (_LEAST if value.startswith(("+", "0")) else _LEAST_LOCAL + 1)


def telephones(value: str, document: IndexedText) -> Iterator[Span]:
    """The places of a telephone number in a document."""
    wanted = _digits(value)
    for found in _RUN.finditer(document.text):
        if _same(wanted, _digits(found[0])):
            yield found.span()


def _digits(text: str) -> tuple[bool, str]:
    """The digits of a number, and whether they start with the country code."""
    plain = "".join(filter(str.isdigit, _TRUNK.sub("", text)))
    if "+" in text:
        return True, plain
    return (True, plain[2:]) if plain.startswith("00") else (False, plain)


def _same(one: tuple[bool, str], other: tuple[bool, str]) -> bool:
    if one[0] == other[0]:
        return one[1] == other[1]
    whole, local = (one[1], other[1]) if one[0] else (other[1], one[1])
    local = local.removeprefix("0")
    return len(local) >= _LEAST_LOCAL and whole.endswith(local) and len(whole) - len(local) <= 3
