"""Holding a stream back: pieces of a reply's text enter, what may already be shown leaves; the rest waits for the end.

By sentence: a sentence is let go once it is whole and breaks no rule of the state. By field: a member of the object is let
go once it is closed and valid, written anew, so that what was wrong around it never shows. Whole: nothing before the verdict.
What was let go is never taken back; `tail` says what still belongs behind it, or that it no longer fits.
"""

import re
from typing import Any, Protocol

from trueup.checks.sentences import bounds
from trueup.contract.contract import Contract
from trueup.gateway.config import Hold
from trueup.recover.json.clean import written
from trueup.recover.json.growing import Growing
from trueup.verdict.facts import Finding
from trueup.verdict.verdict import Verdict

_LONGEST = 20_000  # characters without an end of a sentence, after which nothing more is let go
LEAST = 40  # characters of text that are let go at first, at the least: a reply that says nothing shows before
_CALL_MAY_START = re.compile(r"[<{\[`|\uff5c]")  # from here on, text may turn out to be a call


class Holder(Protocol):
    """Decides what of a text may be shown."""

    doomed: list[Finding]  # what is certainly wrong: reading on is of no use
    shown: str

    def feed(self, piece: str) -> str: ...

    def tail(self, verdict: Verdict, text: str) -> str | None: ...


def hold(contract: Contract, wanted: Hold, context: dict[str, Any]) -> Holder:
    """The way in which a contract's streams can be held back; `auto` takes the finest that keeps its promise."""
    meaning = contract.meaning
    custom = meaning is not None and (
        meaning.checks or meaning.rules is not None or getattr(getattr(meaning.reply, "settings", None), "custom", ())
    )
    if wanted == "whole" or (wanted == "auto" and custom):
        return Whole()
    if contract.schema is not None:
        return Fields(contract) if wanted in ("auto", "field") else Whole()
    return Sentences(contract, context)


class Whole:
    """Lets nothing go before the end."""

    def __init__(self) -> None:
        self.doomed: list[Finding] = []
        self.shown = ""

    def feed(self, piece: str) -> str:  # noqa: ARG002 - the signature of all holders
        return ""

    def tail(self, verdict: Verdict, text: str) -> str | None:  # noqa: ARG002 - as above
        return text


class Sentences:
    """Lets go sentence by sentence.

    >>> holder = Sentences(
    ...     Contract(states={"ASKING": {"forbid": [{"terms": ["Ana"], "why": "too early"}]}}), {"state": "ASKING"}
    ... )
    >>> holder.feed("Which service would you like to book today? We have cuts, and An")
    'Which service would you like to book today?'
    >>> holder.feed("a is free. Bye"), [found.code for found in holder.doomed]
    ('', ['D001'])
    """

    def __init__(self, contract: Contract, context: dict[str, Any]) -> None:
        meaning = contract.meaning
        self._states: Any = None if meaning is None else meaning.states
        self._may_call = bool(contract.tools)
        self._state, self._data = context.get("state"), context.get("data")
        self._before = ""  # the sentence before, which a pattern may begin in
        self._held = ""
        self._looked = 0  # how much of what is held has been looked at
        self._stopped = False
        self.doomed: list[Finding] = []
        self.shown = ""

    def feed(self, piece: str) -> str:
        if self._stopped:
            return ""
        self._held += piece
        if len(self._held) > _LONGEST or (self._may_call and _CALL_MAY_START.search(piece)):
            self._stopped = True
            return ""
        out = []
        at = 0
        for end in self._ends():
            sentence = self._held[at:end]
            if not self._passes(sentence):
                break
            out.append(sentence)
            self._before, at = sentence, end
        ready = "".join(out)
        if not self.shown and len(ready.strip()) < LEAST:
            self._before = ""
            return ""
        self._held, self._looked = self._held[at:], 0
        self.shown += ready
        return ready

    def _ends(self) -> list[int]:
        """Where sentences end; one that ends with the text may go on: "3." may become "3.5"."""
        start = max(0, self._looked - 8)
        self._looked = len(self._held)
        return [start + end for _, end in bounds(self._held[start:]) if start + end < len(self._held)]

    def _passes(self, sentence: str) -> bool:
        if self._states is None:
            return True
        found = [
            f for f in self._states.judge_text(self._before + sentence, self._state, self._data) if f.level == "error"
        ]
        if not found:
            return True
        self._stopped = True
        # A claim may still be made good by a call that follows; what is forbidden stays so.
        self.doomed = [f for f in found if f.code == "D001"]
        return False

    def tail(self, verdict: Verdict, text: str) -> str | None:  # noqa: ARG002 - as above
        return text[len(self.shown) :] if text.startswith(self.shown) else None


class Fields:
    """Lets go the members of an object as they close, each as it will be in the value.

    >>> holder = Fields(Contract({"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}))
    >>> holder.feed('```json\\n{"name": "Ada", "age": "3'), holder.feed('6"}')
    ('{"name":"Ada"', ',"age":36')
    """

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._growing = Growing(contract.max_depth)
        self._stopped = False
        self._members: dict[str, Any] = {}
        self.doomed: list[Finding] = []
        self.shown = ""

    def feed(self, piece: str) -> str:
        growing = self._growing
        growing.feed(piece)
        closed, growing.closed = growing.closed, []
        if self._stopped or growing.lost or not closed:
            return ""
        out = "".join(self._member(slot, value) for slot, value in closed)
        self.shown += out
        return out

    def _member(self, slot: str | int, value: Any) -> str:
        if self._stopped or not isinstance(slot, str):
            self._stopped = True
            return ""
        errors = self._contract.member_errors(slot, value)
        verdict = self._contract.check_value({slot: value})
        data = verdict.data
        inside = [f for f in verdict.errors if f.path.startswith(f"$.{slot}") or f.code[0] in "GLP"]
        if (
            errors
            or inside
            or not isinstance(data, dict)
            or len(data) != 1
            or not data.keys().isdisjoint(self._members)
        ):
            self._stopped, self.doomed = True, errors
            return ""
        before = "," if self._members else "{"
        self._members.update(data)
        return before + written(data).decode()[1:-1]

    def tail(self, verdict: Verdict, text: str) -> str | None:
        if not self._members:
            return text
        data = verdict.data
        if not isinstance(data, dict) or any(
            name not in data or data[name] != self._members[name] for name in self._members
        ):
            return None
        rest = {name: value for name, value in data.items() if name not in self._members}
        return ("," + written(rest).decode()[1:-1] if rest else "") + "}"
