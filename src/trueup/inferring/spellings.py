"""Keys that are other spellings of a key: what was seen of the keys of an object enters; which key each other spelling means leaves.

A contract reads `Name` and `first-name` as `name` and `first_name` by itself, so a draft has one of them: the commonest.
"""

from trueup.inferring.evidence import Place

_RARELY = 0.25  # how often another spelling is seen, at most, for each time that the common one is


def folded_members(place: Place) -> dict[str, str]:
    """The rare spellings of keys, each with the key that is meant.

    >>> from trueup.inferring.evidence import Budget, observe
    >>> place = Place(Budget())
    >>> for key in ["first_name"] * 9 + ["FirstName"]:
    ...     observe(place, {key: 1})
    >>> folded_members(place)
    {'FirstName': 'first_name'}
    """
    common: dict[str, str] = {}
    others: dict[str, str] = {}
    for name in sorted(place.members, key=lambda name: -place.members[name].seen):
        folded = "".join(char for char in name.casefold() if char.isalnum()) or name
        meant = common.setdefault(folded, name)
        if meant != name and place.members[name].seen <= _RARELY * place.members[meant].seen:
            others[name] = meant
    return others
