"""Compares JSON data with the value that a type made from it.

Takes data and the value that a type built from it; returns the data as the type read it, and a note of every difference. A date that
stays text, a list that becomes a set and a default for a missing field are not differences: only those that JSON would show are noted.
"""

import dataclasses
import datetime as dt
import decimal
import fractions
import operator
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import msgspec

from trueup.verdict.paths import Parts, with_value

_SCALARS = frozenset({str, int, float, bool, type(None)})
_NUMBERS = (decimal.Decimal, fractions.Fraction)
_NOTATIONS = (*_NUMBERS, dt.time, dt.timedelta, uuid.UUID, bytes, bytearray)
_MAX_DEPTH = 200  # deeper values are taken unchanged
_ABSENT: Any = object()


class Dump(Protocol):
    """Writes a part of a value as JSON data; `path` is its place."""

    def __call__(self, part: Any, path: Parts = ()) -> Any: ...


Getter = Callable[[Any], Any]


class Converted(NamedTuple):
    """One place that a type changed: its path, and the data before and after; with `is_key`, the key before and after."""

    path: Parts
    before: Any
    after: Any
    is_key: bool = False


class ClassField(NamedTuple):
    """A field of a class: its attribute, its name in JSON, and every path where the class accepts it; `plain` means only its name.

    The attribute is empty if the instance does not keep the field: an `InitVar`.
    """

    attribute: str
    name: str
    ways: tuple[Parts, ...]
    plain: bool


def _field(attribute: str, name: str, ways: Sequence[Parts] = ()) -> ClassField:
    kept = tuple(dict.fromkeys(ways)) or ((name,),)
    return ClassField(attribute, name, kept, kept == ((name,),))


def by_msgspec(part: Any, path: Parts = ()) -> Any:  # noqa: ARG001 - the signature of all dumps
    """Write a part of a value that msgspec built."""
    return msgspec.to_builtins(part)


def read(data: Any, value: Any, dump: Dump) -> tuple[Any, list[Converted]]:
    """The data as a type reads it; `dump` writes a value of the type as JSON data.

    >>> read({"n": "36", "tags": [1, 1]}, {"n": 36, "tags": {1}}, by_msgspec)[0]
    {'n': 36, 'tags': [1]}
    """
    notes: list[Converted] = []
    return _walk(data, value, (), notes, dump), notes


def _walk(before: Any, after: Any, path: Parts, notes: list[Converted], dump: Dump) -> Any:
    kind: Any = type(after)
    if kind is type(before) and kind in _SCALARS:
        return before if before == after else _noted(before, after, path, notes)
    if len(path) > _MAX_DEPTH:
        return before
    while getattr(kind, "__pydantic_root_model__", False):
        after = after.root
        kind = type(after)
    if type(before) is dict:
        if isinstance(after, dict):
            return _mapping(before, after, path, notes, dump)
        known = _getters(kind)
        if known is not None:
            fields, items_of, attributes_of = known
            try:  # most objects have only scalars, each under its own name
                items, made = items_of(before), attributes_of(after)
                if (
                    items == made
                    and _SCALARS.issuperset(map(type, items))
                    and [*map(type, items)] == [*map(type, made)]
                ):
                    return before
            except (KeyError, AttributeError):
                pass
            return _object(before, after, fields, path, notes, dump)
    elif type(before) is list:
        if isinstance(after, set | frozenset):
            return _set(before, after, path, notes, dump)
        items = _items(after)
        if items is not None and (len(items) == len(before) or (len(items) > len(before) and _has_defaults(kind))):
            return _array(before, items, path, notes, dump)
    return _other(before, after, path, notes, dump)


def _noted(before: Any, after: Any, path: Parts, notes: list[Converted]) -> Any:
    notes.append(Converted(path, before, after))
    return after


def _other(before: Any, after: Any, path: Parts, notes: list[Converted], dump: Dump) -> Any:
    """A value of any other kind, as JSON, unless the original text or number is only a different notation for it."""
    try:
        if hasattr(after, "__next__"):  # an iterator returns its items only once, to the user
            return before
        plain = after if type(after) in _SCALARS else dump(after, path)
        if plain is None and after is not None:
            return before
    except Exception:  # noqa: BLE001 - a user's class may refuse to be written; its data stay unchanged
        return before
    if _same(before, plain):
        return before
    return before if _is_notation(before, after) else _noted(before, plain, path, notes)


def _is_notation(before: Any, after: Any) -> bool:
    """Whether data are the same value in a different notation than the value's own."""
    if type(before) in (int, float):
        return isinstance(after, _NUMBERS)
    if type(before) is not str:
        return False
    if isinstance(after, dt.datetime):
        return ":" in before  # a date alone, or a count of seconds, became a point in time
    return isinstance(after, _NOTATIONS) or hasattr(after, "get_secret_value")


def _same(before: Any, plain: Any) -> bool:
    """Whether two JSON values are the same: 5 is 5.0 for a float, and true is not 1."""
    if type(before) is type(plain) or (type(before) is int and type(plain) is float):
        return bool(before == plain) and (
            type(before) in _SCALARS or msgspec.json.encode(before) == msgspec.json.encode(plain)
        )
    return False


def _array(before: list[Any], items: Any, path: Parts, notes: list[Converted], dump: Dump) -> list[Any]:
    result = before
    for index, (item, made) in enumerate(zip(before, items, strict=False)):  # defaults may follow
        if type(item) is type(made) and type(item) in _SCALARS and item == made:
            continue
        data = _walk(item, made, (*path, index), notes, dump)
        if data is not item:
            if result is before:
                result = before.copy()
            result[index] = data
    return result


def _items(value: Any) -> Any:
    if isinstance(value, list | tuple | deque):
        return value
    config = getattr(type(value), "__struct_config__", None)
    if config is not None and config.array_like:
        return [getattr(value, name) for name in value.__struct_fields__]
    return None


def _has_defaults(kind: type) -> bool:
    """Whether items at the end of an array may be missing: in a NamedTuple, or in a Struct written as an array."""
    return hasattr(kind, "_fields") or hasattr(kind, "__struct_config__")


def _set(before: list[Any], after: Any, path: Parts, notes: list[Converted], dump: Dump) -> Any:
    """A list that became a set: noted if an item was converted or repeated; the order of the list is kept."""
    try:
        made = {msgspec.json.encode(data): data for data in map(dump, after)}
    except Exception:  # noqa: BLE001 - as in `_other`
        return before
    written = [msgspec.json.encode(item) for item in before]
    if len(made) == len(before) and made.keys() == set(written):
        return before
    kept = [made.pop(text) for text in dict.fromkeys(written) if text in made]
    return _noted(before, kept + [made[text] for text in sorted(made)], path, notes)


def _mapping(before: dict[str, Any], after: dict[Any, Any], path: Parts, notes: list[Converted], dump: Dump) -> Any:
    """A mapping, member by member; one with keys that are not in the data is a different value."""
    try:
        members = {key if type(key) is str else str(dump(key)): value for key, value in after.items()}
    except Exception:  # noqa: BLE001 - as in `_other`
        return before
    if not members.keys() <= before.keys():
        return _other(before, after, path, notes, dump)
    result = before
    for key, made in members.items():
        item = before[key]
        if type(item) is type(made) and type(item) in _SCALARS and item == made:
            continue
        data = _walk(item, made, (*path, key), notes, dump)
        if data is not item:
            if result is before:
                result = before.copy()
            result[key] = data
    return result


def _object(
    before: dict[str, Any], after: Any, fields: tuple[ClassField, ...], path: Parts, notes: list[Converted], dump: Dump
) -> dict[str, Any]:
    """An object, field by field, each under its original name; an alternative name of a field becomes its first name."""
    result = before
    renamed: dict[str, str] = {}
    for field in fields:  # used by every clean check, so the most common case comes first
        made = getattr(after, field.attribute, _ABSENT)
        way: Parts | None
        if field.plain:
            item = before.get(field.name, _ABSENT)
            if item is _ABSENT or (type(item) is type(made) and type(item) in _SCALARS and item == made):
                continue
            way = field.ways[0]
        else:
            way, item = _found(before, field.ways)
        if way is None or made is _ABSENT:
            continue
        named = way
        if len(way) == 1 and field.name not in before:
            named = (field.name,)
            renamed[str(way[0])] = field.name
            notes.append(Converted((*path, field.name), way[0], field.name, is_key=True))
        data = _walk(item, made, (*path, *named), notes, dump)
        if data is not item:
            result = with_value(result, way, data)
    extra = getattr(after, "__pydantic_extra__", None) or {}  # keys that are not fields; their values may have a type
    for key in extra.keys() & before.keys():
        data = _walk(before[key], extra[key], (*path, key), notes, dump)
        if data is not before[key]:
            result = {**result, key: data}
    return {renamed.get(key, key): item for key, item in result.items()} if renamed else result


def _found(data: dict[str, Any], ways: tuple[Parts, ...]) -> tuple[Parts | None, Any]:
    """The first of these paths that exists, and the data there."""
    for way in ways:
        here: Any = data
        try:
            for part in way:
                here = here[part]
        except (KeyError, IndexError, TypeError):
            continue
        return way, here
    return None, None


@cache
def _getters(kind: type) -> tuple[tuple[ClassField, ...], Getter, Getter] | None:
    """The fields of a class, and getters for their items in data and their attributes in a value, if there are two or more."""
    fields = fields_of(kind)
    if fields is None:
        return None
    if len(fields) < 2 or not all(field.plain for field in fields):
        return fields, _nothing, _nothing
    items, attributes = [field.name for field in fields], [field.attribute for field in fields]
    return fields, operator.itemgetter(*items), operator.attrgetter(*attributes)


def _nothing(_: Any) -> Any:
    raise KeyError


@cache
def fields_of(kind: type) -> tuple[ClassField, ...] | None:
    """The fields of a class whose instances are objects in JSON; None for any other class."""
    known = kind.__dict__.get("__pydantic_fields__")
    if isinstance(known, dict):
        return _pydantic_fields(kind, known)
    if issubclass(kind, msgspec.Struct):
        names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        return tuple(_field(attribute, name) for attribute, name in names)
    if dataclasses.is_dataclass(kind):
        return tuple(_field(field.name, field.name) for field in dataclasses.fields(kind) if field.init)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(_field(name, name) for name in kind._fields)
    return None


def _pydantic_fields(kind: type, known: dict[str, Any]) -> tuple[ClassField, ...]:
    config: Any = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None) or {}
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    by_alias = config.get("validate_by_alias", True)
    fields = []
    for attribute, info in known.items():
        alias = info.validation_alias or info.alias
        ways = _ways(alias) if alias is not None and by_alias else []
        if by_name or not ways:
            ways.append((attribute,))
        name = next((str(way[0]) for way in ways if len(way) == 1), attribute)
        fields.append(_field("" if info.init_var else attribute, name, ways))
    return tuple(fields)


def _ways(alias: Any) -> list[Parts]:
    """The paths of a pydantic alias: a name, an AliasPath, or AliasChoices of both."""
    if isinstance(alias, str):
        return [(alias,)]
    if hasattr(alias, "choices"):
        return [way for choice in alias.choices for way in _ways(choice)]
    return [tuple(alias.path)]
