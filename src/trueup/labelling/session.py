"""A labelling session: takes keys one by one and writes labels to a sink immediately. It does no input or drawing.

Each answer is written before the next reply is shown, so a session may end at any moment. A new answer after going back
replaces the old one.
"""

import time
from collections import Counter
from collections.abc import Sequence

from trueup.labelling.labels import Sink
from trueup.labelling.queue import QueueEntry
from trueup.labelling.subjects import COMMENT, DECISIONS, RANDOM, SKIPPED, WHOLE, subjects
from trueup.material.case import ACCEPTED, REFUSED, RIGHT, WRONG, Case, Label

MOST = 200  # characters of a custom label
KEYS = {
    "r": ("right", "trueup's decision is right"),
    "w": ("wrong", "it is wrong: a false alarm, or a missed error"),
    "s": ("skip", "skip it; skips in the random sample are reported"),
    "u": ("back", "back to the previous reply; a new answer replaces the old one"),
    "f": ("per finding", "answer for each rule or code; press again for the next"),
    "n": ("note", "add a note to your answer"),
    "l": ("label", "add your own label, such as `rude`"),
    "m": ("more", "show all of a long reply, or the short form again"),
    "q": ("quit", "stop; your answers are stored"),
    "?": ("help", "explain the keys"),
}


class LabellingSession:
    """A person's position in a queue, and their answers."""

    def __init__(self, entries: Sequence[QueueEntry], sink: Sink, author: str = "") -> None:
        self.entries = entries
        self.sink = sink
        self.author = author
        self.at = 0
        self.focus = WHOLE
        """The subject of the next answer: the whole verdict, or a subject of its findings."""
        self.note = ""
        self.whole_text = False
        self.is_over = not entries
        self.answers: dict[tuple[str, str], Label] = {}
        """The last answer of this session for each case and subject."""
        self.words: Counter[str] = Counter()
        """The person's own labels."""

    @property
    def entry(self) -> QueueEntry:
        """The current entry."""
        return self.entries[self.at]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects that can have their own answer."""
        return subjects(self.entry.case)

    def press(self, key: str) -> str:
        """Process a key. Returns a message for the person, or an empty one."""
        actions = {
            "r": lambda: self._decide(RIGHT), "w": lambda: self._decide(WRONG), "s": self._skip, "u": self._back,
            "f": self._next_focus, "m": self._more, "q": self.quit,
        }  # fmt: skip
        action = actions.get(key.lower())
        if action is None:
            return f"{key!r} is not a key here; ? explains the keys"
        return action()

    def remark(self, text: str) -> str:
        """Set the text of a note for the next answer about this reply."""
        self.note = text.strip()
        return "the note is added to your next answer" if self.note else "no note"

    def name(self, word: str) -> str:
        """Add a custom label to the reply, or to the finding in focus."""
        word = word.strip()
        if not word:
            return "no label"
        if len(word) > MOST:
            return f"a label can have at most {MOST} characters"
        if word in (*DECISIONS, SKIPPED, COMMENT):
            return f"{word!r} already has a meaning; choose another word"
        self._write(word, self.focus)
        self.words[word] += 1
        return f"labelled {word!r}"

    def quit(self) -> str:
        """End the session. A note without an answer is kept as a comment."""
        if not self.is_over and self.note:
            self._write(COMMENT, WHOLE)
        self.is_over = True
        return ""

    def outcome(self, subject: str = WHOLE) -> str:
        """The answer about the current reply; empty if there is none."""
        label = self.answers.get((self.entry.case.id, subject))
        return label.outcome if label is not None else ""

    def counts(self) -> Counter[str]:
        """The number of answered replies by outcome, and the number of skipped ones in the random sample."""
        counted: Counter[str] = Counter()
        for label in self.answers.values():
            if label.subject == WHOLE or label.outcome == SKIPPED:
                counted[label.outcome] += 1
            else:
                counted["finding"] += 1
            if label.drawn == RANDOM and label.subject == WHOLE:
                counted[f"{label.outcome} at random"] += 1
        return counted

    def _decide(self, outcome: str) -> str:
        self._write(outcome, self.focus)
        if self.focus == WHOLE:
            self._advance()
        else:
            self._next_focus()
        return ""

    def _skip(self) -> str:
        if self.outcome() not in DECISIONS:
            self._write(SKIPPED, WHOLE)
        self._advance()
        return ""

    def _back(self) -> str:
        if self.at == 0:
            return "this is the first reply"
        self._turn_to(self.at - 1)
        return ""

    def _next_focus(self) -> str:
        order = (WHOLE, *self.subjects)
        if len(order) == 1:
            return "there are no findings to answer for"
        self.focus = order[(order.index(self.focus) + 1) % len(order)]
        return ""

    def _more(self) -> str:
        self.whole_text = not self.whole_text
        return ""

    def _advance(self) -> None:
        if self.at + 1 < len(self.entries):
            self._turn_to(self.at + 1)
        else:
            self.is_over = True

    def _turn_to(self, at: int) -> None:
        self.at, self.focus, self.note, self.whole_text = at, WHOLE, "", False

    def _write(self, outcome: str, subject: str) -> None:
        case, drawn = self.entry.case, self.entry.drawn
        label = Label(case.id, outcome, self.author, time.time(), subject, self.note, drawn, _decided(case))
        self.sink.write(label)
        self.note = ""
        if outcome in (*DECISIONS, SKIPPED):
            self.answers[case.id, subject] = label


def _decided(case: Case) -> str:
    """The shown decision, which an answer is about."""
    if case.recorded is None:
        return ""
    return ACCEPTED if case.recorded.ok else REFUSED
