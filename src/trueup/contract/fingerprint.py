"""A contract's fingerprint: takes the options of a contract, returns 16 hexadecimal digits.

Equal rules have equal fingerprints, with keys in any order, from a file or from Python. A function counts by its name,
source, defaults and the values it closes over; a type by its JSON Schema and the source of its classes and validators;
another object by its type and its plain public attributes. Memory addresses and paths do not count, and neither does
anything that a function calls or reads elsewhere.
"""

import hashlib
import inspect
import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from trueup.conform.schema import Schema
from trueup.contract.options import OPTIONS

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

_COUNTED = frozenset(name for name, option in OPTIONS.items() if option.counts == "as given")
_SORTED = orjson.OPT_SORT_KEYS
_MOST_DEPTH = 100


class Fingerprint:
    """The fingerprint of one contract; recomputed only if the environment has changed its rules."""

    __slots__ = ("_given", "_settings", "_written")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._settings: Any = None
        self._written = ""

    def of(self, contract: "Contract[Any]") -> str:
        """The fingerprint of the rules in force."""
        meaning = contract.meaning
        rules = None if meaning is None else meaning.reply
        try:
            settings = getattr(rules, "settings", None)
        except ValueError as error:  # a variable that cannot be read: no reply passes
            settings = str(error)
        if not self._written or settings is not self._settings:
            self._settings, self._written = settings, _hashed(contract, self._given, settings)
        return self._written


def _hashed(contract: "Contract[Any]", given: Mapping[str, Any], settings: Any) -> str:
    plain = {name: _plain(value) for name, value in given.items() if name in _COUNTED and value is not None}
    schema, meaning = contract.schema, contract.meaning
    parts: dict[str, Any] = {
        **plain,
        "schema": None if schema is None else _plain(schema.source),
        "type": [_plain(part) for part in _code_of(given.get("schema"))],
        "tools": [_plain(tool) for tool in contract.tools],
        "reply": _reply(settings) if hasattr(settings, "custom") else settings,
        "checks": [] if meaning is None else [_check(check) for check in meaning.checks],
    }
    if given.get("quality") is not None:
        parts["quality"] = _quality(given["quality"])
    written = orjson.dumps(parts, option=_SORTED, default=str)
    return hashlib.sha256(written).hexdigest()[:16]


def _code_of(schema: Any) -> list[Any]:
    """The classes and validators of a Python type, because a JSON Schema does not show their code."""
    if schema is None or isinstance(schema, dict | bool | str | os.PathLike | Schema):
        return []
    from trueup.conform.annotations import code_in  # loaded only if a contract is a type

    return code_in(schema)


def _reply(settings: Any) -> Any:
    """The reply rules in force, after the switches of the environment."""
    custom = [[rule.name, rule.reason, rule.hint, _plain(rule.source)] for rule in settings.custom]
    return {**settings._asdict(), "off": sorted(settings.off), "custom": custom}


def _quality(options: Mapping[str, Any]) -> Any:
    """The options of the learned score; a model counts by its content, without its path."""
    model = hashlib.sha256(msgspec.json.encode(options["model"])).hexdigest()
    return _plain({**options, "model": model})


def _check(check: Any) -> Any:
    kind = getattr(check, "kind", None)
    named = [] if kind is None else [kind.code, kind.name, kind.level]
    return [*named, _plain(getattr(check, "function", check)), _plain(getattr(check, "options", {}))]


def _plain(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """A value as JSON that is the same in every process; `seen` are the ids of the values around it."""
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        return value if -(2**53) < value < 2**53 else str(value)
    if id(value) in seen or len(seen) > _MOST_DEPTH:
        return "…"
    seen = (*seen, id(value))
    if isinstance(value, Enum):
        return [type(value).__qualname__, value.name]
    if isinstance(value, Mapping):
        return {str(key): _plain(part, seen) for key, part in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((_plain(part, seen) for part in value), key=orjson.dumps)
    if hasattr(value, "_asdict"):
        return _plain(value._asdict(), seen)
    if isinstance(value, list | tuple):
        return [_plain(part, seen) for part in value]
    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.structs.asdict(value), seen)
    return _named(value, seen)


def _named(value: Any, seen: tuple[int, ...]) -> Any:
    """A function by its name, source and values; another object by its type and its plain public attributes."""
    if isinstance(value, partial):
        return [_plain(part, seen) for part in (value.func, value.args, value.keywords)]
    if inspect.ismethod(value):
        return [_plain(value.__func__, seen), _plain(value.__self__, seen)]
    if inspect.isroutine(value) or isinstance(value, type):
        return [value.__qualname__, _source(value), *(_plain(part, seen) for part in _held(value))]
    attributes = {name: part for name, part in getattr(value, "__dict__", {}).items() if _is_public(name, part)}
    source = _source(type(value)) if callable(value) else ""
    return [type(value).__qualname__, source, _plain(attributes, seen)]


def _held(function: Any) -> list[Any]:
    """The values that belong to a function: its defaults, and the values it closes over."""
    defaults = [part for name in ("__defaults__", "__kwdefaults__") if (part := getattr(function, name, None))]
    cells = getattr(function, "__closure__", None) or ()
    return defaults + [cell.cell_contents for cell in cells if not _is_empty(cell)]


def _is_empty(cell: Any) -> bool:
    """Whether a name that a function closes over has no value yet."""
    try:
        cell.cell_contents  # noqa: B018 - there is no other way to ask
    except ValueError:
        return True
    return False


def _is_public(name: str, value: Any) -> bool:
    return name[:1] != "_" and (value is None or isinstance(value, str | int | float))


def _source(function: Any) -> str:
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError, SyntaxError):  # typed at a prompt, written in C, or changed on disk since
        return ""
    return hashlib.sha256(inspect.cleandoc(source).encode()).hexdigest()[:16]
