"""Trying a change out: a proposal enters; what a backtest says about it leaves.

This is the one place where tuning calls the backtest.
"""

from typing import Any, NamedTuple

from msgspec import structs

from trueup.tuning.evidence import UNNOTED
from trueup.tuning.proposals import Proposal, Workshop


class ChangeEffect(NamedTuple):
    """What a change does to the replies that were seen."""

    judged: int
    newly_accepted: int
    newly_refused: int
    value_changed: int
    better: int
    """Flips that labels call right."""
    worse: int
    refused_before: float
    refused_now: float
    """The share of replies that is refused."""

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON-able data."""
        return self._asdict()


def tried(shop: Workshop, proposal: Proposal) -> ChangeEffect:
    """Backtest a proposal on the replies that were seen, against the contract as it is."""
    from trueup.backtesting.backtest import backtest

    cases = [
        structs.replace(one.case, missing=(), missing_why=()) if one.case.missing == UNNOTED else one.case
        for one in shop.evidence.seen
    ]  # judged as they were here
    done = backtest(shop.file.contract(proposal.edits), cases, against=shop.file.contract())
    trial = shop.try_out(proposal.edits)  # it also knows labels of single findings
    better, worse = (0, 0) if trial is None else (len(trial.better), len(trial.worse))
    return ChangeEffect(
        done.judged, done.newly_accepted, done.newly_refused, done.value_changed, better, worse,
        done.rate("refused_before").share, done.rate("refused").share,
    )  # fmt: skip
