"""Circuit breakers: which addresses and models have failed so often in a row that another should be asked for a while.

A place, which is an address and a model, enters with the time of a call and how it went; how long the place should rest leaves. An
open breaker lets one call through after its cool-down, and closes when that call is answered. Bounded: the oldest is forgotten.
"""

import threading
from collections import OrderedDict
from typing import Literal

import msgspec

State = Literal["open", "half-open", "closed"]
Place = tuple[str, str]
_LONGEST = 3600.0  # seconds that a provider's own wish may keep a breaker open


class _Breaker(msgspec.Struct):
    failures: int = 0  # in a row
    until: float = 0.0  # when a call may be made again; 0 while it is closed
    trying: bool = False  # one call is under way to find out


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
        """Whether any place has failed lately."""
        return bool(self._kept)

    def rest(self, place: Place, now: float) -> float:
        """Seconds until a place may be asked; 0: at once."""
        with self._lock:
            known = self._kept.get(place)
            return 0.0 if known is None else max(0.0, known.until - now)

    def begin(self, place: Place, now: float, cooldown: float) -> State | None:
        """A call goes out; the new state where that changes it. While one call tries an open place, others rest for a cool-down."""
        with self._lock:
            known = self._kept.get(place)
            if known is None or not known.until or (known.trying and now < known.until):
                return None
            known.trying, known.until = True, now + cooldown
            return "half-open"

    def answered(self, place: Place) -> State | None:
        """A call was answered, whatever the answer is worth; the new state where that changes it."""
        with self._lock:
            known = self._kept.pop(place, None)
            return "closed" if known is not None and known.until else None

    def failed(
        self, place: Place, now: float, *, limit: int, cooldown: float, after: float | None = None
    ) -> State | None:
        """A call was not answered; the new state where that changes it. The provider may ask for a longer rest, `after`."""
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
        """The places whose breaker has opened and where no call has been answered since."""
        with self._lock:
            return {place for place, known in self._kept.items() if known.until > 0}

    def failures(self, place: Place) -> int:
        """How often in a row a place has failed."""
        known = self._kept.get(place)
        return 0 if known is None else known.failures

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()
