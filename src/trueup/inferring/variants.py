"""Objects of several kinds that a field distinguishes: takes evidence; returns the field and the objects of each kind.

Every object must have the field, with few distinct values. At least one other key must always be in one kind and never
in another.
"""

from typing import NamedTuple

from trueup.inferring.evidence import ObservedPlace
from trueup.inferring.strictness import Needs
from trueup.inferring.words import count
from trueup.statistics.unseen import missing_mass, missing_mass_upper

_LEAST = 10  # objects of each kind


class Variants(NamedTuple):
    """The field that distinguishes the kinds, and the objects of each."""

    tag: str
    kinds: dict[str, ObservedPlace]
    note: str


def variants_of(place: ObservedPlace, needs: Needs) -> Variants | None:
    """The kinds of the objects at a place; None if there is only one kind."""
    objects = place.kinds.get("object", 0)
    for tag, kinds in place.variants.items():
        if not kinds or len(kinds) < 2 or tag not in place.members or place.members[tag].seen != objects:
            continue
        counts = [kind.kinds.get("object", 0) for kind in kinds.values()]
        if min(counts) < _LEAST or sum(counts) != objects:
            continue
        if missing_mass_upper(counts) > needs.unseen or missing_mass(counts) > needs.once:
            continue
        telling = _telling(list(kinds.values()), tag)
        if telling:
            said = f"{count(len(kinds))} kinds, told apart by {tag!r}"
            return Variants(tag, dict(kinds), said)
    return None


def _telling(kinds: list[ObservedPlace], tag: str) -> list[str]:
    """The keys that one kind always has and another never has."""
    names = {name for kind in kinds for name in kind.members if name != tag}
    always = {
        name
        for name in names
        for kind in kinds
        if name in kind.members and kind.members[name].complete == kind.complete > 0
    }
    return sorted(name for name in always if any(name not in kind.members for kind in kinds))
