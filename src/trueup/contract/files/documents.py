"""Documents: a path enters, the plain data of a YAML, TOML or JSON file leaves with the place of every key and value.

What is missing, too large, not UTF-8 or of an unknown kind is one fault. Nothing is fetched, and no file is written. Who reads
contracts of others passes a `Find`: it is asked for every file before anything is looked at, and may bar it or give its text.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.files.faults import ContractError, Fault, Marks, Place, fault
from trueup.contract.files.jsonfile import read_json
from trueup.contract.files.tomlfile import read_toml
from trueup.contract.files.yamlfile import Stopped, read_yaml

# Characters that are read in a few seconds at most: YAML and TOML are read token by token in Python.
LIMITS = {".yaml": 500_000, ".yml": 500_000, ".toml": 100_000, ".json": 2_000_000}
KINDS = tuple(LIMITS)
_ENDS = f"must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}"


class Document(NamedTuple):
    """The data of a file, where everything in it stands, and what is wrong with how it is written."""

    data: Any
    marks: Marks
    faults: list[Fault]


class Source(NamedTuple):
    """A file that may be read: where it is, what faults call it, and its text where that is known already."""

    path: Path
    name: str
    text: str | None = None

    @property
    def exists(self) -> bool:
        """Whether there is such a file, or its text stands for one."""
        try:
            return self.text is not None or self.path.is_file()
        except OSError:  # such as a name that is too long
            return False


class Barred(Exception):
    """A file that must not be read; its text is a hint for whoever named the file."""


Find = Callable[[Path], Source]


def anywhere(path: Path) -> Source:
    """Any file, under its own name."""
    return Source(path, path.as_posix())


def read_document(path: Path, name: str = "") -> Document:
    """Read a file; what stops the reading is raised as a ContractError. `name` is what faults call it."""
    return read_source(Source(path, name or path.as_posix()))


def read_source(source: Source) -> Document:
    """Read a file, or the text that stands for it."""
    path, name, text = source
    return parse_document(_text(path, name) if text is None else text, name, path.suffix.lower())


def parse_document(text: str, name: str, kind: str = ".yaml") -> Document:
    """The document that a text holds."""
    if len(text) > LIMITS.get(kind, LIMITS[".yaml"]):
        raise ContractError([_too_large(name, kind)])
    marks, faults = Marks(name), list[Fault]()
    try:
        if kind == ".json":
            data = read_json(text, marks, faults)
        elif kind == ".toml":
            data = read_toml(text, marks)
        else:
            data = read_yaml(text, marks, faults)
    except Stopped as stopped:
        raise ContractError([*faults, stopped.fault]) from None
    return Document(data, marks, faults)


def _too_large(name: str, kind: str) -> Fault:
    message = f"the file is larger than the {LIMITS.get(kind, LIMITS['.yaml']):,} characters that are taken of {kind[1:].upper()}"
    return fault("N003", Place(name), (), message, "Put its schema into a JSON file of its own and name that.")


def _refuse_kind(path: Path, place: Place) -> None:
    if path.is_file() and path.suffix.lower() not in KINDS:
        raise ContractError([fault("N001", place, (), f"its name {_ENDS}")])


def _refuse_pipe(path: Path) -> None:
    """A pipe may never end, or never begin."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError("it is a pipe or a device")


def _text(path: Path, name: str) -> str:
    place = Place(name)
    try:
        _refuse_pipe(path)
        _refuse_kind(path, place)
        with path.open("rb") as opened:
            raw = opened.read(LIMITS[path.suffix.lower()] * 4 + 1)  # four bytes are the longest character
    except ContractError:
        raise
    except FileNotFoundError:
        ends = "" if path.suffix.lower() in KINDS else f"; the name of one {_ENDS}"
        raise ContractError([fault("N001", place, (), f"there is no such file{ends}")]) from None
    except IsADirectoryError:
        raise ContractError([fault("N001", place, (), "that is a directory; name a contract file in it")]) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise ContractError([fault("N001", place, (), f"the file cannot be read: {reason}")]) from None
    if len(raw) > LIMITS[path.suffix.lower()] * 4:
        raise ContractError([_too_large(name, path.suffix.lower())])
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"the file is not UTF-8 (byte {error.start})"
        raise ContractError([fault("N001", Place(name, line, column), (), message, "Save it as UTF-8.")]) from None
