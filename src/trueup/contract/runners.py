"""Runners: the callables that run calls. Takes tools in any form that a contract or `execute` accepts; returns a
callable for each name.

A runner is a function, a class, a callable object, or a LangChain tool, which has its own methods for this. A
definition alone has no runner. The values of a generator are collected into a list.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from copy import deepcopy
from typing import Any

from trueup.checks.toolset import Toolset
from trueup.conform.functions import argument_maker, function_name
from trueup.conform.signatures import call as call_function
from trueup.conform.signatures import context_parameter
from trueup.conform.validating import validating
from trueup.contract.tool_calls.arguments import made_for
from trueup.read.registries import held_tools, is_collection
from trueup.verdict.context import Context
from trueup.verdict.reply import ToolCall
from trueup.verdict.tool import Tool

Runners = Mapping[str, Any]


class BadArguments(ValueError):
    """A call passed, but the function's own annotations refuse an argument."""


class Unregistered(LookupError):
    """A call passed, but there is no function to run it."""


def runners(source: Any) -> dict[str, Any]:
    """The runners of a source, by tool name.

    >>> runners([len, {"name": "ping"}]), runners({"count": len})
    ({'len': <built-in function len>}, {'count': <built-in function len>})
    """
    if source is None:
        return {}
    if isinstance(source, Toolset):
        source = list(source.tools.values())
    if isinstance(source, Mapping):
        return {str(name): item for name, item in source.items() if is_runner(item)}
    found: dict[str, Any] = {}
    for item in source if isinstance(source, list | tuple) or is_collection(source) else [source]:
        if isinstance(item, Tool):
            found |= {} if item.function is None else {item.name: item.function}
        elif is_runner(item):
            found[_name(item)] = item
        elif (held := held_tools(item)) is not None:
            found |= runners(held)
    return found


def start(
    call: ToolCall,
    known: Runners,
    deps: Any = None,
    turn: int = 1,
    context: Mapping[str, Any] | None = None,
    *,
    awaits: bool = False,
) -> Any:
    """Make a call: returns the runner's result, or an awaitable; if awaiting is not allowed, that is an error.

    `context` is passed to validators if arguments are built only now: `deps` by default.
    """
    runner = known.get(call.name)
    if runner is None:
        raise Unregistered(f"No function is registered for {call.name!r}.")
    if _is_langchain(runner):
        return (runner.ainvoke if awaits else runner.invoke)(call.args or {})
    value = runner(call.raw_args) if call.kind == "custom" else _called(call, runner, deps, turn, context)
    if inspect.isgenerator(value):
        value = list(value)
    if inspect.isasyncgen(value):
        value = _collected(value)
    if not awaits and inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError(f"{call.name} is asynchronous; use aexecute(), or arun()")
    return value


async def _collected(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def is_asynchronous(runner: Any) -> bool:
    """Whether calling this immediately returns an awaitable, so that it needs no thread."""
    if _is_langchain(runner):
        return True
    ways = (runner, getattr(runner, "__call__", None))  # noqa: B004 - the method itself is looked at
    return any(inspect.iscoroutinefunction(way) or inspect.isasyncgenfunction(way) for way in ways)


def _called(
    call: ToolCall, function: Callable[..., Any], deps: Any, turn: int, context: Mapping[str, Any] | None
) -> Any:
    arguments = made_for(call, function)
    if arguments is not None and isinstance(function, type):
        return arguments
    if arguments is None:
        known = context if context is not None or deps is None else {"deps": deps}
        try:
            with validating(known):
                arguments = argument_maker(function)(call.args or {})
        except ValueError as error:
            raise BadArguments(str(error)) from error
    given = call.args or {}
    arguments = {name: copied(value) if value is given.get(name) else value for name, value in arguments.items()}
    own = context_parameter(function)
    if own is not None:
        arguments[own] = Context(deps, call, turn)
    return call_function(function, arguments)


def copied(value: Any) -> Any:
    """JSON data that may be changed without changing the arguments of the recorded call.

    >>> given = {"days": [1, 2]}
    >>> copied(given)["days"].pop(), given
    (2, {'days': [1, 2]})
    """
    return deepcopy(value) if isinstance(value, list | dict) else value


def is_runner(item: Any) -> bool:
    """Whether this can run calls."""
    return callable(item) or _is_langchain(item)


def _is_langchain(item: Any) -> bool:
    """Whether this is a LangChain tool, or works like one."""
    return isinstance(getattr(item, "name", None), str) and hasattr(item, "args_schema") and hasattr(item, "ainvoke")


def _name(item: Any) -> str:
    own = None if inspect.isroutine(item) or isinstance(item, type) else getattr(item, "name", None)
    return own if isinstance(own, str) else function_name(item)
