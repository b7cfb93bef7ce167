"""Proposals: changes that the evidence may support, each with a test of that.

A proposal has its edits, its p-value and the labelled replies that it makes better or worse. Failed tests are proposals
too, because the correction for multiple tests needs all of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from trueup.contract.contract import Contract
from trueup.statistics.distributions import binomial_cdf
from trueup.tuning.edits import Edit
from trueup.tuning.evidence import JudgedCase, JudgedCases, judged
from trueup.tuning.files import ContractFile
from trueup.tuning.patterns import tried_patterns
from trueup.verdict.paths import Parts

NEEDED = 10  # the minimum number of labels for a suggestion

Kind = Literal["dead", "together", "misfire", "threshold", "alias", "affix", "value", "key", "coercion", "accept"]


class Proposal(NamedTuple):
    """A possible change of the contract."""

    kind: Kind
    at: Parts
    """The place of the change in the contract's data."""
    title: str
    why: str
    """The evidence in a sentence."""
    p: float
    edits: tuple[Edit, ...] = ()
    labels: int = 0
    better: tuple[int, ...] = ()
    """The numbers of the labelled replies that are judged correctly only with the change."""
    worse: tuple[int, ...] = ()
    note: str = ""
    unit: str = ""
    facts: dict[str, Any] = {}
    remade: Callable[[dict[str, Any]], list[Edit]] | None = None
    """Makes the edits again for data that other edits have changed."""
    also: bool = False
    """Whether it is supported, at any p-value, if the proposal to switch the same unit off is
    supported."""


class Trial(NamedTuple):
    """The effect of a change on labelled replies."""

    better: tuple[int, ...]
    worse: tuple[int, ...]
    flipped: tuple[int, ...]


class Workshop:
    """A contract, the evidence about it, and functions to try changes."""

    def __init__(self, file: ContractFile, evidence: JudgedCases) -> None:
        self.file = file
        self.evidence = evidence
        self.data = file.data
        self.patterns = tried_patterns(file.data, evidence)

    def try_out(self, edits: Sequence[Edit], only: Callable[[JudgedCase], bool] | None = None) -> Trial | None:
        """Judge labelled replies after edits; None if the edited contract is not valid."""
        try:
            contract = self.file.contract(edits)
        except (ValueError, TypeError):
            return None
        return self.try_contract(contract, only)

    def try_contract(self, contract: Contract, only: Callable[[JudgedCase], bool] | None = None) -> Trial:
        """Judge labelled replies under another contract."""
        better: list[int] = []
        worse: list[int] = []
        for one in self.evidence.labelled:
            if only is not None and not only(one):
                continue
            verdict = judged(contract, one.case)
            if verdict is not None and verdict.ok != one.ok:
                (better if verdict.ok == one.said.should else worse).append(one.number)
        return Trial(tuple(better), tuple(worse), tuple(sorted((*better, *worse))))

    def cluster(self, number: int) -> str:
        """The conversation of a labelled reply, or the reply itself."""
        return self.evidence.seen[number].cluster

    def votes(self, better: Iterable[int], worse: Iterable[int]) -> "Votes":
        """The votes for and against a change, one per conversation."""
        return votes(better, worse, self.cluster)


class Votes(NamedTuple):
    """Independent votes."""

    better: int
    worse: int
    replies: int
    """The number of replies that were counted."""

    @property
    def total(self) -> int:
        """The number of votes."""
        return self.better + self.worse

    @property
    def p(self) -> float:
        """The p-value of "the change makes no more than half of them better"."""
        return mostly(self.better, self.worse)

    @property
    def source(self) -> str:
        """A sentence about the counting; empty if each reply is one vote."""
        return "" if self.total == self.replies else f" Each conversation has one vote: {of(self.total, 'vote')}."


def votes(better: Iterable[int], worse: Iterable[int], cluster: Callable[[int], object] = int) -> Votes:
    """One majority vote for each cluster of replies, because replies of one conversation are similar. A tie does not
    count.

    >>> votes([1, 2, 3], [4], lambda number: number < 3)
    Votes(better=1, worse=0, replies=4)
    """
    said: Counter[object] = Counter()
    replies = 0
    for numbers, sign in ((better, 1), (worse, -1)):
        for number in numbers:
            said[cluster(number)] += sign
            replies += 1
    return Votes(sum(net > 0 for net in said.values()), sum(net < 0 for net in said.values()), replies)


def mostly(better: int, worse: int) -> float:
    """The p-value of "no more than half of them get better": how often chance alone gives at least this many.

    >>> mostly(10, 0), mostly(0, 0)
    (0.0009765625, 1.0)
    """
    n = better + worse
    return 1.0 - binomial_cdf(better - 1, n, 0.5) if better else 1.0


def of(number: int, word: str) -> str:
    """A number and its word.

    >>> of(1, "reply"), of(2000, "reply")
    ('1 reply', '2,000 replies')
    """
    if number == 1:
        return f"1 {word}"
    return f"{number:,} {word[:-1]}ies" if word.endswith("y") else f"{number:,} {word}s"
