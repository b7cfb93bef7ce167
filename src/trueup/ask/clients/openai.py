"""The openai SDK's clients, synchronous and asynchronous, and all that are made like them (Azure, any base URL).

A request enters, a chat completion leaves.
"""

from typing import Any

from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.clients.sdk import Sdk, single


class OpenAI(Sdk):
    """`openai.OpenAI` or `openai.AsyncOpenAI`."""

    def _given(self, request: Request, *, stream: bool = False) -> dict[str, Any]:
        given = {"messages": request.messages, **chat_parameters(request)}
        if not given.get("model"):
            raise ValueError("the openai client needs a model: Policy(models=('…',))")
        return {**given, "stream": True} if stream else given

    def _create(self, request: Request) -> Any:
        return single(self._client, request).chat.completions.create
