"""The queue: takes cases one by one and chooses the few that are worth a person's time, each with the reason.

Uncertain cases come from strata (a rule or code, and a state), so that few labels cover many rules. A simple random
sample of all accepted replies is added, because only that sample can show recall. Memory does not grow with the number
of cases.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple, TypeGuard

from msgspec.structs import replace

from trueup.labelling.subjects import (
    DECISIONS,
    RANDOM,
    SKIPPED,
    UNCERTAIN,
    WHOLE,
    decisions,
    is_error,
    subjects,
)
from trueup.material.case import RIGHT, Case, Label
from trueup.statistics.proportions import wilson

SIZE, SHARE = 30, 0.25
_KEPT = 2_000  # cases in all strata
_MOST_STRATA = 1_000
_MOST_SUBJECTS = 4  # strata per case
_REACH = 0.15  # a score within this distance of its threshold is close to it
_USUAL = {"quality": 0.7, "relevance": 0.5}  # thresholds of scores, unless the contract sets others

# The reasons that make a decision uncertain, with their weights. The rule's precision so far has a weight of up to 1.
WEIGHTS = {
    "people disagree": 0.6,
    "close to its threshold": 0.4,
    "something was dropped": 0.35,
    "one finding alone refuses it": 0.3,
    "a value was guessed": 0.25,
    "it passed with a warning": 0.2,
    "two findings refuse it": 0.15,
    "a second opinion": 0.1,
}


class QueueEntry(NamedTuple):
    """A case to show, and the reason."""

    case: Case
    drawn: str
    """`uncertain`, or `random` for the random sample of accepted replies."""
    why: tuple[str, ...]
    score: float = 0.0
    """The uncertainty of the decision; 0 in the random sample."""


class Queue(NamedTuple):
    """The cases to show, in this order, and counts of the others."""

    entries: list[QueueEntry]
    seen: int = 0
    """The number of cases."""
    accepted: int = 0
    """The number of accepted replies; the random sample represents these."""
    labelled: int = 0
    """The number that the author has already labelled."""
    unjudged: int = 0
    """The number without a verdict, which cannot be labelled."""
    unreadable: dict[str, int] = {}
    """The numbers of cases without a reply to show, by reason."""
    promoted: tuple[Label, ...] = ()
    """Earlier labels of replies that are now in the random sample: from now on they count for it."""


_Alike = int  # the hash of a text and the codes of its findings: one such reply represents all of them


class _Strata:
    """The most uncertain cases of each stratum, one for each set of equal replies. The total number is bounded."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.heaps: dict[tuple[str, str], list[tuple[float, int, _Alike, QueueEntry]]] = {}
        self._ranks: dict[tuple[str, str], dict[_Alike, tuple[float, int]]] = {}

    def add(self, key: tuple[str, str], entry: QueueEntry, place: int) -> None:
        """Keep an entry if it is one of the most uncertain ones of its stratum."""
        if key not in self.heaps and len(self.heaps) >= _MOST_STRATA:
            key = ("", "")
        heap, ranks = self.heaps.setdefault(key, []), self._ranks.setdefault(key, {})
        room = max(2, min(self._size, _KEPT // len(self.heaps)))
        rank, alike = (entry.score, place), _alike(entry.case)
        before = ranks.get(alike)
        if before is not None:
            if rank <= before:
                return
            heap[:] = [item for item in heap if item[2] != alike]
            heapq.heapify(heap)
        elif len(heap) >= room and rank <= heap[0][:2]:
            return
        heapq.heappush(heap, (*rank, alike, entry))
        ranks[alike] = rank
        while len(heap) > room:
            del ranks[heapq.heappop(heap)[2]]


def _alike(case: Case) -> _Alike:
    return hash((case.text or case.id, case.recorded.codes if case.recorded is not None else ()))


def queue(cases: Iterable[Case], *, size: int = SIZE, share: float = SHARE, author: str = "", seed: int = 0) -> Queue:
    """The cases to label: uncertain ones and a random sample of accepted ones.

    - `cases`: the replies to choose from, such as from `trueup.material.sources.cases`.
    - `size`: how many to choose; 30 by default.
    - `share`: the share of the random sample; a quarter by default.
    - `author`: the person who will label. Replies that this person has labelled are left out. Empty: any person.
    - `seed`: the seed of the random sample.

    >>> from trueup.material.case import Recorded
    >>> refused = Recorded(False, ("V005",), ({"code": "V005", "path": "$.day", "level": "error"},))
    >>> found = queue([Case("1", "{}", recorded=refused), Case("2", "{}", recorded=Recorded(True))], share=0.5)
    >>> [(entry.case.id, entry.drawn, entry.why) for entry in found.entries]
    [('1', 'uncertain', ('one finding alone refuses it', 'V005 has no label yet')), ('2', 'random', ('random sample of accepted replies',))]
    """
    if size < 1:
        raise ValueError(f"`size` must be at least 1, not {size}")
    if not 0 <= share <= 1:
        raise ValueError(f"`share` must be between 0 and 1, not {share}")
    counts: Counter[str] = Counter()
    unreadable: Counter[str] = Counter()
    tallies: dict[str, Counter[str]] = defaultdict(Counter)
    strata = _Strata(size)
    sample: list[tuple[int, int, Case]] = []  # a heap of the negated places, so that the last of the sample is its root
    answered: list[tuple[int, Label]] = []  # accepted replies that the author has labelled as uncertain ones
    known: set[_Alike] = set()
    for number, case in enumerate(cases):
        counts["seen"] += 1
        kind = _kind(case)
        counts[kind] += 1
        if kind == "unreadable":
            unreadable[case.unjudgeable or "reply_not_kept"] += 1
        if kind in ("unjudged", "unreadable"):
            continue
        for decision in decisions(case):
            tallies[decision.subject][decision.outcome] += 1
        place = _place(case.id, seed)
        mine = _answer(case, author)
        if kind == "accepted":
            if mine is not None and mine.outcome in DECISIONS:
                if mine.drawn != RANDOM:
                    answered.append((place, mine))
            elif share:
                heapq.heappush(sample, (-place, -number, case))
                if len(sample) > size:
                    heapq.heappop(sample)
        if mine is not None:
            counts["labelled"] += mine.outcome in DECISIONS
            known.add(_alike(case))
        else:
            _enter(strata, case, kind, author, place)
    drawn = [(-place, case) for place, _, case in sorted(sample, key=lambda item: (-item[0], -item[1]))]
    wanted = round(size * share)
    chosen = _chosen(strata, tallies, size - min(wanted, len(drawn)), {case.id for _, case in drawn[:wanted]}, known)
    taken = drawn[: size - len(chosen)] if share else []  # more than requested if too few are uncertain
    chosen = [entry for entry in chosen if entry.case.id not in {case.id for _, case in taken}]
    # The sample is the first part of the random order. Earlier answers of its author count for it without asking again.
    is_all = len(taken) == len(drawn) < size
    front = 1 << 64 if is_all else taken[-1][0] if taken else 0
    promoted = tuple(replace(label, drawn=RANDOM) for place, label in answered if share and place < front)
    entries = _spread(chosen, [QueueEntry(case, RANDOM, ("random sample of accepted replies",)) for _, case in taken])
    return Queue(
        entries, counts["seen"], counts["accepted"], counts["labelled"], counts["unjudged"], dict(unreadable), promoted
    )  # fmt: skip


def _kind(case: Case) -> str:
    if case.unjudgeable is not None or case.reply is None:
        return "unreadable"
    if case.recorded is None:
        return "unjudged"
    return "accepted" if case.recorded.ok else "refused"


def _enter(strata: _Strata, case: Case, kind: str, author: str, place: int) -> None:
    score, why = uncertainty(case, author)
    entry = QueueEntry(case, UNCERTAIN, why, score)
    if kind == "refused":
        for subject in subjects(case, errors=True)[:_MOST_SUBJECTS] or (WHOLE,):
            strata.add((subject, case.state), entry, place)
    elif why:
        strata.add((next(iter(subjects(case)), "accepted"), case.state), entry, place)


def uncertainty(case: Case, author: str = "") -> tuple[float, tuple[str, ...]]:
    """The uncertainty of the decision about one case, and the reasons: from the verdict and from labels of others.

    >>> from trueup.material.case import Recorded
    >>> uncertainty(Case("1", "{}", recorded=Recorded(True, fixes=({"code": "S013", "grade": "guess"},))))
    (0.25, ('a value was guessed (S013)',))
    """
    recorded = case.recorded
    assert recorded is not None
    why: dict[str, str] = {}
    errors = [found for found in recorded.findings if is_error(found)]
    if not recorded.ok:
        n = len(errors) or len(recorded.codes)
        if n in (1, 2):
            why["one finding alone refuses it" if n == 1 else "two findings refuse it"] = ""
    elif recorded.findings:
        why["it passed with a warning"] = f" ({recorded.findings[0].get('code')})"
    for grade, reason in (("guess", "a value was guessed"), ("lossy", "something was dropped")):
        code = next((fix.get("code") for fix in recorded.fixes if fix.get("grade") == grade), None)
        if code:
            why[reason] = f" ({code})"
    weights = {reason: WEIGHTS[reason] for reason in why}
    near = _nearness(recorded.findings, recorded.metrics)
    if near > 0:
        why["close to its threshold"] = ""
        weights["close to its threshold"] = WEIGHTS["close to its threshold"] * near
    others = {label.outcome for label in case.labels if label.author != author and label.outcome in DECISIONS}
    if others:
        reason = "people disagree" if len(others) > 1 else "a second opinion"
        why[reason] = ""
        weights[reason] = WEIGHTS[reason]
    ordered = sorted(why, key=lambda reason: -weights[reason])
    return sum(weights.values()), tuple(f"{reason}{why[reason]}" for reason in ordered)


def _nearness(findings: Iterable[Mapping[str, Any]], metrics: Mapping[str, Any]) -> float:
    """The closeness of a score to its threshold: 1 at the threshold, 0 beyond a distance."""
    gaps = [abs(value - at) for name, at in _USUAL.items() if _is_number(value := metrics.get(name))]
    for found in findings:
        data = found.get("data")
        if isinstance(data, dict) and _is_number(score := data.get("score")) and _is_number(below := data.get("below")):
            gaps.append(abs(score - below))
    return max((1 - gap / _REACH for gap in gaps), default=0.0)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _answer(case: Case, author: str) -> Label | None:
    """The author's earlier answer about the case. A skipped case of the random sample is asked again."""
    own = [label for label in case.labels if label.author == author]
    said = [label for label in own if label.outcome in DECISIONS]
    if said:
        return next((label for label in said if label.subject == WHOLE), said[0])
    skipped = [label for label in own if label.outcome == SKIPPED]
    return next((label for label in skipped if label.drawn != RANDOM), None)


def _place(name: str, seed: int) -> int:
    """The place of a case in the random order: the same in every session, and dependent only on its id."""
    return int.from_bytes(blake2b(f"{seed}:{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _chosen(
    strata: _Strata, tallies: dict[str, Counter[str]], size: int, without: set[str], known: set[_Alike]
) -> list[QueueEntry]:
    """The most uncertain entries. Each chosen entry makes its rule and its stratum less urgent."""
    waiting = {key: sorted(heap, key=lambda item: item[:3]) for key, heap in strata.heaps.items()}
    planned: Counter[str] = Counter()
    again: Counter[tuple[str, str]] = Counter()
    chosen: list[QueueEntry] = []
    seen, texts = set(without), set(known)
    urgency = {subject: _urgency(tallies[subject], 0) for subject, _ in waiting}
    while waiting and len(chosen) < size:
        key = max(waiting, key=lambda key: (urgency[key[0]] + waiting[key][-1][0] - 0.02 * again[key], key))
        score, _, alike, entry = waiting[key].pop()
        if not waiting[key]:
            del waiting[key]
        if entry.case.id in seen or alike in texts:
            continue
        seen.add(entry.case.id)
        texts.add(alike)
        subject = key[0]
        n = sum(tallies[subject][word] for word in DECISIONS)
        chosen.append(entry._replace(score=score + urgency[subject], why=(*entry.why, *_known(subject, n))))
        planned[subject] += 1
        again[key] += 1
        urgency[subject] = _urgency(tallies[subject], planned[subject])
    return chosen


def _urgency(tally: Counter[str], planned: int) -> float:
    """The uncertainty of a rule's precision: the width of its interval, as if half of the planned labels were right."""
    right, n = tally[RIGHT] + planned / 2, sum(tally[word] for word in DECISIONS) + planned
    low, high = wilson(right, n)
    return high - low


def _known(subject: str, n: int) -> tuple[str, ...]:
    if not subject or subject == "accepted":
        return ()
    name = subject.partition(":")[2]
    return (f"{name} has {n or 'no'} label{'s' if n > 1 else ''}{'' if n else ' yet'}",) if n < 10 else ()


def _spread(uncertain: list[QueueEntry], drawn: list[QueueEntry]) -> list[QueueEntry]:
    """Uncertain ones first, with the random sample spread evenly among them: a person who stops early has labelled some
    of both.

    >>> [
    ...     entry.drawn[0]
    ...     for entry in _spread(
    ...         [QueueEntry(Case("1"), "uncertain", ())] * 6, [QueueEntry(Case("2"), "random", ())] * 2
    ...     )
    ... ]
    ['u', 'u', 'u', 'r', 'u', 'u', 'u', 'r']
    """
    merged: list[QueueEntry] = []
    total = len(uncertain) + len(drawn)
    for at in range(1, total + 1):
        randoms = len(drawn) * at // total
        placed = sum(entry.drawn == RANDOM for entry in merged)
        merged.append(drawn[placed] if placed < randoms else uncertain[at - 1 - placed])
    return merged
