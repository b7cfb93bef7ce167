"""Containers that are lent out while they grow: they are copied on write, and only if somebody still has the last copy.

Members are added; `lend` returns a dict or list of all of them. A lent copy never changes while anybody refers to it. A
copy without references is updated and lent again, so that a loop which looks at each state in turn copies nothing.
"""

import sys
from collections.abc import Callable
from itertools import islice
from typing import Any

_COPIES = 2  # a loop keeps the last state while the next one is made
_refs: Callable[[Any], int] = getattr(sys, "getrefcount", lambda _: 1_000)


class _Copy:
    """One lent copy: how many members it has, apart from an open one at its end."""

    __slots__ = ("count", "held")

    def __init__(self, held: Any, count: int) -> None:
        self.held = held
        self.count = count


def _holders(copy: _Copy) -> int:
    return _refs(copy.held)


_NOBODY = _holders(_Copy([], 0))  # the count if only the copy's own record refers to it


class Lent:
    """A dict or a list that grows; it contains only closed members."""

    __slots__ = ("_copies", "copied", "members")

    def __init__(self, members: Any) -> None:
        self.members: Any = members
        self._copies: list[_Copy] = []
        self.copied = 0  # how many members were copied so far

    def add(self, slot: Any, member: Any) -> None:
        """Add a member after the others."""
        if isinstance(self.members, list):
            self.members.append(member)
        else:
            self.members[slot] = member

    def lend(self, around: Any = None, within: "Lent | None" = None, slot: Any = None) -> Any:
        """All members in a container to which the caller may add one open member before giving it away.

        `around` is the lent copy of the container `within` which this one is open, at a slot: this one is put there.

        >>> grown = Lent([])
        >>> grown.add(0, "a")
        >>> first = grown.lend()
        >>> grown.add(1, "b")
        >>> grown.lend(), first
        (['a', 'b'], ['a'])
        """
        count = len(self.members)
        for copy in self._copies:
            holders = _refs(copy.held)
            is_inside = holders == _NOBODY + 1 and bool(around) and last(around) is copy.held
            if holders > _NOBODY and not is_inside:
                continue
            if not copy.count <= len(copy.held) <= copy.count + 1:
                continue  # somebody has changed it
            if copy.count < count:
                self._catch_up(copy, count)
            break
        else:
            self.copied += count
            copy, is_inside = _Copy(self.members.copy(), count), False
            self._copies = [copy, *self._copies[: _COPIES - 1]]
        if within is not None and not is_inside:
            within.put(around, slot, copy.held)
        return copy.held

    def _catch_up(self, copy: _Copy, count: int) -> None:
        """Take the open member out of a copy, and add the members that have closed since."""
        held, known = copy.held, copy.count
        self.copied += count - known
        copy.count = count
        if isinstance(held, list):
            held[known:] = self.members[known:]
            return
        if len(held) > known:
            held.popitem()
        for key in reversed(list(islice(reversed(self.members), count - known))):
            held[key] = self.members[key]

    def put(self, held: Any, slot: Any, member: Any) -> None:
        """Put an open member at the end of a lent container, in place of the one that is there."""
        if isinstance(held, dict):
            if len(held) > len(self.members):
                held.popitem()
            held[slot] = member
        else:
            held[len(self.members) :] = (member,)

    def bare(self, held: Any) -> None:
        """Take the open member out of a lent container."""
        if len(held) > len(self.members):
            held.popitem() if isinstance(held, dict) else held.pop()


def last(container: Any) -> Any:
    """The member at the end of a container that is not empty."""
    return container[-1] if type(container) is list else next(reversed(container.values()))
