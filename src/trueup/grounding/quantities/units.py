"""Units of measure and currencies: their names in many languages, and whether two amounts are equal.

Takes a word or a sign; returns its canonical unit. `equal` compares a value with a mention in a text, exactly, after
conversion within one dimension. It never rounds, and never converts currencies or temperatures.
"""

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from trueup.grounding.languages import CHARACTERS, SPACED
from trueup.grounding.quantities.notation import EXACT, shifted
from trueup.grounding.quantities.vocabulary import first_words, spellings, table

if TYPE_CHECKING:
    from trueup.grounding.quantities.find import Quantity


class UnitNames(NamedTuple):
    """How units are written."""

    exact: dict[str, str]  # case-sensitive
    loose: dict[str, str]  # case-insensitive, in lower case
    longer: dict[str, tuple[str, ...]]  # first word → names with several words, longest first
    glued: dict[str, str]  # in scripts without spaces
    longest: int  # the longest name in `glued`
    money: frozenset[str]
    before: dict[str, str]  # signs that may come before figures


@cache
def names() -> UnitNames:
    """Every name of every unit, from the data files."""
    data = table("units.toml")
    exact = {symbol: symbol for symbol in (*data["symbols"]["all"], *data["codes"]["all"])}
    exact |= {sign: unit for unit, signs in data["signs"].items() for sign in signs}
    loose = {form: unit for unit, forms in data["loose"].items() for form in forms}
    loose |= {code.lower(): code for code in data["codes"]["all"] if code not in {"TRY", "ALL"}}
    for name in SPACED:
        for unit, words in table(f"languages/{name}.toml")["units"].items():
            for word in words:
                for form in spellings(word):
                    loose.setdefault(form, unit)
    glued: dict[str, str] = {}
    for name in CHARACTERS:
        for unit, words in table(f"languages/{name}.toml")["units"].items():
            for word in words:
                glued.setdefault(word, unit)
    money = frozenset({*data["codes"]["all"], "peso", "krone", "¥", "cent", "pence", "pound"})
    before = {sign: unit for sign, unit in exact.items() if unit in money and unit not in {"cent", "pence"}}
    return UnitNames(exact, loose, first_words(loose), glued, max(map(len, glued)), money, before)


def unit_named(word: str) -> str:
    """The canonical unit of a word or a sign; "" if it is not one.

    >>> unit_named("kilos"), unit_named("Minuten"), unit_named("€"), unit_named("円"), unit_named("house")
    ('kg', 'min', 'EUR', 'JPY', '')
    """
    known = names()
    word = word.strip()
    for form in (word, word.rstrip(".")):
        small = form.lower()
        if unit := known.exact.get(form) or known.loose.get(small) or known.glued.get(form):
            return unit
    return ""


@cache
def unit_words() -> dict[str, frozenset[str]]:
    """The names of each unit that are a single word or sign.

    >>> "minuten" in unit_words()["min"]
    True
    """
    known = names()
    found: dict[str, set[str]] = {}
    for name in {*known.exact, *known.loose, *known.glued}:
        if unit := unit_named(name):
            found.setdefault(unit, set()).add(name)
    return {unit: frozenset(words) for unit, words in found.items()}


@cache
def _dimensions() -> dict[str, tuple[str, Fraction]]:
    """The dimension of each unit that can be converted, and its size in base units."""
    data = table("units.toml")["dimensions"]
    return {unit: (name, Fraction(factor)) for name, units in data.items() for unit, factor in units.items()}


@cache
def meanings(unit: str) -> tuple[tuple[str, Fraction], ...]:
    """The possible meanings of a unit: a dimension or a currency, and its size in base units."""
    if unit in _dimensions():
        return (_dimensions()[unit],)
    data = table("units.toml")
    if unit in data["hundredths"]:
        return tuple((currency, Fraction(1, 100)) for currency in data["hundredths"][unit])
    found: list[tuple[str, Fraction]] = [(unit, Fraction(1))]
    for meaning in data["either"].get(unit, ()):
        factor, _, base = meaning.rpartition(" ")
        dimension, size = _dimensions().get(base, (base, Fraction(1)))
        found.append((dimension, size * Fraction(factor or 1)))
    return tuple(found)


def equal(value: str, unit: str, mention: "Quantity") -> bool:
    """Whether a mention gives a canonical value with its unit, which may be "".

    >>> from trueup.grounding.quantities.find import quantities
    >>> [equal("90", "min", mention) for mention in quantities("1.5 h, 90 kg, 90")]
    [True, False, True]
    """
    if not unit or not mention.unit or unit == mention.unit:
        if value in mention.values:
            return True
        if unit == mention.unit:
            return False
        return _as_share(value, unit, mention)
    if len(value) > EXACT:
        return False
    for name, factor in meanings(unit):
        for other, size in meanings(mention.unit):
            if name == other:
                amount = Fraction(value) * factor
                if any(len(said) <= EXACT and Fraction(said) * size == amount for said in mention.values):
                    return True
    return False


_SHARES = {"%": -2, "‰": -3, "bp": -4}


def _as_share(value: str, unit: str, mention: "Quantity") -> bool:
    """Whether one amount is a percentage and the other the same share without the sign: 45 % and 0.45."""
    if power := _SHARES.get(unit):
        return shifted(value, power) in mention.values
    if power := _SHARES.get(mention.unit):
        return any(shifted(said, power) == value for said in mention.values)
    return False
