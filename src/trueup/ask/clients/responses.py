"""OpenAI's Responses API: the `responses` of an openai client, synchronous or asynchronous.

Takes a request; returns a response. Messages become items; the schema is sent in `text.format`. Requests do not refer to earlier responses:
every request contains the whole conversation.
"""

from typing import Any

from trueup.ask.clients.openai import deployment_in
from trueup.ask.clients.parameters import merged, numbers
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, awaits, needed, single
from trueup.ask.policy import ALL_MODES
from trueup.ask.requests.strictness import held_schema, tool_schema
from trueup.ask.shapes.responses import as_responses


class Responses(Sdk):
    """`openai.OpenAI().responses` or `openai.AsyncOpenAI().responses`."""

    provider = "openai_responses"
    able = ALL_MODES

    def __init__(self, responses: Any) -> None:
        self._client = responses._client  # noqa: SLF001 - the SDK has no other way from a resource to its client
        self.has_async = awaits(responses)
        self.has_sync = not self.has_async
        self.kind = f"{type(self._client).__name__}.responses"
        self.key = f"responses:{self._client.base_url}"

    def _call(self, request: Request, *, stream: bool) -> Any:
        given = response_parameters(request)
        model = given.get("model") or deployment_in(str(self._client.base_url))
        given["model"] = needed(model, "the openai client", "gpt-4.1-mini")
        return single(self._client, request).responses.create(**given, **({"stream": True} if stream else {}))

    _acall = _call


def response_parameters(request: Request) -> dict[str, Any]:
    """A request as parameters of the Responses API.

    >>> response_parameters(Request([{"role": "user", "content": "Hi"}], model="m", max_tokens=9))
    {'input': [{'role': 'user', 'content': 'Hi'}], 'model': 'm', 'max_output_tokens': 9}
    """
    items = as_responses(request.messages)
    if request.parameters.get("store") is False:
        items = [item for item in items if not _is_lost(item)]
    given: dict[str, Any] = {"input": items}
    if request.model:
        given["model"] = request.model
    given |= numbers(request, "max_output_tokens")
    if request.mode == "json_object":
        given["text"] = {"format": {"type": "json_object"}}
    elif request.mode == "json_schema" and request.schema is not None:
        schema, strict = held_schema(request, "openai")
        form = {"type": "json_schema", "name": request.name, "schema": schema, "strict": strict}
        given["text"] = {"format": form}
    if request.tools:
        given["tools"] = [_tool(tool, request) for tool in request.tools]
        choice = _choice(request)
        if choice is not None and "tool_choice" not in request.without:
            given["tool_choice"] = choice
    return merged(given, request.parameters, "text")


def _is_lost(item: Any) -> bool:
    """Whether an item is reasoning without content. The provider looks it up by its id, but does not have it if storing is switched off."""
    return isinstance(item, dict) and item.get("type") == "reasoning" and not item.get("encrypted_content")


def _tool(tool: Any, request: Request) -> dict[str, Any]:
    schema, strict = tool_schema(tool, "openai", request)
    about = {"description": tool.description} if tool.description else {}
    return {"type": "function", "name": tool.name, **about, "parameters": schema, "strict": strict}


def _choice(request: Request) -> Any:
    if not request.call_tools:
        return "none"
    if request.forced_tool:
        return {"type": "function", "name": request.forced_tool}
    return "required" if request.must_call else None
