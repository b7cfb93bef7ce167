"""The order of calls over a conversation: a sequence, prerequisites, and bounds on how often and with what.

The names called before and the names called now enter; findings leave.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from trueup.verdict.facts import Finding, finding


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a contract asks of the order of calls."""

    sequence: tuple[str, ...] = ()
    requires: dict[str, tuple[str, ...]] = {}
    only_once: tuple[str, ...] = ()
    at_most: dict[str, int] = {}
    never_with: dict[str, tuple[str, ...]] = {}


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
        return msgspec.convert(source, Order)
    except msgspec.ValidationError as error:
        raise ValueError(f"order: {error}; it takes {', '.join(Order.__struct_fields__)}") from None


def order_findings(now: Sequence[str], before: Sequence[str], order: Order) -> Iterator[Finding]:
    """What is wrong with calling these tools now, after those before."""
    yield from _sequence(now, before, order.sequence)
    history = list(before)
    for index, name in enumerate(now):
        place = f"$.calls[{index}]"
        missing = [need for need in order.requires.get(name, ()) if need not in history]
        if missing:
            message = f"{name} needs {', '.join(missing)} first"
            yield finding("T008", place, message, None, {"missing": missing}, f"Call {missing[0]} before {name}.")
        limit = 1 if name in order.only_once else order.at_most.get(name)
        used = history.count(name) + 1
        if limit is not None and used > limit:
            times = "once" if limit == 1 else f"{limit} times"
            data = {"limit": limit, "count": used}
            yield finding(
                "T009",
                place,
                f"{name} may be called {times}; this is call {used}",
                None,
                data,
                f"Do not call {name} again.",
            )
        for other in order.never_with.get(name, ()):
            if other in now:
                yield finding(
                    "T010",
                    place,
                    f"{name} must not be called together with {other}",
                    None,
                    {"with": other},
                    f"Call {name} or {other}, not both.",
                )
        history.append(name)


def _sequence(now: Sequence[str], before: Sequence[str], sequence: Sequence[str]) -> Iterator[Finding]:
    """A step called after a later one; repeats and skips are fine, tools outside the sequence are ignored."""
    steps = {name: step for step, name in enumerate(sequence)}
    furthest = max((steps[name] for name in before if name in steps), default=-1)
    for index, name in enumerate(now):
        step = steps.get(name)
        if step is None:
            continue
        if step < furthest:
            late = sequence[furthest]
            data = {"step": name, "after": late}
            yield finding(
                "T007",
                f"$.calls[{index}]",
                f"{name} comes before {late}, which was already called",
                None,
                data,
                f"Go on after {late}.",
            )
        furthest = max(furthest, step)
