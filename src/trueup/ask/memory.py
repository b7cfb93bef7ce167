"""This process's memory of addresses and models: what each has rejected, and whether its recent calls failed.

Takes a client's key, which contains the address, and a model; returns the modes and features that should not be tried again. Only what a
provider rejected is kept: a model that once answered in prose is asked for JSON again. The size is bounded: the oldest entry is forgotten.
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
    """The modes and features that were rejected, by client and model; `breakers` contains the circuit breakers.

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
        """The same shared memory, which also remembers the token counts of one run's requests from turn to turn."""
        memory = copy(self)
        memory.measured = {}
        return memory

    def without_breakers(self) -> "Self":
        """The same memory of rejections, without any failures."""
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
        """The modes and features that the model at this address is known to reject."""
        return self._rejected.get((key, model), _NOTHING)

    def forget(self) -> None:
        """Forget everything."""
        with self._lock:
            self._rejected.clear()
        self.breakers.forget()


MODES = Memory()
