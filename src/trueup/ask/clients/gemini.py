"""The google-genai SDK's client, its synchronous and its asynchronous side.

Takes a request; returns a response. Messages become contents, and system messages become the system instruction. The SDK does not call
functions itself, and its retries are switched off. The exception: its asynchronous side always reopens a connection that was reset, once.
"""

from typing import Any

from trueup.ask.clients.parameters import merged, numbers, parameters_of, plain_settings
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, needed
from trueup.ask.policy import ALL_MODES
from trueup.ask.requests.strictness import held_schema
from trueup.ask.shapes.gemini import as_gemini


class Gemini(Sdk):
    """`google.genai.Client`."""

    provider = "gemini"
    dialect = "gemini"
    able = ALL_MODES
    kind = "this google-genai client"

    def __init__(self, client: Any) -> None:
        self._client = client
        options = getattr(getattr(client, "_api_client", None), "_http_options", None)
        self.key = f"gemini:{getattr(options, 'base_url', None) or ''}"

    def _call(self, request: Request, *, stream: bool) -> Any:
        models = self._client.models
        return (models.generate_content_stream if stream else models.generate_content)(**content_parameters(request))

    def _acall(self, request: Request, *, stream: bool) -> Any:
        models = self._client.aio.models
        return (models.generate_content_stream if stream else models.generate_content)(**content_parameters(request))


def content_parameters(request: Request) -> dict[str, Any]:
    """A request as Gemini's parameters."""
    parameters = dict(request.parameters)
    parameters |= plain_settings(parameters.pop("config", None))
    model = needed(parameters.pop("model", None) or request.model, "the google-genai client", "gemini-2.5-flash")
    system, contents = as_gemini(request.messages)
    config: dict[str, Any] = {"automatic_function_calling": {"disable": True}}
    if system:
        config["system_instruction"] = system
    config |= numbers(request, "max_output_tokens")
    if request.mode in {"json_object", "json_schema"}:
        config["response_mime_type"] = "application/json"
    if request.mode == "json_schema" and request.schema is not None:
        config["response_json_schema"] = held_schema(request, "gemini")[0]
    config["http_options"] = {"retry_options": {"attempts": 1}}
    if request.timeout is not None:
        config["http_options"]["timeout"] = max(1, int(request.timeout * 1000))
    if request.tools:
        declared = [
            {"name": t.name, "description": t.description or t.name, "parameters_json_schema": parameters_of(t)}
            for t in request.tools
        ]
        config["tools"] = [{"function_declarations": declared}]
        calling = _calling(request)
        if calling is not None and "tool_choice" not in request.without:
            config["tool_config"] = {"function_calling_config": calling}
    return {"model": model, "contents": contents, "config": merged(config, parameters, "http_options")}


def _calling(request: Request) -> dict[str, Any] | None:
    """The function calling mode; None for the provider's default."""
    if not request.call_tools:
        return {"mode": "NONE"}
    if request.forced_tool:
        return {"mode": "ANY", "allowed_function_names": [request.forced_tool]}
    return {"mode": "ANY"} if request.must_call else None
