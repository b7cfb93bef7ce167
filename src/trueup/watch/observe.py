"""Watching a contract: its checks are timed, and an event of each goes to the subscribers.

A contract itself is pure and tells nobody anything. A subscriber that fails is reported in the log and does not
change a verdict.
"""

import logging
import time
from collections.abc import Iterable
from typing import Any

from trueup.contract.contract import Contract
from trueup.verdict.events import Event, Subscriber, checked
from trueup.verdict.verdict import Verdict
from trueup.watch.lines import visible


class Observed:
    """A contract whose checks are seen; made by `observed`."""

    __slots__ = ("_subscribers", "contract")

    def __init__(self, contract: Contract, subscribers: Iterable[Subscriber]) -> None:
        self.contract = contract
        self._subscribers = tuple(subscribers)

    def check(self, reply: Any, context: dict[str, Any] | None = None, *, regenerations: int = 0) -> Verdict:
        """Judge one reply as the contract does, and tell the subscribers."""
        began = time.perf_counter()
        verdict = self.contract.check(reply, context)
        seconds = time.perf_counter() - began
        event = checked(
            verdict,
            state=str((context or {}).get("state") or ""),
            seconds=round(seconds, 7),
            regenerations=regenerations,
            contract=self.contract.name,
            at=time.time(),
        )
        publish(event, self._subscribers)
        return verdict


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
