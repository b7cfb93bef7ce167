"""Where things stand in the original text: the path at an offset, and the span of a path.

Slow and only run when somebody looks at a fix: the text is read once more, every value's place written down.
"""

from typing import Any

from trueup.recover.grammar import fold
from trueup.recover.reader import Frame, Node, Reader, parts_of
from trueup.verdict.paths import Parts

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


def _folded(parts: Parts) -> Parts:
    return tuple(fold(part) if isinstance(part, str) else part for part in parts)


class Places:
    """The places of all values in one stretch of text, read on first use."""

    __slots__ = ("_spans", "_trace", "_what")

    def __init__(self, text: str, start: int, end: int, known: frozenset[str]) -> None:
        self._what = (text, start, end, known)
        self._trace: _Tracer | None = None
        self._spans: dict[Parts, tuple[int, int]] | None = None

    def trace(self) -> _Tracer:
        if self._trace is None:
            self._trace = _Tracer(*self._what)
            self._trace.read()
        return self._trace

    def span(self, parts: Parts) -> tuple[int, int] | None:
        """Where the value at a path stands, its key included; the nearest value around it when it is not there."""
        if self._spans is None:
            self._spans = {}
            for start, stop, node in [*self.trace().containers, *self._trace.values]:
                self._spans[_folded(parts_of(node))] = (start, stop)
        while parts:
            found = self._spans.get(_folded(parts))
            if found is not None:
                return found
            parts = parts[:-1]
        return self._what[1], self._what[2]

    def of(self, code: str, at: int) -> Node:
        """The path of what a record with this code at this offset is about."""
        trace = self.trace()
        pool = trace.containers if code in _OF_CONTAINER else [*trace.values, *trace.containers]
        around = [(stop - start, node) for start, stop, node in pool if start <= at < stop or start < at == stop]
        return min(around, key=lambda found: found[0])[1] if around else None
