"""Objects of several kinds, told apart by a field: evidence enters; the field and the objects of each kind leave.

It takes a field that every object has, with few values, and at least one other key that one kind always has and another never.
"""

from typing import NamedTuple

from trueup.inferring.evidence import Place
from trueup.inferring.strictness import Needs
from trueup.inferring.words import count
from trueup.statistics.unseen import missing_mass, missing_mass_upper

_LEAST = 10  # objects of each kind


class Variants(NamedTuple):
    """The field that tells the kinds apart, and the objects of each."""

    tag: str
    kinds: dict[str, Place]
    note: str


def variants_of(place: Place, needs: Needs) -> Variants | None:
    """The kinds of the objects at a place; None if they are of one kind."""
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


def _telling(kinds: list[Place], tag: str) -> list[str]:
    """The keys that one kind always has and another never."""
    names = {name for kind in kinds for name in kind.members if name != tag}
    always = {
        name
        for name in names
        for kind in kinds
        if name in kind.members and kind.members[name].complete == kind.complete > 0
    }
    return sorted(name for name in always if any(name not in kind.members for kind in kinds))
