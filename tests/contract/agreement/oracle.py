"""The oracle for the table: pydantic's and msgspec's own validators, without trueup."""

import inspect
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_type_hints

import msgspec
from pydantic import TypeAdapter, ValidationError, create_model
from pydantic_core import to_jsonable_python

from tests.contract.agreement.row import REFUSED, Reader, Row, ToolRow

_adapters: dict[str, TypeAdapter[Any]] = {}
_KEPT = (timedelta,)  # pydantic writes `PT1H`, as people do; msgspec writes `PT3600S`


def judgement(row: Row, value: Any) -> Any:
    """The result of the type's own JSON validator for the value, or `REFUSED`."""
    if row.reader is not Reader.PLAIN:
        return _by_pydantic(row, value, strict=_strict(row.reader))
    try:
        return msgspec.convert(value, row.twin, str_keys=True)
    except msgspec.ValidationError:
        return REFUSED


def either_judgement(row: Row, value: Any) -> list[Any]:
    """All acceptable judgements: several only if pydantic's strict and lax readings differ and neither is the rule."""
    either = row.reader is Reader.CHECKED or (row.reader is Reader.LIMITED and row.name.startswith("dates"))
    return [_by_pydantic(row, value, strict=strict) for strict in (True, None)] if either else [judgement(row, value)]


def _by_pydantic(row: Row, value: Any, *, strict: bool | None) -> Any:
    try:
        return _adapter(row).validate_json(json.dumps(value), strict=strict)
    except ValidationError:
        return REFUSED


def arguments(tool: ToolRow, value: dict[str, Any]) -> Any:
    """The Python values that the function must be called with, including defaults, or `REFUSED`."""
    return _arguments(tool, value, strict=_strict(tool.reader))


def either_arguments(tool: ToolRow, value: dict[str, Any]) -> list[Any]:
    """The same for arguments: all acceptable judgements."""
    strictness = (True, None) if tool.reader is Reader.CHECKED else (_strict(tool.reader),)
    return [_arguments(tool, value, strict=strict) for strict in strictness]


def _arguments(tool: ToolRow, value: dict[str, Any], *, strict: bool | None) -> Any:
    parameters = inspect.signature(tool.function).parameters
    hints = get_type_hints(tool.function, include_extras=True)
    defaults = {name: ... if p.default is p.empty else p.default for name, p in parameters.items()}
    if tool.reader is Reader.PLAIN:
        return _each(value, hints, defaults)
    made = create_model("Arguments", **{name: (hints[name], default) for name, default in defaults.items()})  # type: ignore[call-overload]
    try:
        read = made.model_validate_json(json.dumps(value), strict=strict)
    except ValidationError:
        return REFUSED
    return {name: getattr(read, name) for name in parameters}


def dumped(row: Row, value: Any) -> Any:
    """The value as JSON, written by its own library."""
    if row.reader is Reader.PLAIN:
        return to_jsonable_python(msgspec.to_builtins(value, str_keys=True, builtin_types=_KEPT))
    return _adapter(row).dump_python(value, mode="json", by_alias=True)


def dumped_arguments(tool: ToolRow, values: dict[str, Any]) -> Any:
    """The arguments as JSON."""
    if tool.reader is Reader.PLAIN:
        return to_jsonable_python(msgspec.to_builtins(values, str_keys=True, builtin_types=_KEPT))
    return to_jsonable_python(values, by_alias=True)


def _adapter(row: Row) -> TypeAdapter[Any]:
    """Made once for each row: making one takes longer than all of its cases."""
    if row.name not in _adapters:
        _adapters[row.name] = TypeAdapter(row.twin)
    return _adapters[row.name]


def _strict(reader: Reader) -> bool | None:
    return True if reader is Reader.LIMITED else None


def _each(value: dict[str, Any], hints: dict[str, Any], defaults: dict[str, Any]) -> Any:
    convert: Callable[[str], Any] = lambda name: msgspec.convert(value[name], hints[name], str_keys=True)  # noqa: E731
    if any(default is ... and name not in value for name, default in defaults.items()):
        return REFUSED
    try:
        return {name: convert(name) if name in value else default for name, default in defaults.items()}
    except msgspec.ValidationError:
        return REFUSED
