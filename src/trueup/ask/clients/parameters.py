"""The parameters of a request in OpenAI's form, which most providers and servers understand.

Takes a `Request`; returns keyword arguments. Parameters that the address rejected before are left out or sent in another form. The caller's
own parameters override the strategy's.
"""

from collections.abc import Mapping
from typing import Any

from trueup.ask.clients.request import Request
from trueup.ask.requests.strictness import held_schema, tool_schema
from trueup.conform.dialects import Provider
from trueup.verdict.tool import Tool


def chat_parameters(request: Request, *, stream: bool = False, dialect: Provider = "openai") -> dict[str, Any]:
    """All parameters of a chat completion except the messages; streams are asked to include their usage.

    >>> chat_parameters(Request([], model="m", mode="json_object", temperature=0.0))
    {'model': 'm', 'temperature': 0.0, 'response_format': {'type': 'json_object'}}
    """
    without = request.without
    found: dict[str, Any] = {}
    if request.model:
        found["model"] = request.model
    if request.temperature is not None and "temperature" not in without:
        found["temperature"] = request.temperature
    if request.max_tokens is not None:
        found["max_tokens"] = request.max_tokens
    form = response_format(request, dialect)
    if form is not None:
        found["response_format"] = form
    if request.tools:
        found["tools"] = [openai_tool(tool, request, dialect) for tool in request.tools]
        choice = tool_choice(request)
        if choice is not None and "tool_choice" not in without:
            found["tool_choice"] = choice
    if stream:
        found["stream"] = True
        if "stream_options" not in without:
            found["stream_options"] = {"include_usage": True}
    if "max_completion_tokens" in request.parameters:
        found.pop("max_tokens", None)  # a second name for the same limit
    found |= request.parameters
    if "max_tokens" in without and "max_tokens" in found:
        found["max_completion_tokens"] = found.pop("max_tokens")
    return found


def numbers(request: Request, limit: str) -> dict[str, Any]:
    """The temperature and the limit of a request, for which providers use different names. Values that are not set or were rejected are left out.

    >>> numbers(Request([], temperature=0.5, max_tokens=9, without=frozenset({"temperature"})), "max_output_tokens")
    {'max_output_tokens': 9}
    """
    named = {"temperature": ("temperature", request.temperature), "max_tokens": (limit, request.max_tokens)}
    return {
        name: value for feature, (name, value) in named.items() if value is not None and feature not in request.without
    }


def merged(given: dict[str, Any], own: Mapping[str, Any], group: str) -> dict[str, Any]:
    """The strategy's parameters, overridden by the caller's own; the settings in `group` are overridden one by one.

    >>> merged({"text": {"format": "f"}, "n": 1}, {"text": {"verbosity": "low"}, "n": 2}, "text")
    {'text': {'format': 'f', 'verbosity': 'low'}, 'n': 2}
    """
    found = {**given, **own}
    settings = {**(given.get(group) or {}), **plain_settings(own.get(group))}
    if settings:
        found[group] = settings
    return found


def plain_settings(settings: Any) -> Mapping[str, Any]:
    """Settings as a mapping; for an object of an SDK's class, only the values that were set."""
    if isinstance(settings, Mapping):
        return settings
    return settings.model_dump(exclude_unset=True) if hasattr(settings, "model_dump") else {}


def tool_choice(request: Request) -> Any:
    """The tool choice in OpenAI's form; None for the provider's default."""
    if not request.call_tools:
        return "none"
    if request.forced_tool:
        return {"type": "function", "function": {"name": request.forced_tool}}
    return "required" if request.must_call else None


def response_format(request: Request, dialect: Provider = "openai") -> dict[str, Any] | None:
    """The response format in OpenAI's form, which holds the provider to the schema."""
    if request.mode == "json_object":
        return {"type": "json_object"}
    if request.mode != "json_schema" or request.schema is None:
        return None
    schema, strict = held_schema(request, dialect)
    return {"type": "json_schema", "json_schema": {"name": request.name, "schema": schema, "strict": strict}}


def openai_tool(tool: Tool, request: Request | None = None, dialect: Provider = "openai") -> dict[str, Any]:
    """A tool in OpenAI's form; with a request, in the strict form if the provider takes one."""
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    schema, strict = (parameters_of(tool), False) if request is None else tool_schema(tool, dialect, request)
    function["parameters"] = schema
    if strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def parameters_of(tool: Tool) -> dict[str, Any]:
    """The schema of a tool's arguments; any object if the tool has no schema."""
    return tool.parameters if isinstance(tool.parameters, dict) else {"type": "object", "properties": {}}
