"""Documents: a path enters, the plain data of a YAML, TOML or JSON file leaves with the place of every key and value.

What is missing, too large, not UTF-8 or of an unknown kind is one fault. Nothing is fetched, and no file is written.
"""

from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.files.faults import ContractError, Fault, Marks, Place, fault
from trueup.contract.files.jsonfile import read_json
from trueup.contract.files.tomlfile import read_toml
from trueup.contract.files.yamlfile import Stopped, read_yaml

MAX_BYTES = 500_000
KINDS = (".yaml", ".yml", ".toml", ".json")


class Document(NamedTuple):
    """The data of a file, where everything in it stands, and what is wrong with how it is written."""

    data: Any
    marks: Marks
    faults: list[Fault]


def read_document(path: Path, name: str = "", most: int = MAX_BYTES) -> Document:
    """Read a file; what stops the reading is raised as a ContractError. `name` is what faults call it."""
    name = name or path.as_posix()
    text = _text(path, name, most)
    return parse_document(text, name, path.suffix.lower())


def parse_document(text: str, name: str, kind: str = ".yaml") -> Document:
    """The document that a text holds."""
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


def _text(path: Path, name: str, most: int) -> str:
    place = Place(name)
    if path.suffix.lower() not in KINDS:
        message = f"its name must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}"
        raise ContractError([fault("N001", place, (), message)])
    try:
        with path.open("rb") as opened:
            raw = opened.read(most + 1)
    except FileNotFoundError:
        raise ContractError([fault("N001", place, (), "there is no such file")]) from None
    except IsADirectoryError:
        raise ContractError([fault("N001", place, (), "that is a directory; name a contract file in it")]) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise ContractError([fault("N001", place, (), f"the file cannot be read: {reason}")]) from None
    if len(raw) > most:
        message = f"the file has more than {most:,} bytes"
        raise ContractError([fault("N003", place, (), message, "Put its schema into a file of its own and name that.")])
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"the file is not UTF-8 (byte {error.start})"
        raise ContractError([fault("N001", Place(name, line, column), (), message)]) from None
