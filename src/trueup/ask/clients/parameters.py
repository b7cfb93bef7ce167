"""The parameters of a request in OpenAI's words, which most providers and servers understand.

A `Request` enters; keyword arguments leave. The caller's own parameters win over what the strategy sets.
"""

from typing import Any

from trueup.ask.clients.request import Request
from trueup.conform.strict import is_strict
from trueup.verdict.tool import Tool


def chat_parameters(request: Request) -> dict[str, Any]:
    """All parameters of a chat completion but the messages.

    >>> chat_parameters(Request([], model="m", mode="json_object", temperature=0.0))
    {'model': 'm', 'temperature': 0.0, 'response_format': {'type': 'json_object'}}
    """
    found: dict[str, Any] = {}
    if request.model:
        found["model"] = request.model
    if request.temperature is not None:
        found["temperature"] = request.temperature
    if request.max_tokens is not None:
        found["max_tokens"] = request.max_tokens
    form = response_format(request)
    if form is not None:
        found["response_format"] = form
    if request.tools:
        found["tools"] = [openai_tool(tool) for tool in request.tools]
        if not request.call_tools:
            found["tool_choice"] = "none"
        elif request.must_call:
            found["tool_choice"] = "required"
    return {**found, **request.parameters}


def response_format(request: Request) -> dict[str, Any] | None:
    """How a provider is held to the schema, in OpenAI's words."""
    if request.mode == "json_object":
        return {"type": "json_object"}
    if request.mode != "json_schema" or request.schema is None:
        return None
    schema = {"name": request.name, "schema": request.schema, "strict": is_strict(request.schema, "openai")}
    return {"type": "json_schema", "json_schema": schema}


def openai_tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = parameters_of(tool)
    return {"type": "function", "function": function}


def parameters_of(tool: Tool) -> dict[str, Any]:
    """The schema of a tool's arguments; any object where it has none."""
    return tool.parameters if isinstance(tool.parameters, dict) else {"type": "object", "properties": {}}
