"""Limits coercion to some places, and undoes the changes elsewhere.

Takes a coerced value, its notes and the faulty places; returns the value with only the changes that concern those places.
A change concerns a place if it is there, around it or inside it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from trueup.conform.coerce import CoercionNote
from trueup.verdict.paths import Parts

_HERE: Any = object()


def kept_at(
    fitted: Any, notes: list[CoercionNote], places: Iterable[Parts], *, only: str = ""
) -> tuple[Any, list[CoercionNote]]:
    """The result of `conform` with only the changes that concern these places; with `only`, those with that code.

    >>> notes = [CoercionNote("C001", ("n",), "36", 36), CoercionNote("C006", ("tags",), "a, b", ["a, b"])]
    >>> kept_at({"n": 36, "tags": ["a, b"]}, notes, [("n",)])[0]
    {'n': 36, 'tags': 'a, b'}
    """
    faults = _tree((place, ()) for place in places)
    wanted = [_concerns(note, faults) and only in ("", note.code) for note in notes]
    if all(wanted):
        return fitted, notes
    others = [note for note, keep in zip(notes, wanted, strict=True) if not keep]
    kept = [note for note, keep in zip(notes, wanted, strict=True) if keep]
    return _restored(fitted, _tree((note.path, note) for note in others)), kept


def _tree(places: Iterable[tuple[Parts, Any]]) -> dict[Any, Any]:
    """Places as a tree of their steps; the things at a place are listed at its end, under `_HERE`."""
    root: dict[Any, Any] = {}
    for path, thing in places:
        here = root
        for part in path:
            here = here.setdefault(part, {})
        here.setdefault(_HERE, []).append(thing)
    return root


def _concerns(note: CoercionNote, faults: dict[Any, Any]) -> bool:
    paths = [note.path]
    if note.code == "C010" and note.path:  # the fault may name the original key
        paths.append((*note.path[:-1], note.before))
    return any(_touches(path, faults) for path in paths)


def _touches(path: Parts, faults: dict[Any, Any]) -> bool:
    here = faults
    for part in path:
        if _HERE in here:
            return True
        if part not in here:
            return False
        here = here[part]
    return True


def _restored(value: Any, notes: dict[Any, Any]) -> Any:
    """The value with the changes of these notes undone; every container is copied once."""
    own: Sequence[CoercionNote] = [note for note in notes.get(_HERE, ()) if note.code != "C010"]
    if own:
        return own[0].before  # the first change at a place has the original value
    if not isinstance(value, dict | list):
        return value
    result: Any = value.copy()
    renamed: dict[Any, Any] = {}
    for part, below in notes.items():
        if part is _HERE:
            continue
        present = part in value if isinstance(value, dict) else part < len(value)
        result[part] = _restored(value[part] if present else None, below)
        renamed.update((part, note.before) for note in below.get(_HERE, ()) if note.code == "C010")
    return {renamed.get(key, key): item for key, item in result.items()} if renamed else result
