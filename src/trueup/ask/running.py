"""The drivers of a run: ask, make the calls, ask again, until a reply makes none. Synchronous and asynchronous, streamed or not.

They carry out what `Turns` says and decide nothing. Every ask of a run has what is left of the run's budgets.
"""

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Self

from trueup.ask.answer import Answer
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.clock import SYSTEM, Clock
from trueup.ask.drivers.sync import ask
from trueup.ask.gate import Hold, Part
from trueup.ask.memory import MODES, Memory
from trueup.ask.policy import DEFAULT, Policy
from trueup.ask.run import Run, RunPart
from trueup.ask.rungs import find_ladder, provider_of
from trueup.ask.runs.calls import Hook, amake, make
from trueup.ask.runs.turns import Settings, Turns
from trueup.ask.stream import AskStream, AsyncAskStream
from trueup.contract.call_results import Errors
from trueup.contract.option_help import named
from trueup.verdict.events import Event
from trueup.verdict.verdict import T

if TYPE_CHECKING:
    from trueup.ask.cache import Cache
    from trueup.ask.requests.outgoing import Hook as RequestHook
    from trueup.contract.contract import Contract
    from trueup.contract.option_types import Messages, Model, Tools


class _Running(Generic[T]):
    """What all drivers share: the ladder, the turns, and the options of every ask."""

    def __init__(
        self,
        contract: "Contract[T]",
        call: "Model",
        messages: "Messages",
        policy: Policy | None,
        settings: Settings,
        on_call: Hook | None,
        asked: dict[str, Any],
        *,
        sync: bool,
    ) -> None:
        if on_call is not None and not callable(on_call):
            raise TypeError(f"on_call is a function that takes a call; got {type(on_call).__name__}")
        context = asked.pop("context")
        self._ladder = find_ladder(call, policy, sync=sync)
        self._rungs: Any = list(self._ladder.rungs)
        clock = asked.get("clock") or SYSTEM
        provider = provider_of(self._ladder.rungs)
        try:
            self._turns = Turns(contract, messages, policy or DEFAULT, provider, settings, context, clock)
        except BaseException:
            self._ladder.close()
            raise
        self._on_call = on_call
        self._run: Run[T] | None = None
        asked["memory"] = (asked["memory"] or MODES).for_run()
        self._asked = {name: option for name, option in asked.items() if option is not None}
        if settings.on_event is not None:
            self._asked["on_event"] = settings.on_event

    @property
    def run(self) -> Run[T]:
        """What came of it, once all parts were taken."""
        if self._run is None:
            raise RuntimeError("the run has not been read to its end")
        return self._run

    def _next(self, policy: Policy) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the next ask is called with."""
        turns = self._turns
        context = turns.context()
        return (turns.contract, self._rungs, list(turns.messages), policy), {**self._asked, "context": context}

    def _shown(self, part: Part) -> RunPart:
        return RunPart(part.kind, self._turns.turn, part.text, part.value)


class RunStream(_Running[T]):
    """The parts of a run as they happen; iterate over it, and look at `run` at the end.

    Made by `Contract.run_stream`: `contract` is that contract, and the options are those of `Contract.run_stream`.
    """

    @named("run_stream")
    def __init__(
        self,
        contract: "Contract[T]",
        call: "Model",
        messages: "Messages",
        policy: Policy | None = None,
        *,
        tools: "Tools | None" = None,
        deps: Any = None,
        turns: int = 10,
        on_call: Hook | None = None,
        errors: Errors = "type",
        max_result: int = 50_000,
        hold: Hold | None = "sentence",
        on_event: Callable[[Event], object] | None = None,
        on_request: "RequestHook | None" = None,
        context: Mapping[str, Any] | None = None,
        cancel: threading.Event | None = None,
        memory: Memory | None = None,
        cache: "Cache | None" = None,
        clock: Clock | None = None,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        asked = {
            "on_request": on_request, "context": context, "cancel": cancel, "memory": memory, "cache": cache,
            "clock": clock, "wait": wait,
        }  # fmt: skip
        settings = Settings(tools, deps, turns, errors, max_result, on_event=on_event)
        super().__init__(contract, call, messages, policy, settings, on_call, asked, sync=True)
        self._hold = hold
        self._cancel = cancel
        self._parts = self._drive()

    def __iter__(self) -> Iterator[RunPart]:
        return self._parts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it: a stream that is under way is closed, and no further call is made."""
        self._parts.close()

    def _drive(self) -> Generator[RunPart, None, None]:
        turns = self._turns
        try:
            while (policy := turns.left()) is not None:
                answer = yield from self._ask(policy)
                calls = turns.take(answer)
                if calls is None:
                    break
                yield from make(turns, calls, self._on_call, self._cancel)
        finally:
            self._ladder.close()
        self._run = turns.result()

    def _ask(self, policy: Policy) -> Generator[RunPart, None, Answer[T]]:
        given, options = self._next(policy)
        if self._hold is None:
            return ask(*given, **options)
        with AskStream(*given, hold=self._hold, **options) as stream:
            for part in stream:
                yield self._shown(part)
        return stream.answer


class AsyncRunStream(_Running[T]):
    """The same, asynchronously; made by `Contract.arun_stream`: the options are those of `RunStream`, `parallel` is the number of
    calls that run at once, and `wait` is awaited.
    """

    @named("arun_stream")
    def __init__(
        self,
        contract: "Contract[T]",
        call: "Model",
        messages: "Messages",
        policy: Policy | None = None,
        *,
        tools: "Tools | None" = None,
        deps: Any = None,
        turns: int = 10,
        on_call: Hook | None = None,
        errors: Errors = "type",
        max_result: int = 50_000,
        parallel: int = 8,
        hold: Hold | None = "sentence",
        on_event: Callable[[Event], object] | None = None,
        on_request: "RequestHook | None" = None,
        context: Mapping[str, Any] | None = None,
        memory: Memory | None = None,
        cache: "Cache | None" = None,
        clock: Clock | None = None,
        wait: Callable[[float], Awaitable[object]] | None = None,
    ) -> None:
        asked = {
            "on_request": on_request, "context": context, "memory": memory, "cache": cache, "clock": clock, "wait": wait,
        }  # fmt: skip
        settings = Settings(tools, deps, turns, errors, max_result, parallel, on_event)
        super().__init__(contract, call, messages, policy, settings, on_call, asked, sync=False)
        self._hold = hold
        self._parts = self._drive()

    def __aiter__(self) -> AsyncIterator[RunPart]:
        return self._parts

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End it: a stream that is under way is closed, and calls that are being made are cancelled."""
        await self._parts.aclose()

    async def _drive(self) -> AsyncGenerator[RunPart, None]:
        turns = self._turns
        try:
            while (policy := turns.left()) is not None:
                given, options = self._next(policy)
                if self._hold is None:
                    answer = await aask(*given, **options)
                else:
                    async with AsyncAskStream(*given, hold=self._hold, **options) as stream:
                        async for part in stream:
                            yield self._shown(part)
                    answer = stream.answer
                calls = turns.take(answer)
                if calls is None:
                    break
                making = amake(turns, calls, self._on_call)
                try:
                    async for happened in making:
                        yield happened
                finally:
                    await making.aclose()
        finally:
            self._ladder.close()
        self._run = turns.result()


def run(
    contract: "Contract[T]", call: "Model", messages: "Messages", policy: Policy | None = None, **options: Any
) -> Run[T]:
    """Let a model use tools until a reply makes no more calls. `Contract.run` is this."""
    stream = RunStream(contract, call, messages, policy, hold=None, **options)
    for _ in stream:
        pass
    return stream.run


async def arun(
    contract: "Contract[T]", call: "Model", messages: "Messages", policy: Policy | None = None, **options: Any
) -> Run[T]:
    """The same, asynchronously. `Contract.arun` is this."""
    async with AsyncRunStream(contract, call, messages, policy, hold=None, **options) as stream:
        async for _ in stream:
            pass
    return stream.run
