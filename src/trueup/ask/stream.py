"""Streaming asks, synchronous and asynchronous: the same plan as other asks, with parts that may be shown as they arrive.

A stream is judged while it arrives and aborted at its first certain fault; then the plan continues as with any faulty reply.
The model's own pieces are not available: every part has passed the gate.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self

from trueup.ask.answer import Answer
from trueup.ask.clients.request import CallFailure, Request, failure_of, reply_in
from trueup.ask.drivers.clock import SYSTEM, Clock
from trueup.ask.drivers.time_limits import abandoned, alate, late, limit
from trueup.ask.drivers.worker import END, GRACE, CallCancelled, Inline, Late, ThreadedPieces, WorkerJob, pause, seeing
from trueup.ask.gate import AnswerPart, Gate, Hold
from trueup.ask.loop.loop import Loop
from trueup.ask.loop.plan import Finish, Send, Step
from trueup.ask.memory import MODES, Memory
from trueup.ask.policy import DEFAULT, Policy
from trueup.ask.requests.outgoing import Hook
from trueup.ask.rungs import find_ladder
from trueup.contract.option_help import named
from trueup.verdict.events import Event
from trueup.verdict.verdict import T, Verdict

if TYPE_CHECKING:
    from trueup.ask.cache import Cache
    from trueup.contract.contract import Contract
    from trueup.contract.option_types import Messages, Model

_EMPTY = CallFailure("the stream ended without any data", code="cut")


class _Streaming(Generic[T]):
    """The base of both drivers: the loop, the gate of the current attempt, and the parts that are shown last."""

    def __init__(
        self,
        contract: "Contract[T]",
        call: "Model",
        messages: "Messages",
        *,
        policy: Policy | None,
        hold: Hold,
        on_event: Callable[[Event], object] | None,
        context: Mapping[str, Any] | None,
        memory: Memory | None,
        clock: Clock | None,
        on_request: Hook | None,
        cache: "Cache | None",
        sync: bool,
    ) -> None:
        if hold not in ("sentence", "all"):
            raise ValueError(f"hold must be 'sentence' or 'all'; got {hold!r}")
        self._ladder = find_ladder(call, policy, sync=sync)
        self._hold: Hold = hold
        self._clock = clock = clock or SYSTEM
        options: dict[str, Any] = {
            "context": context,
            "on_event": on_event,
            "memory": memory or MODES,
            "clock": clock,
            "on_request": on_request,
            "cache": cache,
        }
        self._loop = Loop(contract, self._ladder.rungs, messages, policy or DEFAULT, **options, streams=True)
        self._gate: Gate | None = None  # the gate of the current call
        self._shown = False  # whether something was shown that may have to be taken back
        self._answer: Answer[T] | None = None

    @property
    def answer(self) -> Answer[T]:
        """The result, after all parts were read."""
        if self._answer is None:
            raise RuntimeError("the stream has not been read to its end; iterate over it first")
        return self._answer

    def _open(self) -> tuple[Request, Gate]:
        request = self._loop.request()
        contract = self._loop.contract
        own = getattr(contract, "contract", contract)  # unwatched: sentences are not replies
        self._gate = gate = Gate(
            own, self._loop.context, len(self._loop.attempts) + 1, self._hold, request, self._loop.ends_with
        )
        return request, gate

    def _broken_off(self, gate: Gate, failure: CallFailure | None) -> Step | None:
        """The step after an attempt that was aborted or failed; None if there is a whole reply to judge."""
        self._shown = self._shown or gate.passed
        if failure is not None:
            return self._loop.failed(failure, heard=gate.chunks)
        if gate.doomed:
            return self._loop.aborted(gate.aborted(self._loop.client.provider), gate.size, gate.chunks)
        return None if gate.chunks else self._loop.failed(_EMPTY)

    def _cancelled(self) -> Step:
        """The step after the caller cancelled; the part of a reply that arrived is counted."""
        return self._loop.cancelled(self._gate.chunks if self._gate is not None else ())

    def _leave(self) -> None:
        """Make the answer of a stream that was closed early; it includes the cost so far."""
        if self._answer is None:
            self._cancelled()
            self._answer = self._loop.answer()

    def _judged(self, gate: Gate, verdict: Verdict) -> tuple[Step, list[AnswerPart]]:
        """The step after a reply was judged, and the parts of the reply that may still be shown."""
        step = self._loop.judged(verdict)
        done = isinstance(step, Finish)
        return step, gate.finish(verdict) if done and verdict.ok else []

    def _restart(self, step: Step) -> list[AnswerPart]:
        """Take back what was shown of a failed attempt, as soon as it is known to have failed."""
        if not self._shown or (isinstance(step, Finish) and step.outcome in {"accepted", "repaired", "regenerated"}):
            return []
        self._shown = False
        return [AnswerPart("restart", attempt=len(self._loop.attempts) + 1)]

    def _end(self) -> list[AnswerPart]:
        """Make the answer; return its part if no streamed reply gave one: the fallback, or the salvaged part of a reply."""
        self._answer = answer = self._loop.answer()
        kept = answer.outcome == "degraded" and self._loop.policy.otherwise == "text"
        if answer.outcome != "fallback" and not kept:
            return []
        number = len(answer.attempts)
        if self._loop.contract.schema is None or (kept and answer.data is None):
            return [AnswerPart("text", text=answer.text, attempt=number)]
        return [AnswerPart("value", value=answer.value if answer.ok else answer.data, attempt=number)]


class AskStream(_Streaming[T]):
    """The parts of an answer, one after the other. Iterate over it, and read `answer` at the end.

    `Contract.ask_stream` makes it: `contract` is that contract, and the options are the same as for `Contract.ask_stream`.
    """

    @named("ask_stream")
    def __init__(
        self,
        contract: "Contract[T]",
        call: "Model",
        messages: "Messages",
        policy: Policy | None = None,
        *,
        hold: Hold = "sentence",
        on_event: Callable[[Event], object] | None = None,
        on_request: Hook | None = None,
        context: Mapping[str, Any] | None = None,
        cancel: threading.Event | None = None,
        memory: Memory | None = None,
        cache: "Cache | None" = None,
        clock: Clock | None = None,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        super().__init__(
            contract,
            call,
            messages,
            policy=policy,
            hold=hold,
            on_event=on_event,
            context=context,
            memory=memory,
            clock=clock,
            on_request=on_request,
            cache=cache,
            sync=True,
        )
        self._cancel = cancel
        self._wait: Callable[[float], bool] = wait or partial(pause, cancel=cancel)
        self._gave_up = False  # a call was cancelled, perhaps because this ask is part of a call that was cancelled
        self._parts = self._run()

    def __iter__(self) -> Iterator[AnswerPart]:
        return self._parts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the ask: close the stream if there is one."""
        self._parts.close()

    def _run(self) -> Generator[AnswerPart, None, None]:
        try:
            step = self._loop.start()
            while not isinstance(step, Finish):
                if self._is_cancelled():
                    step = self._cancelled()
                elif isinstance(step, Send):
                    request, gate = self._open()
                    failure = yield from self._attempt(request, gate)
                    if self._is_cancelled():
                        continue  # the pieces so far are not a whole reply
                    broken = self._broken_off(gate, failure)
                    step, parts = (broken, []) if broken else self._judged(gate, self._loop.judge(gate.chunks))
                    yield from self._restart(step)
                    yield from parts
                else:
                    step = self._loop.cancelled() if self._wait(step.seconds) else self._loop.waited()
            yield from self._end()
        except (GeneratorExit, KeyboardInterrupt):
            self._leave()
            raise
        finally:
            self._ladder.close()

    def _is_cancelled(self) -> bool:
        return self._gave_up or (self._cancel is not None and self._cancel.is_set())

    def _attempt(self, request: Request, gate: Gate) -> Generator[AnswerPart, None, CallFailure | None]:
        """One stream, until it ends or is certainly faulty; returns the failure that ended it, if any. Only the time spent waiting for it counts."""
        left = limit(self._loop, request)
        open_stream = partial(self._loop.client.stream, request)
        bounded = left is not None or self._cancel is not None
        pieces = ThreadedPieces(open_stream, self._cancel) if bounded else Inline(open_stream)
        try:
            while not gate.doomed and not self._is_cancelled():
                begun = self._clock.now()
                chunk = pieces.take(left)
                if chunk is END:
                    return None
                left = None if left is None else left - (self._clock.now() - begun)
                if left is not None and left <= 0:
                    return late(self._loop, request.timeout, stopped=True)
                yield from gate.feed(chunk)
        except Late as given_up:
            return late(self._loop, request.timeout, stopped=given_up.job.is_stopped())
        except CallCancelled as given_up:
            self._gave_up = True
            abandoned(self._loop, stopped=given_up.job.is_stopped())
        except Exception as error:
            if gate.chunks and reply_in(error) is not None:  # the SDK could not parse a complete reply
                return None
            failure = failure_of(error, request.mode)
            if failure is None:
                raise
            return failure
        finally:
            abandoned(self._loop, stopped=pieces.close())
        return None


class AsyncAskStream(_Streaming[T]):
    """The same, asynchronously; `Contract.aask_stream` makes it. The options are the same as for `AskStream`, except that `wait` is awaited."""

    @named("aask_stream")
    def __init__(
        self,
        contract: "Contract[T]",
        call: "Model",
        messages: "Messages",
        policy: Policy | None = None,
        *,
        hold: Hold = "sentence",
        on_event: Callable[[Event], object] | None = None,
        on_request: Hook | None = None,
        context: Mapping[str, Any] | None = None,
        memory: Memory | None = None,
        cache: "Cache | None" = None,
        clock: Clock | None = None,
        wait: Callable[[float], Awaitable[object]] | None = None,
    ) -> None:
        super().__init__(
            contract,
            call,
            messages,
            policy=policy,
            hold=hold,
            on_event=on_event,
            context=context,
            memory=memory,
            clock=clock,
            on_request=on_request,
            cache=cache,
            sync=False,
        )
        self._wait = wait or asyncio.sleep
        self._parts = self._run()

    def __aiter__(self) -> AsyncIterator[AnswerPart]:
        return self._parts

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the ask: close the stream if there is one."""
        await self._parts.aclose()

    async def _run(self) -> AsyncGenerator[AnswerPart, None]:
        try:
            step = self._loop.start()
            while not isinstance(step, Finish):
                if isinstance(step, Send):
                    request, gate = self._open()
                    failures: list[CallFailure] = []
                    attempt = self._attempt(request, gate, failures)
                    try:
                        async for part in attempt:
                            yield part
                    finally:
                        await attempt.aclose()
                    broken = self._broken_off(gate, failures[0] if failures else None)
                    step, parts = (broken, []) if broken else self._judged(gate, await self._loop.ajudge(gate.chunks))
                    for part in (*self._restart(step), *parts):
                        yield part
                else:
                    await self._wait(step.seconds)
                    step = self._loop.waited()
            for part in self._end():
                yield part
        except (GeneratorExit, asyncio.CancelledError):
            self._leave()
            raise
        finally:
            self._ladder.close()

    async def _attempt(
        self, request: Request, gate: Gate, failures: list[CallFailure]
    ) -> AsyncGenerator[AnswerPart, None]:
        """One stream, until it ends or is certainly faulty; the failure that ended it is added to `failures`."""
        left = limit(self._loop, request)
        jobs: list[WorkerJob] = []
        pieces: Any = None
        timer: asyncio.Timeout | None = None
        try:
            pieces = aiter(self._loop.client.astream(request))
            while not gate.doomed:
                begun = self._clock.now()
                timer = asyncio.timeout(left)
                try:
                    with seeing(jobs):
                        async with timer:
                            chunk = await anext(pieces)
                except StopAsyncIteration:
                    return
                left = None if left is None else left - (self._clock.now() - begun)
                if left is not None and left <= 0:
                    failures.append(late(self._loop, request.timeout, stopped=True))
                    return
                for part in gate.feed(chunk):
                    yield part
        except Exception as error:
            if timer is not None and timer.expired():
                failures.append(await alate(self._loop, jobs, request.timeout))
                return
            if gate.chunks and reply_in(error) is not None:  # the SDK could not parse a complete reply
                return
            failure = failure_of(error, request.mode)
            if failure is None:
                raise
            failures.append(failure)
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                with suppress(TimeoutError):  # do not wait any longer for a connection that does not close
                    async with asyncio.timeout(GRACE):
                        await close()
