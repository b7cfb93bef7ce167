"""What was seen at each place of the values: values enter one by one, counts leave, in memory that does not grow with their number.

A `Place` counts types, members, lengths and a bounded number of different values; two of them can be merged. What a broken reply leaves open is
not counted: where a reply was cut, a field may be missing for that reason alone. Nothing is decided here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from trueup.inferring.formats import still_fitting
from trueup.verdict.paths import Parts

MAX_TEXTS = 200  # different short texts of one place
MAX_TEXT = 120  # characters of a text that is counted as a value
MAX_NUMBERS = 64  # different whole numbers of one place
MAX_LENGTHS = 32  # different lengths of lists at one place
MAX_KEYS = 1_000  # different keys of the objects at one place
MAX_PLACES = 50_000  # places in all
MAX_VALUES = 500_000  # different texts and numbers in all
MAX_DEPTH = 24  # below, values are not looked into: a contract file is at most 64 levels deep
MAX_TUPLE = 4  # items of a list whose places are looked at one by one
MAX_KINDS = 12  # values of a field that tells kinds of objects apart
MAX_TAG = 40  # characters of such a value
TAGS: Final = ("type", "kind", "event", "action", "op", "object", "shape", "tag", "variant", "method")
"""Names of fields by which objects of several kinds are told apart."""

# what is not sure at one place of a value
TYPE, VALUE, MEMBERS = "type", "value", "members"


class Budget:
    """How many places may still be made, and different values be kept; all places of one draft share it."""

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

    def __init__(self, place: "Place") -> None:
        self.place = place
        self.seen = 0
        self.complete = 0
        """How many objects that are known to be whole have it."""
        self.clean = 0
        """How many replies without any fault of syntax have it."""


class Place:
    """What was seen at one place of the values."""

    __slots__ = (
        "blank", "budget", "clean", "complete", "doubtful", "formats", "fractions", "high", "inside", "item", "kinds", "kinds_clean", "lengths",
        "longest", "low", "members", "most", "numbers", "ordered", "rest", "rest_keys", "shortest", "spelled", "texts", "variants", "whole_floats",
    )  # fmt: skip

    def __init__(self, budget: Budget, *, inside: bool = False) -> None:
        self.budget = budget
        self.inside = inside
        """Whether this is a place of one kind of objects: kinds within kinds are not told apart."""
        self.kinds: dict[str, int] = {}
        """How often each type was seen, where it is sure."""
        self.kinds_clean: dict[str, int] = {}
        """The same in replies without any fault of syntax."""
        self.doubtful: dict[str, int] = {}
        """How often each type was seen, where it is a guess."""
        # texts
        self.texts: dict[str, int] | None = {}
        """The different texts; None once there were too many, or a long one."""
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
        self.item: Place | None = None
        self.lengths: dict[int, int] | None = {}
        self.most = 0
        self.ordered: list[Place] | None = []
        """What stands at each place of lists that all have the same small length; None for other lists."""
        # objects
        self.complete = 0
        self.clean = 0
        self.members: dict[str, Member] = {}
        self.rest: Place | None = None
        """What the values of all further keys are, once there are too many."""
        self.rest_keys = 0
        self.variants: dict[str, dict[str, Place] | None] = {}
        """The objects by the value of a field that may tell their kinds apart; None once it had too many values."""

    @property
    def seen(self) -> int:
        """How often something was seen here of which the type is sure."""
        return sum(self.kinds.values())

    def merge(self, other: "Place") -> None:
        """Add what another place has seen; the other stays as it was."""
        open_ = [(self, other)]
        while open_:
            here, there = open_.pop()
            _merge_scalars(here, there)
            open_ += _merge_lists(here, there)
            open_ += _merge_objects(here, there)

    def below(self, key: str) -> "Place":
        """The place of a key, made if there is room for it; else that of all further keys."""
        member = self.members.get(key)
        if member is None:
            if len(self.members) >= MAX_KEYS or not self.budget.take():
                self.rest_keys += 1
                if self.rest is None:
                    self.rest = self.another()
                return self.rest
            member = self.members[key] = Member(self.another())
        return member.place

    def another(self) -> "Place":
        """A new place below this one."""
        return Place(self.budget, inside=self.inside)

    def variant(self, tag: str, value: str) -> "Place | None":
        """The place of the objects with this value of a tag; None if there are too many."""
        kinds = self.variants.setdefault(tag, {})
        if kinds is None:
            return None
        if value not in kinds:
            if len(kinds) >= MAX_KINDS or not self.budget.take():
                self.variants[tag] = None
                return None
            kinds[value] = Place(self.budget, inside=True)
        return kinds[value]


def kind_of(value: Any) -> str:
    """The JSON type of a value; a float is a number, even if it is whole.

    >>> kind_of(True), kind_of(1), kind_of(1.0), kind_of(None)
    ('boolean', 'integer', 'number', 'null')
    """
    return _KINDS.get(type(value), "string")


_KINDS = {
    dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null",
}  # fmt: skip


def observe(
    root: Place, value: Any, *, clean: bool = True, cut: bool = False, doubts: Mapping[Parts, str] = {}
) -> None:
    """Count a value. `cut` says that the reply ends early; `doubts` names the places that are not sure, and in what.

    >>> place = Place(Budget())
    >>> observe(place, {"a": 1, "b": [True]})
    >>> place.kinds, sorted(place.members), place.complete
    ({'object': 1}, ['a', 'b'], 1)
    """
    # place, value, path (only where somebody asks), whether the reply was cut inside of it
    open_: list[tuple[Place, Any, Parts, bool]] = [(root, value, (), cut)]
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
            open_ += _in_object(place, here, path, is_open, clean, whole=not is_open and doubt != MEMBERS)
        elif kind == "array":
            open_ += _in_list(place, here, path, is_open, whole=not is_open and doubt != MEMBERS)
        elif doubt != VALUE:
            _SCALARS[kind](place, here)


Step = tuple[Place, Any, Parts, bool]


def _in_object(
    place: Place, here: dict[Any, Any], path: Parts, is_open: bool, clean: bool, *, whole: bool
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


def _in_list(place: Place, here: list[Any], path: Parts, is_open: bool, *, whole: bool) -> Iterator[Step]:
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
        if ordered:  # scalars alone: what is deeper is counted once
            kind = kind_of(inner)
            ordered[index].kinds[kind] = ordered[index].kinds.get(kind, 0) + 1


def _places_of(place: Place, here: list[Any]) -> list[Place] | None:
    """The places of a list that has as many items as all before it, few enough to be looked at one by one."""
    ordered = place.ordered
    if ordered == [] and 2 <= len(here) <= MAX_TUPLE:
        ordered = place.ordered = [place.another() for _ in here]
    if ordered is None or len(ordered) != len(here) or not here:
        place.ordered = None
    return place.ordered


def _text(place: Place, text: str) -> None:
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
    """What a text spells: a whole number, a number, a boolean, or nothing of the kind."""
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


def _number(place: Place, number: float) -> None:
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


def _nothing(_place: Place, _value: Any) -> None:
    """Booleans and null say nothing beyond their type."""


_SCALARS: dict[str, Callable[[Place, Any], None]] = {
    "string": _text,
    "integer": _number,
    "number": _number,
    "boolean": _nothing,
    "null": _nothing,
}


def _counted(counts: dict[Any, int] | None, value: Any, most: int, budget: Budget) -> dict[Any, int] | None:
    """The counts with one value more; None once there are too many different ones."""
    if counts is not None:
        if value in counts:
            counts[value] += 1
        elif len(counts) >= most or budget.values <= 0:
            return None
        else:
            counts[value] = 1
            budget.values -= 1
    return counts


def _merge_scalars(here: Place, there: Place) -> None:
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


def _merge_lists(here: Place, there: Place) -> Iterator[tuple[Place, Place]]:
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


def _merge_objects(here: Place, there: Place) -> Iterator[tuple[Place, Place]]:
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
