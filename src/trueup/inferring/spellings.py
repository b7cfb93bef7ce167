"""Keys that are other spellings of a key: what was seen of the keys of an object enters; which key each other spelling means leaves.

A contract reads `Name` and `first-name` as `name` and `first_name` by itself, so a draft has one of them: the commonest.
"""

from trueup.inferring.evidence import Place


def folded_members(place: Place) -> dict[str, str]:
    """The rare spellings of keys, each with the key that is meant.

    >>> from trueup.inferring.evidence import Budget, observe
    >>> place = Place(Budget())
    >>> for key in ["first_name"] * 9 + ["FirstName"]:
    ...     observe(place, {key: 1})
    >>> folded_members(place)
    {'FirstName': 'first_name'}
    """
    common: dict[str, list[str]] = {}
    others: dict[str, str] = {}
    for name in sorted(place.members, key=lambda name: -place.members[name].seen):
        folded = "".join(char for char in name.casefold() if char.isalnum()) or name
        alike = common.setdefault(folded, [])
        # `@TYPE` is `@type` rather than `type`, where there are both
        nearest = sorted(alike, key=lambda other: other.casefold() != name.casefold())
        meant = next((other for other in nearest if _never_together(place, name, other)), None)
        if meant is None:
            alike.append(name)
        else:
            others[name] = meant
    return others


def _never_together(place: Place, name: str, other: str) -> bool:
    """Whether the counts of two keys allow that no object has both."""
    return place.members[name].seen + place.members[other].seen <= place.kinds.get("object", 0)
