"""Watching a contract: times its checks and sends an event for each one to the subscribers.

A contract itself is pure and publishes nothing. An exception in a subscriber is logged and does not change a verdict.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, cast

from trueup.checks.machines import state_name
from trueup.contract.contract import Contract, context_first
from trueup.contract.option_help import named
from trueup.verdict.events import Event, Regenerating, Subscriber, checked
from trueup.verdict.verdict import T, Verdict
from trueup.watch.lines import visible

if TYPE_CHECKING:
    import threading
    from collections.abc import Awaitable
    from typing import Unpack

    from trueup.ask.answer import Answer
    from trueup.ask.cache import Cache
    from trueup.ask.drivers.clock import Clock
    from trueup.ask.gate import Hold
    from trueup.ask.memory import Memory
    from trueup.ask.policy import Policy
    from trueup.ask.requests.outgoing import Hook
    from trueup.ask.run import Run
    from trueup.ask.running import AsyncRunStream, RunStream
    from trueup.ask.stream import AskStream, AsyncAskStream
    from trueup.contract.items import Items
    from trueup.contract.option_types import (
        AsyncRunOptions,
        AsyncRunStreamOptions,
        Messages,
        Model,
        RunOptions,
        RunStreamOptions,
        Tools,
    )
    from trueup.contract.stream import Stream


class Observed(Generic[T]):
    """A contract that reports its checks; made by `observed`. Everything else is the contract's own.

    `contract` is the contract itself; `subscribers` are called with every event.
    """

    __slots__ = ("_regenerations", "_subscribers", "contract")

    def __init__(self, contract: Contract[T], subscribers: Iterable[Subscriber]) -> None:
        self.contract = contract
        self._subscribers = tuple(subscribers)
        self._regenerations = 0

    def check(
        self, reply: Any, context: Mapping[str, Any] | None = None, *, regenerations: int | None = None
    ) -> Verdict[T]:
        """Judge one reply as the contract does, and notify the subscribers.

        `reply` and `context` mean the same as in `Contract.check`. `regenerations` is the number of replies that were
        requested again before this one; None: the number that this contract's own `ask` requested.
        """
        return self._seen(self.contract.check, reply, context, regenerations)

    async def acheck(
        self, reply: Any, context: Mapping[str, Any] | None = None, *, regenerations: int | None = None
    ) -> Verdict[T]:
        """The same with asynchronous custom checks awaited; it has the options of `Observed.check`."""
        given = dict(context) if context is not None else None
        began = time.perf_counter()
        verdict = await self.contract.acheck(reply, given)
        return self._tell(verdict, given, time.perf_counter() - began, regenerations)

    def check_value(self, value: Any, context: Mapping[str, Any] | None = None) -> Verdict[T]:
        """Judge a value as the contract does, with the options of `Contract.check_value`; notify the subscribers."""
        return self._seen(self.contract.check_value, value, context)

    def _seen(
        self,
        check: Callable[[Any, dict[str, Any] | None], Verdict[T]],
        reply: Any,
        context: Mapping[str, Any] | None,
        regenerations: int | None = None,
    ) -> Verdict[T]:
        given = dict(context) if context is not None else None
        began = time.perf_counter()
        verdict = check(reply, given)
        return self._tell(verdict, given, time.perf_counter() - began, regenerations)

    def _tell(
        self, verdict: Verdict[T], given: Mapping[str, Any] | None, seconds: float, regenerations: int | None
    ) -> Verdict[T]:
        event = checked(
            verdict,
            state=_state(self.contract, given or {}),
            seconds=round(seconds, 7),
            regenerations=self._regenerations if regenerations is None else regenerations,
            contract=self.contract.name,
            at=time.time(),
        )
        publish(event, self._subscribers)
        return verdict

    @named("ask")
    def ask(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        *,
        on_event: Subscriber | None = None,
        on_request: "Hook | None" = None,
        context: Mapping[str, Any] | None = None,
        cancel: "threading.Event | None" = None,
        memory: "Memory | None" = None,
        cache: "Cache | None" = None,
        clock: "Clock | None" = None,
        wait: Callable[[float], bool] | None = None,
    ) -> "Answer[T]":
        """Ask as the contract does; the subscribers receive every step and every check on the way.

        It has the options of `Contract.ask`.
        """
        watched, tell = self._for_one(on_event)
        return Contract.ask(
            watched, call, messages, policy,
            on_event=tell, on_request=on_request, context=context, cancel=cancel, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip

    @named("aask")
    async def aask(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        *,
        on_event: Subscriber | None = None,
        on_request: "Hook | None" = None,
        context: Mapping[str, Any] | None = None,
        memory: "Memory | None" = None,
        cache: "Cache | None" = None,
        clock: "Clock | None" = None,
        wait: "Callable[[float], Awaitable[object]] | None" = None,
    ) -> "Answer[T]":
        """The same, asynchronously; it has the options of `Contract.aask`."""
        watched, tell = self._for_one(on_event)
        return await Contract.aask(
            watched, call, messages, policy,
            on_event=tell, on_request=on_request, context=context, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip

    def stream(self, source: Any = None, context: dict[str, Any] | None = None) -> "Stream[T]":
        """A stream of the contract, with the options of `Contract.stream`; the subscribers receive its verdict."""
        if isinstance(source, dict):
            source, context = None, context_first(source)
        return Contract.stream(cast("Contract[T]", self), source, context)

    def items(self, source: Any, path: str | None = None, context: dict[str, Any] | None = None) -> "Items[Any]":
        """The items of a list, as from `Contract.items`; the subscribers receive the verdict on the whole reply.

        It has the options of `Contract.items`.
        """
        return Contract.items(cast("Contract", self), source, path, context)

    @named("ask_stream")
    def ask_stream(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        *,
        hold: "Hold" = "sentence",
        on_event: Subscriber | None = None,
        on_request: "Hook | None" = None,
        context: Mapping[str, Any] | None = None,
        cancel: "threading.Event | None" = None,
        memory: "Memory | None" = None,
        cache: "Cache | None" = None,
        clock: "Clock | None" = None,
        wait: Callable[[float], bool] | None = None,
    ) -> "AskStream[T]":
        """Ask and stream the answer as the contract does; the subscribers receive every step and every whole reply.

        It has the options of `Contract.ask_stream`.
        """
        watched, tell = self._for_one(on_event)
        return Contract.ask_stream(
            watched, call, messages, policy, hold=hold,
            on_event=tell, on_request=on_request, context=context, cancel=cancel, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip

    @named("aask_stream")
    def aask_stream(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        *,
        hold: "Hold" = "sentence",
        on_event: Subscriber | None = None,
        on_request: "Hook | None" = None,
        context: Mapping[str, Any] | None = None,
        memory: "Memory | None" = None,
        cache: "Cache | None" = None,
        clock: "Clock | None" = None,
        wait: "Callable[[float], Awaitable[object]] | None" = None,
    ) -> "AsyncAskStream[T]":
        """The same, asynchronously; it has the options of `Contract.aask_stream`."""
        watched, tell = self._for_one(on_event)
        return Contract.aask_stream(
            watched, call, messages, policy, hold=hold,
            on_event=tell, on_request=on_request, context=context, memory=memory, cache=cache, clock=clock, wait=wait,
        )  # fmt: skip

    def run(
        self, call: "Model", messages: "Messages", policy: "Policy | None" = None, **options: "Unpack[RunOptions]"
    ) -> "Run[T]":
        """Let a model use tools as the contract does; the subscribers receive every step, every check and every call.

        `call`, `messages`, `policy` and the other options mean the same as in `Contract.run`.
        """
        watched, tell = self._for_one(options.get("on_event"))
        options["on_event"] = tell
        return Contract.run(watched, call, messages, policy, **options)

    async def arun(
        self, call: "Model", messages: "Messages", policy: "Policy | None" = None, **options: "Unpack[AsyncRunOptions]"
    ) -> "Run[T]":
        """The same, asynchronously; all options mean the same as in `Contract.arun`."""
        watched, tell = self._for_one(options.get("on_event"))
        options["on_event"] = tell
        return await Contract.arun(watched, call, messages, policy, **options)

    def run_stream(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        **options: "Unpack[RunStreamOptions]",
    ) -> "RunStream[T]":
        """Let a model use tools and stream the parts as the contract does; the subscribers receive every step and every call.

        `call`, `messages`, `policy` and the other options mean the same as in `Contract.run_stream`.
        """
        watched, tell = self._for_one(options.get("on_event"))
        options["on_event"] = tell
        return Contract.run_stream(watched, call, messages, policy, **options)

    def arun_stream(
        self,
        call: "Model",
        messages: "Messages",
        policy: "Policy | None" = None,
        **options: "Unpack[AsyncRunStreamOptions]",
    ) -> "AsyncRunStream[T]":
        """The same, asynchronously; all options mean the same as in `Contract.arun_stream`."""
        watched, tell = self._for_one(options.get("on_event"))
        options["on_event"] = tell
        return Contract.arun_stream(watched, call, messages, policy, **options)

    def with_tools(self, tools: "Tools") -> "Observed[T]":
        """This contract with additional `tools`, as in `Contract.with_tools`, with the same subscribers."""
        return Observed(self.contract.with_tools(tools), self._subscribers)

    def _for_one(self, also: Subscriber | None) -> "tuple[Contract[T], Subscriber]":
        """Replaces the contract during one `ask`: counts regenerated replies and notifies the subscribers."""
        one = Observed(self.contract, self._subscribers)

        def tell(event: Event) -> None:
            one._regenerations += isinstance(event, Regenerating)
            publish(event, one._subscribers)
            if also is not None:
                also(event)

        return cast("Contract[T]", one), tell

    def __getattr__(self, name: str) -> Any:
        return getattr(self.contract, name)


def _state(contract: Contract, context: Mapping[str, Any]) -> str:
    """The state that a check was made in; if the contract does not know it, the state that the context names."""
    states = None if contract.meaning is None else contract.meaning.states
    return (states.standing(context).state if states is not None else "") or state_name(context.get("state")) or ""


@named("observed")
def observed(contract: Contract[T], *subscribers: Subscriber) -> Observed[T]:
    """A `contract` whose checks are timed and reported to `subscribers`: functions that are called with every event.

    >>> events = []
    >>> watched = observed(Contract(True, name="demo"), events.append)
    >>> watched.check('{"a": 1}').ok, events[0].contract, events[0].result
    (True, 'demo', 'ok')
    """
    return Observed(contract, subscribers)


def publish(event: Event, subscribers: Iterable[Subscriber]) -> None:
    """Give an event to each subscriber; if one fails, the others still get it."""
    for subscriber in subscribers:
        try:
            subscriber(event)
        except Exception as error:  # noqa: BLE001 - a subscriber's fault must not become the reply's
            said = f"{type(error).__name__}: {str(error)[:200]}"
            logging.getLogger("trueup.watch").error("a subscriber failed: %s", visible(said))  # noqa: TRY400 - one line
