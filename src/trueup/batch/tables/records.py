"""Turns the records of a sift into columns.

The columns depend only on the contract, so every run with the same contract has the same columns. Nested values are JSON text. If
the contract's schema is an object, each field with a simple type has its own column, with `data_` before its name. Fields without
a column, and values that do not fit their column, are in `more`.
"""

import json
from collections.abc import Callable
from typing import Any

import msgspec

from trueup.batch.counting.groups import writable
from trueup.batch.input.units import Row, read_row
from trueup.batch.tables.rows import MARK
from trueup.store.columns import ExportColumn

_JSON, _MORE, _AGAIN = ({MARK: how} for how in (b"json", b"more", b"again"))
_MOST_FIELDS = 500
_SIMPLE = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_MOST = 1 << 63
_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

VALID = (
    ExportColumn("unit_id"), ExportColumn("input", note=_JSON), ExportColumn("raw_response"), ExportColumn("data", note=_JSON),
    ExportColumn("calls", note=_JSON), ExportColumn("fixes", note=_JSON), ExportColumn("warnings", note=_JSON), ExportColumn("more", note=_MORE),
)  # fmt: skip
FAILED = (
    ExportColumn("unit_id"), ExportColumn("failure_stage"), ExportColumn("input", note=_JSON), ExportColumn("raw_response"),
    ExportColumn("codes", "text[]", _AGAIN), ExportColumn("errors", note=_JSON), ExportColumn("fixes", note=_JSON),
    ExportColumn("retry_count", "integer"), ExportColumn("warnings", note=_JSON), ExportColumn("place"), ExportColumn("more", note=_MORE),
)  # fmt: skip


def value_columns(schema: Any) -> list[ExportColumn]:
    """The columns for the fields of a JSON Schema that have a simple type.

    >>> schema = {
    ...     "properties": {
    ...         "age": {"type": ["integer", "null"]},
    ...         "tags": {"items": {"type": "string"}, "type": "array"},
    ...         "at": {},
    ...     }
    ... }
    >>> [column[:2] for column in value_columns(schema)]
    [('data_age', 'integer'), ('data_tags', 'text[]')]
    """
    root = _resolved(schema, schema)
    fields = root.get("properties")
    if not isinstance(fields, dict) or len(fields) > _MOST_FIELDS:
        return []
    kinds = {str(name): _kind(field, schema) for name, field in fields.items()}
    return [ExportColumn(f"data_{writable(name)}", kind, _AGAIN) for name, kind in kinds.items() if kind]


def _kind(field: Any, schema: Any) -> str:
    """The kind of column that a field fits into; "" if there is none."""
    field = _resolved(field, schema)
    choices = field.get("anyOf") or field.get("oneOf")
    if isinstance(choices, list):
        kinds = {_kind(choice, schema) for choice in choices if _resolved(choice, schema).get("type") != "null"}
        return kinds.pop() if len(kinds) == 1 else ""
    named = field.get("type")
    types = [one for one in (named if isinstance(named, list) else [named]) if one != "null"]
    if len(types) != 1:
        return ""
    if types == ["array"]:
        inner = _kind(field.get("items"), schema)
        return f"{inner}[]" if inner and not inner.endswith("[]") else ""
    return _SIMPLE.get(str(types[0]), "")


def _resolved(field: Any, schema: Any) -> Row:
    """A schema with its references inside the same document resolved; {} if there is none."""
    for _ in range(20):
        if not isinstance(field, dict):
            return {}
        target = field.get("$ref")
        if not isinstance(target, str):
            return field
        field = schema
        for part in target.removeprefix("#").strip("/").split("/") if target != "#" else ():
            part = part.replace("~1", "/").replace("~0", "~")
            field = field.get(part) if isinstance(field, dict) else None
    return {}


def cells_of(columns: tuple[ExportColumn, ...]) -> Callable[[bytes], list[Any]]:
    """The function that turns the line of a record into cells."""
    own = [column for column in columns if column.note not in (_AGAIN, _MORE)]
    typed = [(column.name.removeprefix("data_"), column.kind) for column in columns if column.name.startswith("data_")]

    def cells(line: bytes) -> list[Any]:
        fields = _fields(line)
        data = read_row(fields["data"].encode()) if typed and "data" in fields else None
        values = data if isinstance(data, dict) else {}
        derived = {f"data_{name}": fitting(values.get(name), kind) for name, kind in typed}
        if "errors" in fields:
            derived["codes"] = [str(error.get("code")) for error in read_row(fields["errors"].encode())]
        for column in own:
            text = fields.pop(column.name, "null")
            if column.note == _JSON:
                derived[column.name] = None if text == "null" else text
                continue
            value = read_row(text.encode())
            derived[column.name] = cell = fitting(value, column.kind)
            if cell != value:
                fields[column.name] = text  # the original, since the column cannot represent it
        more = {name: msgspec.Raw(text.encode()) for name, text in fields.items()}
        derived["more"] = msgspec.json.encode(more).decode() if more else None
        return [derived.get(column.name) for column in columns]

    return cells


def _fields(line: bytes) -> dict[str, str]:
    """The fields of a record, each as JSON text."""
    try:
        return {name: bytes(value).decode() for name, value in _raw(line).items()}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {name: _written(value) for name, value in read_row(line).items()}


def _written(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))  # with escapes for text that UTF-8 cannot represent


def fitting(value: Any, kind: str) -> Any:
    """A value if it fits a column of this kind, else None.

    >>> fitting(5, "integer"), fitting(2**64, "integer"), fitting(True, "number"), fitting(["a", None], "text[]")
    (5, None, None, ['a', None])
    """
    if kind.endswith("[]"):
        inner = kind.removesuffix("[]")
        fits = isinstance(value, list) and all(item is None or fitting(item, inner) is not None for item in value)
        return [fitting(item, inner) for item in value] if fits else None
    if kind == "text":
        return writable(value) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind == "integer":
        return value if isinstance(value, int) and -_MOST <= value < _MOST else None
    try:
        return float(value)
    except OverflowError:
        return None
