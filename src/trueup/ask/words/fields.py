"""Repair by fields: the failing places of a value, a small schema that asks only for them, and the merge.

Takes a verdict and its schema; returns the fields to ask for, or None if only the whole value can be requested again. The contract
judges the whole merged value, like any reply.
"""

from typing import Any, NamedTuple

from trueup.ask.words.shape import follow
from trueup.verdict.paths import Parts, parse, render
from trueup.verdict.verdict import Verdict

_MOST = 12
_ASKABLE = frozenset(
    {
        "V001", "V002", "V004", "V005", "V006", "V007", "V008", "V009", "V010", "V011", "V012",
        "E001", "E002", "E003", "E004",
    }
)  # fmt: skip


class MissingFields(NamedTuple):
    """The places to ask for, by the names of their fields in the request, and the schema of the request."""

    places: dict[str, Parts]
    schema: dict[str, Any]


def missing(verdict: Verdict, schema: Any) -> MissingFields | None:
    """The fields to ask for so that a value becomes valid; None if it cannot be repaired field by field.

    >>> from trueup import Contract
    >>> schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a", "b"]}
    >>> missing(Contract(schema).check('{"b": "x"}'), schema).schema["properties"]
    {'a': {'type': 'integer'}}
    """
    if not isinstance(verdict.data, dict | list) or not isinstance(schema, dict):
        return None
    if any(fault.code not in _ASKABLE and not fault.code.startswith("B") for fault in verdict.errors):
        return None
    paths: set[Parts] = set()
    for fault in verdict.errors:
        try:
            paths.add(parse(fault.path))
        except ValueError:
            return None
    outer = [path for path in paths if not any(path[:n] in paths for n in range(len(path)))]
    if not outer or () in paths or len(outer) > _MOST:
        return None
    places: dict[str, Parts] = {}
    wanted: dict[str, Any] = {}
    for path in sorted(outer, key=str):
        inner = _schema_at(schema, path)
        if inner is None or not _reaches(verdict.data, path):
            return None
        name = render(path).removeprefix("$.")
        places[name], wanted[name] = path, inner
    asked: dict[str, Any] = {
        "type": "object", "properties": wanted, "required": list(wanted), "additionalProperties": False,
    }  # fmt: skip
    asked |= {word: schema[word] for word in ("$defs", "definitions") if word in schema}
    return MissingFields(places, asked)


def merge(data: Any, found: dict[str, Any], asked: MissingFields) -> Any:
    """A copy of a value with the new fields in their places.

    >>> merge({"a": [1, 2]}, {"a[1]": 5}, MissingFields({"a[1]": ("a", 1)}, {}))
    {'a': [1, 5]}
    """
    for name, path in asked.places.items():
        if name in found:
            data = _with(data, path, found[name])
    return data


def _with(value: Any, path: Parts, part: Any) -> Any:
    if not path:
        return part
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    here = copy[path[0]] if isinstance(copy, list) else copy.get(path[0])  # type: ignore[index]
    copy[path[0]] = _with(here, path[1:], part)
    return copy


def _reaches(value: Any, path: Parts) -> bool:
    """Whether everything above a place exists; the place itself may be missing from an object."""
    for depth, part in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(part, int):
            if not isinstance(value, list) or part >= len(value):
                return False
            value = value[part]
        elif not isinstance(value, dict) or (part not in value and not last):
            return False
        else:
            value = value.get(part)
    return True


def _schema_at(root: dict[str, Any], path: Parts) -> Any:
    """The schema of a place, if only plain keywords lead there; None if there are unions or patterns on the way."""
    here: Any = root
    for part in path:
        here = follow(root, here)
        if not isinstance(here, dict) or any(word in here for word in ("anyOf", "oneOf", "allOf", "if")):
            return None
        if isinstance(part, int):
            here = here.get("items")
        else:
            properties = here.get("properties")
            here = properties.get(part) if isinstance(properties, dict) else None
        if here is None:
            return None
    return here if isinstance(here, dict) else None
