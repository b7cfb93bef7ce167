"""The drivers of a run: ask, make the calls, and ask again, until a reply makes no calls. Synchronous and asynchronous, streamed or not.

They carry out what `Turns` decides. Every ask of a run may use what is left of the run's budgets.
"""

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Self

from trueup.ask.answer import Answer
from trueup.ask.drivers.aio import aask
from trueup.ask.drivers.clock import SYSTEM, Clock
from trueup.ask.drivers.sync import ask
from trueup.ask.gate import AnswerPart, Hold
from trueup.ask.memory import MODES, Memory
from trueup.ask.policy import DEFAULT, Policy
from trueup.ask.run import Run, RunPart
from trueup.ask.rungs import find_ladder, provider_of
from trueup.ask.runs.calls import Hook, amake, make
from trueup.ask.runs.turns import Turns, TurnSettings
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
    """The base of all drivers: the ladder, the turns, and the options of every ask."""

    def __init__(
        self,
        contract: "Contract[T]",
        call: "Model",
        messages: "Messages",
        *,
        policy: Policy | None,
        settings: TurnSettings,
        on_call: Hook | None,
        asked: dict[str, Any],
        sync: bool,
    ) -> None:
        if on_call is not None and not callable(on_call):
            raise TypeError(f"on_call must be a function that takes a call; got {type(on_call).__name__}")
        context = asked.pop("context")
        self._ladder = find_ladder(call, policy, sync=sync)
        self._rungs: Any = list(self._ladder.rungs)
        clock = asked.get("clock") or SYSTEM
        provider = provider_of(self._ladder.rungs)
        try:
            self._turns = Turns(
                contract,
                messages,
                policy=policy or DEFAULT,
                provider=provider,
                settings=settings,
                context=context,
                clock=clock,
            )
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
        """The result, after all parts were read."""
        if self._run is None:
            raise RuntimeError("the run has not been read to its end; iterate over it first")
        return self._run

    def _next(self, policy: Policy) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the next ask."""
        turns = self._turns
        context = turns.context()
        return (turns.contract, self._rungs, list(turns.messages), policy), {**self._asked, "context": context}

    def _shown(self, part: AnswerPart) -> RunPart:
        return RunPart(part.kind, self._turns.turn, part.text, part.value)


class RunStream(_Running[T]):
    """The parts of a run as they happen. Iterate over it, and read `run` at the end.

    `Contract.run_stream` makes it: `contract` is that contract, and the options are the same as for `Contract.run_stream`.
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
        settings = TurnSettings(tools, deps, turns, errors, max_result, on_event=on_event)
        super().__init__(
            contract, call, messages, policy=policy, settings=settings, on_call=on_call, asked=asked, sync=True
        )
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
        """End the run: close the stream if there is one, and make no further calls."""
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
    """The same, asynchronously; `Contract.arun_stream` makes it. The options are the same as for `RunStream`, except that `parallel` is
    the number of calls that run at the same time, and `wait` is awaited.
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
        settings = TurnSettings(tools, deps, turns, errors, max_result, parallel, on_event)
        super().__init__(
            contract, call, messages, policy=policy, settings=settings, on_call=on_call, asked=asked, sync=False
        )
        self._hold = hold
        self._parts = self._drive()

    def __aiter__(self) -> AsyncIterator[RunPart]:
        return self._parts

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the run: close the stream if there is one, and cancel calls that are running."""
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
    """Let a model use tools until a reply makes no more calls. `Contract.run` calls it."""
    stream = RunStream(contract, call, messages, policy, hold=None, **options)
    for _ in stream:
        pass
    return stream.run


async def arun(
    contract: "Contract[T]", call: "Model", messages: "Messages", policy: Policy | None = None, **options: Any
) -> Run[T]:
    """The same, asynchronously. `Contract.arun` calls it."""
    async with AsyncRunStream(contract, call, messages, policy, hold=None, **options) as stream:
        async for _ in stream:
            pass
    return stream.run
