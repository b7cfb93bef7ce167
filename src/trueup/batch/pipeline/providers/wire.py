"""Writes requests in each provider's format, for one call and for a line of a batch. Sends nothing."""

from typing import Any

from trueup.ask.clients.anthropic import message_parameters
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.requests.messages import role


def body_of(provider: str, request: Request) -> tuple[str, dict[str, Any]]:
    """The path after the provider's address, and the body.

    >>> body_of("openai", Request([{"role": "user", "content": "Hi"}], model="m"))
    ('/chat/completions', {'messages': [{'role': 'user', 'content': 'Hi'}], 'model': 'm'})
    """
    if provider == "anthropic":
        return "/v1/messages", message_parameters(request)
    if provider == "gemini":
        return f"/v1beta/models/{request.model}:generateContent", gemini_body(request)
    return "/chat/completions", {"messages": request.messages, **chat_parameters(request)}


def gemini_body(request: Request) -> dict[str, Any]:
    """A request for Gemini's REST interface."""
    system = [message["content"] for message in request.messages if role(message) == "system"]
    contents = [
        {"role": "model" if role(message) == "assistant" else "user", "parts": [{"text": message["content"]}]}
        for message in request.messages
        if role(message) != "system"
    ]
    body: dict[str, Any] = {"contents": contents}
    if system:
        body["systemInstruction"] = {"parts": [{"text": "\n\n".join(system)}]}
    config: dict[str, Any] = {}
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.max_tokens is not None:
        config["maxOutputTokens"] = request.max_tokens
    if request.mode != "text":
        config["responseMimeType"] = "application/json"
    if request.mode == "json_schema" and request.schema is not None:
        config["responseJsonSchema"] = request.schema
    if config:
        body["generationConfig"] = config
    return body


def batch_line(provider: str, custom_id: str, request: Request) -> dict[str, Any]:
    """A request as a line of the provider's batch.

    >>> batch_line("anthropic", "u1", Request([{"role": "user", "content": "Hi"}], model="m"))["params"]["model"]
    'm'
    """
    if provider == "anthropic":
        return {"custom_id": custom_id, "params": message_parameters(request)}
    if provider == "gemini":
        return {"key": custom_id, "request": gemini_body(request)}
    body = {"messages": request.messages, **chat_parameters(request)}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}


def headers_of(provider: str, key: str) -> dict[str, str]:
    """The headers of a provider."""
    if provider == "anthropic":
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}
    if provider == "gemini":
        return {"x-goog-api-key": key}
    return {"authorization": f"Bearer {key}"} if key else {}
