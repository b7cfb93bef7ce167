"""Makes the calls of one turn, one after the other, or concurrently in an event loop. Takes calls; yields parts as they happen.

A hook may veto or change a call before it is made; a changed call is judged again. Tools in the contract's order rules run one after
the other, in the order of the reply. If the time is over or the caller cancels, running calls are given up, and the rest are not made.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from trueup.ask.drivers.worker import CallCancelled, Cancel, Late, arun, run
from trueup.ask.run import Called, RunPart
from trueup.ask.runs.turns import Decision, Turns
from trueup.contract.runners import copied, is_asynchronous, start
from trueup.verdict.reply import ToolCall

Hook = Callable[[ToolCall], Any]


def make(
    turns: Turns[Any], calls: Sequence[ToolCall], on_call: Hook | None, cancel: Cancel | None
) -> Iterator[RunPart]:
    """Make calls one after the other; all results are recorded at the end."""
    made: list[Called] = []
    yield from _told(turns)
    for call in calls:
        decided = _unasked(turns, call, made) or _asked(turns, call, made, on_call)
        if isinstance(decided, ToolCall) and _is_over(turns, cancel):  # a hook may take long
            decided = turns.stopped(call, running=False)
        if isinstance(decided, ToolCall):
            yield RunPart("call", turns.turn, call=decided)
            decided = _made(turns, decided, cancel)
        made.append(decided)
        turns.report(decided)
        yield RunPart("result", turns.turn, result=decided)
    turns.close(made)


def _is_over(turns: Turns[Any], cancel: Cancel | None = None) -> bool:
    """Whether no more calls may be started; then the run is stopped."""
    if cancel is not None and cancel.is_set():
        turns.stop("cancelled")
    elif turns.time_left() == 0.0:
        turns.stop("deadline")
    return turns.is_stopped


def _asked(turns: Turns[Any], call: ToolCall, made: list[Called], on_call: Hook | None) -> ToolCall | Called:
    """The call to make after asking the hook, or its result if it must not be made."""
    if on_call is None:
        return call
    shown = _shown(call)
    said = on_call(shown)
    if inspect.isawaitable(said):
        raise TypeError("on_call is asynchronous; use `await contract.arun(…)`")
    decided = _decided(turns, call, shown, said)
    if not isinstance(decided, tuple):
        return decided
    trial = turns.trial(decided[0], call, made)
    return turns.replaced(trial, turns.contract.check(trial.reply, trial.context), call, made)


def _made(turns: Turns[Any], call: ToolCall, cancel: Cancel | None) -> Called:
    begun = turns.now()
    value: Any = None
    failed: Exception | None = None
    work = partial(start, call, turns.runners, turns.settings.deps, turns.turn, turns.given)
    try:
        value = run(work, turns.time_left(), cancel)
    except (Late, CallCancelled) as given_up:
        turns.stop("deadline" if isinstance(given_up, Late) else "cancelled")
        return turns.stopped(call, running=True, seconds=turns.now() - begun)
    except asyncio.CancelledError:  # from a loop that the tool itself runs
        failed = _cancelled(call)
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is an answer for the model
        failed = error
    return turns.done(call, value, failed, turns.now() - begun)


def _cancelled(call: ToolCall) -> Exception:
    return RuntimeError(f"{call.name} was cancelled while it ran")


def _told(turns: Turns[Any]) -> Iterator[RunPart]:
    """The calls that were refused when the reply was judged."""
    for refused in turns.refused():
        turns.report(refused)
        yield RunPart("result", turns.turn, result=refused)


def _unasked(turns: Turns[Any], call: ToolCall, made: list[Called]) -> Called | None:
    """The result of a call that cannot be made, because the run has ended or a required call is missing; otherwise None."""
    return turns.stopped(call, running=False) if turns.is_stopped else turns.unmet(call, made)


def _shown(call: ToolCall) -> ToolCall:
    """A copy of a call for a hook, so that the hook cannot change the original's arguments."""
    return msgspec.structs.replace(call, args=copied(call.args))


def _decided(turns: Turns[Any], call: ToolCall, shown: ToolCall, said: Decision) -> ToolCall | Called | tuple[ToolCall]:
    """The result of a hook's decision: the call to make, a veto, or a tuple with another call to judge."""
    if said is None or said is True or said is shown:
        return call if shown.args == call.args else (shown,)  # changed in place, so it is judged again
    if said is False or isinstance(said, str):
        return turns.vetoed(call, said or "")
    if isinstance(said, ToolCall):
        return (said,)
    raise TypeError(f"on_call must return None, False, a reason or a ToolCall; got {type(said).__name__}")


async def amake(turns: Turns[Any], calls: Sequence[ToolCall], on_call: Hook | None) -> AsyncGenerator[RunPart, None]:
    """Make calls concurrently, as many as the settings allow; all results are recorded at the end."""
    for told in _told(turns):
        yield told
    working = _Working(turns, on_call)
    task = asyncio.ensure_future(working.all(calls))
    task.add_done_callback(lambda _: working.parts.put_nowait(None))
    try:
        while (part := await working.parts.get()) is not None:
            yield part
        await task
    except _Ends as ending:
        raise ending.error from None
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    turns.close(working.made)


class _Ends(Exception):
    """A tool ends the program. If its exception were raised in a separate task, the event loop would stop before any cleanup."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class _Working:
    """The calls of one turn in an event loop."""

    def __init__(self, turns: Turns[Any], on_call: Hook | None) -> None:
        self._turns = turns
        self._on_call = on_call
        self._room = asyncio.Semaphore(turns.settings.parallel)
        self._asking = asyncio.Lock()  # one call at a time, because a hook may ask a person
        self._begun: set[int] = set()
        self.parts: asyncio.Queue[RunPart | None] = asyncio.Queue()
        self.made: list[Called] = []

    async def all(self, calls: Sequence[ToolCall]) -> None:
        """Make all calls; calls that are not made before the time is over are recorded as stopped."""
        turns = self._turns
        chain = [call for call in calls if call.name in turns.ordered]
        lanes = [chain, *([call] for call in calls if call.name not in turns.ordered)]
        limit = asyncio.timeout(turns.time_left())
        try:
            async with limit, asyncio.TaskGroup() as group:
                for lane in filter(None, lanes):
                    group.create_task(self._lane(lane))
        except TimeoutError:
            if not limit.expired():
                raise
            turns.stop("deadline")
        except BaseExceptionGroup as raised:  # a hook's exception, or a tool that ends the program
            raise raised.exceptions[0] from None
        known = {called.given.index for called in self.made}
        for call in calls:
            if call.index not in known:
                self._book(turns.stopped(call, running=call.index in self._begun))

    async def _lane(self, calls: Sequence[ToolCall]) -> None:
        for call in calls:
            async with self._room:
                self._book(await self._one(call))

    async def _one(self, call: ToolCall) -> Called:
        turns = self._turns
        decided = _unasked(turns, call, self.made) or await self._asked(call)
        if not isinstance(decided, ToolCall):
            return decided
        if _is_over(turns):
            return turns.stopped(call, running=False)
        self._begun.add(call.index)
        self.parts.put_nowait(RunPart("call", turns.turn, call=decided))
        begun = turns.now()
        value: Any = None
        failed: Exception | None = None
        try:
            value = await self._value(decided)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # the whole task, and not only the tool
                raise
            failed = _cancelled(decided)
        except Exception as error:  # noqa: BLE001 - as above
            failed = error
        except (SystemExit, KeyboardInterrupt) as error:
            raise _Ends(error) from error
        return turns.done(decided, value, failed, turns.now() - begun)

    async def _asked(self, call: ToolCall) -> ToolCall | Called:
        turns = self._turns
        if self._on_call is None:
            return call
        async with self._asking:  # until a change is judged, because it affects the next call
            shown = _shown(call)
            said = self._on_call(shown)
            decided = _decided(turns, call, shown, await said if inspect.isawaitable(said) else said)
            if not isinstance(decided, tuple):
                return decided
            trial = turns.trial(decided[0], call, self.made)
            verdict = await turns.contract.acheck(trial.reply, trial.context)
            return turns.replaced(trial, verdict, call, self.made)

    async def _value(self, call: ToolCall) -> Any:
        """The result of a call; a function that may block is called in a worker."""
        turns = self._turns
        work = partial(start, call, turns.runners, turns.settings.deps, turns.turn, turns.given, awaits=True)
        known = turns.runners.get(call.name)
        value = work() if known is None or is_asynchronous(known) else await arun(work)
        return await value if inspect.isawaitable(value) else value

    def _book(self, called: Called) -> None:
        self.made.append(called)
        self._turns.report(called)
        self.parts.put_nowait(RunPart("result", self._turns.turn, result=called))
