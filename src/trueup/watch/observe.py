"""Watching a contract: times its checks and gives an event of each to the subscribers.

A contract itself is pure and publishes nothing. An exception in a subscriber is logged and does not change a verdict.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from trueup.checks.machines import state_name
from trueup.contract.contract import Contract
from trueup.verdict.events import Event, Regenerating, Subscriber, checked
from trueup.verdict.verdict import Verdict
from trueup.watch.lines import visible

if TYPE_CHECKING:
    from trueup.ask.answer import Answer
    from trueup.ask.policy import Policy
    from trueup.ask.stream import AskStream, AsyncAskStream
    from trueup.contract.stream import Stream


class Observed:
    """A contract whose checks are seen; made by `observed`. Everything else is the contract's own."""

    __slots__ = ("_regenerations", "_subscribers", "contract")

    def __init__(self, contract: Contract, subscribers: Iterable[Subscriber]) -> None:
        self.contract = contract
        self._subscribers = tuple(subscribers)
        self._regenerations = 0

    def check(
        self, reply: Any, context: Mapping[str, Any] | None = None, *, regenerations: int | None = None
    ) -> Verdict:
        """Judge one reply as the contract does, and tell the subscribers."""
        return self._seen(self.contract.check, reply, context, regenerations)

    async def acheck(
        self, reply: Any, context: Mapping[str, Any] | None = None, *, regenerations: int | None = None
    ) -> Verdict:
        """The same with asynchronous custom checks awaited."""
        given = dict(context) if context is not None else None
        began = time.perf_counter()
        verdict = await self.contract.acheck(reply, given)
        return self._tell(verdict, given, time.perf_counter() - began, regenerations)

    def check_value(self, value: Any, context: Mapping[str, Any] | None = None) -> Verdict:
        """Judge a value as the contract does, and tell the subscribers."""
        return self._seen(self.contract.check_value, value, context)

    def _seen(
        self,
        check: Callable[[Any, dict[str, Any] | None], Verdict],
        reply: Any,
        context: Mapping[str, Any] | None,
        regenerations: int | None = None,
    ) -> Verdict:
        given = dict(context) if context is not None else None
        began = time.perf_counter()
        verdict = check(reply, given)
        return self._tell(verdict, given, time.perf_counter() - began, regenerations)

    def _tell(
        self, verdict: Verdict, given: Mapping[str, Any] | None, seconds: float, regenerations: int | None
    ) -> Verdict:
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

    def ask(self, call: Any, messages: Any, policy: "Policy | None" = None, **options: Any) -> "Answer":
        """Ask as the contract does; the subscribers are told of every step, and of every check on the way."""
        watched, options = self._for_one(options)
        return Contract.ask(watched, call, messages, policy, **options)

    async def aask(self, call: Any, messages: Any, policy: "Policy | None" = None, **options: Any) -> "Answer":
        """The same, asynchronously."""
        watched, options = self._for_one(options)
        return await Contract.aask(watched, call, messages, policy, **options)

    def stream(self, context: dict[str, Any] | None = None) -> "Stream":
        """A stream as the contract's own; the subscribers are told of its verdict."""
        return Contract.stream(cast("Contract", self), context)

    def ask_stream(self, call: Any, messages: Any, policy: "Policy | None" = None, **options: Any) -> "AskStream":
        """Ask and give parts as the contract does; the subscribers are told of every step and every whole reply."""
        watched, options = self._for_one(options)
        return Contract.ask_stream(watched, call, messages, policy, **options)

    def aask_stream(self, call: Any, messages: Any, policy: "Policy | None" = None, **options: Any) -> "AsyncAskStream":
        """The same, asynchronously."""
        watched, options = self._for_one(options)
        return Contract.aask_stream(watched, call, messages, policy, **options)

    def _for_one(self, options: dict[str, Any]) -> tuple[Contract, dict[str, Any]]:
        """What stands for the contract while one question is asked, counting what was regenerated for it."""
        one = Observed(self.contract, self._subscribers)
        also: Subscriber | None = options.get("on_event")

        def tell(event: Event) -> None:
            one._regenerations += isinstance(event, Regenerating)
            publish(event, one._subscribers)
            if also is not None:
                also(event)

        return cast("Contract", one), {**options, "on_event": tell}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.contract, name)


def _state(contract: Contract, context: Mapping[str, Any]) -> str:
    """The state that a check was made in; where the contract does not know it, the one that the context names."""
    states = None if contract.meaning is None else contract.meaning.states
    return (states.standing(context).state if states is not None else "") or state_name(context.get("state")) or ""


def observed(contract: Contract, *subscribers: Subscriber) -> Observed:
    """A contract whose checks are timed and told to subscribers.

    >>> events = []
    >>> watched = observed(Contract(True, name="demo"), events.append)
    >>> watched.check('{"a": 1}').ok, events[0].contract, events[0].result
    (True, 'demo', 'ok')
    """
    return Observed(contract, subscribers)


def publish(event: Event, subscribers: Iterable[Subscriber]) -> None:
    """Give an event to each subscriber; one that fails does not keep it from the others."""
    for subscriber in subscribers:
        try:
            subscriber(event)
        except Exception as error:  # noqa: BLE001 - a subscriber's fault must not become the reply's
            said = f"{type(error).__name__}: {str(error)[:200]}"
            logging.getLogger("trueup.watch").error("a subscriber failed: %s", visible(said))  # noqa: TRY400 - one line
