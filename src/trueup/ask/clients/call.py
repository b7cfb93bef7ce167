"""Any callable as a client: it gets the messages, and the parameters that its signature names.

`def call(messages): …` is enough. A callable that names `response_format`, or takes any keyword, is held to the schema
as in OpenAI's API; other callables are asked in words. It may return text or any provider's reply, and may be asynchronous.
A callable that is not known to be asynchronous may block, so it is called in a worker.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from trueup.ask.clients.client import Client
from trueup.ask.clients.identity import identity, title
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.drivers.worker import apieces_of, arun
from trueup.ask.policy import MODES
from trueup.ask.shapes.openai import plain

_NAMES = ("model", "temperature", "max_tokens", "response_format", "tools", "tool_choice", "timeout")


class CallableClient(Client):
    """A function, a method, or an object with `__call__`."""

    finishes = False
    kind = "this callable"

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self.key = identity(call)
        self._names, self._any, self._keyword, self._is_async = _taken(call)
        held = self._any or "response_format" in self._names
        self.modes = MODES if held else ("text",)
        self.takes_tools = self._any or "tools" in self._names
        self.able = (*self.modes, "tool") if self.takes_tools else self.modes

    @property
    def is_async(self) -> bool:
        return self._is_async

    @property
    def function(self) -> Callable[..., Any]:
        """The callable itself."""
        return self._call

    @property
    def label(self) -> str:
        """The name of the callable, which others may share."""
        return title(self._call)

    def _result(self, request: Request) -> Any:
        given = chat_parameters(request)
        if request.timeout is not None:
            given.setdefault("timeout", request.timeout)
        taken = {name: value for name, value in given.items() if self._any or name in self._names}
        if self._any and "timeout" not in self._names and "timeout" not in request.parameters:
            taken.pop("timeout", None)
        if self._keyword:
            return self._call(messages=plain(request.messages), **taken)
        return self._call(plain(request.messages), **taken)

    def send(self, request: Request) -> Any:
        result = self._result(request)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError("this callable is asynchronous; use `await contract.aask(…)`")
        return result

    async def asend(self, request: Request) -> Any:
        result = self._result(request) if self._is_async else await arun(partial(self._result, request))
        return await result if inspect.isawaitable(result) else result

    def stream(self, request: Request) -> Iterator[Any]:
        yield from _iterable(self._result(request))

    async def astream(self, request: Request) -> AsyncIterator[Any]:
        if self._is_async:
            async for piece in _awaited(self._result(request)):
                yield piece
            return
        async for piece in apieces_of(partial(self._blocking, request)):
            if not isinstance(piece, _ToAwait):
                yield piece
                continue
            async for inner in _awaited(piece.result):
                yield inner

    def _blocking(self, request: Request) -> Iterator[Any]:
        """The pieces that are available without awaiting, or the awaitable."""
        result = self._result(request)
        if inspect.isawaitable(result) or hasattr(result, "__aiter__"):
            yield _ToAwait(result)
        else:
            yield from _iterable(result)


class _ToAwait(NamedTuple):
    """The result of a callable that turned out to be asynchronous."""

    result: Any


def _iterable(result: Any) -> Iterable[Any]:
    if isinstance(result, str | bytes | dict) or hasattr(result, "model_dump"):  # a whole reply
        return (result,)
    if hasattr(result, "__iter__"):
        pieces: Iterable[Any] = result
        return pieces
    raise TypeError(f"a callable that streams must return an iterable of pieces; got {type(result).__name__}")


async def _awaited(result: Any) -> AsyncIterator[Any]:
    if inspect.isawaitable(result):
        result = await result
    if hasattr(result, "__aiter__"):
        async for piece in result:
            yield piece
    else:  # a coroutine has made the iterable, which runs in the same place as the coroutine
        for piece in _iterable(result):
            yield piece


class _Taken(NamedTuple):
    """The parameters that a callable takes, and how it is called."""

    names: frozenset[str]  # the parameters in its signature
    anything: bool  # whether it takes any keyword
    keyword: bool  # whether it takes the messages as a keyword
    is_async: bool


def _taken(call: Callable[..., Any]) -> _Taken:
    if type(call) is FunctionType and not call.__dict__:  # without `__signature__` and the like
        return _taken_by(call.__code__)
    own = getattr(call, "__call__", None)  # noqa: B004 - the method itself is looked at
    is_async = inspect.iscoroutinefunction, inspect.isasyncgenfunction
    return _Taken(*_accepted(call), any(test(function) for test in is_async for function in (call, own)))


@lru_cache(maxsize=256)
def _taken_by(code: CodeType) -> _Taken:
    """The same for a function with this code; its defaults make no difference."""
    function = FunctionType(code, {}, closure=tuple(CellType() for _ in code.co_freevars) or None)
    return _Taken(*_accepted(function), bool(code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)))


def _accepted(call: Callable[..., Any]) -> tuple[frozenset[str], bool, bool]:
    """The parameters that a callable names, whether it takes any keyword, and whether it takes the messages as a keyword."""
    try:
        parameters = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return frozenset(), False, False
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    anything = inspect.Parameter.VAR_KEYWORD in kinds.values()
    by_name = "messages" in kinds and (
        kinds["messages"] is inspect.Parameter.KEYWORD_ONLY or next(iter(kinds)) != "messages"
    )
    if not by_name and not any(kind in _PLACED for kind in kinds.values()):
        if not anything:
            raise TypeError(
                f"cannot ask {getattr(call, '__qualname__', 'this callable')}: it does not take messages; give a callable such as `def call(messages): …`"
            )
        by_name = True
    return frozenset(name for name in kinds if name in _NAMES), anything, by_name


_PLACED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
