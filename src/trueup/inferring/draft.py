"""The schema of a place: takes evidence; returns a JSON Schema, with a note for each of its lines.

Held-out replies can undo every constraint. A relaxed constraint is named by its place and its keyword, and left out of
the next draft. No constraint is better than a wrong one.
"""

from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from trueup.inferring.evidence import Member, ObservedPlace
from trueup.inferring.maps import as_map
from trueup.inferring.scalars import number_bounds, text_rules
from trueup.inferring.spellings import folded_members
from trueup.inferring.strictness import Needs
from trueup.inferring.types import Types, types_of
from trueup.inferring.variants import Variants, variants_of
from trueup.inferring.words import count, seen, share, things
from trueup.inferring.yamltext import is_writable
from trueup.statistics.distributions import binomial_cdf

Location = tuple[str, ...]
"""A place in the values: keys, `[]` for the items of a list, `{}` for the values of a map."""
Loosened = AbstractSet[tuple[Location, str]]
Path = tuple[str | int, ...]
Schema = dict[str, Any]

MAX_PROPERTIES = 200
MAX_LINES = 2_000  # properties of a whole draft
_NOISE = 0.1
_CLEAN = 10
_FEW = 3  # from this many complete objects on, a key that all of them have is required
_MANY_OBJECTS = 150  # from this many objects on, the share without a key can be estimated
_UNLIKELY = 0.05
ITEMS, VALUES = "[]", "{}"


class Drafted(NamedTuple):
    """A schema, and the notes on its lines by their path."""

    schema: Schema
    notes: dict[Path, str]


def draft(place: ObservedPlace, needs: Needs, loosened: Loosened = frozenset(), replies: int = 0) -> Drafted:
    """The schema of all values at a place. `replies` is the number of replies in all.

    >>> from trueup.inferring.evidence import Budget, observe
    >>> from trueup.inferring.strictness import NEEDS
    >>> place = ObservedPlace(Budget())
    >>> for value in ({"a": 1, "b": "x"}, {"a": 2}):
    ...     observe(place, value)
    >>> drafted = draft(place, NEEDS["standard"])
    >>> drafted.schema
    {'type': 'object', 'properties': {'a': {'type': 'integer'}, 'b': {'type': 'string'}}, 'required': ['a']}
    >>> drafted.notes[("properties", "b")]
    'in 1 of 2, optional'
    """
    drafting = _Drafting(needs, loosened, max(replies, place.seen))
    schema = drafting.schema(place, (), ())
    return Drafted(schema, drafting.notes)


def is_noise(missing: int, total: int, rate: float) -> bool:
    """Whether the missing cases are within the expected rate. With few objects, every absence counts.

    >>> is_noise(1, 80, 0.01), is_noise(4, 300, 0.01), is_noise(9, 300, 0.01)
    (False, True, False)
    """
    if missing <= rate * total:
        return True
    return rate > 0 and total >= _MANY_OBJECTS and 1 - binomial_cdf(missing - 1, total, rate) >= _UNLIKELY


class _Drafting:
    """One draft: the required evidence, the relaxed constraints and the notes so far. Places have at most 24 levels."""

    def __init__(self, needs: Needs, loosened: Loosened, replies: int) -> None:
        self.needs = needs
        self.replies = replies
        # too few examples for the number of replies: they do not show what is inside
        self._thin = 2 if replies >= 30 else 1 if replies >= 10 else 0
        self.loosened = loosened
        self.notes: dict[Path, str] = {}
        self._lines = 0

    def schema(self, place: ObservedPlace, at: Location, path: Path) -> Schema:
        """The schema of one place."""
        if (at, "any") in self.loosened:
            self.notes[(*path, "description")] = "held-out replies have too many shapes here"
            return {"description": "Any value."}
        types = types_of(place, self._added(at))
        if not types.names:
            return {}
        variants = None if (at, "variants") in self.loosened else variants_of(place, self.needs)
        if variants is not None and types.single == "object":
            return self._variants(place, variants, types, at, path)
        schema: Schema = {"type": types.names[0] if len(types.names) == 1 else list(types.names)}
        if types.note:
            self.notes[(*path, "type")] = types.note
        if "string" in types.names:
            self._texts(place, types, schema, at, path)
        if "integer" in types.names or "number" in types.names:
            self._numbers(place, types, schema, at, path)
        if "array" in types.names and not self._is_thin(place, "array", at, path):
            self._lists(place, schema, at, path)
        if "object" in types.names and not self._is_thin(place, "object", at, path):
            self._objects(place, schema, at, path)
        return schema

    def _is_thin(self, place: ObservedPlace, kind: str, at: Location, path: Path) -> bool:
        """Whether there are too few objects or lists here to describe their contents. If so, adds a note."""
        if not at or place.kinds.get(kind, 0) > self._thin:
            return False
        key = (*path, "type")
        if "too few" not in self.notes.get(key, ""):
            self.notes[key] = "; ".join(filter(None, (self.notes.get(key), "too few to describe further")))
        return True

    def _added(self, at: Location) -> frozenset[str]:
        return frozenset(
            word.removeprefix("type:") for here, word in self.loosened if here == at and word.startswith("type:")
        )

    def _keeps(self, at: Location, word: str, path: Path) -> bool:
        """Whether a constraint stays. If held-out replies undid it, adds a note."""
        if (at, word) not in self.loosened:
            return True
        key = (*path, "type")
        said = f"no {_SAID[word]}: held-out replies break it"
        self.notes[key] = f"{self.notes[key]}; {said}" if key in self.notes else said
        return False

    # -- texts and numbers -----------------------------------------------------------------------

    def _texts(self, place: ObservedPlace, types: Types, schema: Schema, at: Location, path: Path) -> None:
        rules = text_rules(place, types, self.needs)
        for word, value, note in rules.kept:
            if self._keeps(at, _GROUP[word], path):
                schema[word] = value
                if note:
                    self.notes[(*path, word)] = note
        if rules.remark and "enum" not in schema:
            key = (*path, "type")
            self.notes[key] = f"{self.notes[key]}; {rules.remark}" if key in self.notes else rules.remark

    def _numbers(self, place: ObservedPlace, types: Types, schema: Schema, at: Location, path: Path) -> None:
        name = next((part for part in reversed(at) if part not in (ITEMS, VALUES)), "")
        bounds = number_bounds(place, types, name, self.needs)
        if bounds.kept and self._keeps(at, "bounds", path):
            for word, value, note in bounds.kept:
                schema[word] = value
                if note:
                    self.notes[(*path, word)] = note

    # -- lists -----------------------------------------------------------------------------------

    def _lists(self, place: ObservedPlace, schema: Schema, at: Location, path: Path) -> None:
        lists = place.kinds.get("array", 0)
        lengths = place.lengths
        fixed = self._tuple(place, schema, at, path)
        if not fixed and place.item is not None:
            schema["items"] = self.schema(place.item, (*at, ITEMS), (*path, "items"))
            self.notes[(*path, "items")] = f"{things(place.item.seen, 'item')} in {things(lists, 'list')}"
        whole = sum(lengths.values()) if lengths else 0
        if fixed or not lengths or whole < self.needs.lists or 0 in lengths or not self._keeps(at, "size", path):
            return
        if len(lengths) == 1 and place.most > 1:
            schema["minItems"] = schema["maxItems"] = place.most
            self.notes[(*path, "minItems")] = f"this length in all {count(whole)}"
        else:
            schema["minItems"] = 1
            self.notes[(*path, "minItems")] = f"never empty in {things(whole, 'list')}"

    def _tuple(self, place: ObservedPlace, schema: Schema, at: Location, path: Path) -> bool:
        """Whether a list of fixed length has different types at its positions. If so, describes each position."""
        ordered = place.ordered
        whole = sum((place.lengths or {}).values())
        if not ordered or whole < self.needs.lists or (at, "size") in self.loosened or (at, "tuple") in self.loosened:
            return False
        kinds = [types_of(one) for one in ordered]
        if any(not one.single or one.single in ("object", "array") for one in kinds):
            return False
        if len({"number" if one.single == "integer" else one.single for one in kinds}) == 1:
            return False
        schema["prefixItems"] = [{"type": one.names[0] if len(one.names) == 1 else list(one.names)} for one in kinds]
        schema["minItems"] = schema["maxItems"] = len(ordered)
        self.notes[(*path, "prefixItems")] = f"these types in all {count(whole)}"
        return True

    # -- objects ---------------------------------------------------------------------------------

    def _objects(self, place: ObservedPlace, schema: Schema, at: Location, path: Path) -> None:
        dynamic = as_map(place)
        names = self._names(place) if dynamic is None else [name for name in dynamic.stable if is_writable(name)]
        if names:
            self._members(place, names, schema, (at, path), is_map=dynamic is not None)
        if dynamic is not None:
            if dynamic.values is not None:
                schema["additionalProperties"] = self.schema(
                    dynamic.values, (*at, VALUES), (*path, "additionalProperties")
                )
            self.notes[(*path, "additionalProperties" if dynamic.values is not None else "type")] = dynamic.note
        elif self.needs.closed and names and (at, "closed") not in self.loosened:
            schema["additionalProperties"] = False
            self.notes[(*path, "additionalProperties")] = f"no other key in {count(place.kinds.get('object', 0))}"

    def _names(self, place: ObservedPlace) -> list[str]:
        """The keys to name, in order of appearance. Rare keys that only broken replies have are noise."""
        total = place.kinds.get("object", 0) or 1

        def is_rare(member: Member) -> bool:
            part = member.seen / total
            if place.clean >= _CLEAN and not member.clean:
                return part < _NOISE
            return (total >= 50 and member.seen == 1) or (total >= 200 and part < 0.005)

        others = folded_members(place)
        names = [name for name in place.members if name not in others and is_writable(name)]
        names = [name for name in names if not is_rare(place.members[name])][: max(0, MAX_LINES - self._lines)]
        if len(names) > MAX_PROPERTIES:
            often = set(sorted(names, key=lambda name: -place.members[name].seen)[:MAX_PROPERTIES])
            names = [name for name in names if name in often]
        return names

    def _members(
        self, place: ObservedPlace, names: list[str], schema: Schema, where: tuple[Location, Path], *, is_map: bool
    ) -> None:
        at, path = where
        schema["properties"] = {}
        others = folded_members(place)
        required = []
        least = place.complete
        for name in names:
            member = place.members[name]
            spelled = [place.members[other] for other, meant in others.items() if meant == name]
            has = min(place.complete, member.complete + sum(other.complete for other in spelled))
            inner = (*path, "properties", name)
            self._lines += 1
            schema["properties"][name] = self.schema(member.place, (*at, name), inner)
            is_required, said = self._required(place, member, has, (at, name))
            self.notes[inner] = (
                f"{said}; {count(sum(other.seen for other in spelled))} spelled differently" if spelled else said
            )
            if is_required:
                required.append(name)
                least = min(least, has)
        left = len(place.members) - len(names) - len(others)
        if left > 0 and not is_map:
            self.notes[(*path, "properties")] = f"{things(left, 'rare key')} left out"
        if required:
            schema["required"] = required
            whole = things(place.complete, "complete object")
            self.notes[(*path, "required")] = (
                f"in all {whole}"
                if place.complete > 1
                else f"in {whole}"
                if least == place.complete
                else f"in {share(least, place.complete)} or more of {whole}"
            )

    def _required(self, place: ObservedPlace, member: Member, has: int, key: tuple[Location, str]) -> tuple[bool, str]:
        """Whether a key is required, and the evidence. `has` is the number of complete objects with the key."""
        whole, (at, name) = place.complete, key
        if not has:
            return (
                False,
                f"seen {'once' if member.seen == 1 else f'{count(member.seen)} times'}, only in incomplete replies",
            )
        if not is_noise(whole - has, whole, self.needs.missing):
            return False, f"{seen(has, whole)}, optional"
        if whole < min(_FEW, self.replies):
            return False, f"{seen(has, whole)}, too few to require it"
        if (at, f"required:{name}") in self.loosened:
            return False, f"{seen(has, whole)}, optional because held-out replies lack it"
        return True, seen(has, whole) if has == whole else f"{seen(has, whole)}, too rarely missing to be optional"

    def _variants(self, place: ObservedPlace, variants: Variants, types: Types, at: Location, path: Path) -> Schema:
        """Objects of several kinds: one schema for each, distinguished by a tag."""
        arms: list[Schema] = []
        for index, (value, kind) in enumerate(variants.kinds.items()):
            inner = (*path, "oneOf", index)
            arm: Schema = {"type": "object"}
            self._objects(kind, arm, at, inner)
            arm["properties"][variants.tag] = {"const": value}
            self.notes[inner] = (
                f"{variants.tag} is this {seen(kind.kinds.get('object', 0), place.kinds.get('object', 0))}"
            )
            self.notes = {
                where: note
                for where, note in self.notes.items()
                if where[: len(inner) + 2] != (*inner, "properties", variants.tag)
            }
            arms.append(arm)
        if "null" in types.names:
            arms.append({"type": "null"})
        self.notes[(*path, "oneOf")] = variants.note
        return {"oneOf": arms}


_GROUP = {"enum": "enum", "format": "format", "minLength": "length", "maxLength": "length"}
_SAID = {
    "enum": "enum",
    "format": "format",
    "length": "limit of length",
    "bounds": "bounds",
    "size": "limit of size",
}
