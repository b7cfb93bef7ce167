"""Tool definitions in every common shape, as Tool values (T1).

OpenAI chat, Responses and legacy functions, Anthropic, Gemini, Bedrock, MCP `tools/list`, Vercel maps, LangChain
dicts, and the simple list form. What has no name is refused with a sentence that says where.
"""

from collections.abc import Iterable
from typing import Any

from trueup.verdict.tool import Tool

_SCHEMAS = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "args_schema",
)
_LISTS = ("tools", "functionDeclarations", "function_declarations", "functions")
_INNER = ("function", "toolSpec", "tool_spec", "custom")


class DefinitionError(ValueError):
    """A tool definition that cannot be read: says which, and what is missing."""


def definitions(source: Any, where: str = "tools") -> list[Tool]:
    """Read tool definitions from any of their shapes.

    >>> definitions([{"type": "function", "function": {"name": "ping", "parameters": {"type": "object"}}}])[0].name
    'ping'
    """
    if isinstance(source, Tool):
        return [source]
    if isinstance(source, list | tuple):
        return [tool for i, item in enumerate(source) for tool in definitions(item, f"{where}[{i}]")]
    if not isinstance(source, dict):
        source = _dumped(source, where)
    for key in _LISTS:
        if isinstance(source.get(key), list | tuple):
            return definitions(source[key], f"{where}.{key}")
    if isinstance(source.get("result"), dict):
        return definitions(source["result"], f"{where}.result")
    for key in _INNER:
        if isinstance(source.get(key), dict) and "name" in source[key]:
            return [_one(source[key], f"{where}.{key}")]
    if isinstance(source.get("name"), str):
        return [_one(source, where)]
    if source and all(isinstance(value, dict) for value in source.values()):
        return [_one({"name": name, **value}, f"{where}.{name}") for name, value in source.items()]
    raise DefinitionError(f"{where}: no tool definition with a name found; give the provider's tool list or functions")


def _dumped(source: Any, where: str) -> dict[str, Any]:
    for method in ("model_dump", "to_dict", "dict"):
        dump = getattr(source, method, None)
        if callable(dump):
            dumped = dump()
            if isinstance(dumped, dict):
                return dumped
    raise DefinitionError(f"{where}: a tool definition is a dict or a function, got {type(source).__name__}")


def _one(source: dict[str, Any], where: str) -> Tool:
    name = source.get("name")
    if not isinstance(name, str) or not name:
        raise DefinitionError(f"{where}: a tool needs a name")
    description = source.get("description")
    return Tool(name, description if isinstance(description, str) else "", _schema(source, where))


def _schema(source: dict[str, Any], where: str) -> dict[str, Any] | bool:
    for key in _SCHEMAS:
        schema = source.get(key)
        if isinstance(schema, dict):
            inner = schema.get("json")
            return _plain_object(inner if isinstance(inner, dict) and len(schema) == 1 else schema)
        if isinstance(schema, list):
            return _simple(schema, f"{where}.{key}")
        if schema is not None and hasattr(schema, "model_json_schema"):
            return dict(schema.model_json_schema())
    return True


def _simple(parameters: Iterable[Any], where: str) -> dict[str, Any]:
    """The simple list form: each parameter with its name, type, and whether it is required."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for i, parameter in enumerate(parameters):
        if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
            raise DefinitionError(f"{where}[{i}]: a parameter needs a name")
        name = parameter["name"]
        properties[name] = {k: v for k, v in parameter.items() if k not in ("name", "required")}
        if parameter.get("required"):
            required.append(name)
    return _plain_object({"type": "object", "properties": properties, "required": required})


def _plain_object(schema: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = _plain(schema)
    return plain


def _plain(schema: Any) -> Any:
    """A schema in JSON Schema's own words: Gemini's upper-case types and `nullable` are turned into them."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _plain(value) for key, value in schema.items()}
    kind = out.get("type")
    if isinstance(kind, str) and kind.isupper():
        kind = out["type"] = kind.lower()
    if out.pop("nullable", None) is True and isinstance(kind, str):
        out["type"] = [kind, "null"]
    return out
