"""LangChain: a chat model, or any runnable that takes messages.

A request enters, a message leaves. A chat model is given tools, temperature and limits, and one of `langchain_openai` the schema too.
A chat model that cannot bind tools reads of them in the prompt. Any other runnable gets the messages alone. Models of OpenAI and
Anthropic get a timeout, and a stream of theirs that does not say how it ended counts as cut off. Set `max_retries=0` on a model, so that
only the plan decides about retries.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from trueup.ask.clients.client import Client
from trueup.ask.clients.parameters import chat_parameters, openai_tool
from trueup.ask.clients.request import Request
from trueup.ask.policy import MODES
from trueup.verdict.tool import Tool

_KNOWN = {"langchain_openai": "request_timeout", "langchain_anthropic": "default_request_timeout"}
_ENDINGS = ("finish_reason", "stop_reason", "status")
_PROBE = openai_tool(Tool("probe"))
_CUT = "the stream ended before the reply did"


class Runnable(Client):
    """A LangChain runnable."""

    provider = "langchain"
    finishes = False
    kind = "this runnable"

    def __init__(self, runnable: Any) -> None:
        self._runnable = runnable
        self._is_model = hasattr(runnable, "bind_tools")
        home = type(runnable).__module__.partition(".")[0]
        self._is_known = self._is_model and home in _KNOWN
        self.takes_tools = self._is_known or (self._is_model and _binds(runnable))
        self._own_timeout = getattr(runnable, _KNOWN[home], None) if self._is_known else None
        self.modes = MODES if self._is_model and home == "langchain_openai" else ("text",)
        name = getattr(runnable, "model_name", None) or getattr(runnable, "model", None) or ""
        self.key = f"langchain:{type(runnable).__qualname__}:{name if isinstance(name, str) else ''}"

    def _bound(self, request: Request) -> Any:
        if not self._is_model:
            return self._runnable
        given = chat_parameters(request)
        if self._is_known and request.timeout is not None and "timeout" not in given:
            own = self._own_timeout
            if not own or isinstance(own, int | float):  # one of several parts is the caller's own affair
                given["timeout"] = min(own, request.timeout) if own and own > 0 else request.timeout
        runnable = self._runnable
        choice = given.pop("tool_choice", None)
        choice = "any" if choice == "required" else choice  # the word that every model of theirs knows
        if given.pop("tools", None) and "tools" not in request.parameters and self.takes_tools:
            tools = [openai_tool(tool) for tool in request.tools]
            runnable = runnable.bind_tools(tools, **({"tool_choice": choice} if choice else {}))
        return runnable.bind(**given) if given else runnable

    def send(self, request: Request) -> Any:
        return self._bound(request).invoke(request.messages)

    async def asend(self, request: Request) -> Any:
        return await self._bound(request).ainvoke(request.messages)

    def stream(self, request: Request) -> Iterator[Any]:
        ended = not self._is_known
        for piece in self._bound(request).stream(request.messages):
            ended = ended or _ends(piece)
            yield piece
        if not ended:
            raise ConnectionError(_CUT)

    async def astream(self, request: Request) -> AsyncIterator[Any]:
        ended = not self._is_known
        async for piece in self._bound(request).astream(request.messages):
            ended = ended or _ends(piece)
            yield piece
        if not ended:
            raise ConnectionError(_CUT)


def _binds(model: Any) -> bool:
    """Whether a chat model can be given tools: every one has the method, but in some it raises `NotImplementedError`."""
    try:
        model.bind_tools([_PROBE])
    except NotImplementedError:
        return False
    except Exception:  # noqa: BLE001 - it can be given tools, if not this one
        return True
    return True


def _ends(piece: Any) -> bool:
    """Whether a piece of a message says how it ended."""
    about = getattr(piece, "response_metadata", None) or {}
    return any(about.get(name) for name in _ENDINGS)
