"""Count flips: turns judged cases into counts, groups and a few examples. Tallies of blocks can be added.

Examples are chosen by a hash of the case, so they are a random sample and the same on any engine. Memory does not grow
with the number of replies: groups and conversations beyond a limit are counted together.
"""

import heapq
import json
from collections import Counter
from typing import Any
from zlib import crc32

from trueup.backtesting.cost import ObservedRates
from trueup.backtesting.judging import FLIPS, CaseFindings, CaseOutcome, shown_value
from trueup.backtesting.labels import mark_of, words_of
from trueup.material.case import Case, Reason

DIMENSIONS = ("reason", "code", "rule", "path", "model", "state", "tenant")
REST = "…"
EXAMPLES = 60  # of each direction
_GROUPS = 1000  # of each dimension
_NAMES = 20_000  # models, states and tenants, labels, outcomes
_EXCERPT = 240  # characters
_VALUE = 120
Example = dict[str, Any]


class FlipTally:
    """The results of some cases."""

    def __init__(self, *, lines: bool = False, most: int = EXAMPLES) -> None:
        self._most = most
        self.total = 0
        self.kinds: Counter[str] = Counter()
        self.unjudgeable: Counter[Reason] = Counter()
        self.errors: Counter[str] = Counter()
        self.was_refused = 0
        self.now_refused = 0
        self.verdicts = 0
        self.skipped = 0
        self.groups: dict[tuple[str, str, str], list[Any]] = {}
        """For a dimension, a direction and a key: the count, the rank of the example, and the example."""
        self.of: Counter[tuple[str, str]] = Counter()
        """Judged cases by model, state and tenant."""
        self.examples: dict[str, list[tuple[int, str, Example]]] = {kind: [] for kind in FLIPS}
        self.labelled = 0
        self.marks: Counter[tuple[str, str]] = Counter()
        self.words: Counter[tuple[str, str]] = Counter()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.conversations: dict[str, list[int]] = {}
        """By conversation: the numbers of judged, newly refused and newly accepted cases."""
        self.alone = [0, 0, 0]
        self.observed = ObservedRates()
        self.flips: list[bytes] | None = [] if lines else None

    @property
    def judged(self) -> int:
        return self.kinds.total()

    def note(self, case: Case, judged: CaseOutcome) -> None:
        """Count one case."""
        self.total += 1
        self.observed.note(case)
        if judged.reason is not None:
            self.unjudgeable[judged.reason] += 1
            if judged.error:
                self.errors[judged.error] += 1
            return
        kind = judged.kind
        self.kinds[kind] += 1
        self.verdicts += judged.verdicts
        self.skipped += judged.skipped
        self.was_refused += not judged.was
        self.now_refused += not judged.now
        if case.labels:
            self.labelled += 1
        for name, key in (("model", case.model), ("state", case.state), ("tenant", case.tenant)):
            if key:
                self.of[name, key] += 1
        counts = self.alone
        if case.conversation:
            known = self.conversations.get(case.conversation)
            counts = self.conversations.setdefault(case.conversation, [0, 0, 0]) if known is None else known
        counts[0] += 1
        if kind != "same":
            counts[1] += kind == "newly_refused"
            counts[2] += kind == "newly_accepted"
            self._note_flip(case, judged)

    def _note_flip(self, case: Case, judged: CaseOutcome) -> None:
        kind = judged.kind
        mark = mark_of(case, judged)
        self.marks[kind, mark] += 1
        for word in words_of(case.labels):
            self.words[kind, word[:100]] += 1
        if case.outcome:
            self.outcomes[kind, case.outcome] += 1
        rank = crc32(f"{case.id}\0{case.text[:1000]}".encode("utf-8", "surrogatepass"))
        made: Example | None = None
        for name, keys in _keys(case, judged).items():
            for key in keys:
                row = self.groups.get((name, kind, key))
                if row is None:
                    row = self.groups[name, kind, key] = [0, 1 << 33, None]
                row[0] += 1
                if rank < row[1]:
                    made = made or example_of(case, judged, mark)
                    row[1:] = [rank, made]
        kept = self.examples[kind]
        if len(kept) < self._most or (kept and rank < -kept[0][0]):
            made = made or example_of(case, judged, mark)
            _keep(kept, (-rank, case.id, made), self._most)
        if self.flips is not None:
            self.flips.append(
                json.dumps(made or example_of(case, judged, mark), ensure_ascii=True, default=str).encode() + b"\n"
            )

    def add(self, other: "FlipTally") -> None:
        """Add the counts of another tally, except its conversations, which `result.py` adds to clusters."""
        self.total += other.total
        for name in ("kinds", "unjudgeable", "marks"):
            getattr(self, name).update(getattr(other, name))
        for name in ("errors", "of", "words", "outcomes"):
            _count_in(getattr(self, name), getattr(other, name))
        for name in ("was_refused", "now_refused", "verdicts", "skipped", "labelled"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for place, (count, rank, example) in other.groups.items():
            row = self.groups.get(place)
            if row is None:
                known = place if self._has_room(place[0]) else (*place[:2], REST)
                row = self.groups.setdefault(known, [0, 1 << 33, None])
            row[0] += count
            if rank < row[1]:
                row[1:] = [rank, example]
        for kind, kept in other.examples.items():
            for each in kept:
                _keep(self.examples[kind], each, self._most)
        self.observed.add(other.observed)

    def _has_room(self, name: str) -> bool:
        return len(self.groups) < _GROUPS or sum(place[0] == name for place in self.groups) < _GROUPS


def _count_in(counts: "Counter[Any]", more: "Counter[Any]") -> None:
    """Add counts. New keys are added only up to a limit, because there may be as many names as replies."""
    for key, n in more.items():
        if key in counts or len(counts) < _NAMES:
            counts[key] += n


def _keep(kept: list[tuple[int, str, Example]], entry: tuple[int, str, Example], most: int) -> None:
    """Keep the examples with the smallest ranks, in a heap with the largest rank on top."""
    is_full = len(kept) >= most
    if is_full and (not kept or entry[:2] <= kept[0][:2]):
        return
    if any(entry[:2] == each[:2] for each in kept):
        return
    if is_full:
        heapq.heapreplace(kept, entry)
    else:
        heapq.heappush(kept, entry)


def _keys(case: Case, judged: CaseOutcome) -> dict[str, list[str]]:
    """The keys that a flip counts under, without duplicates."""
    paths = [found.path for found in judged.found] or [change.path for change in judged.changes]
    keys = {
        "reason": [_reason(found) for found in judged.found] or paths,
        "code": [found.code for found in judged.found],
        "rule": [found.rule for found in judged.found],
        "path": paths,
        "model": [case.model],
        "state": [case.state],
        "tenant": [case.tenant],
    }
    return {name: list(dict.fromkeys(key[:200] for key in found if key)) for name, found in keys.items()}


def _reason(found: CaseFindings) -> str:
    """A code with the detail that distinguishes its findings: a rule, or for a schema the place in the value."""
    return f"{found.code} {found.path if found.code[0] == 'V' or not found.rule else found.rule}"


def example_of(case: Case, judged: CaseOutcome, mark: str) -> Example:
    """A flip for display: the reply's text, with the relevant place marked."""
    first = judged.found[0] if judged.found else None
    span = next((found.span for found in judged.found if found.span), None)
    text, marked = excerpt(case.text, span)
    told: Example = {
        "id": case.id, "kind": judged.kind, "was": _word(judged.was), "now": _word(judged.now),
        "recorded": "" if case.recorded is None else _word(case.recorded.ok), "text": text, "span": marked,
        "codes": list(dict.fromkeys(found.code for found in judged.found)),
        "reason": _reason(first) if first else judged.changes[0].path if judged.changes else "",
        "rules": list(dict.fromkeys(found.rule for found in judged.found if found.rule)),
        "path": first.path if first else judged.changes[0].path if judged.changes else "",
        "message": first.message[:300] if first else "",
        "model": case.model, "state": case.state, "tenant": case.tenant, "outcome": case.outcome,
        "label": mark, "labels": sorted({label.outcome for label in case.labels}), "place": case.place,
    }  # fmt: skip
    if judged.changes:
        change = judged.changes[0]
        told["before"], told["after"] = _short(change.before), _short(change.now)
    return told


def _word(ok: bool) -> str:  # noqa: FBT001 - its only value
    return "accepted" if ok else "refused"


def _short(value: Any) -> str:
    """A value as JSON, cut if it is long; empty without a value."""
    value = shown_value(value)
    if value is None:
        return ""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}…"


def excerpt(text: str, span: tuple[int, int] | None, most: int = _EXCERPT) -> tuple[str, list[int] | None]:
    """The part of a text around a span, and the position of the span in it.

    >>> excerpt("abcdefghij", (6, 8), 4)
    ('…fghi…', [2, 4])
    """
    start, end = span or (0, 0)
    if not (span and 0 <= start < end <= len(text)):
        return (text if len(text) <= most else f"{text[:most]}…"), None
    end = min(end, start + most)
    room = most - (end - start)
    left = max(0, min(start - room // 2, len(text) - most))
    right = min(len(text), left + most)
    before, after = "…" if left else "", "…" if right < len(text) else ""
    return f"{before}{text[left:right]}{after}", [start - left + len(before), end - left + len(before)]
