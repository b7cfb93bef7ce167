"""Act on a verdict: run only the calls that passed, and give the model an answer to every call.

Takes a verdict and the functions of the tools; returns results and tool-result messages. If a function fails, its call
is answered too and the others still run, except those that require it. The exception's text stays in this program
unless the caller asks to send it. A function also fails by returning an error, such as `{"error": …}`, because that is
how the history of a conversation is read.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from trueup.contract.judging.incoming import without_surrogates
from trueup.contract.runners import BadArguments, Unregistered, runners, start
from trueup.read.answers import CallResult, refusal_result, tool_results
from trueup.read.outcomes import says_failure
from trueup.verdict.codec import plain
from trueup.verdict.display import safe_line
from trueup.verdict.reply import ToolCall
from trueup.verdict.verdict import Verdict

Registry = Mapping[str, Any] | Sequence[Any]
Errors = Literal["type", "text"]

__all__ = ["BadArguments", "Done", "Execution", "Unmet", "Unregistered", "aexecute", "execute"]


class Unmet(RuntimeError):
    """A call passed, but was not made: it requires an earlier call of the same reply that did not succeed."""


class Done(NamedTuple):
    """One call that was run, with its return value or the exception it raised."""

    call: ToolCall
    """The call that was run."""
    value: Any
    """What the function returned; None if it raised. An error that it returned, such as `{"error": …}`, counts as a failure too."""
    error: Exception | None
    """The exception that the function raised, or the reason why the call was not made; None if it returned."""


class Execution(NamedTuple):
    """The results of a verdict's calls, and the messages for the model, including those for refused calls."""

    done: tuple[Done, ...]
    """The calls that were run, each with its result."""
    messages: list[dict[str, Any]]
    """One result for each call, refused ones included, as messages in the provider's format."""


def execute(
    verdict: Verdict, registry: Registry, provider: str = "", *, errors: Errors = "type", deps: Any = None
) -> Execution:
    """Run the calls of `verdict` that passed, in order, and answer all calls.

    `registry` contains the functions, or maps tool names to functions; LangChain tools are allowed too. `provider` is
    the format of the messages, by default the format of the reply. If a function raises, the model gets the type of the
    exception; with `errors="text"` it also gets the exception's text, which may contain paths, queries or keys. The
    exception itself is in `Done.error` and in the log `trueup.execute`. A call that requires another one of the same
    reply is made only if that one succeeded. `deps` is passed to functions that take a `Context`; by default it is
    None.

    >>> from trueup import Contract
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> verdict = Contract(tools=[add]).check('<tool_call>{"name": "add", "arguments": {"a": 2, "b": "3"}}</tool_call>')
    >>> execute(verdict, [add]).done[0].value
    5
    """
    known = runners(registry)
    refuse_other(errors)
    made = _Made(verdict, errors)
    for call in made.possible():
        try:
            made.book(Done(call, start(call, known, deps), None))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer for the model
            made.book(Done(call, None, error))
    return made.execution(provider)


async def aexecute(
    verdict: Verdict, registry: Registry, provider: str = "", *, errors: Errors = "type", deps: Any = None
) -> Execution:
    """Like `execute`, for asynchronous functions, one after the other; plain functions are allowed too.

    `verdict`, `registry`, `provider`, `errors` and `deps` are the same as for `execute`.
    """
    known = runners(registry)
    refuse_other(errors)
    made = _Made(verdict, errors)
    for call in made.possible():
        try:
            value = start(call, known, deps, awaits=True)
            made.book(Done(call, await value if inspect.isawaitable(value) else value, None))
        except Exception as error:  # noqa: BLE001 - as in execute()
            made.book(Done(call, None, error))
    return made.execution(provider)


class _Made:
    """The calls of a verdict that were made so far, each with the answer for the model."""

    def __init__(self, verdict: Verdict, errors: Errors) -> None:
        self._verdict = verdict
        self._errors: Errors = errors
        self._done: list[Done] = []
        self._results: list[CallResult] = []

    def possible(self) -> Iterator[ToolCall]:
        """The calls to run, one after the other. A call that requires one which has not succeeded by then is recorded
        as not made.

        A call that the provider ran already has its answer.
        """
        for call in self._verdict.calls:
            if call.answered:
                continue
            missing = unmet(call, {result.call.name for result in self._results if not result.is_error})
            if missing is None:
                yield call
            else:
                self.book(Done(call, None, missing))

    def book(self, done: Done) -> None:
        text = said(done, self._errors)
        self._done.append(done)
        self._results.append(CallResult(done.call, text, fails(done, text)))

    def execution(self, provider: str) -> Execution:
        verdict = self._verdict
        results = [*self._results, *map(refusal_result, verdict.refused)]
        order = {id(call): index for index, call in enumerate(verdict.reply.calls)}
        results.sort(key=lambda r: (r.call.index, order.get(id(r.call), 0)))
        return Execution(tuple(self._done), tool_results(results, provider or verdict.reply.provider or "openai"))


def unmet(call: ToolCall, worked: set[str]) -> Unmet | None:
    """The reason why a call cannot be made after the calls that `worked`; None if it can."""
    missing = [name for name in call.after if name not in worked]
    if not missing:
        return None
    names = ", ".join(missing)
    return Unmet(f"The call of {call.name!r} was not made: it needs {names} first, and that did not succeed.")


def refuse_other(errors: Any) -> None:
    """Raise if `errors` has an unsupported value."""
    if errors not in get_args(Errors):
        raise ValueError(f"errors must be one of {', '.join(get_args(Errors))}; got {errors!r}")


def fails(done: Done, text: str) -> bool:
    """Whether a call failed: its function raised, or its return value, as `text`, is an error, as in a history.

    >>> fails(Done(ToolCall("pay"), {"error": "no credit"}, None), '{"error": "no credit"}')
    True
    """
    return done.error is not None or says_failure(text)


def said(done: Done, errors: Errors) -> str:
    """The answer for the model: what the call returned, or that it failed. The call has run, so nothing here may raise."""
    text = _returned(done) if done.error is None else _told(done, done.error, errors)
    return text if text.isascii() else without_surrogates(text)[0]  # clients cannot send half of a surrogate pair


def _returned(done: Done) -> str:
    value = done.value
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value, enc_hook=plain).decode()
    except Exception:  # noqa: BLE001 - a model may raise anything while it is written
        return _words(value) or f"The tool {done.call.name!r} ran, but its result cannot be written as text."


def _words(value: Any) -> str:
    """The value's `repr`; empty if it cannot be written."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the class of a tool may raise anything
        return ""


def _told(done: Done, error: Exception, errors: Errors) -> str:
    """The answer for the model if a call failed; the exception's text goes to the log."""
    if isinstance(error, Unregistered | BadArguments | Unmet):  # this text is ours
        return str(error)
    import logging  # the place of the failure

    kind = type(error).__name__
    words = _words(error)
    text = f"{kind}: {words}" if words else kind
    logging.getLogger("trueup.execute").warning("the tool %r failed: %s", done.call.name, safe_line(text))
    return text if errors == "text" else f"The tool {done.call.name!r} failed ({kind})."
