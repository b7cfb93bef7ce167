"""Figures with separators: takes one chain of digits; returns its readings as canonical decimal strings.

Values stay strings, so numbers of any length are exact and cost linear time. Arithmetic is limited to numbers of
`EXACT` characters. The language is not guessed: `1.234` has two readings, the more likely one first.
"""

import unicodedata
from decimal import Context, Decimal
from typing import NamedTuple

EXACT = 1_500  # the most characters of a number in arithmetic
_ENOUGH = Context(prec=2 * EXACT)
_FARTHEST = 400  # the largest power of ten that is written out
_SIGNS = str.maketrans("٫٬．，’", ".,.,'")


class DigitGroup(NamedTuple):
    """A part of a chain of digits: its position in the chain, its readings, and whether it looks like an amount."""

    start: int
    end: int
    values: tuple[str, ...]
    amount: bool


def canonical(number: int | float | str) -> str:
    """The shortest plain decimal of a number. Raises ValueError for other text.

    >>> canonical("1234.50"), canonical(4.2e9), canonical(-0.0)
    ('1234.5', '4200000000', '0')
    """
    if isinstance(number, int):
        return str(int(number)) if number.bit_length() < 10_000 else format(Decimal(number), "f")
    text = repr(number) if isinstance(number, float) else number.strip()
    if text.isascii() and text.isdigit():
        return text.lstrip("0") or "0"
    unsigned = text[1:] if text[:1] in {"-", "+", "−"} else text
    digits, _, exponent = unsigned.lower().partition("e")
    whole, _, decimals = digits.partition(".")
    if not (whole + decimals).isdecimal():
        if isinstance(number, float):
            return text  # inf and nan
        raise ValueError(f"not a number: {text[:40]!r}")
    value = joined(whole, decimals)
    if exponent:
        if len(exponent) > 6 or abs(int(exponent)) > _FARTHEST:
            raise ValueError(f"not a number that can be written out: {text[:40]!r}")
        value = shifted(value, int(exponent))
    return negated(value) if text[0] in "-−" else value


def joined(whole: str, decimals: str = "") -> str:
    """The canonical number from the digits before and after the point, in the digits of any script.

    >>> joined("０１２", "50")
    '12.5'
    """
    whole, decimals = latin(whole).lstrip("0") or "0", latin(decimals).rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def latin(digits: str) -> str:
    """The digits of any script as ASCII digits."""
    return digits if digits.isascii() else "".join([str(unicodedata.decimal(c)) for c in digits])


def negated(value: str) -> str:
    """The number with the opposite sign."""
    return value[1:] if value[0] == "-" else value if value == "0" else f"-{value}"


def shifted(value: str, power: int) -> str:
    """The number times a power of ten.

    >>> shifted("4.2", 9), shifted("-45", -2)
    ('4200000000', '-0.45')
    """
    if value[0] == "-":
        return negated(shifted(value[1:], power))
    whole, _, decimals = value.partition(".")
    if power >= 0:
        moved = decimals.ljust(power, "0")
        return joined(whole + moved[:power], moved[power:])
    padded = whole.rjust(1 - power, "0")
    return joined(padded[:power], padded[power:] + decimals)


def times(value: str, factor: int) -> str:
    """The number times a small whole number; unchanged if it is too long for arithmetic."""
    return _plain(_ENOUGH.multiply(Decimal(value), factor)) if len(value) <= EXACT else value


def plus(value: str, other: str) -> str:
    """The sum; unchanged if a number is too long for arithmetic."""
    return _plain(_ENOUGH.add(Decimal(value), Decimal(other))) if max(len(value), len(other)) <= EXACT else value


def _plain(number: Decimal) -> str:
    return canonical(format(number, "f"))


def quotient(above: int, below: int) -> str:
    """A fraction as a decimal with the precision of a float.

    >>> quotient(3, 4), quotient(1, 3)
    ('0.75', '0.3333333333333333')
    """
    return canonical(above / below)


def figures(chain: str) -> list[DigitGroup]:
    """The numbers of a chain of digits and separators: one number, or its parts if it cannot be a single one.

    >>> [figure.values for figure in figures("1.234,50")], [figure.values for figure in figures("1.2.3")]
    ([('1234.5',)], [('1',), ('2',), ('3',)])
    """
    if chain.isascii() and "'" not in chain and chain.count(".") + chain.count(",") == 1:
        return _single(chain)
    signs = [c for c in chain if not c.isdecimal()]
    plain = chain.translate(_SIGNS)
    if len(signs) == 1:
        return _single(plain)
    marks = [c for c in plain if c in ".,'"]
    last = marks[-1]
    groups = plain.replace(",", ".").replace("'", ".").split(".")
    others = set(marks[:-1])
    if len(others) == 1:
        if last in others:
            if _grouped(groups, last):
                return [DigitGroup(0, len(chain), (joined("".join(groups)),), amount=True)]
        elif last != "'" and _grouped(groups[:-1], marks[0]):
            return [DigitGroup(0, len(chain), (joined("".join(groups[:-1]), groups[-1]),), amount=True)]
    return _parts(plain, set(marks))


def _single(chain: str) -> list[DigitGroup]:
    """Two groups of digits with one separator between them."""
    size = len(chain)
    if "'" in chain:
        before, _, behind = chain.partition("'")
        if len(behind) == 3 and len(before) <= 3:
            return [DigitGroup(0, size, (joined(before + behind),), amount=True)]
        at = len(before)
        return [
            DigitGroup(0, at, (joined(before),), amount=False),
            DigitGroup(at + 1, size, (joined(behind),), amount=False),
        ]
    before, _, behind = chain.replace(",", ".").partition(".")
    value = joined(before, behind)
    if len(behind) == 3 and len(before) <= 3 and latin(before[0]) != "0":
        return [DigitGroup(0, size, (joined(before + behind), value), amount=True)]
    whole = DigitGroup(0, size, (value,), len(behind) == 2)
    if len(before) == 2 and latin(before[0]) == "0":  # 05.03 is a day rather than a number
        at = len(before)
        return [
            whole,
            DigitGroup(0, at, (joined(before),), amount=False),
            DigitGroup(at + 1, size, (joined(behind),), amount=False),
        ]
    return [whole]


def _grouped(groups: list[str], sign: str) -> bool:
    """Whether digits are grouped in thousands, or in the Indian way."""
    first, last = groups[0], groups[-1]
    if len(groups) == 1 or len(last) != 3 or latin(first[0]) == "0" or len(first) > 3:
        return False
    sizes = {len(group) for group in groups[1:-1]}
    return sizes <= {3} or (sizes == {2} and sign == "," and len(first) <= 2)


def _parts(chain: str, marks: set[str]) -> list[DigitGroup]:
    """The members of a list, a date or a version. A list with commas may contain decimal points."""
    found: list[DigitGroup] = []
    at = 0
    for member in chain.replace("'", ",").split("," if len(marks) > 1 or "," in marks or "'" in marks else "."):
        if member.count(".") == 1:
            found += [f._replace(start=f.start + at, end=f.end + at) for f in _single(member)]
        else:
            start = at
            for group in member.split("."):
                found.append(DigitGroup(start, start + len(group), (joined(group),), amount=False))
                start += len(group) + 1
        at += len(member) + 1
    return found
