"""Python types as schemas: a type enters, its JSON Schema and a builder of instances leave.

pydantic is used when the type is a pydantic one, msgspec for everything else; pydantic is
never imported by us first. What the type refuses becomes V012 findings with the place.
"""

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import msgspec

from trueup.conform.document import JsonSchema
from trueup.conform.refusals import SchemaError
from trueup.conform.survey import subschemas
from trueup.verdict import paths
from trueup.verdict.facts import Finding, finding

Built = tuple[Any, list[Finding]]

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)
_HOW = "give a pydantic model, a dataclass, a TypedDict, a msgspec Struct or a JSON Schema"


class PythonType(NamedTuple):
    """A Python type seen from JSON: the schema of its data and the maker of its instances."""

    schema: JsonSchema
    build: Callable[[Any], Built]


def python_type(source: Any) -> PythonType:
    """The JSON side of a Python type; `SchemaError` when nothing here can read the type."""
    if isinstance(source, list | tuple | set | int | float | None):
        raise SchemaError(f"{source!r:.80} is neither a JSON Schema nor a type")
    if isinstance(source, _FUNCTIONS):
        name = source.__qualname__
        raise SchemaError(f"{name} is a function, not a type; a function that may be called is a tool: tools=[{name}]")
    if hasattr(source, "__pydantic_core_schema__") or hasattr(source, "core_schema"):
        return _by_pydantic(source)
    try:
        return _by_msgspec(source)
    except (TypeError, NameError, ValueError) as error:
        # Only a caller who already uses pydantic can have a type that holds its models.
        if "pydantic" in sys.modules:
            return _by_pydantic(source)
        detail = str(error).splitlines()[-1] if str(error) else type(error).__name__
        raise SchemaError(
            f"{source!r:.80} is neither a JSON Schema nor a type that can be read: {detail}; {_HOW}"
        ) from None


def _by_msgspec(source: Any) -> PythonType:
    schema = msgspec.json.schema(source)

    def build(data: Any) -> Built:
        try:
            return msgspec.convert(data, source), []
        except msgspec.ValidationError as error:
            message, _, place = str(error).partition(" - at `")
            path = _msgspec_path(place.removesuffix("`")) if place else "$"
            return None, [_refused(path, message)]
        except Exception as error:  # noqa: BLE001 - a user's own __post_init__ may raise anything
            return None, [_refused("$", f"{type(error).__name__}: {error}")]

    return PythonType(schema, build)


def _msgspec_path(place: str) -> str:
    # msgspec writes `$[...]` for "some key"; only paths that name a place are kept.
    try:
        return paths.render(paths.parse(place))
    except ValueError:
        return "$"


def _by_pydantic(source: Any) -> PythonType:
    import pydantic
    from pydantic.errors import PydanticUserError

    adapter: Any
    try:
        adapter = source if isinstance(source, pydantic.TypeAdapter) else pydantic.TypeAdapter(source)
        schema = adapter.json_schema(by_alias=True, mode="validation")
    except (PydanticUserError, TypeError, NameError) as error:
        why = str(error).splitlines()[0].partition(". ")[0] if str(error) else type(error).__name__
        raise SchemaError(f"{source!r:.80} cannot be read as a type: {why}; {_HOW}") from None

    def build(data: Any) -> Built:
        try:
            return adapter.validate_python(data), []
        except pydantic.ValidationError as error:
            first = error
        except Exception as error:  # noqa: BLE001 - a user's own validator may raise anything
            return None, [_refused("$", f"{type(error).__name__}: {error}")]
        try:
            # A strict model takes text for a date from JSON only, and our data is JSON.
            return adapter.validate_json(msgspec.json.encode(data)), []
        except Exception:  # noqa: BLE001 - as above; the first reading's faults are told
            return None, [_pydantic_finding(data, fault) for fault in first.errors(include_url=False)]

    return PythonType(_without_python_patterns(schema), build)


def _without_python_patterns(schema: dict[str, Any]) -> dict[str, Any]:
    """pydantic writes patterns with lookahead for its own types (Decimal); it checks those itself."""
    for here in subschemas(schema):
        pattern = here.get("pattern")
        if isinstance(pattern, str) and ("(?!" in pattern or "(?=" in pattern or "(?<" in pattern):
            del here["pattern"]
    return schema


def _pydantic_finding(data: Any, fault: Any) -> Finding:
    parts = _located(data, fault["loc"])
    return _refused(paths.render(parts), str(fault["msg"]), fault.get("type", ""))


def _located(data: Any, loc: tuple[Any, ...]) -> tuple[str | int, ...]:
    """pydantic's location without the names of union arms, which are no keys of the data."""
    parts: list[str | int] = []
    here = data
    for index, part in enumerate(loc):
        inside = part < len(here) if isinstance(here, list) and isinstance(part, int) else False
        if inside or (isinstance(here, dict) and part in here):
            here = here[part]
        elif not (isinstance(here, dict) and index == len(loc) - 1 and isinstance(part, str)):
            continue
        parts.append(part)
    return tuple(parts)


def _refused(path: str, message: str, kind: str = "") -> Finding:
    parts = paths.parse(path)
    where = f'Field "{".".join(map(str, parts))}"' if parts else "Value"
    short = message if len(message) <= 200 else message[:199] + "…"
    data = {"reason": short, "kind": kind} if kind else {"reason": short}
    return finding("V012", path, f"{where}: {short}", data=data, hint=f"{where} must be changed: {short}.")
