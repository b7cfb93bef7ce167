"""Extending: merges contract files that start from others into one document that still knows the position of
everything.

Mappings are merged key by key; lists whose items have names are merged by name; everything else is replaced, a schema
always as a whole. `null` removes an inherited part. A file that extends itself, even through others, is refused with
the chain.
"""

from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.files.documents import Barred, Find, anywhere, read_source
from trueup.contract.files.faults import ContractError, Fault, FilePlace, Marks, fault
from trueup.contract.files.fitting import shape_faults
from trueup.contract.files.paths import resolved
from trueup.contract.options import FILE_KEYS
from trueup.verdict.paths import Parts

MAX_CHAIN = 20
WHOLE = frozenset(key for key, option in FILE_KEYS.items() if not option.merges)  # each belongs to one file


class ExtendedFile(NamedTuple):
    """A contract file with everything it extends: the data, the positions of its parts, and the faults so far."""

    data: dict[str, Any]
    marks: "Origins"
    faults: list[Fault]


class Origins:
    """The origin of the parts of a merged document: for each path, the file and the path there."""

    __slots__ = ("_from",)

    def __init__(self, marks: "Marks | Origins") -> None:
        self._from: dict[Parts, tuple[Marks | Origins, Parts]] = {(): (marks, ())}

    def put(self, path: Parts, marks: "Marks | Origins", theirs: Parts) -> None:
        """Record that the value at a path comes from another document."""
        self._from[path] = (marks, theirs)

    def value(self, path: Parts) -> FilePlace:
        """The position of the value at a path, or of the nearest one around it."""
        marks, theirs = self._origin(path)
        return marks.value(theirs)

    def key(self, path: Parts) -> FilePlace:
        """The position of a value's key, or of the value if it has no key."""
        marks, theirs = self._origin(path)
        return marks.key(theirs)

    def _origin(self, path: Parts) -> "tuple[Marks | Origins, Parts]":
        for size in range(len(path), -1, -1):
            found = self._from.get(path[:size])
            if found is not None:
                return found[0], found[1] + path[size:]
        raise KeyError(path)  # cannot happen: the root always has a position


def read_whole(path: Path, find: Find = anywhere) -> ExtendedFile:
    """Read a contract file and merge everything it extends, or raise; `find` decides which files may be read."""
    return _Reading(find).read(path, [])


class _Reading:
    """Reads one contract; a file that several others extend is read once."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._read: dict[Path, ExtendedFile] = {}

    def read(self, path: Path, chain: list[Path]) -> ExtendedFile:
        document = read_source(self._find(path))
        faults = [*document.faults, *shape_faults(document)]
        data = document.data if isinstance(document.data, dict) else {}
        whole = self._bases(path, data.get("extends"), document.marks, [*chain, path.resolve()], faults)
        own = {key: part for key, part in data.items() if key != "extends"}
        own = resolved(own, document.marks, path.parent, faults, self._find)
        if whole is None:
            return ExtendedFile(own, Origins(document.marks), faults)
        inherited = {key: part for key, part in whole.data.items() if key != "examples"}
        return ExtendedFile(*_merged(ExtendedFile(inherited, whole.marks, []), own, document.marks), faults)

    def _bases(
        self, path: Path, given: Any, marks: Marks, chain: list[Path], faults: list[Fault]
    ) -> ExtendedFile | None:
        whole: ExtendedFile | None = None
        for index, name in enumerate(given if isinstance(given, list) else [given]):
            if isinstance(name, str):  # the shape reports other values that are not allowed here
                at: Parts = ("extends", index) if isinstance(given, list) else ("extends",)
                base = self._base(path.parent / name, name, marks.value(at), at, chain, faults)
                whole = base if whole is None else ExtendedFile(*_merged(whole, base.data, base.marks), [])
        return whole

    def _base(
        self, path: Path, name: str, place: FilePlace, at: Parts, chain: list[Path], faults: list[Fault]
    ) -> ExtendedFile:
        hint = "A path is relative to the file that names it."
        try:
            exists = self._find(path).exists
        except Barred as barred:
            exists, hint = False, str(barred)
        if not exists:
            raise ContractError([fault("N008", place, at, f"there is no file {name!r} to extend", hint)])
        real = path.resolve()
        if real in chain:
            way = " → ".join(step.name for step in [*chain[chain.index(real) :], path])
            message = f"the contract extends itself: {way}"
            raise ContractError([fault("N008", place, at, message, "Remove one `extends` to break the cycle.")])
        if len(chain) > MAX_CHAIN:
            raise ContractError([fault("N008", place, at, f"the chain of `extends` is longer than {MAX_CHAIN} files")])
        if real not in self._read:
            self._read[real] = self.read(path, chain)
            faults += self._read[real].faults
        return self._read[real]


def _merged(base: ExtendedFile, more: dict[str, Any], marks: Marks | Origins) -> tuple[dict[str, Any], Origins]:
    origins = Origins(base.marks)
    return _mapping(base.data, more, (), marks, (), origins), origins


def _mapping(
    base: dict[str, Any], more: dict[str, Any], at: Parts, marks: Marks | Origins, theirs: Parts, origins: Origins
) -> dict[str, Any]:
    out = dict(base)
    for key, value in more.items():
        path, source = (*at, key), (*theirs, key)
        if value is None and key in base:
            del out[key]
        elif key in WHOLE and not at:
            out[key] = _taken(value, path, marks, source, origins)
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            out[key] = _mapping(base[key], value, path, marks, source, origins)
        elif _named(value) and _named(base.get(key)):
            out[key] = _list(base[key], value, path, marks, source, origins)
        else:
            out[key] = _taken(value, path, marks, source, origins)
    return out


def _taken(value: Any, path: Parts, marks: Marks | Origins, theirs: Parts, origins: Origins) -> Any:
    origins.put(path, marks, theirs)
    return value


def _list(
    base: list[Any], more: list[Any], at: Parts, marks: Marks | Origins, theirs: Parts, origins: Origins
) -> list[Any]:
    """Items with the same name are replaced in place; new ones are appended."""
    out = list(base)
    places = {item["name"]: index for index, item in enumerate(base)}
    for index, item in enumerate(more):
        where = places.get(item["name"], len(out))
        if where == len(out):
            out.append(item)
        else:
            out[where] = item
        origins.put((*at, where), marks, (*theirs, index))
    return out


def _named(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in value)
    )
