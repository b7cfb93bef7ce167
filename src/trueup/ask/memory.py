"""What was learned about models: the mode in which one works, so that a refused mode is not tried again in every ask.

A client's key and a model enter; a mode leaves. Bounded: the oldest is forgotten. Kept for the life of the process.
"""

import threading
from collections import OrderedDict

from trueup.ask.policy import Mode


class Memory:
    """The modes that worked, by client and model.

    >>> memory = Memory()
    >>> memory.learn("openai", "m", "text")
    >>> memory.rungs("openai", "m", ("json_schema", "json_object", "text")), memory.rungs("openai", "x", ("text",))
    (('text',), ('text',))
    """

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        self._modes: OrderedDict[tuple[str, str], Mode] = OrderedDict()
        self._lock = threading.Lock()

    def learn(self, key: str, model: str, mode: Mode) -> None:
        with self._lock:
            self._modes[key, model] = mode
            self._modes.move_to_end((key, model))
            if len(self._modes) > self._most:
                self._modes.popitem(last=False)

    def rungs(self, key: str, model: str, modes: tuple[Mode, ...]) -> tuple[Mode, ...]:
        """The modes that are left to try, best first: from the one that is known to work downwards."""
        known = self._modes.get((key, model))
        return modes[modes.index(known) :] if known in modes else modes

    def known(self, key: str, model: str) -> Mode | None:
        """The mode that is known to work, if one is."""
        return self._modes.get((key, model))

    def forget(self) -> None:
        with self._lock:
            self._modes.clear()


MODES = Memory()
