"""The google-genai SDK's client, its synchronous and its asynchronous side.

A request enters, a response leaves. Messages of roles become contents, leading system messages the system instruction;
contents that are Gemini's already pass as they are. Functions are never called by the SDK itself, and its retries are
switched off, but for one: its asynchronous side opens a connection that was reset once more, unasked.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from trueup.ask.clients.client import Client
from trueup.ask.clients.parameters import parameters_of
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import whole
from trueup.ask.messages import role
from trueup.read.objects import record


class Gemini(Client):
    """`google.genai.Client`."""

    provider = "gemini"
    kind = "this google-genai client"

    def __init__(self, client: Any) -> None:
        self._client = client
        self.key = "gemini"

    def send(self, request: Request) -> Any:
        with whole():
            return self._client.models.generate_content(**content_parameters(request))

    async def asend(self, request: Request) -> Any:
        with whole():
            return await self._client.aio.models.generate_content(**content_parameters(request))

    def stream(self, request: Request) -> Iterator[Any]:
        return iter(self._client.models.generate_content_stream(**content_parameters(request)))

    async def astream(self, request: Request) -> AsyncIterator[Any]:
        async for piece in await self._client.aio.models.generate_content_stream(**content_parameters(request)):
            yield piece


def content_parameters(request: Request) -> dict[str, Any]:
    """A request in Gemini's words."""
    parameters = dict(request.parameters)
    model = parameters.pop("model", None) or request.model
    if not model:
        raise ValueError("the google-genai client needs a model: Policy(models=('…',))")
    at = next((i for i, m in enumerate(request.messages) if role(m) != "system"), len(request.messages))
    system = [_text(record(message)) for message in request.messages[:at]]
    config: dict[str, Any] = {"automatic_function_calling": {"disable": True}}
    if system:
        config["system_instruction"] = "\n\n".join(system)
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.max_tokens is not None:
        config["max_output_tokens"] = request.max_tokens
    if request.mode != "text":
        config["response_mime_type"] = "application/json"
    if request.mode == "json_schema" and request.schema is not None:
        config["response_json_schema"] = request.schema
    config["http_options"] = {"retry_options": {"attempts": 1}}
    if request.timeout is not None:
        config["http_options"]["timeout"] = max(1, int(request.timeout * 1000))
    if request.tools:
        declared = [
            {"name": t.name, "description": t.description or t.name, "parameters_json_schema": parameters_of(t)}
            for t in request.tools
        ]
        config["tools"] = [{"function_declarations": declared}]
        if not request.call_tools:
            config["tool_config"] = {"function_calling_config": {"mode": "NONE"}}
        elif request.must_call:
            config["tool_config"] = {"function_calling_config": {"mode": "ANY"}}
    contents = [_content(message) for message in request.messages[at:]]
    return {"model": model, "contents": contents, "config": {**config, **parameters}}


def _content(message: Any) -> Any:
    """A message as contents; what has parts is one already."""
    body = record(message)
    if "parts" in body or not body:
        return _snake(body) if isinstance(message, dict) and body else message
    return {"role": "model" if role(message) == "assistant" else "user", "parts": [{"text": _text(body)}]}


def _snake(body: dict[str, Any]) -> dict[str, Any]:
    names = {"functionCall": "function_call", "functionResponse": "function_response"}
    parts = body["parts"] if isinstance(body["parts"], list) else []
    return {
        **body,
        "parts": [{names.get(k, k): v for k, v in p.items()} if isinstance(p, dict) else p for p in parts],
    }


def _text(body: dict[str, Any]) -> str:
    content = body.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else body.get("parts") or []
    return "\n".join(str(record(part).get("text") or "") for part in parts)
