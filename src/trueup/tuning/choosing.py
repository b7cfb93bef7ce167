"""Choosing: takes all proposals of a run, and returns the supported ones in the order in which they are shown.

The tests of one run are corrected together (Benjamini-Hochberg). Tests with labels are corrected separately from tests
without labels, because twenty silent rules must not make the labels of another rule look clearer than they are. Then
the narrowest change that explains a label is kept: a proposal needs enough labels that no narrower proposal explains.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from trueup.statistics.multiple import adjusted, benjamini_hochberg
from trueup.tuning.proposals import Proposal, votes

Q = 0.05
_ORDER = ("affix", "alias", "key", "value", "threshold", "coercion", "accept", "misfire", "together", "dead")
UNLABELLED = ("dead", "together")
_FRESH = 3  # labels that no narrower proposal explains


class ChosenProposal(NamedTuple):
    """A supported proposal, with its corrected p-value."""

    proposal: Proposal
    p: float
    tests: int
    """The number of tests in the correction."""


def choose(proposals: Sequence[Proposal], q: float = Q, cluster: Callable[[int], object] = int) -> list[ChosenProposal]:
    """The supported proposals at a false discovery rate of `q`; `cluster` gives the group of a labelled reply."""
    labelled = [proposal for proposal in proposals if proposal.kind not in UNLABELLED]
    others = [proposal for proposal in proposals if proposal.kind in UNLABELLED]
    standing = [*_standing(labelled, q), *_standing(others, q)]
    standing.sort(key=lambda one: (_ORDER.index(one.proposal.kind), -len(one.proposal.better), one.proposal.at == ()))
    return _narrowest(standing, cluster)


def _standing(proposals: Sequence[Proposal], q: float) -> list[ChosenProposal]:
    """The supported proposals of one family of tests."""
    ps = [proposal.p for proposal in proposals]
    corrected = adjusted(ps)
    passed = benjamini_hochberg(ps, q)
    switched_off = {
        proposal.unit: proposal
        for proposal, stands in zip(proposals, passed, strict=True)
        if stands and proposal.kind == "misfire"
    }
    standing: list[ChosenProposal] = []
    for proposal, stands, p in zip(proposals, passed, corrected, strict=True):
        rival = switched_off.get(proposal.unit) if proposal.kind == "threshold" else None
        if proposal.title and (stands or (rival is not None and proposal.also)) and not _is_beaten(proposal, rival):
            shown = p if stands or rival is None else corrected[proposals.index(rival)]
            standing.append(ChosenProposal(proposal, shown, len(proposals)))
    return standing


def _is_beaten(proposal: Proposal, rival: Proposal | None) -> bool:
    """Whether switching the whole unit off would judge more labels correctly than moving its bound."""
    return rival is not None and _net(rival) > _net(proposal)


def _net(proposal: Proposal) -> int:
    return len(proposal.better) - len(proposal.worse)


def _narrowest(standing: list[ChosenProposal], cluster: Callable[[int], object]) -> list[ChosenProposal]:
    explained: set[int] = set()
    kept: list[ChosenProposal] = []
    for one in standing:
        proposal = one.proposal
        if proposal.kind in UNLABELLED:
            if not any(other.proposal.unit == proposal.unit for other in kept):  # a rule with a better bound stays
                kept.append(one)
            continue
        fresh = [number for number in proposal.better if number not in explained]
        if len(fresh) < _FRESH or votes(fresh, proposal.worse, cluster).p > Q:
            continue
        explained.update(proposal.better)
        kept.append(one)
    return kept
