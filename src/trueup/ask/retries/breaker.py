"""Circuit breakers: if an address or model has failed too many times in a row, others are asked for a while.

Takes a place, which is an address and a model, with the time and the result of a call; returns how long the place should rest. An open
breaker lets one call through after its cool-down, and closes when that call is answered. The size is bounded: the oldest is forgotten.
"""

import threading
from collections import OrderedDict
from typing import Literal

import msgspec

State = Literal["open", "half-open", "closed"]
Place = tuple[str, str]
_LONGEST = 3600.0  # the most seconds that a provider's `Retry-After` may keep a breaker open


class _Breaker(msgspec.Struct):
    failures: int = 0  # in a row
    until: float = 0.0  # when a call may be made again; 0 while it is closed
    trying: bool = False  # one test call is running


class Breakers:
    """The breakers of all places; a place without failures has none.

    >>> breakers = Breakers()
    >>> [breakers.failed(("openai", "m"), now, limit=2, cooldown=30.0) for now in (1.0, 2.0)]
    [None, 'open']
    >>> breakers.rest(("openai", "m"), 12.0), breakers.rest(("openai", "other"), 12.0)
    (20.0, 0.0)
    >>> breakers.begin(("openai", "m"), 32.0, cooldown=30.0), breakers.answered(("openai", "m"))
    ('half-open', 'closed')
    """

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        self._kept: OrderedDict[Place, _Breaker] = OrderedDict()
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        """Whether any place has failed recently."""
        return bool(self._kept)

    def rest(self, place: Place, now: float) -> float:
        """Seconds until a place may be asked; 0: now."""
        with self._lock:
            known = self._kept.get(place)
            return 0.0 if known is None else max(0.0, known.until - now)

    def begin(self, place: Place, now: float, cooldown: float) -> State | None:
        """Note that a call is sent; return the new state if it changed. While one call tests an open place, others wait for a cool-down."""
        with self._lock:
            known = self._kept.get(place)
            if known is None or not known.until or (known.trying and now < known.until):
                return None
            known.trying, known.until = True, now + cooldown
            return "half-open"

    def answered(self, place: Place) -> State | None:
        """Note that a call was answered, even if the answer is not valid; return the new state if it changed."""
        with self._lock:
            known = self._kept.pop(place, None)
            return "closed" if known is not None and known.until else None

    def failed(
        self, place: Place, now: float, *, limit: int, cooldown: float, after: float | None = None
    ) -> State | None:
        """Note that a call was not answered; return the new state if it changed. The provider may ask for a longer rest, `after`."""
        with self._lock:
            known = self._kept.setdefault(place, _Breaker())
            self._kept.move_to_end(place)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
            known.failures += 1
            if known.trying or (not known.until and known.failures >= limit):
                known.trying = False
                known.until = now + max(cooldown, min(after or 0.0, _LONGEST))
                return "open"
            return None

    def opened(self) -> set[Place]:
        """The places with an open breaker that have not answered a call since it opened."""
        with self._lock:
            return {place for place, known in self._kept.items() if known.until > 0}

    def failures(self, place: Place) -> int:
        """How many times in a row a place has failed."""
        known = self._kept.get(place)
        return 0 if known is None else known.failures

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()
