"""Tools as objects of an application: a registry with definitions, or definitions with attributes instead of keys.

Returns the list of tools in an object, or its definition as a dict, or None if it is neither. Attributes that cannot belong
to a definition (methods, mocks, objects of other kinds) are ignored.
"""

import enum
import inspect
from collections.abc import KeysView, Mapping, ValuesView
from types import GeneratorType
from typing import Any

_ASKED = ("get_all_definitions", "get_definitions", "list_definitions", "get_all_tools", "get_tools", "list_tools")
_HELD = ("definitions", "tools")
_LISTED = ("parameters", "params", "arguments")
# The properties of a parameter that a schema can express, under their names in the simple list form.
_ROW = (
    "type", "required", "enum", "description", "default", "items", "properties", "format", "pattern", "minimum", "maximum",
    "minLength", "maxLength", "minItems", "maxItems", "nullable", "schema",
)  # fmt: skip
_PLAIN = (str, int, float, bool, list, tuple, dict)


def is_collection(source: Any) -> bool:
    """Whether this is a collection of tools other than a list: a set, the values of a dict, a generator."""
    return isinstance(source, set | frozenset | KeysView | ValuesView | GeneratorType)


def held_tools(source: Any) -> list[Any] | Mapping[str, Any] | None:
    """The tools of a registry, or None if the object is not a registry.

    >>> class Registry:
    ...     def get_all_definitions(self):
    ...         return [{"name": "ping"}]
    >>> held_tools(Registry()), held_tools({"name": "ping"})
    ([{'name': 'ping'}], None)
    """
    if isinstance(source, Mapping | list | tuple | str | bytes | type) or _is_definition(source):
        return None
    for method in _ASKED:
        ask = getattr(source, method, None)
        if callable(ask):
            found = _taken(ask, method)
            if found is not None:
                return found
    for name in _HELD:
        found = _listed(getattr(source, name, None))
        if found is not None:
            return found
    return None


def described_tool(source: Any) -> dict[str, Any] | None:
    """An object with the attributes `name`, `description` and `parameters` as a dict, or None if it lacks them."""
    if not _is_definition(source):
        return None
    description = getattr(source, "description", "")
    made = {"name": source.name, "description": description if isinstance(description, str) else ""}
    for key in _LISTED:
        parameters = getattr(source, key, None)
        if isinstance(parameters, list | tuple):
            return {**made, "parameters": [_row(parameter) for parameter in parameters]}
        if isinstance(parameters, Mapping):
            rows = [{**_row(parameter), "name": name} for name, parameter in parameters.items()]
            return {**made, "parameters": rows}
    return made


def _is_definition(source: Any) -> bool:
    """Whether an object has a name and an attribute for parameters, even an empty one."""
    if isinstance(source, Mapping | list | tuple | str | bytes | type) or inspect.isroutine(source):
        return False
    if not isinstance(getattr(source, "name", None), str):
        return False
    found = [getattr(source, key) for key in _LISTED if hasattr(source, key)]
    return any(value is None or isinstance(value, list | tuple | Mapping) for value in found)


def _taken(ask: Any, method: str) -> list[Any] | Mapping[str, Any] | None:
    """The result of a registry's method; a method that needs arguments does not list all tools and is not called."""
    try:
        inspect.signature(ask).bind()
    except (TypeError, ValueError):
        return None
    found = ask()
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise TypeError(f"{method}() is asynchronous: await it, and give what it returns as tools")
    return _listed(found)


def _listed(found: Any) -> list[Any] | Mapping[str, Any] | None:
    if isinstance(found, list | tuple) or is_collection(found):
        return list(found)
    return found if isinstance(found, Mapping) else None


def _row(parameter: Any) -> Any:
    """One parameter in the simple list form; dicts and names are passed through unchanged."""
    if isinstance(parameter, Mapping):
        return dict(parameter)
    if isinstance(parameter, str):
        return parameter
    row: dict[str, Any] = {"name": getattr(parameter, "name", None)}
    for key in _ROW:
        value = _plain(getattr(parameter, key, None))
        if value is not None and value != "" and not (key == "enum" and not value):
            row[key] = value
    return row


def _plain(value: Any) -> Any:
    """A value as JSON, or None if JSON cannot represent it: an enum becomes its values, a Python type its name."""
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return [each.value for each in value]
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, type):
        return value.__name__
    return value if isinstance(value, _PLAIN) else None
