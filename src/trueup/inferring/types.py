"""The types of a place: takes evidence; returns the types to require, and the evidence for them in words.

A second type is required only if it really occurs, in replies without syntax errors if there are enough of those. The
contract itself converts a text that spells a number to the number, so such a text does not count as a second type.
"""

from typing import NamedTuple

from trueup.inferring.evidence import ObservedPlace
from trueup.inferring.words import count, share

_ENOUGH = 10  # from this many clean values on, only those decide about a second type
_RARE = 0.01
_RARE_OF = {"null": 0.002}  # accepting null costs nothing
_REALLY = 0.1  # the fewest real numbers or booleans per text that spells one
_TO_TEXT = 0.05
_WHOLE_FLOATS = 0.05
_ORDER = ("object", "array", "string", "number", "integer", "boolean", "null")


class Types(NamedTuple):
    """The types of a place, and a note on them."""

    names: tuple[str, ...]
    note: str = ""

    @property
    def single(self) -> str:
        """The only type besides null; empty if there are several, or none."""
        others = [name for name in self.names if name != "null"]
        return others[0] if len(others) == 1 else ""


def types_of(place: ObservedPlace, added: frozenset[str] = frozenset()) -> Types:
    """The types to require at a place. `added` are types from held-out replies.

    >>> from trueup.inferring.evidence import Budget, observe
    >>> place = ObservedPlace(Budget())
    >>> for value in (1, 2, "3", None):
    ...     observe(place, value)
    >>> types_of(place)
    Types(names=('integer', 'null'), note='written as text in 1, null in 1 of 4')
    """
    if not place.kinds:
        guessed = {"number" if kind == "integer" and "number" in place.doubtful else kind for kind in place.doubtful}
        return Types(_sorted(guessed | added), "only seen in broken replies" if guessed else "")
    kinds, notes = _numbers(place)
    main = _main(place, kinds)
    spelled = _spelled(place, main)
    if spelled:  # the contract converts these
        kinds[main] += spelled
        kinds["string"] -= spelled
        kinds = {kind: seen for kind, seen in kinds.items() if seen}
        notes.append(f"written as text in {count(spelled)}")
    total = sum(kinds.values())
    clean = place.kinds_clean
    is_clean = sum(clean.values()) >= _ENOUGH
    names = {main}
    for kind, seen in sorted(kinds.items(), key=lambda pair: -pair[1]):
        if kind == main or kind in added:
            continue
        if main == "string" and kind in ("integer", "number") and seen / total < _TO_TEXT:
            notes.append(f"written as a number in {count(seen)}")
        elif (is_clean and kind != "null" and not _seen_clean(kind, clean)) or (
            seen / total < _RARE_OF.get(kind, _RARE) and total >= 100
        ):
            notes.append(f"{kind} in {count(seen)} of {count(total)} ignored")
        else:
            names.add(kind)
            notes.append(f"{kind} in {count(seen)} of {count(total)}")
    if len(names - {"null"}) > 1:
        notes.insert(0, f"{main} in {share(kinds[main], total)}")
    notes += [f"{kind} added for held-out replies" for kind in sorted(added - names)]
    return Types(_sorted(names | added, kinds), ", ".join(notes))


def _main(place: ObservedPlace, kinds: dict[str, int]) -> str:
    """The type that the others are compared with: the most common one, or the one that all texts spell."""
    ranked = sorted((kind for kind in kinds if kind != "null"), key=lambda kind: -kinds[kind])
    if len(ranked) == 2 and ranked[0] == "string" and kinds[ranked[1]] >= _REALLY * kinds["string"]:
        return ranked[1] if _spelled(place, ranked[1]) == kinds["string"] else ranked[0]
    return ranked[0] if ranked else "null"


def _numbers(place: ObservedPlace) -> tuple[dict[str, int], list[str]]:
    """The observed types, with one for numbers: whole numbers are integers unless there is a fraction."""
    kinds = dict(place.kinds)
    whole, floats = kinds.get("integer", 0), kinds.get("number", 0)
    if not (whole and floats):
        return kinds, []
    if place.fractions == 0 and floats / (whole + floats) < _WHOLE_FLOATS:
        kinds["integer"] = whole + kinds.pop("number")
        return kinds, [f"written with .0 in {count(floats)}"]
    kinds["number"] = kinds.pop("integer") + floats
    return kinds, []


def _spelled(place: ObservedPlace, main: str) -> int:
    """How many texts spell a value of the main type."""
    spelled = place.spelled
    if main == "number":
        return spelled.get("integer", 0) + spelled.get("number", 0)
    return spelled.get(main, 0)


def _seen_clean(kind: str, clean: dict[str, int]) -> bool:
    return kind in clean or (kind == "number" and "integer" in clean) or (kind == "integer" and "number" in clean)


def _sorted(names: set[str] | frozenset[str], kinds: dict[str, int] | None = None) -> tuple[str, ...]:
    """The types, most common first and null last."""
    kept = names - {"integer"} if "number" in names else names
    counts = kinds or {}
    return tuple(sorted(kept, key=lambda name: (name == "null", -counts.get(name, 0), _ORDER.index(name))))
