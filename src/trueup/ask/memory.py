"""What this process knows about addresses and models: what each has rejected, and how it has been doing lately.

A client's key, which holds the address, and a model enter; the modes and features that are not to be tried again leave. Only what a
provider rejected is kept: a model that once answered in prose is asked for JSON again. Bounded: the oldest is forgotten.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING

from trueup.ask.retries.breaker import Breakers

if TYPE_CHECKING:
    from typing import Self

    from trueup.ask.budgets.allowance import Measure

_NOTHING: frozenset[str] = frozenset()


class Memory:
    """The modes and features that were rejected, by client and model; `breakers` holds the circuit breakers.

    >>> memory = Memory()
    >>> memory.reject("openai:https://a", "m", {"json_schema", "temperature"})
    >>> sorted(memory.known("openai:https://a", "m")), memory.known("openai:https://b", "m")
    (['json_schema', 'temperature'], frozenset())
    """

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        self._rejected: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()
        self._lock = threading.Lock()
        self.breakers = Breakers(most)
        self.measured: dict[str, Measure] | None = None

    def for_run(self) -> "Self":
        """The same memory, shared, which also keeps how many tokens the requests of one run have, from turn to turn."""
        memory = copy(self)
        memory.measured = {}
        return memory

    def without_breakers(self) -> "Self":
        """The same memory of rejections, in which nothing has failed lately."""
        memory = copy(self)
        memory.breakers = Breakers()
        return memory

    def reject(self, key: str, model: str, what: Iterable[str]) -> None:
        """Remember what the model at this address rejected: modes, or features such as `temperature`."""
        with self._lock:
            self._rejected[key, model] = self._rejected.get((key, model), _NOTHING) | frozenset(what)
            self._rejected.move_to_end((key, model))
            if len(self._rejected) > self._most:
                self._rejected.popitem(last=False)

    def known(self, key: str, model: str) -> frozenset[str]:
        """What the model at this address is known to reject."""
        return self._rejected.get((key, model), _NOTHING)

    def forget(self) -> None:
        """Forget everything."""
        with self._lock:
            self._rejected.clear()
        self.breakers.forget()


MODES = Memory()
