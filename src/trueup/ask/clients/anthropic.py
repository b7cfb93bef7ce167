"""The anthropic SDK's clients, synchronous and asynchronous.

A request enters, a message leaves. Leading system messages become the `system` parameter; the SDK holds the model to a schema
through `output_config`, or not at all: there is no mode for any JSON object. A temperature is sent where this version of
the SDK takes one.
"""

import inspect
from typing import Any

from trueup.ask.clients.parameters import parameters_of
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, single
from trueup.ask.messages import role
from trueup.conform.strict import narrowed_schema
from trueup.read.objects import record

_MAX_TOKENS = 4096  # the protocol wants a limit


class Anthropic(Sdk):
    """`anthropic.Anthropic` or `anthropic.AsyncAnthropic`."""

    provider = "anthropic"
    modes = ("json_schema", "text")

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self._known = frozenset(inspect.signature(client.messages.create).parameters)

    def _given(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        given = message_parameters(request)
        if not given.get("model"):
            raise ValueError("the anthropic client needs a model: Policy(models=('…',))")
        if "temperature" not in self._known:
            given.pop("temperature", None)
        return {**given, "stream": True} if stream else given

    def _create(self, request: Request) -> Any:
        return single(self._client, request).messages.create


def message_parameters(request: Request) -> dict[str, Any]:
    """A request in Anthropic's words.

    >>> message_parameters(Request([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]))
    {'messages': [{'role': 'user', 'content': 'Hi'}], 'max_tokens': 4096, 'system': [{'type': 'text', 'text': 'Be kind.'}]}
    """
    at = next((i for i, m in enumerate(request.messages) if role(m) != "system"), len(request.messages))
    given: dict[str, Any] = {"messages": request.messages[at:], "max_tokens": request.max_tokens or _MAX_TOKENS}
    said = [block for message in request.messages[:at] for block in _blocks(record(message).get("content"))]
    own = _blocks(request.parameters.get("system"))
    if own or said:
        given["system"] = [*own, *said]
    if request.model:
        given["model"] = request.model
    if request.temperature is not None:
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
        if not request.call_tools:
            given["tool_choice"] = {"type": "none"}
        elif request.must_call:
            given["tool_choice"] = {"type": "any"}
    if request.mode == "json_schema" and request.schema is not None:
        given["output_config"] = {
            "format": {"type": "json_schema", "schema": narrowed_schema(request.schema, "anthropic")}
        }
    return {**given, **{name: value for name, value in request.parameters.items() if name != "system"}}


def _blocks(content: Any) -> list[Any]:
    if not content:
        return []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
