"""Holding a stream back: takes pieces of a reply's text and returns the part that may already be shown; the rest waits
for the verdict.

By sentence: text is released once its sentence is complete and the contract has no objection. By field: a value may be
shown as it grows, and a member is released as text once it is closed and valid. Whole: nothing is released before the
verdict. Reasoning and special tokens are never released. `tail` is the text that must follow the released text, or None
if the two no longer fit.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from trueup.checks.current_state import UNPLACED
from trueup.checks.sentences import last_sentences
from trueup.contract.judging.repetition import Looping
from trueup.contract.stream import Stream
from trueup.contract.tool_calls.rest_of_reply import beside, is_written
from trueup.recover.layers.reasoning import Visible
from trueup.recover.marks import SPECIAL_TOKEN, may_reason
from trueup.recover.sentences import ENDED
from trueup.verdict.bugs import tried
from trueup.verdict.codec import written
from trueup.verdict.facts import Finding
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Reply
from trueup.verdict.verdict import Verdict

if TYPE_CHECKING:
    from trueup.contract.contract import Contract

Way = Literal["auto", "sentence", "field", "whole"]
_LONGEST = 20_000  # characters without the end of a sentence, after which nothing more is released
_CALL_MAY_START = lazy_regex(r"[<{\[`|\uff5c]|\baction:", re.IGNORECASE)  # from here on, text may turn out to be a call
_SPECIAL = lazy_regex(SPECIAL_TOKEN)
_CERTAIN = frozenset({"D001", *UNPLACED})  # whatever text follows


class Holder:
    """Decides which part of a reply may be shown; this base class shows nothing before the verdict."""

    by_field = False

    def __init__(self, contract: "Contract") -> None:
        self._contract = contract
        self.doomed: tuple[Finding, ...] = ()  # a fault is certain: there is no point in reading further
        self._left: list[str] = []  # all released text
        self.retracted = False  # released text turned out to be reasoning:
        self._since = 0  # this many characters of it
        self._watched = None if self.by_field else self._watch()

    def _watch(self) -> "Stream | Looping":
        """Finds certain faults in all text."""
        return Looping() if self._contract.schema is None else Stream(self._contract)

    def _hear_all(self, piece: str) -> None:
        """Look for certain faults, no matter which part of a piece may be shown."""
        watched = self._watched
        if isinstance(watched, Looping):
            loop = watched.feed(piece)
            self.doomed = self.doomed if loop is None else (loop,)
        elif watched is not None:
            watched.push(piece)
            self.doomed = tuple(found for found in watched.findings.errors if found.code not in UNPLACED)

    @property
    def value(self) -> Any:
        """The value so far, which can be kept; None if there is nothing to show."""
        return None

    @property
    def shown(self) -> str:
        """All released text."""
        return "".join(self._left)

    def take_back(self) -> None:
        """Note that the caller has taken back text that turned out to be reasoning."""
        self._left, self._since, self.retracted = [self.shown[self._since :]], 0, False

    def feed(self, piece: str) -> str:
        """Take a piece; returns the text to release."""
        self._hear_all(piece)
        return ""

    def tail(self, verdict: Verdict, text: str) -> str | None:
        """The rest of the whole text after the released text; None if the released text is no longer its start."""
        if self._contract.schema is not None:
            return text
        return spoken(beside(verdict).text if is_written(verdict) else text)


def hold(contract: "Contract", way: Way, context: Mapping[str, Any], least: int = 0) -> Holder:
    """The holder for a contract's streams; `auto` chooses the finest mode that keeps its promise.

    At least `least` characters of text are released first, for callers that cannot take released text back.
    """
    if way == "whole" or (way == "auto" and _needs_whole(contract)):
        return Holder(contract)
    if contract.schema is not None:
        return Fields(contract) if way in ("auto", "field") else Holder(contract)
    return Sentences(contract, context, least)


def _needs_whole(contract: "Contract") -> bool:
    """Whether anything is judged that needs the whole reply."""
    meaning = contract.meaning
    if meaning is None:
        return False
    own = meaning.asks or meaning.rules is not None or meaning.scores_refuse or meaning.grounding is not None
    return own or (contract.schema is not None and contract.judges_meaning)


def spoken(text: str) -> str:
    """A text in the form that may be shown: without reasoning and special tokens.

    >>> spoken("<think>Who is it?</think>\\n\\nHello!<|im_end|>"), spoken("  Hello!")
    ('Hello!', '  Hello!')
    """
    return _spoken(text)[0]


def _spoken(text: str) -> tuple[str, bool]:
    """The same, and whether it starts with reasoning that a stream could not recognize."""
    if not may_reason(text) and not _SPECIAL.search(text):
        return text, False
    visible = Visible(prose=True)
    said = visible.feed(text) + visible.finish()
    return said if said.startswith(_start(text)) and not visible.misled else said.lstrip(), visible.misled


def _start(text: str) -> str:
    """The spaces at the start of a text, and the character after them."""
    return text[: len(text) - len(text.lstrip()) + 1]


class Sentences(Holder):
    """Releases text sentence by sentence.

    >>> from trueup import Contract
    >>> asking = Contract(states={"ASKING": {"forbid": [{"terms": ["Ana"], "why": "too early"}]}})
    >>> holder = Sentences(asking, {"state": "ASKING"})
    >>> holder.feed("<think>Ana?</think>Which service? We have cuts, and An")
    'Which service?'
    >>> holder.feed("a is free. Bye"), [finding.code for finding in holder.doomed]
    ('', ['D001'])
    """

    def __init__(self, contract: "Contract", context: Mapping[str, Any], least: int = 0) -> None:
        super().__init__(contract)
        self._context = dict(context)
        self._least = least
        self._visible = Visible(prose=True)
        self._misled = False  # the released text turned out to be reasoning
        self._start = ""  # the first characters of the text, up to one that is not blank
        self._held = ""  # may be shown, but is not released
        self._begun = False  # its first character has arrived
        self._before = ""  # the end of the released text
        self._from = 0  # sentences in the held text end only after this position
        self._next = 0  # the held text is judged again at this length
        self._stopped = False

    def feed(self, piece: str) -> str:
        """Take a piece; returns the sentences to release."""
        self._hear_all(piece)
        if self._stopped or self.doomed:
            return ""
        self._hear(piece)
        held, start = self._held, 0
        while self._begun and (end := ENDED.search(held, self._from)) is not None:
            ready = self._ended(held, start, end.end())
            if ready < 0:
                self._stopped = True
                break
            start = ready
        self._held = held[start:]
        self._from = max(0, self._from - start, len(self._held) - 8) if self._begun else 0
        if len(self._held) > _LONGEST:
            self._stopped = True
        if start:
            self._left.append(held[:start])
        return held[:start]

    def _hear(self, piece: str) -> None:
        """Take the part of a piece that may be shown."""
        if not self._start.strip():
            self._start = _start(self._start + piece)
        fresh = self._visible.feed(piece)
        if self._visible.retracted and not self._misled:
            self._retract()
        self._held += fresh
        if not self._begun and self._held.strip():
            self._begun = True
            if self._visible.misled or not self._held.startswith(self._start):
                self._held = self._held.lstrip()

    def _retract(self) -> None:
        """All text so far was reasoning; the part that was not released never will be."""
        self._misled, self.retracted, self._since = True, bool(self.shown), len(self.shown)
        self._held, self._begun, self._before, self._from, self._next = "", False, "", 0, 0

    def _ended(self, held: str, start: int, end: int) -> int:
        """A sentence has ended; returns how much text may be released, or -1 if nothing may be before the verdict."""
        if self._contract.tools and _CALL_MAY_START.search(held, max(start, self._from - 8), end):
            return -1  # only the whole verdict can decide whether it is a call
        self._from = end
        ready = held[start:end]
        few = not start and not self._left and len(ready.strip()) < self._least
        if few or len(ready) < self._next:
            return start
        window = self._before + ready
        verdict = tried(self._contract.check, Reply(text=window), self._context)
        if verdict is None:
            return -1
        if verdict.ok and not verdict.calls:
            self._before, self._next = last_sentences(window), 0
            return end
        # A later call may still justify a claim, and more text may reach a minimum; forbidden text stays forbidden.
        self.doomed = tuple(finding for finding in verdict.errors if finding.code in _CERTAIN)
        self._next = len(ready) + len(ready) // 4
        return -1 if self.doomed or verdict.calls else start

    def tail(self, verdict: Verdict, text: str) -> str | None:
        """The text that may be shown after the released text."""
        said, misled = _spoken(beside(verdict).text if is_written(verdict) else text)
        if misled and self.shown and not self._misled:  # it arrived after the holder had stopped looking
            self._retract()
        left = self.shown[self._since :]
        if said.startswith(left):
            return said[len(left) :]
        if not is_written(verdict):
            return None
        bare = left.rstrip()  # the spaces before a call are removed with it
        if said.startswith(bare):
            return said[len(bare) :].lstrip()
        return "" if bare in said else said  # a call may contain a thought, which has been released


class Fields(Holder):
    """Releases the members of an object as they close, each as it will be in the value.

    >>> from trueup import Contract
    >>> holder = Fields(Contract({"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}))
    >>> holder.feed('```json\\n{"name": "Ada", "age": "3'), str(holder.value), holder.feed('6"}')
    ('{"name":"Ada"', "{'name': 'Ada', 'age': '3'}", ',"age":36')
    """

    by_field = True

    def __init__(self, contract: "Contract") -> None:
        super().__init__(contract)
        self._closed: list[tuple[str | int, Any]] = []
        self._stream = Stream(contract, on_closed=lambda slot, value: self._closed.append((slot, value)))
        self._partial: Any = None
        self._stopped = False
        self._members: dict[str, Any] = {}

    @property
    def value(self) -> Any:
        """The value so far, as long as no part of it has a certain fault."""
        return None if self.doomed else self._partial

    def feed(self, piece: str) -> str:
        """Take a piece; returns the members to release, written as JSON."""
        self._stream.push(piece)
        self._partial = self._stream.data
        closed, self._closed = self._closed, []
        if not self.doomed:
            self.doomed = tuple(self._stream.findings.errors)
        if self._stopped or self.doomed:
            self._stopped = True
            return ""
        out = "".join(self._member(slot, value) for slot, value in closed)
        self._left += [out] if out else []
        return out

    def _member(self, slot: str | int, value: Any) -> str:
        if self._stopped or not isinstance(slot, str):
            self._stopped = True
            return ""
        verdict = tried(self._contract.check_value, {slot: value})
        if verdict is None:
            self._stopped = True
            return ""
        data = verdict.data
        wrong = any(f.path.startswith(f"$.{slot}") or f.code[0] in "GLP" for f in verdict.errors)
        if wrong or not isinstance(data, dict) or len(data) != 1 or not data.keys().isdisjoint(self._members):
            self._stopped = True
            return ""
        before = "," if self._members else "{"
        self._members.update(data)
        return before + written(data).decode()[1:-1]

    def tail(self, verdict: Verdict, text: str) -> str | None:
        """The members that were not released, and the end of the object."""
        if not self._members:
            return text
        data = verdict.data
        if not isinstance(data, dict) or any(
            name not in data or data[name] != self._members[name] for name in self._members
        ):
            return None
        rest = {name: value for name, value in data.items() if name not in self._members}
        return ("," + written(rest).decode()[1:-1] if rest else "") + "}"
