"""Faults of a file: what is wrong with a contract, where in which file, and what to do about it.

A place is counted from 1, as editors count. A fault carries a code of family N and the path inside the document.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from trueup.verdict.catalogue import FINDINGS, Level
from trueup.verdict.paths import Parts, render


class Place(NamedTuple):
    """Where something stands. `inner` is the column at which a one-line text itself begins; 0 where that is not known."""

    file: str
    line: int = 1
    column: int = 1
    inner: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong with a file.

    >>> print(fault("N005", Place("salon.yaml", 3, 1), ("shema",), "unknown key 'shema'", "Write 'schema'."))
    salon.yaml:3:1: N005 unknown key 'shema'. Write 'schema'.
    """

    code: str
    """The code of the fault, of the family `N`."""
    file: str
    """The file as it was named."""
    line: int
    """The line, from 1."""
    column: int
    """The column, from 1."""
    path: str
    """The path inside the document, such as `$.rules[0].expr`."""
    message: str
    """What is wrong, in one sentence."""
    hint: str = ""
    """What to write instead; empty if nothing is proposed."""
    level: Level = "error"
    """`error` if the file cannot be used, `warning` if it can."""

    @property
    def name(self) -> str:
        """The name of its code."""
        return FINDINGS[self.code].name

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The order of faults: by file and place."""
        return (self.file, self.line, self.column, self.code, self.message)

    def to_dict(self) -> dict[str, Any]:
        """The fault as JSON-able data, with the name of its code."""
        return {"name": self.name, **msgspec.structs.asdict(self)}

    def __str__(self) -> str:
        hint = f". {self.hint}" if self.hint else ""
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message.rstrip('.')}{hint}"


def fault(code: str, place: Place, path: Parts, message: str, hint: str = "") -> Fault:
    """A fault with the level that the catalogue gives its code."""
    return Fault(code, place.file, place.line, place.column, render(path), message, hint, FINDINGS[code].level)


class ContractError(ValueError):
    """A contract file cannot be used; `faults` says everything that is wrong with it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda found: found.sort_key))
        shown = "\n".join(str(found) for found in self.faults[:10])
        more = f"\n… and {len(self.faults) - 10} more" if len(self.faults) > 10 else ""
        super().__init__(shown + more)


class Marks:
    """Where the keys and values of a document stand, by path."""

    __slots__ = ("_keys", "_values", "file")

    def __init__(self, file: str) -> None:
        self.file = file
        self._keys: dict[Parts, Place] = {}
        self._values: dict[Parts, Place] = {}

    def put(self, path: Parts, value: Place, key: Place | None = None) -> None:
        """Say where a value stands, and its key where it has one."""
        self._values[path] = value
        if key is not None:
            self._keys[path] = key

    def value(self, path: Parts) -> Place:
        """Where the value at a path stands, or the nearest one around it."""
        while path and path not in self._values:
            path = path[:-1]
        return self._values.get(path) or Place(self.file)

    def key(self, path: Parts) -> Place:
        """Where the key of a value stands, or the value where it has none."""
        return self._keys.get(path) or self.value(path)
