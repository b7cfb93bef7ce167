"""Any callable as a client: it gets the messages, and of the parameters those that its signature names.

`def call(messages): …` is enough. A callable that names `response_format`, or takes any keyword, is held to the schema the
way OpenAI's are; one that does not is asked in words. It may return text or any provider's reply, and may be asynchronous.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

from trueup.ask.clients.client import Client
from trueup.ask.clients.parameters import chat_parameters
from trueup.ask.clients.request import Request
from trueup.ask.policy import MODES

_NAMES = ("model", "temperature", "max_tokens", "response_format", "tools", "tool_choice", "timeout")


def _key(call: Callable[..., Any]) -> str:
    """What tells one callable from another: its name and place, whose it is, and the model that is bound to it."""
    if isinstance(call, partial):
        return f"{_key(call.func)}:{call.keywords.get('model', '')}"
    name = getattr(call, "__qualname__", type(call).__qualname__)
    code = getattr(call, "__code__", None)
    place = id(getattr(call, "__self__", call)) if code is None or inspect.ismethod(call) else code.co_firstlineno
    return f"{getattr(call, '__module__', '')}.{name}:{place}"


class Call(Client):
    """A function, a method, or an object with `__call__`."""

    finishes = False
    kind = "this callable"

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self.key = _key(call)
        self._names, self._any, self._keyword = _accepted(call)
        held = self._any or "response_format" in self._names
        self.modes = MODES if held else ("text",)
        self.takes_tools = self._any or "tools" in self._names
        self._is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
            getattr(call, "__call__", None)  # noqa: B004 - the method itself is looked at
        )

    def _result(self, request: Request) -> Any:
        given = chat_parameters(request)
        if request.timeout is not None:
            given.setdefault("timeout", request.timeout)
        taken = {name: value for name, value in given.items() if self._any or name in self._names}
        if self._any and "timeout" not in self._names and "timeout" not in request.parameters:
            taken.pop("timeout", None)
        if self._keyword:
            return self._call(messages=request.messages, **taken)
        return self._call(request.messages, **taken)

    def send(self, request: Request) -> Any:
        result = self._result(request)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError("this callable is asynchronous; use `await contract.aask(…)`")
        return result

    async def asend(self, request: Request) -> Any:
        # What is not known to be asynchronous may wait on something: it is called in a thread.
        result = self._result(request) if self._is_async else await asyncio.to_thread(self._result, request)
        return await result if inspect.isawaitable(result) else result

    def stream(self, request: Request) -> Iterator[Any]:
        result = self._result(request)
        if isinstance(result, str | bytes):
            yield result
            return
        if not hasattr(result, "__iter__"):
            raise TypeError(f"a callable that streams returns an iterable of pieces; got {type(result).__name__}")
        yield from result

    async def astream(self, request: Request) -> AsyncIterator[Any]:
        result = self._result(request)
        if inspect.isawaitable(result):
            result = await result
        if isinstance(result, str | bytes):
            yield result
        elif hasattr(result, "__aiter__"):
            async for piece in result:
                yield piece
        elif hasattr(result, "__iter__"):
            for piece in result:
                yield piece
        else:
            raise TypeError(f"a callable that streams returns an iterable of pieces; got {type(result).__name__}")


def _accepted(call: Callable[..., Any]) -> tuple[frozenset[str], bool, bool]:
    """The parameters that a callable names, whether it takes any, and whether it wants the messages by name."""
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
        by_name = anything
    return frozenset(name for name in kinds if name in _NAMES), anything, by_name


_PLACED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
