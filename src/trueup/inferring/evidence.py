"""The evidence at each place of the values: takes values one by one; returns counts, in constant memory.

An `ObservedPlace` counts types, members, lengths and a bounded number of distinct values. Two places can be merged.
Uncertain parts of broken replies are not counted: a cut reply may lack a field only because it was cut. This module
decides nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from trueup.inferring.formats import still_fitting
from trueup.verdict.paths import Parts

MAX_TEXTS = 200  # distinct short texts at one place
MAX_TEXT = 120  # characters of the longest text that counts as a value
MAX_NUMBERS = 64  # distinct whole numbers at one place
MAX_LENGTHS = 32  # distinct list lengths at one place
MAX_KEYS = 1_000  # distinct keys of the objects at one place
MAX_PLACES = 50_000  # places in all
MAX_VALUES = 500_000  # distinct texts and numbers in all
MAX_DEPTH = 24  # deeper values are not examined: a contract file has at most 64 levels
MAX_TUPLE = 4  # items of the longest list with separate positions
MAX_KINDS = 12  # values of a field that distinguishes kinds of objects
MAX_TAG = 40  # characters of such a value
TAGS: Final = ("type", "kind", "event", "action", "op", "object", "shape", "tag", "variant", "method")
"""Names of fields that distinguish kinds of objects."""

# the uncertain aspect of a place of a value
TYPE, VALUE, MEMBERS = "type", "value", "members"


class Budget:
    """How many more places and distinct values may be stored. All places of one draft share it."""

    __slots__ = ("left", "values")

    def __init__(self, left: int = MAX_PLACES, values: int = MAX_VALUES) -> None:
        self.left = left
        self.values = values

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


class Member:
    """One key of the objects at a place."""

    __slots__ = ("clean", "complete", "place", "seen")

    def __init__(self, place: "ObservedPlace") -> None:
        self.place = place
        self.seen = 0
        self.complete = 0
        """The number of complete objects with the key."""
        self.clean = 0
        """The number of replies without syntax errors that have the key."""


class ObservedPlace:
    """The evidence at one place of the values."""

    __slots__ = (
        "blank", "budget", "clean", "complete", "doubtful", "formats", "fractions", "high", "inside", "item", "kinds", "kinds_clean", "lengths",
        "longest", "low", "members", "most", "numbers", "ordered", "rest", "rest_keys", "shortest", "spelled", "texts", "variants", "whole_floats",
    )  # fmt: skip

    def __init__(self, budget: Budget, *, inside: bool = False) -> None:
        self.budget = budget
        self.inside = inside
        """Whether this place is inside one kind of object: kinds within kinds are not distinguished."""
        self.kinds: dict[str, int] = {}
        """The count of each type, if it is certain."""
        self.kinds_clean: dict[str, int] = {}
        """The same, in replies without syntax errors."""
        self.doubtful: dict[str, int] = {}
        """The count of each type, if it is a guess."""
        # texts
        self.texts: dict[str, int] | None = {}
        """The distinct texts; None after too many of them, or a long one."""
        self.formats: frozenset[str] | None = None
        """The formats that every text has; None before the first text."""
        self.spelled: dict[str, int] = {}
        """How many texts spell a number or a boolean."""
        self.blank = 0
        self.shortest, self.longest = -1, -1
        # numbers
        self.low: float | None = None
        self.high: float | None = None
        self.whole_floats = 0
        self.fractions = 0
        self.numbers: dict[int, int] | None = {}
        # lists
        self.item: ObservedPlace | None = None
        self.lengths: dict[int, int] | None = {}
        self.most = 0
        self.ordered: list[ObservedPlace] | None = []
        """The evidence at each position of lists that all have the same small length; None for other lists."""
        # objects
        self.complete = 0
        self.clean = 0
        self.members: dict[str, Member] = {}
        self.rest: ObservedPlace | None = None
        """The values of all further keys, once there are too many."""
        self.rest_keys = 0
        self.variants: dict[str, dict[str, ObservedPlace] | None] = {}
        """The objects by the value of a field that may distinguish their kinds; None after too many values."""

    @property
    def seen(self) -> int:
        """The number of values of a certain type."""
        return sum(self.kinds.values())

    def merge(self, other: "ObservedPlace") -> None:
        """Add the counts of another place, which stays unchanged."""
        open_ = [(self, other)]
        while open_:
            here, there = open_.pop()
            _merge_scalars(here, there)
            open_ += _merge_lists(here, there)
            open_ += _merge_objects(here, there)

    def below(self, key: str) -> "ObservedPlace":
        """The place of a key, new if there is room for it; otherwise the place of all further keys."""
        member = self.members.get(key)
        if member is None:
            if len(self.members) >= MAX_KEYS or not self.budget.take():
                self.rest_keys += 1
                if self.rest is None:
                    self.rest = self.another()
                return self.rest
            member = self.members[key] = Member(self.another())
        return member.place

    def another(self) -> "ObservedPlace":
        """A new place below this one."""
        return ObservedPlace(self.budget, inside=self.inside)

    def variant(self, tag: str, value: str) -> "ObservedPlace | None":
        """The place of the objects with this tag value; None if there are too many."""
        kinds = self.variants.setdefault(tag, {})
        if kinds is None:
            return None
        if value not in kinds:
            if len(kinds) >= MAX_KINDS or not self.budget.take():
                self.variants[tag] = None
                return None
            kinds[value] = ObservedPlace(self.budget, inside=True)
        return kinds[value]


def kind_of(value: Any) -> str:
    """The JSON type of a value. A float is a number even if it is whole.

    >>> kind_of(True), kind_of(1), kind_of(1.0), kind_of(None)
    ('boolean', 'integer', 'number', 'null')
    """
    return _KINDS.get(type(value), "string")


_KINDS = {
    dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null",
}  # fmt: skip


def observe(
    root: ObservedPlace, value: Any, *, clean: bool = True, cut: bool = False, doubts: Mapping[Parts, str] = {}
) -> None:
    """Count a value. `cut`: the reply ends early. `doubts`: the uncertain places, and what is uncertain there.

    >>> place = ObservedPlace(Budget())
    >>> observe(place, {"a": 1, "b": [True]})
    >>> place.kinds, sorted(place.members), place.complete
    ({'object': 1}, ['a', 'b'], 1)
    """
    # place, value, path (only if it is needed), and whether the reply ends inside the value
    open_: list[tuple[ObservedPlace, Any, Parts, bool]] = [(root, value, (), cut)]
    while open_:
        place, here, path, is_open = open_.pop()
        doubt = doubts.get(path, "") if doubts else ""
        kind = kind_of(here)
        if doubt == TYPE:
            place.doubtful[kind] = place.doubtful.get(kind, 0) + 1
            if kind in ("string", "integer", "number", "null", "boolean"):
                continue
        else:
            place.kinds[kind] = place.kinds.get(kind, 0) + 1
            if clean:
                place.kinds_clean[kind] = place.kinds_clean.get(kind, 0) + 1
        if kind == "object":
            open_ += _in_object(place, here, path, is_open=is_open, clean=clean, whole=not is_open and doubt != MEMBERS)
        elif kind == "array":
            open_ += _in_list(place, here, path, is_open=is_open, whole=not is_open and doubt != MEMBERS)
        elif doubt != VALUE:
            _SCALARS[kind](place, here)


Step = tuple[ObservedPlace, Any, Parts, bool]


def _in_object(
    place: ObservedPlace, here: dict[Any, Any], path: Parts, *, is_open: bool, clean: bool, whole: bool
) -> Iterator[Step]:
    place.complete += whole
    place.clean += clean
    if len(path) >= MAX_DEPTH:
        return
    if not place.inside:
        for tag in TAGS:
            value = here.get(tag)
            if isinstance(value, str) and len(value) <= MAX_TAG and (kind := place.variant(tag, value)) is not None:
                yield kind, here, path, is_open
    last = len(here) - 1
    for index, (key, inner) in enumerate(here.items()):
        name = str(key)
        below = place.below(name)
        member = place.members.get(name)
        if member is not None:
            member.seen += 1
            member.complete += whole
            member.clean += clean
        yield below, inner, (*path, name), is_open and index == last


def _in_list(place: ObservedPlace, here: list[Any], path: Parts, *, is_open: bool, whole: bool) -> Iterator[Step]:
    if whole:
        place.most = max(place.most, len(here))
        place.lengths = _counted(place.lengths, len(here), MAX_LENGTHS, place.budget)
    if len(path) >= MAX_DEPTH:
        return
    if here and place.item is None:
        place.item = place.another()
    ordered = _places_of(place, here) if whole else None
    last = len(here) - 1
    for index, inner in enumerate(here):
        if place.item is not None:
            yield place.item, inner, (*path, index), is_open and index == last
        if ordered:  # only scalars: deeper values are counted elsewhere
            kind = kind_of(inner)
            ordered[index].kinds[kind] = ordered[index].kinds.get(kind, 0) + 1


def _places_of(place: ObservedPlace, here: list[Any]) -> list[ObservedPlace] | None:
    """The positions of a list with as many items as all lists before it, if they are few enough."""
    ordered = place.ordered
    if ordered == [] and 2 <= len(here) <= MAX_TUPLE:
        ordered = place.ordered = [place.another() for _ in here]
    if ordered is None or len(ordered) != len(here) or not here:
        place.ordered = None
    return place.ordered


def _text(place: ObservedPlace, text: str) -> None:
    size = len(text)
    place.shortest = size if place.shortest < 0 else min(place.shortest, size)
    place.longest = max(place.longest, size)
    place.blank += not text.strip()
    place.texts = _counted(place.texts, text, MAX_TEXTS, place.budget) if size <= MAX_TEXT else None
    if place.formats is None or place.formats:
        place.formats = still_fitting(text, place.formats)
    spelled = _spelling(text)
    if spelled:
        place.spelled[spelled] = place.spelled.get(spelled, 0) + 1


def _spelling(text: str) -> str:
    """The type that a text spells: a whole number, a number, a boolean, or none of these."""
    if not text or len(text) > 24:
        return ""
    if text.lower() in ("true", "false"):
        return "boolean"
    digits = text.removeprefix("-")
    if digits.isdecimal() and text.isascii():
        return "integer" if digits[0] != "0" or digits == "0" else ""  # 0042 is a name, not a number
    try:
        float(text)
    except ValueError:
        return ""
    return "number" if any(digit.isdigit() for digit in text) else ""


def _number(place: ObservedPlace, number: float) -> None:
    if number != number or number in (float("inf"), float("-inf")):
        return
    place.low = number if place.low is None else min(place.low, number)
    place.high = number if place.high is None else max(place.high, number)
    if isinstance(number, int):
        place.numbers = _counted(place.numbers, number, MAX_NUMBERS, place.budget)
    elif number.is_integer():
        place.whole_floats += 1
    else:
        place.fractions += 1


def _nothing(_place: ObservedPlace, _value: Any) -> None:
    """Do nothing: booleans and null have only a type."""


_SCALARS: dict[str, Callable[[ObservedPlace, Any], None]] = {
    "string": _text,
    "integer": _number,
    "number": _number,
    "boolean": _nothing,
    "null": _nothing,
}


def _counted(counts: dict[Any, int] | None, value: Any, most: int, budget: Budget) -> dict[Any, int] | None:
    """The counts with one value more; None after too many distinct ones."""
    if counts is not None:
        if value in counts:
            counts[value] += 1
        elif len(counts) >= most or budget.values <= 0:
            return None
        else:
            counts[value] = 1
            budget.values -= 1
    return counts


def _merge_scalars(here: ObservedPlace, there: ObservedPlace) -> None:
    for name in ("kinds", "kinds_clean", "doubtful", "spelled"):
        mine, theirs = getattr(here, name), getattr(there, name)
        for kind, count in theirs.items():
            mine[kind] = mine.get(kind, 0) + count
    here.texts = _sum(here.texts, there.texts, MAX_TEXTS)
    here.numbers = _sum(here.numbers, there.numbers, MAX_NUMBERS)
    here.lengths = _sum(here.lengths, there.lengths, MAX_LENGTHS)
    if there.formats is not None:
        here.formats = there.formats if here.formats is None else here.formats & there.formats
    for name in ("blank", "whole_floats", "fractions", "complete", "clean", "rest_keys"):
        setattr(here, name, getattr(here, name) + getattr(there, name))
    here.shortest = min((size for size in (here.shortest, there.shortest) if size >= 0), default=-1)
    here.longest = max(here.longest, there.longest)
    here.most = max(here.most, there.most)
    here.low = min((low for low in (here.low, there.low) if low is not None), default=None)
    here.high = max((high for high in (here.high, there.high) if high is not None), default=None)


def _sum(mine: dict[Any, int] | None, theirs: dict[Any, int] | None, most: int) -> dict[Any, int] | None:
    if mine is None or theirs is None:
        return None
    both = dict(mine)
    for value, count in theirs.items():
        both[value] = both.get(value, 0) + count
    return both if len(both) <= most else None


def _merge_lists(here: ObservedPlace, there: ObservedPlace) -> Iterator[tuple[ObservedPlace, ObservedPlace]]:
    if there.item is not None:
        if here.item is None:
            here.item = here.another()
        yield here.item, there.item
    if here.ordered == [] and there.ordered:
        here.ordered = [here.another() for _ in there.ordered]
    if here.ordered is None or there.ordered is None or (there.ordered and len(here.ordered) != len(there.ordered)):
        here.ordered = None
    elif there.ordered:
        yield from zip(here.ordered, there.ordered, strict=True)


def _merge_objects(here: ObservedPlace, there: ObservedPlace) -> Iterator[tuple[ObservedPlace, ObservedPlace]]:
    for key, theirs in there.members.items():
        place = here.below(key)
        member = here.members.get(key)
        if member is not None:
            member.seen += theirs.seen
            member.complete += theirs.complete
            member.clean += theirs.clean
        yield place, theirs.place
    if there.rest is not None:
        if here.rest is None:
            here.rest = here.another()
        yield here.rest, there.rest
    for tag, kinds in there.variants.items():
        if kinds is None:
            here.variants[tag] = None
        for value, theirs_ in (kinds or {}).items():
            variant = here.variant(tag, value)
            if variant is not None:
                yield variant, theirs_
