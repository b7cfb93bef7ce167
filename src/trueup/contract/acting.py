"""Acting on a verdict: only calls that passed are run, and every call gets an answer for the model.

A verdict and the functions behind the tools enter; results and tool-result messages leave. A function that fails is answered
too, and the others still run; what its exception says stays in this program unless the caller sends it on.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from trueup.conform.functions import argument_maker, function_name
from trueup.conform.signatures import call as call_function
from trueup.contract.arguments import made_for
from trueup.read.answers import Result, refusal_result, tool_results
from trueup.verdict.codec import plain
from trueup.verdict.display import safe_line
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Verdict

Registry = Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]]
Errors = Literal["type", "text"]


class Unregistered(LookupError):
    """A call passed, but nothing was given to run it with."""


class BadArguments(ValueError):
    """A call passed, but the function's own annotations refuse an argument."""


class Done(NamedTuple):
    """One call that was run: what it returned, or the exception it raised."""

    call: ToolCall
    """The call that was run."""
    value: Any
    """What the function returned; None if it raised."""
    error: Exception | None
    """The exception that the function raised; None if it returned."""


class Execution(NamedTuple):
    """What came of a verdict's calls: each result, and the messages for the model, refused calls included."""

    done: tuple[Done, ...]
    """The calls that were run, each with its result."""
    messages: list[dict[str, Any]]
    """One result for each call, refused ones included, as messages in the provider's shape."""


def execute(verdict: Verdict, registry: Registry, provider: str = "", *, errors: Errors = "type") -> Execution:
    """Run the calls of `verdict` that passed, in order, and answer all of them.

    `registry` is the functions, or a mapping from tool names to functions. `provider` is the shape of the messages, by default
    that of the reply. If a function raises, the model is told the type of the exception; with `errors="text"` also what it says,
    which may hold paths, queries or keys. The exception itself is in `Done.error` and in the log `trueup.execute`.

    >>> from trueup import Contract
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> verdict = Contract(tools=[add]).check('<tool_call>{"name": "add", "arguments": {"a": 2, "b": "3"}}</tool_call>')
    >>> execute(verdict, [add]).done[0].value
    5
    """
    functions = _functions(registry)
    _refuse_other(errors)
    done = []
    for call in _unanswered(verdict):
        try:
            done.append(Done(call, _plain(call, _run(call, functions)), None))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer for the model
            done.append(Done(call, None, error))
    return _answered(verdict, done, provider, errors)


async def aexecute(verdict: Verdict, registry: Registry, provider: str = "", *, errors: Errors = "type") -> Execution:
    """The same for asynchronous functions (plain ones may be among them), one after the other.

    `verdict`, `registry`, `provider` and `errors` are those of `execute`.
    """
    functions = _functions(registry)
    _refuse_other(errors)
    done = []
    for call in _unanswered(verdict):
        try:
            value = _run(call, functions)
            done.append(Done(call, await value if inspect.isawaitable(value) else value, None))
        except Exception as error:  # noqa: BLE001 - as in execute()
            done.append(Done(call, None, error))
    return _answered(verdict, done, provider, errors)


def _unanswered(verdict: Verdict) -> list[ToolCall]:
    """The calls to run: what a provider ran itself has its answer already."""
    return [call for call in verdict.calls if not call.answered]


def _run(call: ToolCall, functions: Mapping[str, Callable[..., Any]]) -> Any:
    function = functions.get(call.name)
    if function is None:
        raise Unregistered(f"No function is registered for {call.name!r}.")
    if call.kind == "custom":
        return function(call.raw_args)
    made = made_for(call, function)
    if made is not None:
        return made if isinstance(function, type) else call_function(function, made)
    try:
        arguments = argument_maker(function)(call.args or {})
    except ValueError as error:
        raise BadArguments(str(error)) from error
    return call_function(function, arguments)


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


def _refuse_other(errors: Any) -> None:
    if errors not in get_args(Errors):
        raise ValueError(f"errors is one of {', '.join(get_args(Errors))}; got {errors!r}")


def _answered(verdict: Verdict, done: list[Done], provider: str, errors: Errors) -> Execution:
    results = [
        Result(d.call, _said(d) if d.error is None else _told(d, d.error, errors), d.error is not None) for d in done
    ]
    results += [refusal_result(r) for r in verdict.refused]
    order = {id(call): index for index, call in enumerate(verdict.reply.calls)}
    results.sort(key=lambda r: (r.call.index, order.get(id(r.call), 0)))
    return Execution(tuple(done), tool_results(results, provider or verdict.reply.provider or "openai"))


def _said(done: Done) -> str:
    """What a call returned, as the text that the model is told. The call has been made, so nothing here may raise."""
    value = done.value
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value, enc_hook=plain).decode()
    except Exception:  # noqa: BLE001 - a model may raise anything while it is written
        return _words(value) or f"The tool {done.call.name!r} ran, but its result cannot be written as text."


def _words(value: Any) -> str:
    """The value as Python writes it; empty if it cannot be written."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the class of a tool may raise anything
        return ""


def _told(done: Done, error: Exception, errors: Errors) -> str:
    """What the model is told about a call that failed; what the exception says goes to the log."""
    if isinstance(error, Unregistered | BadArguments):  # our own words
        return str(error)
    import logging  # where something failed

    kind = type(error).__name__
    words = _words(error)
    said = f"{kind}: {words}" if words else kind
    logging.getLogger("trueup.execute").warning("the tool %r failed: %s", done.call.name, safe_line(said))
    return said if errors == "text" else f"The tool {done.call.name!r} failed ({kind})."
