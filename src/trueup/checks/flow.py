"""A lint of the flow of states: states that cannot be reached, that have no fallback, or whose fallback breaks their
rules.

Takes compiled states; returns problems, each with its key path in the contract. It raises nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from trueup.checks.dialogue import Path, State
from trueup.checks.problems import closest

if TYPE_CHECKING:
    from trueup.checks.state import States

Kind = Literal["unreachable", "no-fallback", "fallback-violates", "unknown-next", "unknown-start", "no-way-on"]


class FlowProblem(NamedTuple):
    """One message of a lint: where, of which kind, in words."""

    path: Path
    kind: Kind
    message: str


def flow_problems(states: "States", root: Path) -> list[FlowProblem]:
    """All problems of a contract's states, in the order of the table."""
    table = states.states
    found = _unknown(table, states.start, root)
    reached = _reached(table, states.start)
    for name, state in table.items():
        place = (*root, name)
        if reached is not None and name not in reached:
            found.append(
                FlowProblem(
                    place, "unreachable", f"no transition leads from {states.start or next(iter(table))} to {name}"
                )
            )
        if state.fallback is None:
            if state.rules or states.dialogue.always.rules or state.tools is not None:
                message = f"{name} has rules but no fallback: nothing can be sent when a reply breaks them twice"
                found.append(FlowProblem(place, "no-fallback", message))
            continue
        for broken in states.judge_text(state.fallback, name):
            if broken.level == "error":
                message = f"the fallback of {name} breaks its own rules: {broken.message}"
                found.append(FlowProblem((*place, "fallback"), "fallback-violates", message))
    return found


def _unknown(table: Mapping[str, State], start: str | None, root: Path) -> list[FlowProblem]:
    found = []
    if start is not None and start not in table:
        found.append(
            FlowProblem((*root, "start"), "unknown-start", f"there is no state {start!r}{closest(start, table)}")
        )
    for name, state in table.items():
        for index, end in enumerate(state.next or ()):
            if end not in table:
                message = f"there is no state {end!r}{closest(end, table)}"
                found.append(FlowProblem((*root, name, "next", index), "unknown-next", message))
    return found


def _reached(table: Mapping[str, State], start: str | None) -> set[str] | None:
    """The states that can be reached, or None if the table never says which state follows another."""
    if not any(state.next is not None for state in table.values()):
        return None
    first = start if start in table else next(iter(table), None)
    waiting = [first] if first else []
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in table and name not in reached:
            reached.add(name)
            waiting += table[name].next or ()
    return reached
