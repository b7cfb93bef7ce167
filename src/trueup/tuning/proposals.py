"""Proposals: changes that the evidence may speak for, each with the test that says whether it does.

A proposal carries its edits, its p-value and the labelled replies that it makes better or worse. Every test that was made is a
proposal, also those that fail: the correction for many tests must know all of them.
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

NEEDED = 10  # labels that must bear on a suggestion

Kind = Literal["dead", "together", "misfire", "threshold", "alias", "affix", "value", "key", "coercion", "accept"]


class Proposal(NamedTuple):
    """A change that may be worth making."""

    kind: Kind
    at: Parts
    """What it is about, in the data of the contract."""
    title: str
    why: str
    """The evidence in a sentence."""
    p: float
    edits: tuple[Edit, ...] = ()
    labels: int = 0
    better: tuple[int, ...] = ()
    """Labelled replies, by their number in the evidence, that are judged rightly only with the change."""
    worse: tuple[int, ...] = ()
    note: str = ""
    unit: str = ""
    facts: dict[str, Any] = {}
    remade: Callable[[dict[str, Any]], list[Edit]] | None = None
    """Makes the edits again for data that other edits have changed."""
    also: bool = False
    """Whether it stands if the proposal to switch the same unit off stands, whatever its own p-value."""


class Trial(NamedTuple):
    """What a change does to labelled replies."""

    better: tuple[int, ...]
    worse: tuple[int, ...]
    flipped: tuple[int, ...]


class Workshop:
    """A contract, what is known about it, and the means to try changes of it."""

    def __init__(self, file: ContractFile, evidence: JudgedCases) -> None:
        self.file = file
        self.evidence = evidence
        self.data = file.data
        self.patterns = tried_patterns(file.data, evidence)

    def try_out(self, edits: Sequence[Edit], only: Callable[[JudgedCase], bool] | None = None) -> Trial | None:
        """Judge labelled replies with edits made; None if the edits make no contract."""
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
        """What a labelled reply belongs to."""
        return self.evidence.seen[number].cluster

    def votes(self, better: Iterable[int], worse: Iterable[int]) -> "Votes":
        """What replies say for a change and against it, each conversation with one vote."""
        return votes(better, worse, self.cluster)


class Votes(NamedTuple):
    """Votes that do not hang on each other."""

    better: int
    worse: int
    replies: int
    """How many replies they come from."""

    @property
    def total(self) -> int:
        """How many votes there are."""
        return self.better + self.worse

    @property
    def p(self) -> float:
        """The p-value of "the change makes no more than half of them better"."""
        return mostly(self.better, self.worse)

    @property
    def source(self) -> str:
        """How the replies were counted, in words; empty if each is a vote by itself."""
        return "" if self.total == self.replies else f" Each conversation counts once: {of(self.total, 'vote')}."


def votes(better: Iterable[int], worse: Iterable[int], cluster: Callable[[int], object] = int) -> Votes:
    """One vote for each cluster of replies, by its majority: replies of one conversation repeat each other. A tie does not count.

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
    """The p-value of "no more than half of them get better": how often chance would make at least so many better.

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
