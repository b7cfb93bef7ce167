"""Where things stand in the original text: the path at an offset, and the span of a path.

Slow and only run when somebody looks at a fix: the text is read once more, every value's place written down.
"""

from typing import Any

from trueup.recover.reader import Frame, Node, Reader

_OF_CONTAINER = frozenset({"S001", "S002", "S003", "S005", "S007", "S017", "S026", "S027", "S038"})


class _Tracer(Reader):
    """A reader that takes only the slow way and keeps the places of all it reads."""

    __slots__ = ("containers", "values")

    def __init__(self, text: str, start: int, end: int, known: frozenset[str]) -> None:
        super().__init__(text, start, end, known, 100_000)
        self.values: list[tuple[int, int, Node]] = []
        self.containers: list[tuple[int, int, Node]] = []

    def members(self, frame: Frame) -> None:
        self.member_step(frame)

    def items(self, frame: Frame) -> None:
        self.item_step(frame)

    def key_and_value(self, frame: Frame) -> None:
        start = self.pos
        super().key_and_value(frame)
        if frame.value and isinstance(frame.value, dict):
            self.values.append((start, self.pos, (frame.node, next(reversed(frame.value)))))

    def value(self, into: Any, slot: Any, node: Node) -> None:
        start = self.pos
        super().value(into, slot, node)
        self.values.append((start, self.pos, node))

    def pop(self, frame: Frame, at: int) -> None:
        super().pop(frame, at)
        self.containers.append((frame.start, self.pos, frame.node))


class Places:
    """The places of all values in one stretch of text, read on first use."""

    __slots__ = ("_trace", "_what")

    def __init__(self, text: str, start: int, end: int, known: frozenset[str]) -> None:
        self._what = (text, start, end, known)
        self._trace: _Tracer | None = None

    def trace(self) -> _Tracer:
        if self._trace is None:
            self._trace = _Tracer(*self._what)
            self._trace.read()
        return self._trace

    def of(self, code: str, at: int) -> Node:
        """The path of what a record with this code at this offset is about."""
        trace = self.trace()
        pool = trace.containers if code in _OF_CONTAINER else [*trace.values, *trace.containers]
        around = [(stop - start, node) for start, stop, node in pool if start <= at < stop or start < at == stop]
        return min(around, key=lambda found: found[0])[1] if around else None
