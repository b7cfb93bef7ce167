"""The value so far, in the form that may be shown: coerced like the final one, and safe to keep.

Takes a growing value after each piece of text; returns a snapshot that never changes. Members are settled once, when
they close. Open containers are copied on write; closed ones are shared by all snapshots.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from trueup.conform.members import UNBUILT, Settled
from trueup.contract.partial import Partial
from trueup.contract.streaming.copy_on_write import Lent
from trueup.recover.json.growing import GrowingValue, members

# A closed container is judged with its content, so that each level of nesting costs as much again; containers with
# more levels inside are not judged.
_HIGHEST = 12
_NOTHING: Any = object()


class Guide(Protocol):
    """Guides the members of one container: by a schema (`Members`), or by a Python type (`TypeFitter`)."""

    def inside(self, slot: Any, container: Any) -> "Guide | None":
        """The guide of a container that has opened inside; None if its members have to wait until it closes."""

    def settle(self, slot: Any, data: Any) -> Settled | None:
        """The value of a closed member in the whole value; None if it will not be there, or is not yet certain."""

    def closed(self, written: Any, shown: Any) -> Any:
        """The data of a container that has closed, from its settled members; None if the guide around it settles it."""

    @property
    def label(self) -> str:
        """The name of the Python type; empty if there is none."""

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields of the Python type, by the keys that they have in JSON."""

    @property
    def names(self) -> Iterable[str]:
        """The names of all fields."""


class _Level:
    """An open container: the members that were read, and the members that are shown."""

    __slots__ = ("count", "data", "guide", "height", "raw", "slot", "values")

    def __init__(self, raw: Any, slot: Any, guide: Guide | None) -> None:
        self.raw = raw
        self.slot = slot  # its slot in the container around it
        self.guide = guide
        self.count = 0  # how many members were examined
        self.height = 1  # of the containers that have closed inside
        self.data = Lent(type(raw)())
        self.values = Lent(type(raw)()) if guide is not None and guide.label else None  # by the names of fields

    def add(self, settled: Settled) -> None:
        self.data.add(settled.slot, settled.data)
        if self.values is not None:
            self.values.add(self.field(settled.slot), settled.data if settled.value is UNBUILT else settled.value)

    def field(self, slot: Any) -> Any:
        """The name of a member in the Python type."""
        return slot if self.guide is None or not isinstance(slot, str) else self.guide.fields.get(slot, slot)

    def part(self, data: Any, values: Any, slot: Any = None) -> Any:
        """The container in the form that is shown: a Partial of a class with fields, else its members."""
        guide = self.guide
        if guide is None or self.values is None:
            return data
        if not guide.names:
            return values
        return Partial(data, values, label=guide.label, fields=guide.names, opened=self.field(slot))


class VisibleValue:
    """The shown form of one growing value; `root` guides it."""

    __slots__ = ("_closed", "_fields", "_last", "_levels", "_raw", "_root", "_seen", "_tail", "_turn")

    def __init__(self, root: Guide | None, fields: Iterable[str] = ()) -> None:
        self._root = root
        self._fields = fields if root is None or not root.label else root.names
        self._turn = -1
        self._raw: Any = None
        self._levels: list[_Level] = []
        self._closed: tuple[Any, Any] | None = None  # the data of the whole root, and the source of its Partial
        self._tail: tuple[Any, Any] | None = None  # the open member of the innermost container
        self._seen: Any = None
        self._last: Any = None

    @property
    def copied(self) -> int:
        """How many members of the open containers were copied so far."""
        lent = [held for level in self._levels for held in (level.data, level.values)]
        return sum(held.copied for held in lent if held is not None)

    # -- following -----------------------------------------------------------------------------

    def follow(self, growing: GrowingValue) -> None:
        """Update to the current state of the growing value."""
        if growing.turn != self._turn:
            self._turn = growing.turn
            self._follow(growing)
            self._last = None
        before, self._tail = self._tail, None
        if self._levels:
            level = self._levels[-1]
            if len(level.raw) > level.count:
                slot = _slot(level)
                self._tail = (slot, level.raw[slot])
        if self._tail != before:
            self._last = None

    def has_more(self) -> bool:
        """Whether more can be seen than at the last call."""
        level = self._levels[-1] if self._levels else None
        tail = None if self._tail is None else self._tail[1]
        seen = (
            id(self._raw), self._closed is None, len(self._levels), level and level.count,
            len(tail) if isinstance(tail, str) else type(tail),
        )  # fmt: skip
        more, self._seen = self._raw is not None and seen != self._seen, seen
        return more

    def _follow(self, growing: GrowingValue) -> None:
        if growing.root is not self._raw:
            self._raw, self._levels, self._closed = growing.root, [], None
            if self._raw is not None:
                self._levels = [self._opened(self._raw)]
        levels = self._levels
        if not levels:
            return
        depth, raw, count = growing.innermost
        if depth == len(levels) and raw is levels[-1].raw:
            self._take(levels[-1], count)
            return
        opened = growing.opened
        same = 0
        while same < min(len(levels), len(opened)) and levels[same].raw is opened[same][0]:
            same += 1
        while len(levels) > same:
            self._close(levels.pop())
        for depth, (raw, count) in enumerate(opened):
            if depth == len(levels):
                levels.append(self._opened(raw))
            self._take(levels[depth], count)

    def _opened(self, raw: Any) -> _Level:
        around = self._levels[-1] if self._levels else None
        guide = self._root if around is None else around.guide
        slot = None if around is None else _slot(around)
        return _Level(raw, slot, None if guide is None else guide.inside(slot, raw))

    def _take(self, level: _Level, count: int) -> None:
        """Settle the members of a container that have closed since the last call."""
        if count <= level.count:
            return
        for slot, data in members(level.raw, level.count, count):
            settled = Settled(slot, data, data) if level.guide is None else level.guide.settle(slot, data)
            if settled is not None:
                level.add(settled)
        level.count = count

    def _close(self, level: _Level) -> None:
        """A container has closed: add it to the one around it."""
        self._take(level, len(level.raw))
        if not self._levels:
            self._closed = self._whole(level)
            return
        around = self._levels[-1]
        around.height = max(around.height, level.height + 1)
        around.count += 1
        settled = self._settled(level, around)
        if settled is not None:
            around.add(settled)

    def _settled(self, level: _Level, around: _Level) -> Settled | None:
        """A closed container as a member of the one around it."""
        shown = level.data.members
        own = None if level.guide is None else level.guide.closed(level.raw, shown)
        if own is not None:
            return Settled(level.slot, own, own)
        part = level.part(shown, None if level.values is None else level.values.members)
        if around.guide is None or level.height > _HIGHEST:
            return Settled(level.slot, shown, part)
        settled = around.guide.settle(level.slot, around.raw[level.slot])
        return settled._replace(value=part) if settled is not None and settled.value is UNBUILT else settled

    def _whole(self, level: _Level) -> tuple[Any, Any]:
        """The root, which has closed; its members were settled one by one."""
        shown = level.data.members
        if level.guide is None:
            settled = None if self._root is None else self._root.settle(None, level.raw)
            data = shown if settled is None else settled.data
            return data, self._rooted(data, data)
        own = level.guide.closed(level.raw, shown)
        data = shown if own is None else own
        part = level.part(data, data if level.values is None else level.values.members)
        return data, part if isinstance(part, Partial) else self._rooted(data, part)

    # -- snapshots -----------------------------------------------------------------------------

    def data(self) -> Any:
        """The plain data so far, None before they start; the same object until there is more."""
        if isinstance(self._last, Partial):
            return self._last.data
        if self._last is None:
            self._last = self._closed[0] if self._closed is not None else self._lent()[0] if self._levels else None
        return self._last

    def part(self) -> Partial[Any]:
        """The value so far as a Partial; the same one until there is more."""
        if not isinstance(self._last, Partial):
            self._last = None  # no reference may remain, or it will be copied
            self._last = self._made()
        return self._last

    def _made(self) -> Partial[Any]:
        if self._closed is not None:
            whole: Partial[Any] = self._closed[1]
            return whole
        if not self._levels:
            return self._rooted(None, None)
        values = [_emptied(level.values) for level in self._levels]  # first: they contain data
        lent = self._lent()
        slot, inner = self._tail or (None, _NOTHING)
        opened = slot
        for level, data, own in zip(self._levels[::-1], lent[::-1], values[::-1], strict=True):
            if level.values is not None and inner is not _NOTHING:
                level.values.put(own, level.field(slot), inner)
            inner, opened, slot = level.part(data, own, slot), slot, level.slot
        return inner if isinstance(inner, Partial) else self._rooted(lent[0], inner, opened)

    def _rooted(self, data: Any, values: Any, opened: Any = None) -> Partial[Any]:
        """The Partial of a root that has no fields."""
        label = "" if self._root is None else self._root.label
        return Partial(data, values, label=label, fields=self._fields, opened=opened)

    def _lent(self) -> list[Any]:
        """The open containers as they are shown, each inside the one before."""
        lent: list[Any] = []
        held, within = None, None
        for level in self._levels:
            held = level.data.lend(held, within, level.slot)
            within = level.data
            lent.append(held)
        if within is not None:
            if self._tail is None:
                within.bare(held)
            else:
                within.put(held, *self._tail)
        return lent


def _emptied(values: Lent | None) -> Any:
    """A copy of the values without the open member, which then has no other references."""
    if values is None:
        return None
    own = values.lend()
    values.bare(own)
    return own


def _slot(around: _Level) -> Any:
    """The slot of the first member in a container that has not closed."""
    return around.count if isinstance(around.raw, list) else next(reversed(around.raw))
