"""Waiting calls: the calls of a conversation, each with its result.

Takes calls and outputs in the order of the messages, and returns the calls, marked as answered and, if the output is an
error, as failed. An output finds its call by id, else by name, else it belongs to the first call that waits. Linear in calls
and outputs.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

from trueup.read.objects import Row, word
from trueup.read.outcomes import is_failure
from trueup.verdict.reply import ToolCall

_ANSWERS = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id")


class WaitingCalls:
    """Calls that wait for their output."""

    __slots__ = ("_done", "_queues", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._done: set[int] = set()
        self._queues: dict[tuple[str, str], deque[int]] = {}

    def add(self, calls: Sequence[ToolCall]) -> list[int]:
        """Add the calls of one message; return the places of those that are not results of calls in an earlier message."""
        fresh = [call for call in calls if not (call.answered and self._settles(call))]
        for call in (
            fresh
        ):  # servers that count from 0 in every reply repeat ids: an output belongs to the last call with its id
            if call.id:
                self._queues.pop(("id", call.id), None)
        return [self._put(call) for call in fresh]

    def _settles(self, call: ToolCall) -> bool:
        """Whether a call with an output was made before: then the earlier one is answered."""
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
        """Mark the call that an output answers; return False if no call waits for it."""
        get = output.get
        call_id = word(next(filter(None, map(get, _ANSWERS)), ""))
        name = word(get("name") or get("tool_name") or get("toolName"))
        place = self._next(("id", call_id) if call_id else ("name", name) if name else ("any", ""))
        if place is None and call_id:
            place = self._next(("id", ""))  # a framework invented the id for a call that had none
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
