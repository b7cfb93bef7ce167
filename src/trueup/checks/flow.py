"""The flow of states, linted: states that cannot be reached, that have no fallback, or whose fallback breaks their rules.

Compiled states enter; problems leave, each with the key path of its place in the contract. Nothing is raised here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from trueup.checks.dialogue import Path, State
from trueup.checks.problems import closest

if TYPE_CHECKING:
    from trueup.checks.state import States

Kind = Literal["unreachable", "no-fallback", "fallback-violates", "unknown-next", "unknown-start", "no-way-on"]


class Problem(NamedTuple):
    """One thing a lint says: where, of which kind, in words."""

    path: Path
    kind: Kind
    message: str


def flow_problems(states: "States", root: Path) -> list[Problem]:
    """All problems of a contract's states, in the order of the table."""
    table = states.states
    found = _unknown(table, states.start, root)
    reached = _reached(table, states.start)
    for name, state in table.items():
        place = (*root, name)
        if reached is not None and name not in reached:
            found.append(
                Problem(place, "unreachable", f"no way leads from {states.start or next(iter(table))} to {name}")
            )
        if state.fallback is None:
            if state.rules or states.dialogue.always.rules or state.tools is not None:
                message = f"{name} has rules but no fallback: nothing can be sent when a reply breaks them twice"
                found.append(Problem(place, "no-fallback", message))
            continue
        for broken in states.judge_text(state.fallback, name):
            if broken.level == "error":
                message = f"the fallback of {name} breaks its own rules: {broken.message}"
                found.append(Problem((*place, "fallback"), "fallback-violates", message))
    return found


def _unknown(table: Mapping[str, State], start: str | None, root: Path) -> list[Problem]:
    found = []
    if start is not None and start not in table:
        found.append(Problem((*root, "start"), "unknown-start", f"there is no state {start!r}{closest(start, table)}"))
    for name, state in table.items():
        for index, end in enumerate(state.next or ()):
            if end not in table:
                message = f"there is no state {end!r}{closest(end, table)}"
                found.append(Problem((*root, name, "next", index), "unknown-next", message))
    return found


def _reached(table: Mapping[str, State], start: str | None) -> set[str] | None:
    """The states that can be reached, or None where the table says nothing of what follows what."""
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
