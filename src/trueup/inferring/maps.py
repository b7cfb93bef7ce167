"""Whether the keys of an object are names or data: takes the keys; returns the values, if the object is a map.

Keys are data if new ones keep appearing. The expected share of new keys decides, as for enums.
"""

from typing import NamedTuple

from trueup.inferring.evidence import Budget, ObservedPlace
from trueup.inferring.words import count
from trueup.statistics.unseen import missing_mass
from trueup.verdict.patterns import lazy_regex

_LEAST = 8  # distinct keys
_NEW = 0.1  # the expected share of new keys
_STABLE = 0.25  # the share of objects with a key, if the key is a name
_OFTEN = 0.5  # the number of data keys per object
_DATA = lazy_regex(r"(?:[\d.,:/_ -]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\d{4}-\d\d-\d\d.*|[^@\s]+@[^@\s]+\.\w+)\Z")


class Dynamic(NamedTuple):
    """A map: the keys that are names anyway, the values of the other keys, and the evidence."""

    stable: tuple[str, ...]
    values: ObservedPlace | None
    """None if the values have many types."""
    note: str


def as_map(place: ObservedPlace) -> Dynamic | None:
    """The map that the objects at a place form; None if their keys are names."""
    objects = place.kinds.get("object", 0) + place.doubtful.get("object", 0)
    members = place.members
    if objects < 2 and place.rest is None:
        return None
    stable = tuple(name for name, member in members.items() if member.seen >= _STABLE * objects and objects > 2)
    dynamic = [member for name, member in members.items() if name not in stable]
    different = len(dynamic) + place.rest_keys
    look_like_data = len(dynamic) >= 3 and not stable and all(_DATA.match(name) for name in members)
    if different < _LEAST and not look_like_data:
        return None
    if place.rest is None and sum(member.seen for member in dynamic) < _OFTEN * objects:
        return None
    once = missing_mass([member.seen for member in dynamic])
    if place.rest is None and once < _NEW and not look_like_data:
        return None
    merged = ObservedPlace(Budget(), inside=True)
    for member in dynamic:
        merged.merge(member.place)
    if place.rest is not None:
        merged.merge(place.rest)
    kinds = {"number" if kind == "integer" else kind for kind in merged.kinds if kind != "null"}
    further = "further" if stable else "different"
    if len(kinds) > 2:
        return Dynamic(
            stable,
            None,
            f"a map: {count(different)} {further} keys in {count(objects)} objects, with values of many types",
        )
    return Dynamic(stable, merged, f"a map: {count(different)} {further} keys in {count(objects)} objects")
