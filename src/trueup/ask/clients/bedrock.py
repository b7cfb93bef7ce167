"""boto3's `bedrock-runtime` client: Converse and ConverseStream.

Takes a request; returns a response, or the events of its stream. Not every model has a JSON mode: `outputConfig` is tried first if this
version of boto3 supports it, then a tool that must be called. The SDK's own retries are switched off only for trueup's calls; the
caller's own calls with the same client are retried as before.
"""

from contextvars import ContextVar
from typing import Any

import msgspec

from trueup.ask.clients.parameters import merged, numbers, parameters_of
from trueup.ask.clients.request import CallFailure, Request, TransportFailure
from trueup.ask.clients.sdk import Sdk, needed, recent
from trueup.ask.requests.strictness import held_schema
from trueup.ask.shapes.bedrock import as_bedrock
from trueup.verdict.tool import Tool

_ours: ContextVar[bool] = ContextVar("trueup_sends_once", default=False)
_HANDLER = "trueup-sends-once"


class Bedrock(Sdk):
    """`boto3.client("bedrock-runtime")`."""

    provider = "bedrock"
    dialect = "anthropic"  # the dialect of its structured outputs
    has_async = False
    kind = "this bedrock-runtime client"

    def __init__(self, client: Any) -> None:
        self._client = recent(client, "converse", "boto3", "1.35")
        self.key = f"bedrock:{client.meta.endpoint_url}"
        known = client.meta.service_model.operation_model("Converse").input_shape.members
        self.modes = ("json_schema", "tool", "text") if "outputConfig" in known else ("tool", "text")
        self.able = self.modes
        client.meta.events.register_first("needs-retry.bedrock-runtime", _once, unique_id=_HANDLER)

    def _call(self, request: Request, *, stream: bool) -> Any:
        given = converse_parameters(request)
        needed(given.get("modelId"), "the bedrock-runtime client", "amazon.nova-lite-v1:0")
        token = _ours.set(True)
        try:
            found = self._client.converse_stream(**given) if stream else self._client.converse(**given)
        finally:
            _ours.reset(token)
        if stream:
            return found["stream"]
        if "output" not in found:  # botocore ignores a body that it cannot parse
            raise TransportFailure(CallFailure("the body of the reply is not JSON: it was cut off", code="cut"))
        return found


def _once(**said: Any) -> None:
    """Handle botocore's question whether to repeat a call: trueup's calls end here, before botocore's own retry handler."""
    if not _ours.get():
        return
    if said.get("caught_exception") is not None:
        raise said["caught_exception"]
    response, parsed = said.get("response") or (None, {})
    if response is not None and response.status_code >= 300:
        from botocore.exceptions import ClientError  # type: ignore[import-untyped]

        raise ClientError(parsed, said["operation"].name)


def converse_parameters(request: Request) -> dict[str, Any]:
    """A request as Converse's parameters.

    >>> converse_parameters(Request([{"role": "user", "content": "Hi"}], model="m", max_tokens=9))["inferenceConfig"]
    {'maxTokens': 9}
    """
    system, messages = as_bedrock(request.messages)
    given: dict[str, Any] = {"modelId": request.model, "messages": messages}
    if system:
        given["system"] = system
    limits = numbers(request, "maxTokens")
    if limits:
        given["inferenceConfig"] = limits
    if request.mode == "json_schema" and request.schema is not None:
        schema = msgspec.json.encode(held_schema(request, "anthropic")[0]).decode()
        form = {"type": "json_schema", "structure": {"jsonSchema": {"schema": schema, "name": request.name}}}
        given["outputConfig"] = {"textFormat": form}
    tools = request.tools or _called(messages)
    if tools:
        given["toolConfig"] = {"tools": [{"toolSpec": _spec(tool)} for tool in tools], **_choice(request)}
    own = dict(request.parameters)
    given["modelId"] = own.pop("model", None) or given["modelId"]
    return merged(given, own, "inferenceConfig")


def _called(messages: list[Any]) -> tuple[Tool, ...]:
    """The tools that a conversation has called. Converse refuses a history with calls if the request does not contain tools."""
    blocks = (block for message in messages for block in message["content"] if isinstance(block, dict))
    return tuple(
        Tool(name) for name in dict.fromkeys(block["toolUse"]["name"] for block in blocks if "toolUse" in block)
    )


def _spec(tool: Tool) -> dict[str, Any]:
    about = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **about, "inputSchema": {"json": parameters_of(tool)}}


def _choice(request: Request) -> dict[str, Any]:
    """The tool choice; Converse cannot forbid calling a tool."""
    if "tool_choice" in request.without or not request.call_tools:
        return {}
    if request.forced_tool:
        return {"toolChoice": {"tool": {"name": request.forced_tool}}}
    return {"toolChoice": {"any": {}}} if request.must_call else {}
