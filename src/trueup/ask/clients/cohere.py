"""The cohere SDK's clients of version 2 of the API, synchronous and asynchronous.

Takes a request; returns a response. Cohere takes a JSON mode or tools, but not both in one request: with tools, the value is requested as a
call. The SDK's retries are switched off for each call.
"""

from typing import Any

from trueup.ask.clients.parameters import merged, numbers, openai_tool
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, awaits, needed, recent
from trueup.ask.policy import ALL_MODES, Mode
from trueup.ask.shapes.cohere import as_cohere


class Cohere(Sdk):
    """`cohere.ClientV2` or `cohere.AsyncClientV2`."""

    provider = "cohere"
    dialect = ""
    able = ALL_MODES
    beside_tools: tuple[Mode, ...] = ("tool", "text")  # there is no JSON mode in a request with tools

    def __init__(self, client: Any) -> None:
        self._client = recent(client, "chat_stream", "cohere", "5.13")
        self.kind = type(client).__name__
        self.has_async = awaits(client)
        self.has_sync = not self.has_async
        wrapper: Any = getattr(client, "_client_wrapper", None)
        self.key = f"cohere:{wrapper.get_base_url() if hasattr(wrapper, 'get_base_url') else ''}"

    def _call(self, request: Request, *, stream: bool) -> Any:
        given = chat_v2_parameters(request)
        given["model"] = needed(given.get("model"), "the cohere client", "command-a-03-2025")
        return (self._client.chat_stream if stream else self._client.chat)(**given)

    _acall = _call


def chat_v2_parameters(request: Request) -> dict[str, Any]:
    """A request as Cohere's parameters.

    >>> chat_v2_parameters(Request([{"role": "user", "content": "Hi"}], mode="json_object"))["response_format"]
    {'type': 'json_object'}
    """
    options: dict[str, Any] = {"max_retries": 0}
    if request.timeout is not None:
        options["timeout"] = request.timeout
        options["timeout_in_seconds"] = max(1, int(request.timeout))  # for versions before 7
    given: dict[str, Any] = {"messages": as_cohere(request.messages), "request_options": options}
    if request.model:
        given["model"] = request.model
    given |= numbers(request, "max_tokens")
    if request.mode == "json_object":
        given["response_format"] = {"type": "json_object"}
    elif request.mode == "json_schema" and request.schema is not None:
        given["response_format"] = {"type": "json_object", "json_schema": request.schema}
    if request.tools:
        given["tools"] = [openai_tool(tool) for tool in request.tools]
        choice = "NONE" if not request.call_tools else "REQUIRED" if request.must_call or request.forced_tool else None
        if choice is not None and "tool_choice" not in request.without:
            given["tool_choice"] = choice
    return merged(given, request.parameters, "request_options")
