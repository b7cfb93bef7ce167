"""Python functions as tools: the signature and its hints become a schema, the docstring the description.

A function enters; its name, description and JSON Schema leave. Hints that no schema can say take any value.
"""

import inspect
import typing
from collections.abc import Callable
from typing import Any

from trueup.conform.refusals import SchemaError
from trueup.conform.types import python_type
from trueup.verdict.tool import Tool

_BY_POSITION = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def function_tool(function: Callable[..., Any]) -> Tool:
    """The tool that a Python function is.

    >>> def ping(host: str, times: int = 1) -> str:
    ...     '''Ping a host.'''
    >>> tool = function_tool(ping)
    >>> tool.name, tool.description, tool.parameters["required"]
    ('ping', 'Ping a host.', ['host'])
    """
    name = getattr(function, "__name__", "")
    if isinstance(function, type):
        schema = python_type(function).schema
        doc = inspect.getdoc(function) or ""
        return Tool(name, doc.split("\n\n")[0], schema if isinstance(schema, dict) else True, function)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        hints = {}
    properties: dict[str, Any] = {}
    required: list[str] = []
    definitions: dict[str, Any] = {}
    open_ended = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _BY_POSITION:
            open_ended = open_ended or parameter.kind is inspect.Parameter.VAR_KEYWORD
            continue
        properties[parameter.name] = _hint_schema(hints.get(parameter.name, Any), definitions)
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": open_ended}
    if definitions:
        schema["$defs"] = definitions
    return Tool(name, (inspect.getdoc(function) or "").split("\n\n")[0], schema, function)


def _hint_schema(hint: Any, definitions: dict[str, Any]) -> Any:
    if hint is Any:
        return {}
    try:
        schema = python_type(hint).schema
    except (SchemaError, TypeError):
        return {}
    if not isinstance(schema, dict):
        return {}
    definitions.update(schema.get("$defs", {}))
    return {key: value for key, value in schema.items() if key != "$defs"}
