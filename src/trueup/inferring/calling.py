"""Calls in conversations: takes cases one by one; returns tools with arguments, their order, and their states.

One tool requires another only if every conversation that calls it has called the other one before. The tools of a state
are listed only if hardly any others are expected there: nothing is forbidden without evidence. At most 20,000
conversations are kept for the order.
"""

from collections.abc import Iterable
from typing import Any

from trueup.checks.order import order_findings, read_order
from trueup.contract.judging.incoming import called_before
from trueup.inferring.draft import Loosened, Path, draft
from trueup.inferring.evidence import Budget, ObservedPlace, observe
from trueup.inferring.reading import NOTHING, ObservedReply, observed, reader
from trueup.inferring.strictness import Needs
from trueup.inferring.words import count, things
from trueup.inferring.yamltext import is_writable
from trueup.material.case import Case
from trueup.statistics.unseen import missing_mass_upper
from trueup.verdict.reply import ToolCall

MAX_TOOLS = 200
MAX_NAME = 64
MAX_CONVERSATIONS = 20_000
MAX_CALLS = 100
MAX_STATES = 50
FALLBACK = "I am sorry, I did not get that right. Could you say it again?"
_STATELESS = 0.002  # the largest share of replies without a state; a contract with states refuses them
_IN_STATE = 60  # the fewest replies without a call that show that a state has no tools


class ObservedCalls:
    """The calls of all replies so far."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.tools: dict[str, ObservedPlace] = {}
        self.counts: dict[str, int] = {}
        self.made = 0
        self.replies = 0
        self.left_out = 0
        """Calls without a usable tool name, or of more tools than are kept."""
        self.sequences: dict[str, tuple[str, ...]] = {}
        self.states: dict[str, dict[str, int]] = {}
        self.in_state: dict[str, int] = {}
        self.stateless = 0
        self._reader = reader()

    def add(self, case: Case, seen_: ObservedReply) -> None:
        """Count the calls of a case."""
        state = state_of(case)
        if state and (state in self.in_state or len(self.in_state) < MAX_STATES) and is_writable(state):
            self.in_state[state] = self.in_state.get(state, 0) + 1
        else:
            self.stateless += 1
        for call in seen_.calls:
            if not self._known(call.name):
                self.left_out += 1
                continue
            self.made += 1
            self.counts[call.name] = self.counts.get(call.name, 0) + 1
            self._arguments(call)
            if state in self.in_state:
                tools = self.states.setdefault(state, {})
                tools[call.name] = tools.get(call.name, 0) + 1
        if seen_.calls:
            self.replies += 1
            self._sequence(case, [call.name for call in seen_.calls])

    def _known(self, name: str) -> bool:
        if name in self.tools:
            return True
        if not name.strip() or len(name) > MAX_NAME or not is_writable(name) or len(self.tools) >= MAX_TOOLS:
            return False
        self.tools[name] = ObservedPlace(self._budget)
        return True

    def _arguments(self, call: ToolCall) -> None:
        place = self.tools[call.name]
        if call.args is not None:
            observe(place, call.args)
        elif call.raw_args:
            found = observed(self._reader, Case("", call.raw_args))
            if found.value is not NOTHING and isinstance(found.value, dict):
                observe(place, found.value, clean=False, cut=found.cut, doubts=found.doubts)

    def _sequence(self, case: Case, now: list[str]) -> None:
        """Store the calls of a conversation in order."""
        before = _before(case)
        key = case.conversation or case.id
        kept = self.sequences.get(key, ())
        if not kept and len(self.sequences) >= MAX_CONVERSATIONS:
            return
        whole = (*before, *now) if before else (*kept, *now)
        if len(whole) >= len(kept):
            self.sequences[key] = tuple(whole[:MAX_CALLS])

    # -- what follows from it ----------------------------------------------------------------------

    def names(self) -> list[str]:
        """The tools to offer, most common first. A tool called once in hundreds of calls is probably invented."""
        rare = 0 if self.made < 300 else 1
        return [name for name, made in sorted(self.counts.items(), key=lambda pair: -pair[1]) if made > rare]

    def definitions(self, needs: Needs, loosened: dict[str, Loosened]) -> tuple[list[dict[str, Any]], dict[Path, str]]:
        """The tools of the draft, and the notes on their lines."""
        tools: list[dict[str, Any]] = []
        notes: dict[Path, str] = {}
        for index, name in enumerate(self.names()):
            drafted = draft(self.tools[name], needs, loosened.get(name, frozenset()), self.made)
            parameters = (
                drafted.schema
                if drafted.schema.get("type") == "object" or "oneOf" in drafted.schema
                else {"type": "object"}
            )
            tools.append({"name": name, "parameters": parameters})
            notes[("tools", index, "name")] = (
                f"called {count(self.counts[name])} times" if self.counts[name] > 1 else "called once"
            )
            if parameters is drafted.schema:
                notes |= {("tools", index, "parameters", *path): note for path, note in drafted.notes.items()}
        return tools, notes

    def order(self, needs: Needs, loosened: set[str]) -> tuple[dict[str, Any], dict[Path, str]]:
        """The order of calls that every conversation follows."""
        names = self.names()
        together, before = self._pairs(names)
        requires: dict[str, list[str]] = {}
        notes: dict[Path, str] = {}
        for name in names:
            calling = together.get((name, name), 0)
            if calling < needs.calls or name in loosened:
                continue
            needed = [other for other in names if other != name and before.get((other, name), 0) == calling]
            if needed:
                requires[name] = needed
                notes[("order", "requires", name)] = f"called before it in all {count(calling)} conversations"
        reduced = _reduced(requires)
        return ({"requires": reduced} if reduced else {}), {
            path: note for path, note in notes.items() if path[-1] in reduced
        }

    def _pairs(self, names: list[str]) -> tuple[dict[tuple[str, str], int], dict[tuple[str, str], int]]:
        """The number of conversations that call each tool, and that call each tool before the first call of another."""
        known = set(names)
        calling: dict[tuple[str, str], int] = {}
        before: dict[tuple[str, str], int] = {}
        for sequence in self.sequences.values():
            met: list[str] = []
            for name in dict.fromkeys(name for name in sequence if name in known):
                calling[name, name] = calling.get((name, name), 0) + 1
                for other in met:
                    before[other, name] = before.get((other, name), 0) + 1
                met.append(name)
        return calling, before

    def table(self, needs: Needs, loosened: set[str]) -> tuple[dict[str, Any], dict[Path, str]]:
        """The states of the draft."""
        if not self.in_state or self.stateless > _STATELESS * sum(self.in_state.values()):
            return {}, {}
        states: dict[str, Any] = {}
        notes: dict[Path, str] = {}
        offered = set(self.names())
        for name, replies in sorted(self.in_state.items(), key=lambda pair: -pair[1]):
            if name in _RESERVED:
                continue
            tools = {tool: made for tool, made in self.states.get(name, {}).items() if tool in offered}
            notes["states", name] = f"{count(replies)} replies"
            body: dict[str, Any] = {}
            is_known = missing_mass_upper(tools.values()) <= needs.unseen if tools else replies >= _IN_STATE
            if offered and is_known and name not in loosened and set(tools) != offered:
                body = {"tools": sorted(tools, key=lambda tool: -tools[tool]), "fallback": FALLBACK}
                said = things(sum(tools.values()), "call") if tools else "no call"
                notes["states", name, "tools"] = f"{said} in {count(replies)} replies"
                notes["states", name, "fallback"] = "not from the replies: write your own"
            states[name] = body or None
        return states, notes


_RESERVED = frozenset({"start", "names", "correction", "groups", "always", "claims"})


def state_of(case: Case) -> str:
    """The state in which a reply was given; empty if it is unknown."""
    state = case.state or (case.context or {}).get("state") or ""
    return state if isinstance(state, str) and len(state) <= MAX_NAME else ""


def _before(case: Case) -> list[str]:
    """The names of the calls before a reply, from its history or its own messages."""
    history = (case.context or {}).get("history")
    if not history and isinstance(case.reply, list):
        from trueup.read.messages import before_reply  # only needed if a reply is a conversation

        history = before_reply(case.reply).messages
    return [call.name for message in called_before(history) for call in message.reply.calls]


def _reduced(requires: dict[str, list[str]]) -> dict[str, list[str]]:
    """The requirements without the ones that others imply.

    >>> _reduced({"c": ["a", "b"], "b": ["a"]})
    {'c': ['b'], 'b': ['a']}
    """
    return {
        name: [one for one in needed if not any(one in requires.get(other, ()) for other in needed if other != one)]
        for name, needed in requires.items()
    }


def breaks_order(order: dict[str, Any], sequences: Iterable[tuple[str, ...]]) -> tuple[dict[str, int], int]:
    """How many held-out conversations break the order, by tool, and how many conversations there are.

    >>> breaks_order({"requires": {"b": ["a"]}}, [("a", "b"), ("b",)])
    ({'b': 1}, 2)
    """
    rules = read_order(order)
    broken: dict[str, int] = {}
    total = 0
    for sequence in sequences:
        total += 1
        found = order_findings(sequence, [True] * len(sequence), (), rules)
        for name in {sequence[int(each.path.removeprefix("$.calls[").rstrip("]"))] for each in found}:
            broken[name] = broken.get(name, 0) + 1
    return broken, total
