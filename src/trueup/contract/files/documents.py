"""Documents: takes a path and returns the plain data of a YAML, TOML or JSON file, with the position of every key and
value.

A file that is missing, too large, not UTF-8 or of an unknown kind is one fault. Nothing is fetched, and no file is
written. A program that reads other people's contracts passes a `Find`: it is called for every file before the file is
opened, and may refuse it or supply its text.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.files.faults import ContractError, Fault, FilePlace, Marks, fault
from trueup.contract.files.jsonfile import read_json
from trueup.contract.files.tomlfile import read_toml
from trueup.contract.files.yamlfile import UnreadableYaml, read_yaml

# characters that can be read in a few seconds: YAML and TOML are read token by token in Python
LIMITS = {".yaml": 500_000, ".yml": 500_000, ".toml": 100_000, ".json": 2_000_000}
KINDS = tuple(LIMITS)
_ENDS = f"must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}"


class ParsedFile(NamedTuple):
    """The data of a file, the position of everything in it, and the faults in its syntax."""

    data: Any
    marks: Marks
    faults: list[Fault]


class SourceFile(NamedTuple):
    """A file that may be read: its path, its name in faults, and its text if that is known already."""

    path: Path
    name: str
    text: str | None = None

    @property
    def exists(self) -> bool:
        """Whether the file exists, or a text is supplied for it."""
        try:
            return self.text is not None or self.path.is_file()
        except OSError:  # for example, the name is too long
            return False


class Barred(Exception):
    """This file must not be read; the text is a hint for the person who named the file."""


Find = Callable[[Path], SourceFile]


def anywhere(path: Path) -> SourceFile:
    """Allow any file, under its own name."""
    return SourceFile(path, path.as_posix())


def read_document(path: Path, name: str = "") -> ParsedFile:
    """Read a file; raise a ContractError if that is impossible. `name` is the file's name in faults."""
    return read_source(SourceFile(path, name or path.as_posix()))


def read_source(source: SourceFile) -> ParsedFile:
    """Read a file, or the text that is supplied for it."""
    path, name, text = source
    return parse_document(_text(path, name) if text is None else text, name, path.suffix.lower())


def parse_document(text: str, name: str, kind: str = ".yaml") -> ParsedFile:
    """The document in a text."""
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
    except UnreadableYaml as stopped:
        raise ContractError([*faults, stopped.fault]) from None
    return ParsedFile(data, marks, faults)


def _too_large(name: str, kind: str) -> Fault:
    message = (
        f"the file is larger than the limit of {LIMITS.get(kind, LIMITS['.yaml']):,} characters for {kind[1:].upper()}"
    )
    return fault("N003", FilePlace(name), (), message, "Move its schema to a separate JSON file and name that file.")


def _refuse_kind(path: Path, place: FilePlace) -> None:
    if path.is_file() and path.suffix.lower() not in KINDS:
        raise ContractError([fault("N001", place, (), f"its name {_ENDS}")])


def _refuse_pipe(path: Path) -> None:
    """A pipe may never end, or never start."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError("it is a pipe or a device")


def _text(path: Path, name: str) -> str:
    place = FilePlace(name)
    try:
        _refuse_pipe(path)
        _refuse_kind(path, place)
        with path.open("rb") as opened:
            raw = opened.read(LIMITS[path.suffix.lower()] * 4 + 1)  # a character has at most four bytes
    except ContractError:
        raise
    except FileNotFoundError:
        ends = "" if path.suffix.lower() in KINDS else f"; a file name {_ENDS}"
        raise ContractError([fault("N001", place, (), f"there is no such file{ends}")]) from None
    except IsADirectoryError:
        raise ContractError([fault("N001", place, (), "this is a directory; name a contract file in it")]) from None
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
        raise ContractError([fault("N001", FilePlace(name, line, column), (), message, "Save it as UTF-8.")]) from None
