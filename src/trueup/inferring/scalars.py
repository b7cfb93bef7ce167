"""Rules for texts and numbers beyond their type: takes evidence; returns enums, formats and bounds, each with its note.

An enum is drafted only if few new values are expected. A bound is drafted only if it is a natural one: not empty, not
negative, a share, a scale.
"""

from typing import Any, NamedTuple

from trueup.inferring.evidence import ObservedPlace
from trueup.inferring.strictness import Needs
from trueup.inferring.types import Types
from trueup.inferring.words import count, share
from trueup.inferring.yamltext import is_writable
from trueup.statistics.unseen import missing_mass, missing_mass_upper
from trueup.verdict.patterns import lazy_regex

Rule = tuple[str, Any, str]

_REPEATED = 4  # the least average count of an enum's values
_MANY = 50  # more values do not make an enum
_SHOWN_ENUM = 60  # characters of an enum value
_SHARE = lazy_regex(r"(?i).*(?:percent|pct|score|confidence|probab|progress|likelihood|certainty|completion)")


class ScalarRules(NamedTuple):
    """The rules that stay, and a remark on a rule that was not made."""

    kept: list[Rule] = []
    remark: str = ""


def text_rules(place: ObservedPlace, types: Types, needs: Needs) -> ScalarRules:
    """The rules for the texts of a place.

    >>> from trueup.inferring.evidence import Budget, observe
    >>> from trueup.inferring.strictness import NEEDS
    >>> place = ObservedPlace(Budget())
    >>> for value in ["red", "blue"] * 50:
    ...     observe(place, value)
    >>> text_rules(place, Types(("string",)), NEEDS["standard"]).kept
    [('enum', ['blue', 'red'], '2 values in 100; under 3 % are expected to be new')]
    """
    texts = place.kinds.get("string", 0)
    formats = sorted(place.formats or ())
    different = len(place.texts) if place.texts is not None else texts
    if formats and texts >= needs.formats and different >= min(3, needs.formats):
        return ScalarRules([("format", formats[0], f"all {count(texts)}")])
    remark = ""
    if types.single == "string" and texts:
        rule, remark = _enum(place, needs, with_null="null" in types.names)
        if rule:
            return ScalarRules([rule])
    return ScalarRules(_lengths(place, texts, needs), remark)


def _enum(place: ObservedPlace, needs: Needs, *, with_null: bool) -> tuple[Rule | None, str]:
    counts = place.texts
    if counts is None or not counts:
        return None, ""
    values = _folded(counts)
    total = sum(values.values())
    if total < 2 or len(values) > max(_MANY, total // 2):
        return None, ""
    if len(values) == 1 and not needs.single:
        return None, f"the same text in all {count(total)}, not made an enum" if total >= 10 else ""
    if total < _REPEATED * len(values):
        return None, ""
    if any(len(value) > _SHOWN_ENUM or not is_writable(value) for value in values):
        return None, ""
    upper = missing_mass_upper(values.values())
    said = f"{count(len(values))} value{'s' if len(values) > 1 else ''} in {count(total)}"
    if len(values) > _MANY or upper > needs.unseen or missing_mass(values.values()) > needs.once:
        return None, f"not an enum: {said}, up to {_percent(upper)} may be new"
    listed: list[Any] = sorted(values, key=lambda value: (-values[value], value))
    note = f"{said}; under {_percent(upper)} are expected to be new"
    return ("enum", [*listed, None] if with_null else listed, note), ""


def _percent(upper: float) -> str:
    """An upper limit in percent, rounded up."""
    percent = upper * 100
    return f"{int(percent) + (percent > int(percent))} %" if percent > 1 else share(upper, 1).removeprefix("< ")


def _folded(counts: dict[str, int]) -> dict[str, int]:
    """The counts with the most common spelling of each value. A contract reads the other spellings as that one."""
    common: dict[str, str] = {}
    out: dict[str, int] = {}
    for text, seen in sorted(counts.items(), key=lambda pair: -pair[1]):
        folded = " ".join(text.casefold().split()) or text
        name = common.setdefault(folded, text)
        out[name] = out.get(name, 0) + seen
    return out


def _lengths(place: ObservedPlace, texts: int, needs: Needs) -> list[Rule]:
    if texts < needs.texts or place.blank or place.shortest < 1:
        return []
    different = len(place.texts) if place.texts is not None else texts
    if place.shortest == place.longest <= 8 and different >= 10 and texts >= 2 * needs.texts:
        return [
            ("minLength", place.shortest, f"this length in all {count(texts)}"),
            ("maxLength", place.longest, ""),
        ]
    return [("minLength", 1, "never empty")]


def number_bounds(place: ObservedPlace, types: Types, name: str, needs: Needs) -> ScalarRules:
    """The bounds for the numbers of a place: a share, a scale, or not negative.

    >>> from trueup.inferring.evidence import Budget, observe
    >>> from trueup.inferring.strictness import NEEDS
    >>> place = ObservedPlace(Budget())
    >>> for value in range(200):
    ...     observe(place, value % 5 + 1)
    >>> [rule[:2] for rule in number_bounds(place, Types(("integer",)), "stars", NEEDS["standard"]).kept]
    [('minimum', 1), ('maximum', 5)]
    """
    low, high = place.low, place.high
    total = place.kinds.get("integer", 0) + place.kinds.get("number", 0)
    if low is None or high is None or total < needs.numbers or low < 0:
        return ScalarRules()
    said = f"{_number(low)} to {_number(high)} in {count(total)}"
    if place.fractions and high <= 1 and high >= 0.6:
        return ScalarRules([("minimum", 0, said), ("maximum", 1, "")])
    scale = _scale(place, types, low, high, total)
    if scale is not None:
        return ScalarRules([("minimum", scale[0], said), ("maximum", scale[1], "")])
    if 1 < high <= 100 and high >= 50 and _SHARE.match(name):
        return ScalarRules([("minimum", 0, said), ("maximum", 100, "")])
    if low <= high * 0.2:  # a range that starts near zero; years, for example, do not
        return ScalarRules([("minimum", 0, said)])
    return ScalarRules()


def _scale(place: ObservedPlace, types: Types, low: float, high: float, total: int) -> tuple[int, int] | None:
    """A scale such as 1 to 5, if every step of it is frequent."""
    if (
        types.single != "integer"
        or place.numbers is None
        or place.whole_floats
        or low not in (0, 1)
        or high not in (5, 10)
    ):
        return None
    steps = int(high - low) + 1
    is_full = len(place.numbers) == steps and min(place.numbers.values()) >= 5
    return (int(low), int(high)) if is_full and total >= 10 * steps else None


def _number(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.6g}"
