"""A partly filled form: it contains the correct values of a reply, and places to fill for the wrong ones.

Takes a schema, the value that was read, and the wrong places in it; returns a form. The model's values are added as JSON, without
tags that it might repeat. Long texts are not filled in; the model must write them again.
"""

import json
from collections.abc import Iterable
from typing import Any

from trueup.ask.words.quoting import disarm
from trueup.ask.words.shape import Types, follow, shape
from trueup.verdict.paths import Parts, parse

_MOST_TEXT = 200
_MOST_DEPTH = 12


def skeleton(schema: Any, data: Any, wrong: Iterable[str], types: Types, most: int) -> str:
    """The form of a schema, filled in with the correct values; the empty form if there are no correct values, or if it would be too long.

    >>> schema = {"properties": {"title": {"type": "string"}, "minutes": {"type": "integer"}}}
    >>> skeleton(schema, {"title": "Toast"}, ["$.minutes"], {}, 2000)
    '{"title": "Toast", "minutes": <integer>}'
    """
    places: set[Parts] = set()
    for path in wrong:
        try:
            places.add(parse(path))
        except ValueError:
            return shape(schema, types)
    if not isinstance(data, dict | list) or not places or () in places:
        return shape(schema, types)
    filled = _Skeleton(schema, places, types).at(schema, data, (), 0)
    return filled if len(filled) <= most else shape(schema, types)


class _Skeleton:
    """One walk through a value and its schema."""

    __slots__ = ("_above", "_places", "_root", "_types")

    def __init__(self, root: Any, places: set[Parts], types: Types) -> None:
        self._root = root
        self._types = types
        self._places = places
        self._above = {place[:n] for place in places for n in range(len(place))}

    def at(self, schema: Any, value: Any, path: Parts, depth: int) -> str:
        if path in self._places or depth > _MOST_DEPTH:
            return self._form(schema)
        inner = follow(self._root, schema)
        if isinstance(value, dict):
            return self._object(inner, value, path, depth)
        if isinstance(value, list):
            items = inner.get("items", True) if isinstance(inner, dict) else True
            shown = [self.at(items, item, (*path, index), depth + 1) for index, item in enumerate(value)]
            return "[" + ", ".join(shown) + "]"
        if isinstance(value, str) and len(value) > _MOST_TEXT:
            return self._form(schema)
        return disarm(json.dumps(value, ensure_ascii=False))

    def _object(self, schema: Any, value: dict[str, Any], path: Parts, depth: int) -> str:
        known = schema.get("properties") if isinstance(schema, dict) else None
        named: dict[str, Any] = known if isinstance(known, dict) else {}
        members = []
        for name in (*named, *(name for name in value if name not in named)):
            here = (*path, name)
            if name not in value and here in self._places:
                shown = self._form(named[name]) if name in named else self._form(schema=True)
            elif name not in value or (name not in named and (named or here in self._places)):
                continue  # correctly left out before, or an unknown name
            else:
                shown = self.at(named.get(name, True), value[name], here, depth + 1)
            members.append(f"{disarm(json.dumps(name, ensure_ascii=False))}: {shown}")
        return "{" + ", ".join(members) + "}"

    def _form(self, schema: Any) -> str:
        root = self._root
        defs = {word: root[word] for word in ("$defs", "definitions") if isinstance(root, dict) and word in root}
        return shape({**defs, **schema} if isinstance(schema, dict) else schema, self._types)
