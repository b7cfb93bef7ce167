"""LangChain: a chat model, or any runnable that takes messages.

Takes a request; returns a message. A chat model gets tools, temperature and limits. Models of `langchain_openai` also get the schema; other
models that bind tools can be asked for the value as a call. Bindings and configuration are kept. Other runnables get only the messages,
which fill the placeholder of a chain that begins with a prompt. Results of `with_structured_output` are judged as JSON. Models of
`langchain_openai` and `langchain_anthropic` get a timeout and send once, and their streams count as cut off if they do not report how they
ended. For other models, switch the retries off yourself.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from trueup.ask.clients.client import Client
from trueup.ask.clients.langchain_models import (
    address_of,
    binds,
    chosen,
    joined,
    model_of,
    only_blocks,
    placeholder,
    single,
    unbound,
    unparsed,
    without,
)
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.policy import ALL_MODES, MODES
from trueup.ask.shapes.langchain import as_langchain
from trueup.read.reader import read
from trueup.verdict.codec import written

_KNOWN = {"langchain_openai": "request_timeout", "langchain_anthropic": "default_request_timeout"}
_ENDINGS = ("finish_reason", "stop_reason", "status")
_RAW = frozenset({"raw", "parsed", "parsing_error"})
_CUT = "the stream ended before the reply was complete"


class Runnable(Client):
    """A LangChain runnable."""

    provider = "langchain"
    finishes = False
    kind = "this runnable"

    def __init__(self, runnable: Any) -> None:
        self._place = placeholder(runnable)
        runnable, self._bindings = unbound(runnable)
        self._own = {name: value for binding in self._bindings for name, value in binding.kwargs.items()}
        home = type(runnable).__module__.partition(".")[0]
        self._is_model = hasattr(runnable, "bind_tools")
        self._is_known = self._is_model and home in _KNOWN
        self._own_timeout = getattr(runnable, _KNOWN[home], None) if self._is_known else None
        self._runnable = single(runnable) if self._is_known else runnable
        self._blocks = only_blocks(runnable)
        self._only_awaits = hasattr(runnable, "afunc") and not hasattr(runnable, "func")  # a RunnableLambda
        self.takes_tools = self._is_known or (self._is_model and binds(runnable))
        forces = self.takes_tools and (self._is_known or binds(runnable, tool_choice="any"))
        holds = self._is_model and home == "langchain_openai"
        self.dialect = "openai" if holds else ""
        self.modes = MODES if holds else ("tool", "text") if forces else ("text",)
        self.able = ALL_MODES if holds else self.modes
        self.key = f"langchain:{type(runnable).__qualname__}:{address_of(runnable)}:{model_of(runnable)}"

    @property
    def is_async(self) -> bool:
        """Whether the runnable can only be awaited."""
        return self._only_awaits

    def _bound(self, request: Request) -> Any:
        bound = self._configured(request) if self._is_model else self._runnable
        for binding in self._bindings:
            bound = binding.model_copy(update={"bound": bound, "kwargs": {}})
        return bound

    def _configured(self, request: Request) -> Any:
        own = {name: value for name, value in self._own.items() if name not in request.without or name == "max_tokens"}
        given = own | chat_parameters(request)
        if not self.dialect:
            given.pop("max_completion_tokens", None)  # only OpenAI uses this name
        if self._is_known and request.timeout is not None and "timeout" not in given:
            most = self._own_timeout
            if not most or isinstance(most, int | float):  # leave a timeout with several parts as it is
                given["timeout"] = min(most, request.timeout) if most and most > 0 else request.timeout
        runnable = without(self._runnable, request.without) if self._is_known else self._runnable
        if request.tools:
            choice, tools = given.pop("tool_choice", None), given.pop("tools")
            if self.takes_tools:
                runnable = runnable.bind_tools(tools, **chosen(choice))
                given |= joined(self._own.get("tools"), runnable)
        if self.dialect and "response_format" in given:
            given = unparsed(self._runnable, given, given.get("tools") or getattr(runnable, "kwargs", {}).get("tools"))
        return runnable.bind(**given) if given else runnable

    def _given(self, request: Request) -> Any:
        messages = as_langchain(request.messages)
        return {self._place: messages} if self._place else messages

    def send(self, request: Request) -> Any:
        try:
            return _replied(self._bound(request).invoke(self._given(request)))
        except ValueError as error:
            return _said_in(error)

    async def asend(self, request: Request) -> Any:
        if self._blocks:
            return await super().asend(request)
        try:
            return _replied(await self._bound(request).ainvoke(self._given(request)))
        except ValueError as error:
            return _said_in(error)

    def stream(self, request: Request) -> Iterator[Any]:
        pieces = _Pieces(says_end=self._is_known)
        for piece in self._bound(request).stream(self._given(request)):
            yield from pieces.feed(piece)
        yield from pieces.end()

    async def astream(self, request: Request) -> AsyncIterator[Any]:
        if self._blocks:
            async for piece in super().astream(request):
                yield piece
            return
        pieces = _Pieces(says_end=self._is_known)
        async for piece in self._bound(request).astream(self._given(request)):
            for found in pieces.feed(piece):
                yield found
        for found in pieces.end():
            yield found


class _Pieces:
    """The pieces of a stream: messages as they arrive. For a parser's values, their sum, or the last one, which is the longest."""

    def __init__(self, *, says_end: bool) -> None:
        self._ended = not says_end
        self._value: Any = None

    def feed(self, piece: Any) -> Iterator[Any]:
        if isinstance(piece, dict) and piece.keys() <= _RAW:  # from `with_structured_output(…, include_raw=True)`
            if "raw" not in piece:
                return
            piece = piece["raw"]
        self._ended = self._ended or _ends(piece)
        if not _is_value(piece):
            yield piece
        elif isinstance(piece, dict) and hasattr(piece, "__add__") and self._value is not None:
            self._value = self._value + piece  # parts from parallel runnables
        else:
            self._value = piece

    def end(self) -> Iterator[Any]:
        if self._value is not None:
            yield _replied(self._value)
        elif not self._ended:
            raise ConnectionError(_CUT)


def _is_value(reply: Any) -> bool:
    """Whether a runnable returned a parsed value, and not a message."""
    if isinstance(reply, str | bytes) or hasattr(reply, "content"):
        return False
    return any(found.code == "R001" for found in read(reply).findings)


def _replied(reply: Any) -> Any:
    """A reply that can be judged; a parsed value becomes JSON."""
    if not _is_value(reply):
        return reply
    dumps: Callable[[], str] | None = getattr(reply, "model_dump_json", None)
    if dumps is not None:
        return dumps()
    try:
        return written(reply).decode()
    except TypeError:  # it contains an object that cannot be written as JSON
        return reply


def _said_in(error: ValueError) -> str:
    """The model's text, from the exception of a parser that could not read it; other exceptions are raised again."""
    said = getattr(error, "llm_output", None)
    if type(error).__name__ == "OutputParserException" and isinstance(said, str) and said:
        return said
    raise error


def _ends(piece: Any) -> bool:
    """Whether a piece of a message contains a finish reason."""
    about = getattr(piece, "response_metadata", None) or {}
    return any(about.get(name) for name in _ENDINGS)
