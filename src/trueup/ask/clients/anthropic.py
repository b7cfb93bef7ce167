"""The anthropic SDK's clients, synchronous and asynchronous.

Takes a request; returns a message. System messages become the `system` parameter. A schema is enforced through `output_config`; there is
no mode for arbitrary JSON objects. A temperature is sent if this version of the SDK takes one.
"""

import inspect
from typing import Any

from trueup.ask.clients.parameters import merged, parameters_of
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, awaits, needed, recent, single
from trueup.ask.requests.strictness import held_schema
from trueup.ask.shapes.anthropic import as_anthropic

_MAX_TOKENS = 4096  # the protocol requires a limit


class Anthropic(Sdk):
    """`anthropic.Anthropic` or `anthropic.AsyncAnthropic`."""

    provider = "anthropic"
    dialect = "anthropic"
    modes = ("json_schema", "text")
    able = ("json_schema", "tool", "text")

    def __init__(self, client: Any) -> None:
        self._client = recent(client, "with_options", "anthropic", "0.40")
        self.kind = type(client).__name__
        self.has_async = awaits(client)
        self.has_sync = not self.has_async
        self.key = f"{self.provider}:{client.base_url}"
        self._known = frozenset(inspect.signature(client.messages.create).parameters)

    def _call(self, request: Request, *, stream: bool) -> Any:
        given = message_parameters(request)
        needed(given.get("model"), "the anthropic client", "claude-haiku-4-5")
        if "temperature" not in self._known:
            given.pop("temperature", None)
        return single(self._client, request).messages.create(**given, **({"stream": True} if stream else {}))

    _acall = _call


def message_parameters(request: Request) -> dict[str, Any]:
    """A request as Anthropic's parameters.

    >>> message_parameters(Request([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]))
    {'messages': [{'role': 'user', 'content': 'Hi'}], 'max_tokens': 4096, 'system': [{'type': 'text', 'text': 'Be kind.'}]}
    """
    said, messages = as_anthropic(request.messages)
    given: dict[str, Any] = {"messages": messages, "max_tokens": request.max_tokens or _MAX_TOKENS}
    own = _blocks(request.parameters.get("system"))
    if own or said:
        given["system"] = [*own, *said]
    if request.model:
        given["model"] = request.model
    if request.temperature is not None and "temperature" not in request.without:
        given["temperature"] = request.temperature
    if request.tools:
        given["tools"] = [
            {
                "name": t.name,
                **({"description": t.description} if t.description else {}),
                "input_schema": parameters_of(t),
            }
            for t in request.tools
        ]
        choice = _choice(request)
        if choice is not None and "tool_choice" not in request.without:
            given["tool_choice"] = choice
    if request.mode == "json_schema" and request.schema is not None:
        given["output_config"] = {"format": {"type": "json_schema", "schema": held_schema(request, "anthropic")[0]}}
    rest = {name: value for name, value in request.parameters.items() if name != "system"}
    return merged(given, rest, "output_config")


def _choice(request: Request) -> dict[str, str] | None:
    if not request.call_tools:
        return {"type": "none"}
    if request.forced_tool:
        return {"type": "tool", "name": request.forced_tool}
    return {"type": "any"} if request.must_call else None


def _blocks(content: Any) -> list[Any]:
    if not content:
        return []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
