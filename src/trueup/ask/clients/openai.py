"""The openai SDK's clients, synchronous and asynchronous, including Azure's and clients with another base URL.

Takes a request; returns a chat completion. If an Azure client is bound to a deployment, the deployment is the model, unless the policy
names another model.
"""

from typing import Any

from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, awaits, needed, recent, single
from trueup.ask.policy import ALL_MODES
from trueup.ask.shapes.openai import as_openai
from trueup.conform.dialects import Provider


class OpenAI(Sdk):
    """`openai.OpenAI`, `openai.AsyncOpenAI`, `openai.AzureOpenAI` or `openai.AsyncAzureOpenAI`."""

    able = ALL_MODES

    def __init__(self, client: Any) -> None:
        self._client = recent(client, "with_options", "openai", "1")
        self.has_async = awaits(client)
        self.has_sync = not self.has_async
        self.kind = type(client).__name__
        self.key = f"{self.provider}:{client.base_url}"
        self._deployment = deployment_in(str(client.base_url))
        self.dialect: Provider = "azure" if "Azure" in self.kind else "openai"

    def _call(self, request: Request, *, stream: bool) -> Any:
        given = {
            "messages": as_openai(request.messages),
            **chat_parameters(request, stream=stream, dialect=self.dialect),
        }
        given["model"] = needed(given.get("model") or self._deployment, "the openai client", "gpt-4.1-mini")
        return single(self._client, request).chat.completions.create(**given)

    _acall = _call


def deployment_in(url: str) -> str:
    """The deployment in an Azure client's address; empty for other addresses.

    >>> (
    ...     deployment_in("https://x.openai.azure.com/openai/deployments/small/"),
    ...     deployment_in("https://api.openai.com/v1/"),
    ... )
    ('small', '')
    """
    return url.partition("/openai/deployments/")[2].partition("/")[0]
