"""Waiting: the calls of a conversation, each with what came of it.

Calls and outputs enter in the order of the messages; the calls leave, marked as answered and, where the output is an error, as
failed. An output finds its call by id, else by name, else it is the first one that waits. Linear in calls and outputs.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

from trueup.read.objects import Row, word
from trueup.read.outcomes import is_failure
from trueup.verdict.reply import ToolCall

_ANSWERS = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id")


class Waiting:
    """Calls that wait for their output."""

    __slots__ = ("_done", "_queues", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._done: set[int] = set()
        self._queues: dict[tuple[str, str], deque[int]] = {}

    def add(self, calls: Sequence[ToolCall]) -> list[int]:
        """Take the calls of one message; the places of those that are not the results of calls which an earlier message made."""
        fresh = [call for call in calls if not (call.answered and self._settles(call))]
        for call in (
            fresh
        ):  # servers that count from 0 in every reply give the same id again: an output belongs to the last one
            if call.id:
                self._queues.pop(("id", call.id), None)
        return [self._put(call) for call in fresh]

    def _settles(self, call: ToolCall) -> bool:
        """Whether a call that carries its output was made before: then that one is answered."""
        place = self._next(("id", call.id) if call.id else ("name", call.name))
        if place is not None:
            self._answered(place, failed=call.failed)
        return place is not None

    def _put(self, call: ToolCall) -> int:
        place = len(self.calls)
        self.calls.append(msgspec.structs.replace(call, index=place))
        if not call.answered:
            for queue in (("id", call.id), ("name", call.name), ("any", "")):
                self._queues.setdefault(queue, deque()).append(place)
        return place

    def answer(self, output: Row) -> bool:
        """Mark the call that an output answers; False where none waits for it."""
        get = output.get
        call_id = word(next(filter(None, map(get, _ANSWERS)), ""))
        name = word(get("name") or get("tool_name") or get("toolName"))
        place = self._next(("id", call_id) if call_id else ("name", name) if name else ("any", ""))
        if place is None and call_id:
            place = self._next(("id", ""))  # a framework made the id up for a call that had none
        if place is not None:
            self._answered(place, failed=is_failure(output))
        return place is not None

    def _answered(self, place: int, *, failed: bool) -> None:
        self._done.add(place)
        self.calls[place] = msgspec.structs.replace(self.calls[place], answered=True, failed=failed)

    def _next(self, queue: tuple[str, str]) -> int | None:
        places = self._queues.get(queue, ())
        while places:
            place = places.popleft()
            if place not in self._done:
                return place
        return None
