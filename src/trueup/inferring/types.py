"""The types of a place: what was seen there enters; the types to ask for leave, and the evidence for them in words.

A second type is asked for only if it was really seen, in replies without a fault of syntax where there are enough of those. A text
that spells a number where numbers stand is brought to the number by the contract itself, so it is no second type.
"""

from typing import NamedTuple

from trueup.inferring.evidence import Place
from trueup.inferring.words import count, share

_ENOUGH = 10  # clean sightings, from which on only those decide about a second type
_RARE = 0.01
_RARE_OF = {"null": 0.002}  # to take null costs nothing
_SPELLED = 0.5
_TO_TEXT = 0.05
_WHOLE_FLOATS = 0.05
_ORDER = ("object", "array", "string", "number", "integer", "boolean", "null")


class Types(NamedTuple):
    """The types of a place, and what is to be said of them."""

    names: tuple[str, ...]
    note: str = ""

    @property
    def single(self) -> str:
        """The one type beside null; empty if there are several, or none."""
        others = [name for name in self.names if name != "null"]
        return others[0] if len(others) == 1 else ""


def types_of(place: Place, added: frozenset[str] = frozenset()) -> Types:
    """The types to ask for at a place; `added` are types that held-out replies had there.

    >>> from trueup.inferring.evidence import Budget, observe
    >>> place = Place(Budget())
    >>> for value in (1, 2, "3", None):
    ...     observe(place, value)
    >>> types_of(place)
    Types(names=('integer', 'null'), note='null in 1 of 4, as text in 1')
    """
    if not place.kinds:
        guessed = {"number" if kind == "integer" and "number" in place.doubtful else kind for kind in place.doubtful}
        return Types(_sorted(guessed | added), "only seen in broken replies" if guessed else "")
    kinds, notes = _numbers(place)
    total = sum(kinds.values())
    main = max((kind for kind in kinds if kind != "null"), key=lambda kind: kinds[kind], default="null")
    clean = place.kinds_clean
    is_clean = sum(clean.values()) >= _ENOUGH
    names = {main}
    for kind, seen in sorted(kinds.items(), key=lambda pair: -pair[1]):
        if kind == main or kind in added:
            continue
        if kind != "null" and (said := _absorbed(place, kind, main, seen / total)):
            notes.append(f"{said} in {count(seen)}")
        elif (is_clean and not _seen_clean(kind, clean)) or (seen / total < _RARE_OF.get(kind, _RARE) and total >= 100):
            notes.append(f"{kind} in {count(seen)} of {count(total)} left out")
        else:
            names.add(kind)
            notes.append(f"{kind} in {count(seen)} of {count(total)}")
    if len(names - {"null"}) > 1:
        notes.insert(0, f"{main} in {share(kinds[main], total)}")
    notes += [f"{kind} for held-out replies" for kind in sorted(added - names)]
    return Types(_sorted(names | added, kinds), ", ".join(notes))


def _numbers(place: Place) -> tuple[dict[str, int], list[str]]:
    """The types seen, with one for numbers: whole ones are integers unless a fraction was seen."""
    kinds = dict(place.kinds)
    whole, floats = kinds.get("integer", 0), kinds.get("number", 0)
    if not (whole and floats):
        return kinds, []
    if place.fractions == 0 and floats / (whole + floats) < _WHOLE_FLOATS:
        kinds["integer"] = whole + kinds.pop("number")
        return kinds, [f"written with .0 in {count(floats)}"]
    kinds["number"] = kinds.pop("integer") + floats
    return kinds, []


def _absorbed(place: Place, kind: str, main: str, part: float) -> str:
    """How a contract brings a second type to the main one by itself; empty if it does not, or if it is no exception."""
    texts = place.kinds.get("string", 0)
    spelled = place.spelled
    if kind == "string" and part < _SPELLED:
        if main == "integer" and spelled.get("integer", 0) == texts:
            return "as text"
        if main == "number" and spelled.get("integer", 0) + spelled.get("number", 0) == texts:
            return "as text"
        if main == "boolean" and spelled.get("boolean", 0) == texts:
            return "as text"
    if main == "string" and kind in ("integer", "number") and part < _TO_TEXT:
        return "as a number"
    return ""


def _seen_clean(kind: str, clean: dict[str, int]) -> bool:
    return kind in clean or (kind == "number" and "integer" in clean) or (kind == "integer" and "number" in clean)


def _sorted(names: set[str] | frozenset[str], kinds: dict[str, int] | None = None) -> tuple[str, ...]:
    """The types, the commonest first and null last."""
    kept = names - {"integer"} if "number" in names else names
    counts = kinds or {}
    return tuple(sorted(kept, key=lambda name: (name == "null", -counts.get(name, 0), _ORDER.index(name))))
