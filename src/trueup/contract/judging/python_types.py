"""Values under a contract that is a Python type: the type is asked first, and its answer is the verdict.

Takes a value and returns how it fits, with the value that the type built, or with the refused places and reasons.
Coercion runs only at the refused places, and the type's own conversions are recorded. This module does not decide what
is valid.
"""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.conform.coerce import CoercionNote, conform
from trueup.conform.document import facets
from trueup.conform.options import Options
from trueup.conform.places import kept_at
from trueup.conform.schema import Schema
from trueup.conform.survey import types_at, unions
from trueup.contract.judging.integers import Test
from trueup.recover.choose import SchemaFit
from trueup.recover.json.lexer import fold
from trueup.verdict.bugs import bug_of
from trueup.verdict.catalogue import PRICE
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding, finding
from trueup.verdict.paths import Parts, parse, render

if TYPE_CHECKING:
    from trueup.conform.types import Read

_PASSES = 4  # a type may refuse more after its first faults are fixed


class Raised(list[Finding]):
    """A bug in the user's code: other readings are tried first, and the check raises it if none of them fits."""

    def __init__(self, error: Exception) -> None:
        super().__init__([finding("X001", "$", str(bug_of(error)))])
        self.error = error


class TypeFitter:
    """Fits values to the Python type of a schema.

    `has_alias` tests whether a value has a key under one of its aliases; `is_hopeless` whether coercing it cannot help.
    """

    __slots__ = ("_coerces", "_has_alias", "_is_hopeless", "_needs_whole", "_options", "_schema")

    def __init__(self, schema: Schema, options: Options, has_alias: Test | None, is_hopeless: Test) -> None:
        self._schema = schema
        known = {name: [*schema.aliases.get(name, ()), *others] for name, others in options.aliases.items()}
        self._options = msgspec.structs.replace(options, aliases={**schema.aliases, **known})
        self._coerces = options.profile != "off"
        self._has_alias = has_alias
        self._is_hopeless = is_hopeless
        self._needs_whole: bool | None = None  # computed when a part is judged

    def fit(self, value: Any) -> SchemaFit:
        """Ask the type; if it refuses the value, coerce and ask again."""
        built, refused = self._asked(value)
        aliased = self._has_alias is not None and self._has_alias(value)
        if not refused and not aliased:
            return self.accepted(value, built)
        if not self._coerces or self._is_hopeless(value):
            return SchemaFit(value, [], 0, ok=False, refused=refused)
        fit = self._coerced(value, refused)
        return fit if fit.ok or refused else self.accepted(value, built)

    def _asked(self, value: Any) -> tuple[Any, list[Finding]]:
        """The type's answer; a bug in its code refuses this reading, and another one is tried."""
        try:
            return self._schema.build(value)
        except Exception as error:
            if bug_of(error) is None:
                raise
            return None, Raised(error)

    def _coerced(self, value: Any, refused: Sequence[Finding]) -> SchemaFit:
        """The value converted to its type, but only if the type refuses it."""
        schema = self._schema
        places = self._at_fault(refused) or {()}
        fitted, changes = conform(value, schema, self._options)
        keys: list[CoercionNote] = []
        if any(note.code == "C010" for note in changes):  # under its right name, the type may accept it
            value, keys = kept_at(fitted, changes, places, only="C010")
        if keys:
            built, refused = self._asked(value)
            if not refused:
                return self.accepted(value, built, keys)
            places = self._at_fault(refused)
            fitted, changes = conform(value, schema, self._options)
        passes = 0
        while True:
            made, notes = kept_at(fitted, changes, places)
            built, refused = self._asked(made)
            if not refused:
                return self.accepted(made, built, [*keys, *notes])
            more, passes = self._at_fault(refused) - places, passes + 1
            if not more or passes == _PASSES:
                return SchemaFit(made, [*keys, *notes], price(keys) + price(notes), ok=False, refused=refused)
            places |= more

    def _at_fault(self, refused: Sequence[Finding]) -> set[Parts]:
        """The places at which coercion may help."""
        places = [parse(one.path) for one in refused]
        return {place if (wide := self._schema.wide(place)) is None else wide for place in places}

    def accepted(
        self, value: Any, built: Any, notes: Sequence[CoercionNote] = (), read: "Read | None" = None
    ) -> SchemaFit:
        """A value that the type accepts, with the keys matched that it would silently drop; `read` is its reading, if
        known.
        """
        if self._coerces and (renamed := _renamed(value, self._schema.names)):
            named = {renamed.get(key, key): item for key, item in value.items()}
            instead, refused = self._asked(named)
            if not refused:
                value, built, read = named, instead, None
                notes = [*(CoercionNote("C010", (new,), old, new) for old, new in renamed.items()), *notes]
        data, changes = self._schema.read(value, built, written(value)) if read is None else read
        notes = [*notes, *(CoercionNote("C018", *change) for change in changes)]
        return SchemaFit(data, notes, price(notes), ok=True, built=built)

    def explained(self, fit: SchemaFit, limit: int) -> list[Finding]:
        """The reasons why a value does not fit: the type gives the place, and the schema gives a better message."""
        places = [parse(one.path) for one in fit.refused]
        around = {place[:size] for place in places for size in range(len(place) + 1)}
        wide = {outer for place in places if (outer := self._schema.wide(place)) is not None}
        known: set[Parts] = set()
        found: list[Finding] = []
        for one in self._schema.errors(fit.value, limit):  # the schema may be stricter than the type
            path = parse(one.path)
            if path in around or _is_in(path, wide):
                found.append(one)
                known.add(path)
        worded = [one for one, place in zip(fit.refused, places, strict=True) if _is_in(place, known)]
        rest = [one for one, place in zip(fit.refused, places, strict=True) if not _is_in(place, known)]
        return [*found, *_of_same_arms(rest, worded)][:limit]

    @property
    def judges_parts(self) -> bool:
        """Whether the type reports the faults of each member even if others are missing."""
        return self._schema.wide(()) is None

    @property
    def needs_whole(self) -> bool:
        """Whether a member alone proves nothing: the type's code sees the whole first, or other members choose the
        type.
        """
        if self._needs_whole is None:
            arms = [arm for here in facets((self._schema.place,)) for group in unions(here) for arm in group]
            is_union = len([arm for arm in arms if types_at(arm) != {"null"}]) > 1
            self._needs_whole = is_union or self._schema.own_code.before_all
        return self._needs_whole

    def part_errors(self, slot: str | int, value: Any, limit: int) -> list[Finding]:
        """The type's errors for one member of the root, judged alone; missing members are ignored."""
        place: str | int = 0 if isinstance(slot, int) else slot
        try:
            fit = self.fit([value] if place == 0 else {place: value})
        except Exception:  # noqa: BLE001 - a validator of the whole may stumble over what is missing; the end of the reply decides
            return []
        if not any(parse(one.path)[:1] == (place,) for one in fit.refused):
            return []  # the only faults are members that have not arrived
        around = self._schema.own_code.around  # a validator may have lacked the members that it compares this one with
        said = [one for one in self.explained(fit, limit) if not (around and one.code == "V012")]
        found = [(one, parse(one.path)) for one in said]
        inside = [(one, path[1:]) for one, path in found if path[:1] == (place,)]
        return [msgspec.structs.replace(one, path=render(path)) for one, path in inside if path or not _is_missing(one)]


def price(notes: Sequence[CoercionNote]) -> int:
    """The total cost of coercions."""
    return sum(PRICE[note.code] for note in notes)


def _of_same_arms(faults: list[Finding], worded: list[Finding]) -> list[Finding]:
    """The faults without those of the union arms that the schema's messages are not about: not all can apply."""
    chosen: dict[str, set[str]] = {}
    for one in worded:
        for place, arm in one.data.get("arms", {}).items():
            chosen.setdefault(place, set()).add(arm)
    return [
        one
        for one in faults
        if all(arm in chosen.get(place, (arm,)) for place, arm in one.data.get("arms", {}).items())
    ]


def _is_missing(found: Finding) -> bool:
    return found.code == "V002" or found.data.get("kind") == "missing"


def _is_in(path: Parts, places: AbstractSet[Parts]) -> bool:
    """Whether a path is one of these places or inside one."""
    return any(path[:size] in places for size in range(len(path) + 1))


def _renamed(data: Any, own: frozenset[str]) -> dict[str, str]:
    """Keys that a type would silently drop, although each is a different spelling of one of its missing fields."""
    if not isinstance(data, dict) or own.issuperset(data):
        return {}
    missing: dict[str, list[str]] = {}
    for key in own.difference(data):
        missing.setdefault(fold(key), []).append(key)
    found = {key: missing[fold(key)] for key in data if key not in own and fold(key) in missing}
    once = Counter(fold(key) for key in found)
    return {key: fits[0] for key, fits in found.items() if len(fits) == 1 and once[fold(key)] == 1}
