"""Readers to compare: each makes, from a schema, a function from text to a value. The function raises without a value.

A third-party reader is imported when it is made. An ImportError there means that it is not installed.
"""

import json
from collections.abc import Callable
from enum import Enum
from importlib import import_module, metadata
from typing import Any, NamedTuple

Read = Callable[[str], Any]
Make = Callable[..., Read]


class PeerRefused(ValueError):
    """The reader reports that there is no value."""


class Unsupported(Exception):
    """The schema has a feature that the reader does not support."""


class Peer(NamedTuple):
    """One reader: its name in tables, its package, and a function that makes it from a schema."""

    name: str
    package: str
    make: Make
    typed: bool = False  # returns an instance, not plain data; use `plain()` before comparing

    def version(self) -> str:
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "not installed"


def plain(value: Any) -> Any:
    """An instance as plain JSON data, without optional fields that are null: a type has them, the reply may not."""
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(exclude_defaults=True))
    if hasattr(value, "__struct_fields__"):
        import msgspec

        return msgspec.to_builtins(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _trueup(schema: Any, **options: Any) -> Read:
    from trueup.contract.contract import Contract

    check = Contract(schema=schema, **options).check

    def read(text: str) -> Any:
        verdict = check(text)
        if not verdict.ok:
            raise PeerRefused(str(verdict.findings))
        return verdict.data

    return read


def _orjson(_schema: Any) -> Read:
    import orjson

    return orjson.loads


def _orjson_and_schema(schema: Any) -> Read:
    import jsonschema_rs
    import orjson

    is_valid = jsonschema_rs.validator_for(schema).is_valid

    def read(text: str) -> Any:
        value = orjson.loads(text)
        if not is_valid(value):
            raise PeerRefused
        return value

    return read


def _json_and_jsonschema(schema: Any) -> Read:
    validators = import_module("jsonschema.validators")
    is_valid = validators.validator_for(schema)(schema).is_valid

    def read(text: str) -> Any:
        value = json.loads(text)
        if not is_valid(value):
            raise PeerRefused
        return value

    return read


def _json_repair(_schema: Any) -> Read:
    read: Read = import_module("json_repair").loads
    return read


def _fast_json_repair(_schema: Any) -> Read:
    repair = import_module("fast_json_repair").repair_json
    return lambda text: repair(text, return_objects=True, skip_json_loads=True)


def _jiter(_schema: Any) -> Read:
    from_json = import_module("jiter").from_json
    return lambda text: from_json(text.encode(), partial_mode="trailing-strings")


TRUEUP = Peer("trueup", "trueup", _trueup)
FLOOR = Peer("orjson + jsonschema-rs", "orjson", _orjson_and_schema)
ORJSON = Peer("orjson alone", "orjson", _orjson)
JSONSCHEMA = Peer("json + jsonschema", "jsonschema", _json_and_jsonschema)
FAST = Peer("fast_json_repair", "fast_json_repair", _fast_json_repair)
JSON_REPAIR = Peer("json_repair", "json_repair", _json_repair)
JITER = Peer("jiter", "jiter", _jiter)
