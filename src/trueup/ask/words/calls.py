"""Calls as data: the schema of a value that names the tool to call, for a provider that cannot be forced to make a call.

Takes tools; returns a schema, or None if the arguments of a tool contain references into its own schema. Any contract that takes calls from
text reads a reply with this schema as calls.
"""

from collections.abc import Sequence
from typing import Any

from trueup.verdict.tool import Tool

_MOST_TOOLS = 32


def calls_schema(tools: Sequence[Tool]) -> dict[str, Any] | None:
    """The schema of one call of one of the tools.

    >>> calls_schema([Tool("ping", {"type": "object"})])["properties"]["tool_calls"]["items"]["properties"]["name"]
    {'const': 'ping'}
    """
    if not tools or len(tools) > _MOST_TOOLS or any(_refers(tool.parameters) for tool in tools):
        return None
    arms = [_object({"name": {"const": tool.name}, "arguments": _arguments(tool)}) for tool in tools]
    one = arms[0] if len(arms) == 1 else {"anyOf": arms}
    return _object({"tool_calls": {"type": "array", "items": one, "minItems": 1, "maxItems": 1}})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def _arguments(tool: Tool) -> dict[str, Any]:
    return tool.parameters if isinstance(tool.parameters, dict) else {"type": "object"}


def _refers(schema: Any) -> bool:
    """Whether a schema contains a reference, which would not work inside another schema."""
    stack = [schema]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            if "$ref" in here or "$dynamicRef" in here or "$id" in here:
                return True
            stack += here.values()
        elif isinstance(here, list):
            stack += here
    return False
