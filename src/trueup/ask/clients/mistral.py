"""The mistralai SDK's client, its synchronous and its asynchronous side.

Takes a request; returns a chat completion. The SDK's retries are switched off for each call, regardless of the client's settings.
"""

from typing import Any

from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, needed, recent
from trueup.ask.policy import ALL_MODES
from trueup.ask.shapes.mistral import as_mistral


class Mistral(Sdk):
    """`mistralai.Mistral`."""

    provider = "mistral"
    dialect = "mistral"
    able = ALL_MODES
    kind = "this Mistral client"

    def __init__(self, client: Any) -> None:
        self._chat = recent(client, "chat.complete_async", "mistralai", "1").chat
        self.key = f"mistral:{_address(client)}"

    def _call(self, request: Request, *, stream: bool) -> Any:
        return (self._chat.stream if stream else self._chat.complete)(**_given(request))

    def _acall(self, request: Request, *, stream: bool) -> Any:
        return (self._chat.stream_async if stream else self._chat.complete_async)(**_given(request))


def _given(request: Request) -> dict[str, Any]:
    given = chat_parameters(request, dialect="mistral")
    given.setdefault("retries", None)
    given.pop("max_completion_tokens", None)  # Mistral has only one name for the limit
    if request.timeout is not None:
        given.setdefault("timeout_ms", max(1, int(request.timeout * 1000)))
    given["model"] = needed(given.get("model"), "the Mistral client", "mistral-small-latest")
    form = given.get("response_format")
    if isinstance(form, dict) and "json_schema" in form:
        named = dict(form["json_schema"])  # `schema` is a method in pydantic, so the SDK uses another name
        given["response_format"] = {**form, "json_schema": {"schema_definition": named.pop("schema"), **named}}
    return {"messages": as_mistral(request.messages), **given}


def _address(client: Any) -> str:
    found = client.sdk_configuration.get_server_details()
    return str(found[0]) if isinstance(found, tuple) else str(found)
