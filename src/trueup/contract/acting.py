"""Acting on a verdict: only calls that passed are run, and every call gets an answer for the model.

A verdict and the functions behind the tools enter; results and tool-result messages leave. A function that fails
is an answer too: the model is told, and the others still run.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from trueup.conform.functions import argument_maker, function_name
from trueup.read.answers import Result, refusal_result, tool_results
from trueup.verdict.codec import written
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Verdict

Registry = Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]]


class Unregistered(LookupError):
    """A call passed, but nothing was given to run it with."""


class Done(NamedTuple):
    """One call that was run: what it returned, or the exception it raised."""

    call: ToolCall
    value: Any
    error: Exception | None


class Execution(NamedTuple):
    """What came of a verdict's calls: each result, and the messages for the model, refused calls included."""

    done: tuple[Done, ...]
    messages: list[dict[str, Any]]


def execute(verdict: Verdict, registry: Registry, provider: str = "") -> Execution:
    """Run the calls that passed, in order, and answer all of them.

    >>> from trueup import Contract
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> verdict = Contract(tools=[add]).check('<tool_call>{"name": "add", "arguments": {"a": 2, "b": "3"}}</tool_call>')
    >>> execute(verdict, [add]).done[0].value
    5
    """
    functions = _functions(registry)
    done = []
    for call in _unanswered(verdict):
        try:
            done.append(Done(call, _plain(call, _run(call, functions)), None))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer for the model
            done.append(Done(call, None, error))
    return _answered(verdict, done, provider)


async def aexecute(verdict: Verdict, registry: Registry, provider: str = "") -> Execution:
    """The same for asynchronous functions (plain ones may be among them), one after the other."""
    functions = _functions(registry)
    done = []
    for call in _unanswered(verdict):
        try:
            value = _run(call, functions)
            done.append(Done(call, await value if inspect.isawaitable(value) else value, None))
        except Exception as error:  # noqa: BLE001 - as in execute()
            done.append(Done(call, None, error))
    return _answered(verdict, done, provider)


def _unanswered(verdict: Verdict) -> list[ToolCall]:
    """The calls to run: what a provider ran itself has its answer already."""
    return [call for call in verdict.calls if not call.answered]


def _run(call: ToolCall, functions: Mapping[str, Callable[..., Any]]) -> Any:
    function = functions.get(call.name)
    if function is None:
        raise Unregistered(f"No function is registered for {call.name!r}.")
    if call.kind == "custom":
        return function(call.raw_args)
    return function(**argument_maker(function)(call.args or {}))


def _plain(call: ToolCall, value: Any) -> Any:
    if inspect.iscoroutine(value):
        value.close()
    if inspect.isawaitable(value):
        raise TypeError(f"{call.name} is asynchronous; use aexecute()")
    return value


def _functions(registry: Registry) -> Mapping[str, Callable[..., Any]]:
    if isinstance(registry, Mapping):
        return registry
    return {function_name(function): function for function in registry}


def _answered(verdict: Verdict, done: list[Done], provider: str) -> Execution:
    results = [Result(d.call, _said(d), d.error is not None) for d in done]
    results += [refusal_result(r) for r in verdict.refused]
    order = {id(call): index for index, call in enumerate(verdict.reply.calls)}
    results.sort(key=lambda r: (r.call.index, order.get(id(r.call), 0)))
    return Execution(tuple(done), tool_results(results, provider or verdict.reply.provider or "openai"))


def _said(done: Done) -> str:
    """What a call returned, as the text that the model is told."""
    if isinstance(done.error, Unregistered):
        return str(done.error)
    if done.error is not None:
        return f"{type(done.error).__name__}: {done.error}"
    value = done.value
    if isinstance(value, str):
        return value
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    try:
        return written(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(value)
