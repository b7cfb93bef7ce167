"""Spellings of the same key: takes the observed keys of an object; returns the intended key for each other spelling.

A contract reads `Name` and `first-name` as `name` and `first_name` anyway, so a draft has only the most common one.
"""

from trueup.inferring.evidence import ObservedPlace


def folded_members(place: ObservedPlace) -> dict[str, str]:
    """The rare spellings of keys, each with the intended key.

    >>> from trueup.inferring.evidence import Budget, observe
    >>> place = ObservedPlace(Budget())
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
        # `@TYPE` means `@type` rather than `type`, if there are both
        nearest = sorted(alike, key=lambda other: other.casefold() != name.casefold())
        meant = next((other for other in nearest if _never_together(place, name, other)), None)
        if meant is None:
            alike.append(name)
        else:
            others[name] = meant
    return others


def _never_together(place: ObservedPlace, name: str, other: str) -> bool:
    """Whether the counts of two keys allow that no object has both."""
    return place.members[name].seen + place.members[other].seen <= place.kinds.get("object", 0)
