"""Python functions as tools: the signature becomes a schema and a check of arguments, the docstring the descriptions.

Takes a function; returns its name, description and JSON Schema. Each argument is checked by the annotation of its parameter, which
also makes the value that the function expects: a date, an enum, a model. A class that no library can read takes any value. If a
limit would be lost, the tool is refused.
"""

import copy
import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from trueup.conform.annotations import contents_of
from trueup.conform.document import JsonSchema
from trueup.conform.own_code import OwnCode
from trueup.conform.readings import Converted
from trueup.conform.refusals import SchemaError
from trueup.conform.signatures import context_parameter, hashable, hints_of_function, innermost, parameters
from trueup.conform.types import Built, Parts, PythonType, Read, python_type, refused
from trueup.verdict.facts import Finding
from trueup.verdict.paths import parse, render
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.tool import Tool

_PLAIN = (str, int, float, bool, type(None), list, dict, Any, object, inspect.Parameter.empty)
# `city: The city.` under `Args:`, `:param city: The city.`, and NumPy's `city : str` with a line below
_SECTION = lazy_regex(r"^\s*(?:Args|Arguments|Parameters|Params|Argumentos|Parámetros):?\s*$", re.MULTILINE)
_GOOGLE = lazy_regex(r"^\s{0,12}\*{0,2}(\w+)\s*(?:\([^()\n]{0,80}\))?:\s+(\S.*)$")
_SPHINX = lazy_regex(r"^\s*:param\s+(?:[\w\[\], |.]+\s+)?(\w+):\s*(\S.*)$", re.MULTILINE)
_NUMPY = lazy_regex(r"^(\w+)\s*:\s*\S.*\n[ \t]+(\S.*)$", re.MULTILINE)


def function_tool(function: Callable[..., Any]) -> Tool:
    """The tool for a Python function.

    >>> def ping(host: str, times: int = 1) -> str:
    ...     '''Ping a host.'''
    >>> tool = function_tool(ping)
    >>> tool.name, tool.description, tool.parameters["required"]
    ('ping', 'Ping a host.', ['host'])
    """
    if isinstance(function, type):
        return _class_tool(function)
    doc = inspect.getdoc(innermost(function)) or ""
    schema = arguments_type(function).schema
    assert isinstance(schema, dict)
    return Tool(function_name(function), _summary(doc), copy.deepcopy(schema), function)


def function_name(function: Callable[..., Any]) -> str:
    """The name under which a function is offered.

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
    summary = "" if doc.startswith(f"{source.__name__}(") else _summary(doc)  # a dataclass generates this one
    return Tool(source.__name__, summary, schema if isinstance(schema, dict) else True, source)


class _Parameter(NamedTuple):
    """One parameter of a function, and the type of its annotation, or None if nothing can read it.

    `default` makes the value of a missing argument if the function's own default is pydantic's `Field(…)`.
    """

    name: str
    type: PythonType | None
    required: bool
    default: Callable[[], Any] | None = None


def arguments_type(function: Callable[..., Any]) -> PythonType:
    """The arguments of a function, or the fields of a class, as one type, whose value is passed to the function.

    >>> import datetime
    >>> def on(day: datetime.date, times: int = 1) -> None: ...
    >>> arguments_type(on).accept({"day": "2024-02-29"})
    ({'day': datetime.date(2024, 2, 29)}, [])
    """
    return _arguments_type(hashable(function))


@functools.lru_cache(maxsize=512)
def _arguments_type(function: Callable[..., Any]) -> PythonType:
    if isinstance(function, type):
        return python_type(function)
    said = _described(inspect.getdoc(innermost(function)) or "")
    known: dict[str, _Parameter] = {}
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    rest: _Parameter | None = None
    more: Any = False
    for parameter, annotation in _annotated(function):
        name = parameter.name
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        hint, default, make = _with_field(annotation, parameter.default)
        read, schema = _read_hint(hint, definitions)
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            rest, more = _Parameter(name, read, required=False), schema or True
            continue
        if name in said and "description" not in schema:
            schema["description"] = said[name]
        if isinstance(default, str | int | float | bool | None):
            schema.setdefault("default", default)
        known[name] = _Parameter(name, read, default is inspect.Parameter.empty, make)
        properties[name] = schema
    required = [name for name, parameter in known.items() if parameter.required]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": more}
    if definitions:
        schema["$defs"] = definitions
    return _joined(schema, known, rest)


def _annotated(function: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, Any]]:
    """The parameters of a function, each with its annotation; refused if one cannot be resolved, because it may have limits."""
    hints = hints_of_function(function)
    own = context_parameter(function)
    for parameter in parameters(function):
        if parameter.name == own:  # not for the model
            continue
        if (error := hints.unknown.get(parameter.name)) is not None:
            raise SchemaError(
                f"the annotation of {parameter.name!r} in {function_name(function)} cannot be resolved: {error}; "
                "define the name at the top of the module, and not only for type checkers"
            )
        yield parameter, hints.known.get(parameter.name, Any)


def _joined(schema: dict[str, Any], known: dict[str, _Parameter], rest: _Parameter | None) -> PythonType:
    """Parameters as one type: each checks its own argument, and `rest` all others; with None, there may be no others."""

    def accept(data: Any, text: bytes | None = None) -> Built:  # noqa: ARG001 - each argument is checked alone
        if not isinstance(data, dict):
            return None, [refused("$", "the arguments are not an object")]
        made: dict[str, Any] = {}
        faults = [refused(render((name,)), "Argument required", "missing") for name in _missing(known, data)]
        for name, value in data.items():
            parameter = known.get(name, rest)
            made[name] = value
            if parameter is None:
                faults.append(refused(render((name,)), "Unexpected argument", "extra"))
            elif parameter.type is not None:
                made[name], found = parameter.type.accept(value)
                faults += [_inside(name, one) for one in found]
        for name, parameter in known.items():
            if name not in made and parameter.default is not None:
                made[name] = parameter.default()
        return (None, faults) if faults else (made, [])

    def type_of(name: Any) -> PythonType | None:
        parameter = known.get(name, rest)
        return None if parameter is None else parameter.type

    def read(data: Any, value: Any, text: bytes | None = None) -> Read:  # noqa: ARG001 - as above
        out = data
        changes: list[Converted] = []
        for name in data:
            inner = type_of(name)
            part, found = (data[name], []) if inner is None else inner.read(data[name], value[name])
            if found:
                out = {**out, name: part}
                changes += [change._replace(path=(name, *change.path)) for change in found]
        return out, changes

    def wide(place: Parts) -> Parts | None:
        inner = type_of(place[0]) if place else None
        around = None if inner is None else inner.wide(place[1:])
        return None if around is None else (place[0], *around)

    def code() -> OwnCode:
        types = [one.type for one in (*known.values(), rest) if one is not None and one.type is not None]
        return OwnCode(before_some=any(one.own_code().before_some for one in types))

    return PythonType(schema, accept, read, wide, frozenset(known), own_code=code)


def _inside(name: str, fault: Finding) -> Finding:
    """A finding of a parameter's type, as a fault of the arguments."""
    arms = {render((name, *parse(place))): arm for place, arm in fault.data.get("arms", {}).items()}
    return refused(render((name, *parse(fault.path))), fault.data["reason"], fault.data.get("kind", ""), arms)


def _missing(known: dict[str, _Parameter], data: dict[str, Any]) -> list[str]:
    return [name for name, parameter in known.items() if parameter.required and name not in data]


def _with_field(hint: Any, default: Any) -> tuple[Any, Any, Callable[[], Any] | None]:
    """The annotation of a parameter with the limits of pydantic's `Field(…)`, its default, and the maker of that default."""
    if type(default).__name__ != "FieldInfo" or not type(default).__module__.startswith("pydantic"):
        return hint, default, None
    limited = typing.Annotated[hint, default]
    if default.is_required():
        return limited, inspect.Parameter.empty, None
    make = functools.partial(default.get_default, call_default_factory=True)
    return limited, make(), make


def argument_maker(function: Callable[..., Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that turns JSON arguments into the values a function expects; it raises if an annotation refuses a value.

    >>> import datetime
    >>> def on(day: datetime.date) -> None: ...
    >>> argument_maker(on)({"day": "2024-02-29"})
    {'day': datetime.date(2024, 2, 29)}
    """
    if isinstance(function, type):
        return lambda args: args
    builders = _builders(hashable(function))

    def make(args: dict[str, Any]) -> dict[str, Any]:
        out = dict(args)
        for name in builders.keys() & args.keys():
            out[name], faults = builders[name].accept(args[name])
            if faults:
                raise ValueError(f"{name}: {faults[0].message}")
        return out

    return make


@functools.lru_cache(maxsize=512)
def _builders(function: Callable[..., Any]) -> dict[str, PythonType]:
    """The types of parameters that expect more than a JSON value."""
    own = context_parameter(function)
    hints = {name: hint for name, hint in hints_of_function(function).known.items() if name != own}
    read = {name: _read_hint(hint, {})[0] for name, hint in hints.items() if hint not in _PLAIN}
    return {name: found for name, found in read.items() if found is not None}


def _summary(doc: str) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join(doc.split("\n\n")[0].split()) if not _SECTION.match(doc) else ""


def _described(doc: str) -> dict[str, str]:
    """The descriptions of parameters in a docstring, in the styles of Google, Sphinx and NumPy."""
    found = {name: text.strip() for name, text in _SPHINX.findall(doc)}
    section = _SECTION.search(doc)
    if section:
        body = doc[section.end() :]
        rows = filter(None, map(_GOOGLE.match, body.split("\n")))
        found |= {row[1]: row[2].strip() for row in rows}
        if re.match(r"\n\s*-{3,}", body):
            found |= {name: text.strip() for name, text in _NUMPY.findall(body)}
    return found


def _read_hint(hint: Any, definitions: dict[str, Any]) -> tuple[PythonType | None, dict[str, Any]]:
    """The type of an annotation and its schema; definitions of the schema are added to `definitions`."""
    description = ""
    if typing.get_origin(hint) is typing.Annotated:
        plain, *notes = typing.get_args(hint)
        words = [note for note in notes if isinstance(note, str)]
        if words:
            description = words[0]
            others = tuple(note for note in notes if not isinstance(note, str))
            hint = typing.Annotated[(plain, *others)] if others else plain
    found: PythonType | None = None
    if hint is not Any:
        try:
            found = python_type(hint)
        except (SchemaError, TypeError):
            inside = contents_of(hint)
            if inside.foreign is not None or inside.meta is not None:
                raise  # it has limits, and no library would enforce them
    schema = dict(found.schema) if found is not None and isinstance(found.schema, dict) else {}
    definitions.update(schema.pop("$defs", {}))
    return found, {**schema, "description": description} if description else schema
