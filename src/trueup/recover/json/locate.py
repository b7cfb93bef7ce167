"""Where things stand in the original text: the path at an offset, and the span of a path.

Slow and only run when somebody looks at a fix: the text is read once more, every value's place written down.
"""

from bisect import bisect_right
from contextlib import suppress
from typing import Any

from trueup.recover.json.lexer import fold
from trueup.recover.json.parser import Frame, Node, Reader, TooDeep, parts_of
from trueup.verdict.paths import Parts

OF_CONTAINER = frozenset({"S001", "S002", "S003", "S005", "S007", "S017", "S026", "S027", "S038"})

Place = tuple[int, int, Node]


class _Tracer(Reader):
    """A reader that takes only the slow way and keeps the places of all it reads."""

    __slots__ = ("containers", "keys", "values")

    def __init__(self, text: str, start: int, end: int, known: frozenset[str], max_depth: int) -> None:
        super().__init__(text, start, end, known, max_depth)
        self.values: list[Place] = []
        self.keys: list[Place] = []
        self.containers: list[Place] = []

    def members(self, frame: Frame) -> None:
        self.member_step(frame)

    def items(self, frame: Frame) -> None:
        self.item_step(frame)

    def key(self, frame: Frame) -> str | None:
        start = self.pos
        key = super().key(frame)
        if key is not None:
            self.keys.append((start, self.pos, (frame.node, key)))
        return key

    def value(self, into: Any, slot: Any, node: Node) -> None:
        start, open_before = self.pos, len(self.frames)
        super().value(into, slot, node)
        if len(self.frames) == open_before:
            self.values.append((start, self.pos, node))

    def pop(self, frame: Frame, at: int) -> None:
        super().pop(frame, at)
        self.containers.append((frame.start, self.pos, frame.node))

    def close_all(self) -> None:
        # one past the end, so that the end of the text counts as inside what was never closed
        self.containers += [(frame.start, self.end + 1, frame.node) for frame in self.frames]
        super().close_all()


class _Nest:
    """Spans that lie apart or inside each other, searched by offset."""

    __slots__ = ("_outer", "_spans", "_starts")

    def __init__(self, spans: list[Place]) -> None:
        self._spans = sorted(spans, key=lambda place: (place[0], -place[1]))
        self._starts = [place[0] for place in self._spans]
        self._outer: list[int] = []
        around: list[int] = []
        for index, (start, _, _) in enumerate(self._spans):
            while around and self._spans[around[-1]][1] <= start:
                around.pop()
            self._outer.append(around[-1] if around else -1)
            around.append(index)

    def at(self, offset: int) -> Node:
        """What lies innermost at an offset."""
        index = bisect_right(self._starts, offset) - 1
        while index >= 0 and self._spans[index][1] <= offset:
            index = self._outer[index]
        return self._spans[index][2] if index >= 0 else None


class Places:
    """The places of all values in one stretch of text, read on first use."""

    __slots__ = ("_all", "_containers", "_spans", "_what")

    def __init__(self, text: str, start: int, end: int, known: frozenset[str], max_depth: int) -> None:
        self._what = (text, start, end, known, max_depth)
        self._all: _Nest | None = None
        self._containers: _Nest | None = None
        self._spans: dict[tuple[str, Parts], tuple[int, int]] = {}

    def _trace(self) -> None:
        tracer = _Tracer(*self._what)
        # read in another way than the winner was, it may nest deeper: what was seen until then is used
        with suppress(TooDeep):
            tracer.read()
        self._all = _Nest([*tracer.values, *tracer.keys, *tracer.containers])
        self._containers = _Nest(tracer.containers)
        for kind, places in (("key", tracer.keys), ("value", [*tracer.values, *tracer.containers])):
            for start, stop, node in places:
                self._spans[kind, _folded(parts_of(node))] = (start, max(start, min(stop, tracer.end)))

    def of(self, code: str, at: int) -> Node:
        """The path of what a record with this code at this offset is about."""
        if self._all is None or self._containers is None:
            self._trace()
        nest = self._containers if code in OF_CONTAINER else self._all
        return nest.at(at) if nest is not None else None

    def span(self, parts: Parts, code: str) -> tuple[int, int] | None:
        """Where what a coercion changed stands: the key, the value, or both; else the nearest value around it."""
        if self._all is None:
            self._trace()
        where = _folded(parts)
        key, value = self._spans.get(("key", where)), self._spans.get(("value", where))
        if code == "C010" and key:
            return key
        if code == "C009" and key:
            return key[0], max(key[1], value[1] if value else 0)
        while value is None and where:
            where = where[:-1]
            value = self._spans.get(("value", where))
        return value


def _folded(parts: Parts) -> Parts:
    return tuple(fold(part) if isinstance(part, str) else part for part in parts)
