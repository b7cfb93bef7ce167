"""Edits of a contract: small changes that can be made to its data and to the text of its file.

Takes data and edits and returns changed data. Its input is never changed.
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, NamedTuple

from trueup.verdict.paths import Parts


class Put(NamedTuple):
    """Replace the value at a path."""

    path: Parts
    value: Any


class Remove(NamedTuple):
    """Remove a key or an item."""

    path: Parts


class Add(NamedTuple):
    """Add a key to the mapping at a path, before the key `before` if it exists, otherwise at the end."""

    path: Parts
    key: str
    value: Any
    before: str = ""


class Append(NamedTuple):
    """Add an item to the end of the list at a path."""

    path: Parts
    value: Any


Edit = Put | Remove | Add | Append


def changed(data: Any, edits: Iterable[Edit]) -> Any:
    """The data after the edits, made in order.

    >>> changed({"a": [1]}, [Append(("a",), 2), Add((), "b", {}), Put(("a", 0), 5)])
    {'a': [5, 2], 'b': {}}
    """
    data = deepcopy(data)
    for edit in edits:
        if isinstance(edit, Add):
            held = _at(data, edit.path)
            later = {edit.before: held.pop(edit.before)} if edit.before in held else {}
            held[edit.key] = deepcopy(edit.value)
            held.update(later)
        elif isinstance(edit, Append):
            _at(data, edit.path).append(deepcopy(edit.value))
        elif isinstance(edit, Put):
            _at(data, edit.path[:-1])[edit.path[-1]] = deepcopy(edit.value)
        else:
            del _at(data, edit.path[:-1])[edit.path[-1]]
    return data


def moved(edit: Edit, path: Parts) -> Edit:
    """The same edit at another path."""
    return edit._replace(path=path)


def with_path(data: dict[str, Any], path: Parts, value: Any, *, before: str = "") -> list[Edit]:
    """The edits that set a value at a path of mappings, and add the mappings that are missing.

    >>> with_path({"coerce": {}}, ("coerce", "aliases", "high"), ["alto"])
    [Add(path=('coerce',), key='aliases', value={'high': ['alto']}, before='')]
    """
    held: Any = data
    for at, key in enumerate(path):
        if not isinstance(held, dict):
            raise TypeError(f"{path[:at]} is not a mapping")
        if key not in held:
            for inner in reversed(path[at + 1 :]):
                value = {inner: value}
            return [Add(path[:at], str(key), value, "" if at else before)]
        held = held[key]
    return [Put(path, value)]


def _at(data: Any, path: Parts) -> Any:
    for part in path:
        data = data[part]
    return data
