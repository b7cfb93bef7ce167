"""A stage for asks: a clock that the test controls, and models that play a script."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from trueup.ask.clients.request import CallFailure, TransportFailure
from trueup.verdict.events import Event

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
}
GOOD = '{"name": "Ada", "age": 36}'
BAD = '{"name": "Ada", "age": "old"}'
PROSE = "I would rather talk about the weather."


class StageClock:
    """A clock that advances by each wait, and by one second for each call; with fixed random numbers."""

    def __init__(self, chance: float = 0.5) -> None:
        self.time = 0.0
        self.waits: list[float] = []
        self._chance = chance

    def now(self) -> float:
        return self.time

    def date(self) -> float:
        return 1_700_000_000.0 + self.time

    def chance(self) -> float:
        return self._chance

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.time += seconds
        return False

    async def await_(self, seconds: float) -> None:
        self.wait(seconds)


class Model:
    """Plays replies and failures in order, and repeats the last one; keeps its requests."""

    def __init__(self, script: Sequence[Any], clock: StageClock | None = None, takes: float = 1.0) -> None:
        self.script = list(script)
        self.clock = clock
        self.takes = takes
        self.seen: list[dict[str, Any]] = []

    def _play(self, messages: Any, given: dict[str, Any]) -> Any:
        self.seen.append({"messages": messages, **given})
        if self.clock is not None:
            self.clock.time += self.takes
        turn = self.script[min(len(self.seen), len(self.script)) - 1]
        if isinstance(turn, CallFailure):
            raise TransportFailure(turn)
        if isinstance(turn, BaseException):
            raise turn
        return turn

    def __call__(self, messages: Any, **given: Any) -> Any:
        return self._play(messages, given)

    def plain(self, messages: Any) -> Any:
        """The model as a callable that takes only messages."""
        return self._play(messages, {})

    async def aplay(self, messages: Any, **given: Any) -> Any:
        return self._play(messages, given)


class Log:
    """Collects events; `told` leaves out what differs from run to run."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        return [event.event for event in self.events]

    @property
    def told(self) -> list[dict[str, Any]]:
        return [{key: value for key, value in event.to_dict().items() if key != "ask"} for event in self.events]

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def cancelled_by(thing: Callable[[], object]) -> threading.Event:
    """An event that is set after `thing` ran."""
    event = threading.Event()

    def run() -> None:
        thing()
        event.set()

    threading.Thread(target=run, daemon=True).start()
    return event
