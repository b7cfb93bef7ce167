"""Tool definitions in every common shape, as Tool values (T1).

OpenAI chat, Responses and legacy functions, Anthropic, Gemini, Bedrock, Cohere, MCP `tools/list`, Vercel maps, LangChain
dicts and objects, the simple list form, and an application's own registries. A definition without a name is refused with its
place; nameless tools that the provider runs itself are skipped.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trueup.read.parameters import plain_schema, simple_schema
from trueup.read.registries import described_tool, held_tools
from trueup.verdict.paths import Parts
from trueup.verdict.tool import Tool

SCHEMAS = (
    "parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "args_schema",
    "params_json_schema", "json_schema",
)  # fmt: skip
MAPS = ("args", "inputs", "parameter_definitions", "parameterDefinitions")
_LISTS = ("tools", "functionDeclarations", "function_declarations", "functions")
_INNER = ("function", "toolSpec", "tool_spec", "custom", "tool")
_HOLDERS = ("result", "toolConfig", "tool_config")
# Tools that Gemini and Bedrock run themselves: a key without anything to call.
_BUILT_IN = frozenset(
    "googleSearch google_search googleSearchRetrieval google_search_retrieval codeExecution code_execution urlContext"
    " url_context computerUse computer_use googleMaps google_maps fileSearch file_search enterpriseWebSearch"
    " enterprise_web_search retrieval cachePoint systemTool".split()
)


class DefinitionError(ValueError):
    """A tool definition that cannot be read: says which, and what is missing."""


def definitions(source: Any, where: str = "tools") -> list[Tool]:
    """Read tool definitions from any of their shapes.

    >>> definitions([{"type": "function", "function": {"name": "ping", "parameters": {"type": "object"}}}])[0].name
    'ping'
    """
    return [body if isinstance(body, Tool) else _one(body, _spot(where, path)) for path, body in bodies(source, where)]


def bodies(source: Any, where: str = "tools", path: Parts = ()) -> Iterator[tuple[Parts, "Mapping[str, Any] | Tool"]]:
    """The part of each definition that has its name and its schema, with the path to it.

    >>> [(path, body["name"]) for path, body in bodies([{"type": "function", "function": {"name": "ping"}}])]
    [((0, 'function'), 'ping')]
    """
    if isinstance(source, Tool):
        yield path, source
        return
    if isinstance(source, list | tuple):
        for i, item in enumerate(source):
            yield from bodies(item, where, (*path, i))
        return
    held = held_tools(source)
    if held is not None:
        yield from bodies(held, where, path)
        return
    body = source if isinstance(source, Mapping) else _dumped(source, _spot(where, path))
    inner = _inner(body)
    if inner is not None:
        yield from bodies(body[inner], where, (*path, inner))
        return
    for key in _INNER:
        if isinstance(body.get(key), dict) and "name" in body[key]:
            yield (*path, key), body[key]
            return
    if isinstance(body.get("name"), str):
        yield path, body
        return
    if body and (body.keys() <= _BUILT_IN or _is_hosted(body)):
        return
    named = {name: value if isinstance(value, dict) else described_tool(value) for name, value in body.items()}
    if not named or not all(_is_definition(value) for value in named.values()):
        raise DefinitionError(
            f"{_spot(where, path)}: no tool definition with a name found; give the provider's tool list or functions"
        )
    for name, value in named.items():
        yield (*path, name), {**(value or {}), "name": name}


def _inner(body: Mapping[str, Any]) -> str | None:
    """The key of a list of tools, or of an object that holds one."""
    for keys, kinds in ((_LISTS, list | tuple), (_HOLDERS, dict)):
        for key in keys:
            if isinstance(body.get(key), kinds):
                return key
    return None


def _spot(where: str, path: Parts) -> str:
    """A path below `where`, for a message."""
    return where + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _is_hosted(body: Mapping[str, Any]) -> bool:
    """`{"type": "web_search_preview"}`: the provider runs it, and never returns a call of it."""
    kind = body.get("type")
    return isinstance(kind, str) and kind not in ("function", "custom", "object")


def _is_definition(value: Any) -> bool:
    """Whether the value beside a name can define the tool of that name, as in Vercel's maps."""
    return isinstance(value, dict) and (
        not value or any(key in value for key in (*SCHEMAS, *MAPS, "description", "title", "execute"))
    )


def _dumped(source: Any, where: str) -> Mapping[str, Any]:
    """A tool of an SDK or a framework as a dict."""
    name = getattr(source, "name", None)
    for key in ("tool_call_schema", *SCHEMAS):
        schema = getattr(source, key, None)
        if isinstance(name, str) and name and (_is_schema(schema) or _is_model(schema)):
            description = getattr(source, "description", "")
            return {"name": name, "description": description, "parameters": schema}
    described = described_tool(source)
    if described is not None:
        return described
    for method, options in (("model_dump", {"exclude_none": True, "by_alias": True}), ("to_dict", {}), ("dict", {})):
        dump = getattr(source, method, None)
        if callable(dump) and not isinstance(source, type):
            dumped = dump(**options)
            if isinstance(dumped, dict):
                return dumped
    if name is not None and not isinstance(name, str):
        raise DefinitionError(f"{where}: the name of a tool must be a string, got {type(name).__name__}")
    raise DefinitionError(
        f"{where}: {type(source).__name__} is not a tool definition: a dict, a function, an object with `name` and "
        "`parameters`, or a registry whose get_all_definitions() returns a list of these"
    )


def _is_schema(schema: Any) -> bool:
    """Whether this is a schema, and not a dict of objects that describe one parameter each."""
    return isinstance(schema, dict) and not any(hasattr(value, "name") for value in schema.values())


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and hasattr(schema, "model_json_schema")


def _one(source: Mapping[str, Any], where: str) -> Tool:
    name = source.get("name")
    if not isinstance(name, str) or not name.strip():
        raise DefinitionError(f"{where}: a tool needs a name")
    description = source.get("description")
    return Tool(name, description if isinstance(description, str) else "", _schema(source, where))


def _schema(source: Mapping[str, Any], where: str) -> dict[str, Any] | bool:
    """The schema of a tool's arguments; a tool without one takes any object."""
    for key in SCHEMAS:
        schema: Any = source.get(key)
        if isinstance(schema, dict):
            wrapper = wrapper_of(schema)
            return plain_schema(schema if wrapper is None else schema[wrapper])
        if isinstance(schema, list):
            return _simple(schema, f"{where}.{key}")
        if _is_model(schema):
            return dict(schema.model_json_schema())
        if schema is not None and not isinstance(schema, bool):
            raise DefinitionError(f"{where}.{key}: a schema is an object, got {type(schema).__name__}")
    for key in MAPS:
        if isinstance(source.get(key), dict):
            return _simple(
                [{**_row(value), "name": name} for name, value in source[key].items()],
                f"{where}.{key}",
                required=key == "inputs",
            )
    return True


def wrapper_of(schema: dict[str, Any]) -> str | None:
    """The key that has the schema itself: Bedrock wraps it in `json`, Vercel in `jsonSchema`."""
    for key in ("json", "jsonSchema"):
        if isinstance(schema.get(key), dict) and "properties" not in schema:
            return key
    return None


def _row(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"type": value} if isinstance(value, str) else {}


def _simple(parameters: Iterable[Any], where: str, *, required: bool = False) -> dict[str, Any]:
    try:
        return simple_schema(parameters, required=required)
    except ValueError as error:
        raise DefinitionError(f"{where}{error}") from None
