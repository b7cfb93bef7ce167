"""Python functions as tools: the signature and its hints become a schema, the docstring the descriptions.

A function enters; its name, description and JSON Schema leave. Hints that no schema can say take any value. The same
hints turn checked arguments into what the function expects: a date, an enum, a model.
"""

import functools
import inspect
import re
import typing
from collections.abc import Callable
from typing import Any

from trueup.conform.document import JsonSchema
from trueup.conform.refusals import SchemaError
from trueup.conform.types import python_type
from trueup.verdict.tool import Tool

_REST = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_PLAIN = (str, int, float, bool, type(None), list, dict, Any, object, inspect.Parameter.empty)
# `city: The city.` under `Args:`, `:param city: The city.`, and NumPy's `city : str` with a line below
_SECTION = re.compile(r"^\s*(?:Args|Arguments|Parameters|Params|Argumentos|Parámetros):?\s*$", re.MULTILINE)
_GOOGLE = re.compile(r"^\s{0,12}\*{0,2}(\w+)\s*(?:\([^()\n]{0,80}\))?:\s+(\S.*)$")
_SPHINX = re.compile(r"^\s*:param\s+(?:[\w\[\], |.]+\s+)?(\w+):\s*(\S.*)$", re.MULTILINE)
_NUMPY = re.compile(r"^(\w+)\s*:\s*\S.*\n[ \t]+(\S.*)$", re.MULTILINE)


def function_tool(function: Callable[..., Any]) -> Tool:
    """The tool that a Python function is.

    >>> def ping(host: str, times: int = 1) -> str:
    ...     '''Ping a host.'''
    >>> tool = function_tool(ping)
    >>> tool.name, tool.description, tool.parameters["required"]
    ('ping', 'Ping a host.', ['host'])
    """
    if isinstance(function, type):
        return _class_tool(function)
    inner = _inner(function)
    doc = inspect.getdoc(inner) or ""
    said = _described(doc)
    hints = _hints(inner)
    properties: dict[str, Any] = {}
    required: list[str] = []
    definitions: dict[str, Any] = {}
    open_ended = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _REST:
            open_ended = open_ended or parameter.kind is inspect.Parameter.VAR_KEYWORD
            continue
        schema = _hint_schema(hints.get(parameter.name, Any), definitions)
        if parameter.name in said and "description" not in schema:
            schema["description"] = said[parameter.name]
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, str | int | float | bool | None):
            schema.setdefault("default", parameter.default)
        properties[parameter.name] = schema
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": open_ended}
    if definitions:
        schema["$defs"] = definitions
    return Tool(function_name(function), _summary(doc), schema, function)


def function_name(function: Callable[..., Any]) -> str:
    """The name a function is offered under.

    >>> function_name(functools.partial(len))
    'len'
    """
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _class_tool(source: type) -> Tool:
    """A model or a dataclass as a tool: its fields are the arguments."""
    schema: JsonSchema = python_type(source).schema
    if isinstance(schema, dict) and "$ref" in schema:
        definitions = dict(schema.get("$defs", {}))
        inner = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
        schema = {**inner, "$defs": definitions}
    doc = inspect.cleandoc(vars(source).get("__doc__") or "")
    summary = "" if doc.startswith(f"{source.__name__}(") else _summary(doc)  # a dataclass writes its own
    return Tool(source.__name__, summary, schema if isinstance(schema, dict) else True, source)


def argument_maker(function: Callable[..., Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A maker of what a function expects from arguments that are JSON data; raises where a hint refuses a value.

    >>> import datetime
    >>> def on(day: datetime.date) -> None: ...
    >>> argument_maker(on)({"day": "2024-02-29"})
    {'day': datetime.date(2024, 2, 29)}
    """
    if isinstance(function, type):
        return lambda args: args
    hints = {name: hint for name, hint in _hints(_inner(function)).items() if hint not in _PLAIN and name != "return"}
    if not hints:
        return lambda args: args
    builders: dict[str, Callable[[Any], Any]] = {}
    for name, hint in hints.items():
        try:
            builders[name] = python_type(hint).build
        except (SchemaError, TypeError):
            continue

    def make(args: dict[str, Any]) -> dict[str, Any]:
        out = dict(args)
        for name in builders.keys() & args.keys():
            out[name], refused = builders[name](args[name])
            if refused:
                raise ValueError(f"{name}: {refused[0].message}")
        return out

    return make


def _inner(function: Callable[..., Any]) -> Any:
    """What a partial, or an object that can be called, comes down to."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return function.__call__ if not hasattr(function, "__name__") else function  # type: ignore[operator]


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}


def _summary(doc: str) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join(doc.split("\n\n")[0].split()) if not _SECTION.match(doc) else ""


def _described(doc: str) -> dict[str, str]:
    """What a docstring says of each parameter, in the ways of Google, Sphinx and NumPy."""
    found = {name: text.strip() for name, text in _SPHINX.findall(doc)}
    section = _SECTION.search(doc)
    if section:
        body = doc[section.end() :]
        rows = filter(None, map(_GOOGLE.match, body.split("\n")))
        found |= {row[1]: row[2].strip() for row in rows}
        if re.match(r"\n\s*-{3,}", body):
            found |= {name: text.strip() for name, text in _NUMPY.findall(body)}
    return found


def _hint_schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    said = ""
    if typing.get_origin(hint) is typing.Annotated:
        plain, *notes = typing.get_args(hint)
        words = [note for note in notes if isinstance(note, str)]
        if words:
            said = words[0]
            others = tuple(note for note in notes if not isinstance(note, str))
            hint = typing.Annotated[(plain, *others)] if others else plain
    schema: Any = {}
    if hint is not Any:
        try:
            schema = python_type(hint).schema
        except (SchemaError, TypeError):
            schema = {}
    schema = dict(schema) if isinstance(schema, dict) else {}
    definitions.update(schema.pop("$defs", {}))
    return {**schema, "description": said} if said else schema
