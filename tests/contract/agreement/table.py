"""The whole table, theme by theme, and how two values are compared."""

import dataclasses
from typing import Any

import msgspec
from pydantic import BaseModel

from tests.contract.agreement import (
    constraints,
    containers,
    dataclasses_,
    dates,
    functions,
    models,
    msgspec_types,
    scalars,
    typed_dicts,
    unions,
    validators,
)
from tests.contract.agreement.row import Row, ToolRow

_THEMES = {
    "scalars": scalars.ROWS,
    "constraints": constraints.ROWS,
    "dates": dates.ROWS,
    "containers": containers.ROWS,
    "models": models.ROWS,
    "dataclasses": dataclasses_.ROWS,
    "typed dicts": typed_dicts.ROWS,
    "msgspec": msgspec_types.ROWS,
    "unions": unions.ROWS,
    "validators": validators.ROWS,
}

ROWS: list[Row] = [row._replace(name=f"{theme}: {row.name}") for theme, rows in _THEMES.items() for row in rows]
TOOLS: list[ToolRow] = [tool._replace(name=f"functions: {tool.name}") for tool in functions.TOOLS]


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same type at every level: `True`, `1` and `1.0` are three values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(map(_typed, one)) == list(map(_typed, other)) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (set, frozenset)):
        return set(map(_typed, one)) == set(map(_typed, other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, BaseModel):
        return one == other and same(one.__dict__, other.__dict__)
    if isinstance(one, msgspec.Struct):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    if dataclasses.is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    return bool(one == other)


def _typed(value: Any) -> tuple[type, Any]:
    return type(value), value
