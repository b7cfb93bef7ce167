"""The `--schema` option: a word from the command line enters, a schema source for a Contract leaves.

It takes a file, `module:Class`, JSON text, or `any`. What it cannot take it refuses with what, where and what to do.
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

_CLASS = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*(?:\.[^\W\d]\w*)*)\Z")
_HOW = "give a .json file, module:Class, JSON text that starts with '{', or 'any'"


class BadSchema(click.UsageError):
    """The schema that was asked for cannot be had."""


def read_schema(given: str) -> Any:
    """The source that an option names.

    >>> read_schema("any"), read_schema('{"type": "integer"}')
    (True, {'type': 'integer'})
    """
    if given == "any":
        return True
    if given.lstrip().startswith("{"):
        return _parse(given, "--schema")
    path = Path(given)
    named = _CLASS.match(given)
    if named and not path.exists():
        return _load_class(*named.groups())
    if path.is_dir():
        raise BadSchema(f"--schema {given}: that is a directory; {_HOW}")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadSchema(f"--schema {given}: there is no such file; {_HOW}") from None
    except UnicodeDecodeError as error:
        raise BadSchema(f"--schema {given}: the file is not UTF-8 (byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadSchema(f"--schema {given}: cannot be read: {reason}") from None
    return _parse(text, given)


def _parse(text: str, where: str) -> Any:
    try:
        schema = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadSchema(f"{where}:{error.lineno}:{error.colno}: the schema is not JSON: {error.msg}") from None
    except RecursionError:
        raise BadSchema(f"{where}: the schema is nested too deep") from None
    if not isinstance(schema, dict | bool):
        raise BadSchema(f"{where}: a JSON Schema is an object, this is {type(schema).__name__}; {_HOW}")
    return schema


def _load_class(module: str, name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what a module prints must not mix with the verdict
            found: Any = importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - what a user's module raises on import can be anything
        raise BadSchema(f"--schema {module}:{name}: {_why(module, error, here)}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise BadSchema(f"--schema {module}:{name}: {module} has no {part!r}{_nearest(found, part)}")
        found = getattr(found, part)
    return found


def _why(module: str, error: Exception, here: str) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
        return f"there is no module {error.name!r} (looked in {here} and where this Python looks)"
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"importing {module!r} failed{at}: {type(error).__name__}: {error}"


def _nearest(found: Any, name: str) -> str:
    from rapidfuzz import process

    names = [word for word in vars(found) if not word.startswith("_")] if hasattr(found, "__dict__") else []
    near = process.extractOne(name, names, score_cutoff=60)
    return f"; did you mean {near[0]!r}?" if near else ""
