"""Applies the list of fields: builds a new object with only the kept fields of an upstream's.

Judged fields are left to the owner of the verdict. Every dropped field is reported by its place. A place never contains an
upstream's text: names that are not on the list are `*`, and items of a list have no number.
"""

import re
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec

from trueup.gateway.protocols.fields import (
    FLAG,
    JUDGED,
    NAME,
    NUMBER,
    OWN,
    AllowedWords,
    Blocks,
    Fate,
    JudgedTexts,
    Rule,
)

_NAME = r"[A-Za-z0-9_\-.:/@+=]{1,200}"
_NUMBERS = frozenset({int, float})
is_name = re.compile(_NAME).fullmatch
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def keep(rules: Mapping[str, Rule], source: Any, dropped: set[str], own: Mapping[str, Any], place: str = "") -> Any:
    """The kept fields of an object; `own` is the client's request. Places of dropped fields are added to `dropped`.

    >>> from trueup.gateway.protocols.fields import DROPPED
    >>> lost = set()
    >>> keep(
    ...     {"id": NAME, "n": NUMBER, "text": JUDGED, "note": DROPPED},
    ...     {"id": "a b", "n": 1, "note": "x", "?": 2},
    ...     lost,
    ...     {},
    ... )
    {'n': 1}
    >>> sorted(lost)
    ['*', 'id', 'note']
    """
    if type(source) is not dict:
        if source is not None:
            dropped.add(place.removesuffix("."))
        return None
    out: dict[str, Any] = {}
    for name, value in source.items():
        rule = rules.get(name)
        if rule is JUDGED:
            continue
        kind = type(value)
        if (
            (rule is NUMBER and kind in _NUMBERS)
            or (rule is NAME and kind is str and is_name(value))
            or (rule is FLAG and kind is bool)
        ):
            out[name] = value
        elif rule is None:
            dropped.add(f"{place}*")
        elif rule is OWN:
            if (said := own.get(name)) is not None or value is None:
                out[name] = said
        elif value is not None and type(rule) is not Fate:
            _inner(rule, name, value, out=out, dropped=dropped, own=own, place=place)
        elif value in _EMPTY:
            out[name] = value
        else:
            dropped.add(place + name)
    return out


def _inner(
    rule: Rule, name: str, value: Any, *, out: dict[str, Any], dropped: set[str], own: Mapping[str, Any], place: str
) -> None:
    """A field that is a word, or that has its own fields."""
    if type(rule) is dict:
        out[name] = keep(rule, value, dropped, own, f"{place}{name}.")
    elif type(rule) is AllowedWords:
        if type(value) is str and (value in rule or not value):
            out[name] = value
        else:
            dropped.add(place + name)
    elif type(rule) is list:
        out[name] = _first(rule[0], value, dropped, own, place + name)
    elif type(rule) is JudgedTexts:
        if type(value) is not str:
            _blocks(rule.parts, value, dropped, own, place + name)
    else:
        _blocks(rule, value, dropped, own, place + name)


def _first(rule: Rule, value: Any, dropped: set[str], own: Mapping[str, Any], place: str) -> list[Any]:
    if type(value) is not list:
        dropped.add(place)
        return []
    if len(value) > 1:
        dropped.add(f"{place}[1:]")
    return [keep(rule, value[0], dropped, own, f"{place}[].")] if value else []


def _blocks(rule: Blocks, value: Any, dropped: set[str], own: Mapping[str, Any], place: str) -> None:
    """Report the dropped parts of blocks; the judged ones are written by the owner of the verdict."""
    for block in value if type(value) is list else (value,):
        kind = block.get("type", "") if type(block) is dict else None
        fields = rule.get(kind) if type(kind) is str else None
        if fields is not None:
            keep(fields, block, dropped, own, f"{place}[].")
        elif type(block) is not str or rule.get("text") is None:
            dropped.add(f"{place}[]")


_NOTHING = (
    None
    | Literal[""]
    | Annotated[list[Any], msgspec.Meta(max_length=0)]
    | Annotated[dict[Any, Any], msgspec.Meta(max_length=0)]
)
_TYPES: dict[Fate, Any] = {
    NUMBER: int | float | None,
    FLAG: bool | None,
    NAME: Annotated[str, msgspec.Meta(pattern=rf"^(?:{_NAME})?\Z")] | None,
    OWN: None,
}


def clean(rules: Mapping[str, Rule]) -> Callable[[Any], bool]:
    """A quick test whether an object may be sent whole if its texts are the judged ones.

    >>> is_clean = clean({"id": NAME, "text": JudgedTexts()})
    >>> is_clean({"id": "a-1", "text": "x"}), is_clean({"id": "a 1"}), is_clean({"text": "x", "note": ""})
    (True, False, False)
    """
    kind = _struct(rules)

    def is_clean(source: Any) -> bool:
        try:
            msgspec.convert(source, kind)
        except (msgspec.ValidationError, RecursionError):
            return False
        return True

    return is_clean


def _struct(rules: Mapping[str, Rule], tag: str | None = None) -> type:
    """The type of an object that has these fields, or some of them, and no other."""
    fields = [
        (f"f{at}", _type(rule), None) for at, (name, rule) in enumerate(rules.items()) if not (tag and name == "type")
    ]
    names = {f"f{at}": name for at, name in enumerate(rules)}
    return msgspec.defstruct(
        "Clean", fields, rename=names, forbid_unknown_fields=True, gc=False, tag=tag, tag_field="type" if tag else None
    )


def _type(rule: Rule) -> Any:
    if type(rule) is Fate:
        return _TYPES.get(rule, _NOTHING)
    if type(rule) is dict:
        return _struct(rule) | None
    if type(rule) is list:
        return Annotated[list[_struct(rule[0])], msgspec.Meta(max_length=1)]  # type: ignore[misc]  # made at run time
    if type(rule) is AllowedWords:
        return Literal[("", *sorted(rule))] | None
    if type(rule) is JudgedTexts:
        return str | None
    either = reduce(or_, (_struct(fields, kind) for kind, fields in rule.items() if kind))
    return list[either] | None  # type: ignore[valid-type]  # as above
