"""Turn a word from the command line into the text, JSON or Python object that it names.

If this is impossible, the error says what is wrong, where and what to do. Nothing is printed or judged here.
"""

import contextlib
import importlib
import json
import re
import sys
import traceback
from pathlib import Path
from typing import Any

import click

_MOST_BESIDE = 1000  # files of a folder to search for a similar name
_NEAR = 75  # out of 100, for the names of files
_OBJECT = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*(?:\.[^\W\d]\w*)*)\Z")


class Unavailable(click.UsageError):
    """A file or object that an option names is missing or unreadable."""


def read_json(option: str, given: str, what: str, how: str) -> Any:
    """The data that an option gives: as JSON text, or in the JSON, YAML or TOML file that it names."""
    if given.lstrip()[:1] in {"{", "["}:
        return parse(given, option, what)
    text = read_text(option, given, how)
    kind = Path(given).suffix.lower()
    return _marked(text, given, kind, what) if kind in {".yaml", ".yml", ".toml"} else parse(text, given, what)


def read_text(option: str, given: str, how: str, *, most: int | None = None) -> str:
    """The text of the file that an option names, up to a number of bytes."""
    path = Path(given)
    if path.is_dir():
        raise Unavailable(f"{option} {given}: that is a directory; {how}")
    try:
        if most is not None and path.stat().st_size > most:
            raise Unavailable(f"{option} {given}: the file is longer than {most:,} bytes")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Unavailable(f"{option} {given}: {no_file(given, how)}") from None
    except UnicodeDecodeError as error:
        raise Unavailable(f"{option} {given}: the file is not UTF-8 (byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Unavailable(f"{option} {given}: cannot be read: {reason}") from None


def no_file(given: str, how: str = "") -> str:
    """The message for a missing file: suggests a file next to it with a similar name, or says what to give.

    >>> no_file("no/such/folder/reply.txt", "name one reply")
    'there is no such file; name one reply'
    """
    from itertools import islice

    from rapidfuzz import fuzz

    path = Path(given)
    with contextlib.suppress(OSError, ValueError):
        beside = [each for each in islice(path.parent.iterdir(), _MOST_BESIDE) if each.is_file()]
        near = max(beside, key=lambda each: fuzz.ratio(path.name, each.name), default=None)
        if near is not None and fuzz.ratio(path.stem, near.stem) >= _NEAR:  # the extension says little
            return f"there is no such file; did you mean {str(near)!r}?"
    return f"there is no such file; {how}" if how else "there is no such file"


def _marked(text: str, where: str, kind: str, what: str) -> Any:
    from trueup.contract.files.documents import parse_document
    from trueup.contract.files.faults import ContractError

    try:
        document = parse_document(text, where, kind)
    except ContractError as error:
        raise Unavailable(f"the {what} cannot be read\n{error}") from None
    if document.faults:
        raise Unavailable(f"the {what} cannot be read\n{document.faults[0]}")
    return document.data


def parse(text: str, where: str, what: str) -> Any:
    """JSON text as a value. Errors give the line and column."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Unavailable(f"{where}:{error.lineno}:{error.colno}: the {what} is not JSON: {error.msg}") from None
    except RecursionError:
        raise Unavailable(f"{where}: the {what} is nested too deep") from None


def python_object(option: str, given: str) -> Any:
    """The object that `module:name` names, searched in the current folder first; None for other words.

    >>> python_object("--tools", "math:gcd").__name__
    'gcd'
    """
    named = _OBJECT.match(given)
    if named is None or Path(given).exists():
        return None
    module, name = named.groups()
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # a module's output must not mix with the verdict
            found: Any = importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - what a user's module raises on import can be anything
        raise Unavailable(f"{option} {given}: {_why(module, error, here)}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise Unavailable(f"{option} {given}: {module} has no {part!r}{_nearest(found, part)}")
        found = getattr(found, part)
    return found


def _why(module: str, error: Exception, here: str) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
        return f"there is no module {error.name!r} (searched in {here} and on Python's path)"
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"importing {module!r} failed{at}: {type(error).__name__}: {error}"


def _nearest(found: Any, name: str) -> str:
    from trueup.verdict.likeness import nearest

    names = [word for word in vars(found) if not word.startswith("_")] if hasattr(found, "__dict__") else []
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near else ""
