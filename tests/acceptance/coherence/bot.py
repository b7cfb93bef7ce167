"""The author's booking bot on trueup: their state machine, their model, and one contract in place of a validator.

Before that, they had a table of patterns per state, a validator, a function that asks again, and the code that joins them.
"""

import enum
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueup import Contract, Policy, Verdict
from trueup.ask.answer import Answer
from trueup.watch.log import log_events
from trueup.watch.observe import Observed, observed

CONTRACT: Contract[Any] = Contract.load(Path(__file__).with_name("bot.yaml"))
POLICY = Policy(regenerations=1)
LOG = logging.getLogger("salon.coherence")


class BookingState(enum.Enum):
    """The states of a booking, as the machine writes them."""

    IDLE = "idle"
    SERVICE_SELECTION = "service_selection"
    STYLIST_SELECTION = "stylist_selection"
    SLOT_SELECTION = "slot_selection"
    CUSTOMER_DATA = "customer_data"
    CONFIRMATION = "confirmation"
    BOOKED = "booked"


@dataclass
class BookingFSM:
    """The machine of one conversation. It does not know about trueup."""

    conversation: str
    _state: BookingState = BookingState.IDLE
    collected_data: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> BookingState:
        return self._state


@dataclass(frozen=True)
class CoherenceResult:
    """The result that the rest of the author's program knows."""

    is_coherent: bool
    violations: list[str]
    correction_hint: str | None
    confidence: float

    @classmethod
    def of(cls, verdict: Verdict[Any]) -> "CoherenceResult":
        return cls(
            verdict.ok, [found.message for found in verdict.errors], verdict.hint or None, round(verdict.certainty, 6)
        )


class ResponseValidator:
    """Judges replies by the state of a machine, and logs every check."""

    def __init__(self, log: logging.Logger = LOG) -> None:
        self.contract: Observed = observed(CONTRACT, log_events(log))

    async def validate(self, response: str, fsm: BookingFSM) -> CoherenceResult:
        """Judge a reply. The rest of the author's program awaits it, although nothing here waits."""
        return CoherenceResult.of(self.contract.check(response, {"state": fsm}))

    def respond(self, model: Any, messages: list[Any], fsm: BookingFSM) -> Answer[Any]:
        """The reply to send: coherent, requested again at most once, or the fallback of the state."""
        return self.contract.ask(model, messages, POLICY, context={"state": fsm})

    async def arespond(self, model: Any, messages: list[Any], fsm: BookingFSM) -> Answer[Any]:
        return await self.contract.aask(model, messages, POLICY, context={"state": fsm})


def fsm_in(state: str, **collected: Any) -> BookingFSM:
    """A machine in a state, with the data collected so far."""
    return BookingFSM("test-conv", BookingState[state], collected)
