"""The current state of a conversation: the state that a context names, or the finding that says why it names none.

Takes the names of a contract's states and a context; returns the name of one state, with findings. It assumes nothing
silently: if the context has no state, the contract's `start` is used and reported; if there is no `start` either, the
reply is refused.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trueup.checks.machines import state_name
from trueup.verdict.facts import Finding, finding
from trueup.verdict.likeness import name_words, nearest

# The known keys of a context. Any other key that reads like `state`, or has the name of a state as its value, is a
# mistake.
_KEYS = frozenset({"state", "data", "history", "question", "tenant", "input", "expected_sequence"})
# The findings about the context: no other reply from the model would change them.
UNPLACED = frozenset({"D004", "D006"})
_SHOWN = 12
_PASS = "Pass the state with every check: context={'state': NAME}, or --state NAME."


def reads_like_state(key: str) -> bool:
    """Whether one of the words of a key is `state`, or one typing error away from it.

    >>> reads_like_state("fsmState"), reads_like_state("satte"), reads_like_state("status"), reads_like_state("tenant")
    (True, True, False, False)
    """
    from rapidfuzz.distance import OSA  # loaded only if a state is missing

    return any(OSA.distance(word, "state") <= 1 for word in name_words(key))


class CurrentState(NamedTuple):
    """The state to judge by, and the problems of the context. Without a state, only general rules are checked."""

    state: str
    findings: tuple[Finding, ...] = ()


_ANYWHERE = CurrentState("")


class Places:
    """The states of one contract, by the names that a context may give them."""

    __slots__ = ("_folded", "_known", "_machine", "_names", "_start")

    def __init__(self, names: Iterable[str], start: str | None = None, machine: Any = None) -> None:
        self._names = tuple(names)
        self._start = start if start in self._names else None
        self._machine = machine
        self._known = {name: CurrentState(name) for name in self._names}
        self._folded: dict[str, list[str]] = {}
        for name in self._names:
            self._folded.setdefault(name.casefold(), []).append(name)

    def named(self, source: Any) -> str | None:
        """The state of the contract that is meant by a name, an enum member, a dict or a machine.

        >>> Places(["IDLE", "BOOKED"]).named({"current_state": "idle"})
        'IDLE'
        """
        if type(source) is str and source in self._known:
            return source
        for by_name in (False, True):  # try the value of an enum member first, then its name
            name = state_name(source, by_name=by_name)
            if name is None or name in self._known:
                return name
            alike = self._folded.get(name.casefold(), [])
            if len(alike) == 1:
                return alike[0]
        return None

    def of(self, context: Mapping[str, Any]) -> CurrentState:
        """The state that a context puts the conversation in.

        >>> standing = Places(["IDLE", "BOOKED"]).of({"State": "IDLE"})
        >>> standing.state, standing.findings[0].code
        ('', 'D006')
        """
        source = self._source(context)
        if type(source) is str and source in self._known:
            return self._known[source]
        if not self._names:  # rules that hold in every state need no state
            return _ANYWHERE
        if source is None:
            return self._missing(context)
        name = self.named(source)
        return self._unknown(source) if name is None else self._known[name]

    def _source(self, context: Mapping[str, Any]) -> Any:
        """The state that a context gives: under its own key, in the fields of its unit, or as a machine."""
        source = context.get("state")
        if source is None or source == "":
            fields = context.get("input")
            source = fields.get("state") if isinstance(fields, Mapping) else None
        if source is None or source == "":
            source = self._machine
        return source

    def _missing(self, context: Mapping[str, Any]) -> CurrentState:
        """Use the start state and warn. If the state is under a wrong key, that is an error even with a start state."""
        misplaced = self._misplaced(context)
        if misplaced:
            message = f"The context names no state: it has {misplaced!r} instead of 'state'; {self._defines()}"
            hint = f"Rename {misplaced!r} to 'state'."
            return CurrentState("", (finding("D006", "$", message, None, self._data(key=misplaced), hint),))
        if self._start is None:
            message = f"The context names no state; {self._defines()}"
            hint = f"{_PASS} If a conversation without one is new, declare `start: NAME` in the contract's states."
            return CurrentState("", (finding("D006", "$", message, None, self._data(), hint),))
        message = f"The context names no state; the reply was judged in the start state {self._start!r}"
        data = {"state": self._start}
        found = finding("D007", "$", message, None, data, _PASS)
        return CurrentState(self._start, (found,))

    def _unknown(self, source: Any) -> CurrentState:
        said = state_name(source)
        shown = f"Unknown state {said[:80]!r}" if said else f"The context's state is {_kind(source)} without a name"
        near = nearest(said, self._names) if said else None
        meant = f" (did you mean {near!r}?)" if near else ""
        message = f"{shown}{meant}; {self._defines()}"
        hint = "Pass a state of the contract, or add this one to it; `NAME: {}` allows everything."
        return CurrentState("", (finding("D004", "$", message, None, self._data(state=said), hint),))

    def _misplaced(self, context: Mapping[str, Any]) -> str:
        """The key of a context that has the state under another name or in another place; empty if there is none."""
        for key, value in ((str(name), held) for name, held in context.items()):
            if key not in _KEYS and (reads_like_state(key) or self._is_in_one(value)):
                return key
            if key != "history" and isinstance(value, Mapping) and self._is_in_one(value.get("state")):
                return f"{key}.state"
        return ""

    def _is_in_one(self, value: Any) -> bool:
        try:
            return self.named(value) is not None
        except Exception:  # noqa: BLE001 - a property of an object that was not meant for us may do anything
            return False

    def _defines(self) -> str:
        """The states of the contract, as part of a sentence.

        >>> Places(["A", "B", "C"])._defines()
        'this contract defines A, B and C'
        """
        names = list(self._names)
        if len(names) > _SHOWN:
            names = [*names[: _SHOWN - 1], f"{len(names) - _SHOWN + 1} more"]
        return "this contract defines " + (" and ".join(filter(None, [", ".join(names[:-1]), names[-1]])))

    def _data(self, state: str | None = None, key: str = "") -> dict[str, Any]:
        data: dict[str, Any] = {"state": state, "states": list(self._names)}
        return {**data, "key": key} if key else data


def _kind(source: Any) -> str:
    name = type(source).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
