"""The order of calls in a conversation: a sequence, fixed positions, prerequisites, and limits on how often and with
what.

Takes the names of the earlier calls that worked, and the names called now; yields findings. A refused call does not
count: it cannot satisfy the prerequisite of a later call. Only in `expected_sequence`, where every call has a position,
a refused call takes up its position as well.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from trueup.checks.problems import takes
from trueup.verdict.catalogue import Level
from trueup.verdict.facts import Finding, finding


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules for the order of calls: the option `order`.

    - `sequence`: an order of tools in which steps may be skipped and repeated; empty: any order.
    - `expected_sequence`: the tool at each position of the conversation; empty: any tool at any position.
    - `requires`: for a tool, the tools that must have been called before it; empty: none.
    - `only_once`: tools that may be called once in a conversation; empty: every tool may be called again.
    - `at_most`: for a tool, how many calls a conversation may have; empty: no limits.
    - `never_with`: for a tool, the tools that must not be called in the same reply; empty: none.
    - `level`: the level of a call that is out of `sequence` or `expected_sequence`.
    """

    sequence: tuple[str, ...] = ()
    expected_sequence: tuple[str, ...] = ()
    requires: dict[str, tuple[str, ...]] = {}
    only_once: tuple[str, ...] = ()
    at_most: dict[str, int] = {}
    never_with: dict[str, tuple[str, ...]] = {}
    level: Level = "warning"

    def names(self) -> list[str]:
        """Every tool that the order mentions."""
        inner = [name for names in (*self.requires.values(), *self.never_with.values()) for name in names]
        lists = (self.sequence, self.expected_sequence, self.only_once)
        return [*(name for names in lists for name in names), *self.requires, *self.at_most, *self.never_with, *inner]

    def chained(self) -> frozenset[str]:
        """The tools that must be called one after the other."""
        needs = (name for names in self.requires.values() for name in names)
        return frozenset((*self.sequence, *self.expected_sequence, *self.requires, *needs))

    @property
    def is_empty(self) -> bool:
        """Whether there are no rules about the order."""
        lists = self.sequence or self.expected_sequence or self.only_once
        return not (lists or self.requires or self.at_most or self.never_with)


def read_order(source: Any) -> Order:
    """An order from a list (the sequence) or a dict with all of its parts.

    >>> read_order(["a", "b"]).sequence
    ('a', 'b')
    """
    if isinstance(source, Order):
        return source
    if isinstance(source, list | tuple):
        source = {"sequence": source}
    try:
        order = msgspec.convert(source, Order)
    except msgspec.ValidationError as error:
        raise ValueError(f"order: {error}; {takes(source, Order.__struct_fields__)}") from None
    twice = [name for name, count in Counter(order.sequence).items() if count > 1]
    if twice:
        raise ValueError(f"order: {twice[0]!r} is in the sequence twice; each step has one place")
    if any(limit < 0 for limit in order.at_most.values()):
        raise ValueError("order: at_most takes whole numbers from 0 up")
    return order


def with_expected(order: Order, expected: Any) -> Order:
    """An order with the positions from a context, if it has any.

    >>> with_expected(Order(), ["a", "b"]).expected_sequence
    ('a', 'b')
    """
    if expected is None:
        return order
    if not isinstance(expected, list | tuple) or not all(isinstance(name, str) for name in expected):
        raise TypeError(f"expected_sequence must be a list of tool names, got {expected!r:.80}")
    return msgspec.structs.replace(order, expected_sequence=tuple(expected))


def order_findings(now: Sequence[str], good: Sequence[bool], before: Sequence[str], order: Order) -> Iterator[Finding]:
    """The problems of calling these tools now, after the earlier ones; `good` says which calls have no error yet.

    >>> [f.code for f in order_findings(["a"], [True], ["b"], read_order(["a", "b"]))]
    ['T007']
    """
    for problem in (*_sequence(now, good, before, order.sequence), *_places(now, before, order.expected_sequence)):
        yield problem if problem.level == order.level else msgspec.structs.replace(problem, level=order.level)
    history = Counter(before)
    together = _together(now, order)
    for index, name in enumerate(now):
        problems = [*_missing(name, history, order), *_too_often(name, history, order), *together.get(name, ())]
        for problem in problems:
            yield msgspec.structs.replace(problem, path=f"$.calls[{index}]")
        if good[index] and not problems:
            history[name] += 1


def _missing(name: str, history: Counter[str], order: Order) -> Iterator[Finding]:
    missing = [need for need in order.requires.get(name, ()) if need not in history]
    if missing:
        message = f"{name} needs {', '.join(missing)} first"
        yield finding("T008", "$", message, None, {"missing": missing}, f"Call {missing[0]} before {name}.")


def _too_often(name: str, history: Counter[str], order: Order) -> Iterator[Finding]:
    limit = order.at_most.get(name)
    if name in order.only_once:
        limit = 1 if limit is None else min(limit, 1)
    used = history[name] + 1
    if limit is not None and used > limit:
        times = "not be called at all" if limit == 0 else "be called once" if limit == 1 else f"be called {limit} times"
        message = f"{name} may {times}; this is call {used}"
        yield finding("T009", "$", message, None, {"limit": limit, "count": used}, f"Do not call {name} again.")


def _together(now: Sequence[str], order: Order) -> dict[str, list[Finding]]:
    """For each tool called now, the tools that it must not be called with; both get a finding."""
    found: dict[str, list[Finding]] = {}
    names = set(now)
    pairs = {(a, b) for a, others in order.never_with.items() for b in others if a in names and b in names and a != b}
    for name, other in sorted({*pairs, *((b, a) for a, b in pairs)}):
        message = f"{name} must not be called together with {other}"
        hint = f"Call {name} or {other}, not both."
        found.setdefault(name, []).append(finding("T010", "$", message, None, {"with": other}, hint))
    return found


def _sequence(
    now: Sequence[str], good: Sequence[bool], before: Sequence[str], sequence: Sequence[str]
) -> Iterator[Finding]:
    """A step called after a later one; repeats and skips are fine, tools outside the sequence are ignored."""
    steps = {name: step for step, name in enumerate(sequence)}
    furthest = max((steps[name] for name in before if name in steps), default=-1)
    for index, name in enumerate(now):
        step = steps.get(name)
        if step is None:
            continue
        if step < furthest:
            late = sequence[furthest]
            message = f"{name} comes before {late}, which was already called"
            hint = f"Continue after {late}."
            yield finding("T007", f"$.calls[{index}]", message, None, {"step": name, "after": late}, hint)
        elif good[index]:
            furthest = step


def _places(now: Sequence[str], before: Sequence[str], expected: Sequence[str]) -> Iterator[Finding]:
    """Calls that are not the expected ones at their positions; fewer or more calls than positions are fine."""
    for index, (name, wanted) in enumerate(zip(now, expected[len(before) :], strict=False)):
        if name != wanted:
            position = len(before) + index
            message = f"Tool sequence mismatch at position {position}: expected {wanted!r}, got {name!r}"
            data = {"position": position, "expected": wanted, "got": name}
            yield finding("T020", f"$.calls[{index}]", message, None, data, f"Call {wanted!r} at this point.")
