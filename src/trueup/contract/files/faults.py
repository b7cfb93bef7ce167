"""Faults of a file: what is wrong with a contract, in which file and where, and what to do about it.

Lines and columns are counted from 1, as in editors. A fault has a code of family N and the path inside the document.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from trueup.verdict.catalogue import FINDINGS, Level
from trueup.verdict.paths import Parts, render


class FilePlace(NamedTuple):
    """A position in a file. `inner` is the column at which a one-line text itself starts; 0 if unknown."""

    file: str
    line: int = 1
    column: int = 1
    inner: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Fault(msgspec.Struct, frozen=True):
    """One problem in a file.

    >>> print(fault("N005", FilePlace("salon.yaml", 3, 1), ("shema",), "unknown key 'shema'", "Write 'schema'."))
    salon.yaml:3:1: N005 unknown key 'shema'. Write 'schema'.
    """

    code: str
    """The code of the fault, from family `N`."""
    file: str
    """The file, as it was named."""
    line: int
    """The line, from 1."""
    column: int
    """The column, from 1."""
    path: str
    """The path inside the document, such as `$.rules[0].expr`."""
    message: str
    """The problem, in one sentence."""
    hint: str = ""
    """A suggestion, such as what to write instead; empty if there is none."""
    level: Level = "error"
    """`error` if the file cannot be used, `warning` if it can."""

    @property
    def name(self) -> str:
        """The name of its code."""
        return FINDINGS[self.code].name

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order faults by file and position."""
        return (self.file, self.line, self.column, self.code, self.message)

    def to_dict(self) -> dict[str, Any]:
        """The fault as JSON-able data, with the name of its code."""
        return {"name": self.name, **msgspec.structs.asdict(self)}

    def __str__(self) -> str:
        hint = f". {self.hint}" if self.hint else ""
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message.rstrip('.')}{hint}"


def fault(code: str, place: FilePlace, path: Parts, message: str, hint: str = "") -> Fault:
    """A fault with the level that the catalogue gives to its code."""
    return Fault(code, place.file, place.line, place.column, render(path), message, hint, FINDINGS[code].level)


class ContractError(ValueError):
    """A contract file cannot be used; `faults` lists everything that is wrong with it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda found: found.sort_key))
        shown = "\n".join(str(found) for found in self.faults[:10])
        more = f"\n… and {len(self.faults) - 10} more" if len(self.faults) > 10 else ""
        super().__init__(shown + more)


class Marks:
    """The positions of the keys and values of a document, by path."""

    __slots__ = ("_keys", "_values", "file")

    def __init__(self, file: str) -> None:
        self.file = file
        self._keys: dict[Parts, FilePlace] = {}
        self._values: dict[Parts, FilePlace] = {}

    def put(self, path: Parts, value: FilePlace, key: FilePlace | None = None) -> None:
        """Record the position of a value, and of its key if it has one."""
        self._values[path] = value
        if key is not None:
            self._keys[path] = key

    def value(self, path: Parts) -> FilePlace:
        """The position of the value at a path, or of the nearest one around it."""
        while path and path not in self._values:
            path = path[:-1]
        return self._values.get(path) or FilePlace(self.file)

    def key(self, path: Parts) -> FilePlace:
        """The position of a value's key, or of the value if it has no key."""
        return self._keys.get(path) or self.value(path)
