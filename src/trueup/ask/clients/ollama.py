"""The ollama SDK: its clients, synchronous and asynchronous, or the module itself.

Takes a request; returns a response. The schema is sent in `format`. Ollama can neither require nor forbid a tool call, so tools
that may not be called are left out. The SDK never retries, and does not take a time limit for a call; the caller of `send` enforces it.
"""

from typing import Any

from trueup.ask.clients.parameters import merged, numbers, openai_tool
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, awaits, needed
from trueup.ask.policy import MODES
from trueup.ask.requests.strictness import held_schema
from trueup.ask.shapes.ollama import as_ollama


class Ollama(Sdk):
    """`ollama.Client`, `ollama.AsyncClient`, or `ollama`."""

    provider = "ollama"
    dialect = "ollama"
    modes = MODES
    able = MODES

    def __init__(self, client: Any) -> None:
        owner = getattr(client.chat, "__self__", client)  # the functions of the module are methods of one client
        self._client = owner
        self.kind = f"ollama.{type(owner).__name__}"
        self.has_async = awaits(owner)
        self.has_sync = not self.has_async
        self.key = f"ollama:{getattr(getattr(owner, '_client', None), 'base_url', '')}"

    def _call(self, request: Request, *, stream: bool) -> Any:
        given = {**ollama_parameters(request), "stream": stream}
        given["model"] = needed(given.get("model"), "the ollama client", "llama3.2")
        return self._client.chat(**given)

    _acall = _call


def ollama_parameters(request: Request) -> dict[str, Any]:
    """A request as Ollama's parameters.

    >>> ollama_parameters(Request([{"role": "user", "content": "Hi"}], max_tokens=9))["options"]
    {'num_predict': 9}
    """
    given: dict[str, Any] = {"messages": as_ollama(request.messages)}
    options = numbers(request, "num_predict")
    if request.model:
        given["model"] = request.model
    if request.mode == "json_object":
        given["format"] = "json"
    elif request.mode == "json_schema" and request.schema is not None:
        given["format"] = held_schema(request, "ollama")[0]
    if request.tools and request.call_tools:
        given["tools"] = [openai_tool(tool) for tool in request.tools]
    return merged({**given, "options": options} if options else given, request.parameters, "options")
