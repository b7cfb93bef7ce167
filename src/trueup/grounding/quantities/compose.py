"""Quantities that belong together: 5 dollars and 20 cents, 2 h 30 min, 5 ft 10 in.

Takes the quantities of a text in order; returns them with the sums of neighbours. The units of a sum are of the same
kind, the larger unit first.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from trueup.grounding.quantities.notation import canonical, plus, shifted
from trueup.grounding.quantities.units import meanings, names
from trueup.grounding.quantities.vocabulary import table

if TYPE_CHECKING:
    from trueup.grounding.quantities.find import Quantity

_LINKS = frozenset(
    {"", " ", ", ", " and ", ", and ", " y ", " und ", " et ", " con ", " e ", " en ", " mit ", " with "}
)
_SPOKEN_LINKS = frozenset({" and ", " y ", " con ", " und ", " et ", " e "})


def together(text: str, found: "list[Quantity]") -> "list[Quantity]":
    """The quantities, and the sums of those that belong together."""
    sums: list[Quantity] = []
    current: Quantity | None = None
    for quantity in found:
        if current is not None and current.unit and quantity.start >= current.end and quantity.start - current.end <= 6:
            made = _sum(text, current, quantity)
            if made is not None:
                sums.append(made)
                current = made
                continue
        if current is None or quantity.end > current.end or quantity.unit:
            current = quantity
    return sorted([*found, *sums]) if sums else found


def _sum(text: str, large: "Quantity", less: "Quantity") -> "Quantity | None":
    link = text[large.end : less.start]
    if link not in _LINKS or large.values[0][0] == "-" or less.values[0][0] == "-":
        return None
    value = less.values[0]
    if less.unit in table("units.toml")["hundredths"] or (not less.unit and large.unit in names().money):
        if not less.unit and (link not in _SPOKEN_LINKS or not _cents(value)):
            return None
        if less.unit and large.unit not in {name for name, _ in meanings(less.unit)}:
            return None
        return _made(large, less, plus(large.values[0], shifted(value, -2)), large.unit)
    if not less.unit and large.unit == "ft" and text.startswith((" in", "in"), less.end) and _cents(value, 12):
        return _made(large, less, _converted(large.values[0], "ft", "in", value), "in")
    if not less.unit and large.unit == "h" and link == "" and less.end - less.start == 2 and _cents(value, 60):
        return _made(large, less, _converted(large.values[0], "h", "min", value), "min")
    if less.unit and large.unit != less.unit and _larger(large.unit, less.unit):
        return _made(large, less, _converted(large.values[0], large.unit, less.unit, value), less.unit)
    return None


def _cents(value: str, below: int = 100) -> bool:
    return len(value) <= 2 and value.isdigit() and int(value) < below


def _made(large: "Quantity", less: "Quantity", value: str, unit: str) -> "Quantity":
    return large._replace(end=less.end, values=(value,), unit=unit, words=large.words and less.words)


def _larger(unit: str, than: str) -> bool:
    one, other = _sizes(unit), _sizes(than)
    return len(one) == len(other) == 1 and one[0][0] == other[0][0] and one[0][1] > other[0][1] and one[0][0] != "ratio"


def _sizes(unit: str) -> Sequence[tuple[str, Fraction]]:
    return meanings(unit)


def _converted(value: str, unit: str, into: str, more: str) -> str:
    """A value in a smaller unit, plus more of that unit; unchanged if it is too long for arithmetic."""
    if len(value) > 40 or len(more) > 40:
        return value
    factor = _sizes(unit)[0][1] / _sizes(into)[0][1]
    made = Fraction(value) * factor + Fraction(more)
    return canonical(made.numerator) if made.denominator == 1 else canonical(float(made))
