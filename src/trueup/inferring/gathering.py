"""One pass over the cases: each is held out, used, or unusable for a reason. `cases = used + held out + not usable`.

A hash of a case's conversation or id decides whether it is held out, so the order of the source does not matter. Broken
replies are stored up to a limit, because they are read again under the first draft.
"""

import heapq
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from math import ceil

from trueup.inferring.calling import ObservedCalls
from trueup.inferring.evidence import Budget, ObservedPlace, observe
from trueup.inferring.grounds import Grounds
from trueup.inferring.reading import NOTHING, ObservedReply, observed, reader
from trueup.inferring.shapes import FIRST, ValueShape
from trueup.inferring.wrapping import wrapping
from trueup.material.case import Case
from trueup.statistics.unseen import missing_mass

MAX_HELD = 2_000
MAX_BROKEN = 5_000
MAX_BROKEN_CHARACTERS = 32_000_000
WAITING = 2_000  # cases that are stored until their number is known
_NAMES = 8  # with fewer distinct names, they count as tools
_NEW_NAMES = 0.2  # the largest expected share of new names, if they are tools
LEAST = 5  # with fewer cases, the draft needs all of them


class RepliesWithoutValue:
    """Statistics on the texts of replies without a value."""

    def __init__(self) -> None:
        self.seen = 0
        self.shortest = -1
        self.lengths: Counter[int] = Counter()

    def add(self, text: str) -> None:
        size = len(text.strip())
        self.seen += 1
        self.shortest = size if self.shortest < 0 else min(self.shortest, size)
        self.lengths[min(size, 1_000)] += 1

    def merge(self, other: "RepliesWithoutValue") -> None:
        """Add the statistics on other texts."""
        self.seen += other.seen
        self.shortest = min((size for size in (self.shortest, other.shortest) if size >= 0), default=-1)
        self.lengths += other.lengths


class GatheredValues:
    """The evidence of all replies that are not held out."""

    def __init__(self, share: float, seed: int) -> None:
        self.budget = Budget()
        self.clean = ObservedPlace(self.budget)
        """The values of clean replies, and of broken ones beyond the limit."""
        self.broken: list[tuple[Case, ObservedReply]] = []
        self.wrapped: list[tuple[Case, ObservedReply]] = []
        """Clean replies with a value that may only be wrapped in something."""
        self.others: list[tuple[Case, ObservedReply]] = []
        """Clean replies with a value of a different shape."""
        self.shape = ValueShape([])
        self._first: list[tuple[Case, ObservedReply]] | None = []
        """The first clean replies, until they show the shape."""
        self._spoken: list[tuple[Case, ObservedReply]] | None = []
        """Replies with a value that may be a call; None once that is decided."""
        self._are_calls = True
        self.calls = ObservedCalls(self.budget)
        self.grounds = Grounds()
        """Clean values with their sources."""
        self.texts = RepliesWithoutValue()
        self.value_texts = RepliesWithoutValue()
        """The texts of replies that contain a value."""
        self.cases = 0
        self.values = 0
        self.with_calls = 0
        self.beyond: Counter[str] = Counter()
        """Replies beyond the limit without a value, by reason."""
        self.mended = 0
        """Broken replies beyond the limit, counted as they were first read."""
        self.silent = 0
        """Replies with calls and without text."""
        self.unusable: Counter[str] = Counter()
        self.held: list[Case] = []
        self._share = share
        self._seed = seed
        self._reader = reader()
        self._characters = 0

    def add_all(self, cases: Iterable[Case]) -> None:
        """Take every case."""
        waiting: list[tuple[int, int, Case]] = []
        heap: list[tuple[int, int, Case]] = []
        limit = int(self._share * 2**64)
        is_streaming = False
        for case in cases:
            self.cases += 1
            entry = (self._hash(case), self.cases, case)
            if is_streaming:
                self._divide(entry, limit, heap)
                continue
            waiting.append(entry)
            if len(waiting) >= WAITING:
                is_streaming = True
                for one in waiting:
                    self._divide(one, limit, heap)
                waiting = []
        if not is_streaming:
            self._divide_few(waiting)
        self._settle()
        self._learn_shape()
        self.held += [case for _, _, case in sorted(heap, key=lambda entry: -entry[1])]

    def _divide(self, entry: tuple[int, int, Case], limit: int, heap: list[tuple[int, int, Case]]) -> None:
        """Hold a case out, or use it. The cases with the smallest hashes are held out."""
        at, number, case = entry
        if at >= limit:
            self._use(case)
            return
        heapq.heappush(heap, (-at, number, case))
        if len(heap) > MAX_HELD:
            self._use(heapq.heappop(heap)[2])

    def _divide_few(self, waiting: list[tuple[int, int, Case]]) -> None:
        """Hold out a share of a small number of cases, keeping conversations together."""
        wanted = ceil(self._share * len(waiting)) if len(waiting) >= LEAST and self._share > 0 else 0
        chosen: set[int] = set()
        total = 0
        sizes = Counter(at for at, _, _ in waiting)
        for at in sorted(sizes):
            if total >= wanted or total + sizes[at] > max(wanted, len(waiting) // 2):
                break
            chosen.add(at)
            total += sizes[at]
        for at, _, case in waiting:
            if at in chosen:
                self.held.append(case)
            else:
                self._use(case)

    def _hash(self, case: Case) -> int:
        key = case.conversation or case.id or case.text
        digest = blake2b(f"{self._seed}\0{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big")

    def _use(self, case: Case) -> None:
        found = observed(self._reader, case)
        if found.instead is None:
            self._count(case, found)
        elif self._spoken is None:
            self._count(case, found if self._are_calls else found.instead)
        else:
            self._spoken.append((case, found))
            if len(self._spoken) >= WAITING:
                self._settle()

    def _settle(self) -> None:
        """Decide whether values such as `{"name": …, "arguments": …}` are calls: names of tools repeat."""
        spoken, self._spoken = self._spoken or [], None
        if spoken:
            names = Counter(found.calls[-1].name for _, found in spoken)
            self._are_calls = len(names) < _NAMES or missing_mass(names.values()) <= _NEW_NAMES
        for case, found in spoken:
            self._count(case, found if self._are_calls or found.instead is None else found.instead)

    def _count(self, case: Case, found: ObservedReply) -> None:
        """Count the contents of a reply."""
        self.calls.add(case, found)
        if found.calls:
            self.with_calls += 1
            self.silent += not found.text.strip() or any(call.origin != "native" for call in found.calls)
        if found.value is NOTHING:
            if any(call.origin != "native" for call in found.calls):
                return  # its text is the call
            if found.text.strip() and found.why in ("", "no_value", "doubtful"):
                self.texts.add(found.text)
                if not found.calls:
                    self._keep(case, found)
            elif found.why:
                self.unusable[found.why] += 1
            return
        self.values += 1
        self.value_texts.add(found.text)
        if found.clean and not found.cut:
            if wrapping(found.value) is not None and len(self.wrapped) < MAX_BROKEN:
                self.wrapped.append((case, found))
            elif self._first is None:
                self._sort(case, found)
            else:
                self._first.append((case, found))
                if len(self._first) >= FIRST:
                    self._learn_shape()
        else:
            self._keep(case, found)

    def _learn_shape(self) -> None:
        """Learn the shape from the first clean replies, and count them."""
        first, self._first = self._first or [], None
        if first:
            self.shape = ValueShape([found.value for _, found in first])
        for case, found in first:
            self._sort(case, found)

    def _sort(self, case: Case, found: ObservedReply) -> None:
        """Count a clean reply, or set it aside if it has a different shape."""
        if self.shape.is_other(found.value) and len(self.others) < MAX_BROKEN:
            self.others.append((case, found))
        else:
            observe(self.clean, found.value)
            self.grounds.add(case, found.value)

    def _keep(self, case: Case, found: ObservedReply) -> None:
        """Store a broken reply to read it again. Beyond the limit, count it as it was read."""
        self._characters += len(found.text)
        if len(self.broken) < MAX_BROKEN and self._characters <= MAX_BROKEN_CHARACTERS:
            self.broken.append((case, found))
        elif found.value is not NOTHING:
            self.mended += not found.clean
            count_in(self.clean, found)
        else:
            self.beyond[found.why or "no_value"] += 1


def count_in(place: ObservedPlace, found: ObservedReply) -> None:
    """Count the value of a reply."""
    if found.value is not NOTHING:
        observe(place, found.value, clean=found.clean and not found.cut, cut=found.cut, doubts=found.doubts)
