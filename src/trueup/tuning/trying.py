"""Try a change: takes a proposal and returns the result of its backtest.

This is the only place where tuning calls the backtest.
"""

from typing import Any, NamedTuple

from msgspec import structs

from trueup.tuning.evidence import UNNOTED
from trueup.tuning.proposals import Proposal, Workshop


class ChangeEffect(NamedTuple):
    """The effect of a change on the replies that were read."""

    judged: int
    newly_accepted: int
    newly_refused: int
    value_changed: int
    better: int
    """The number of flips that labels call better."""
    worse: int
    refused_before: float
    refused_now: float
    """The share of refused replies."""

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON-able data."""
        return self._asdict()


def tried(shop: Workshop, proposal: Proposal) -> ChangeEffect:
    """Backtest a proposal against the current contract, on the replies that were read."""
    from trueup.backtesting.backtest import backtest

    cases = [
        structs.replace(one.case, missing=(), missing_why=()) if one.case.missing == UNNOTED else one.case
        for one in shop.evidence.seen
    ]  # judged with the same context as here
    done = backtest(shop.file.contract(proposal.edits), cases, against=shop.file.contract())
    trial = shop.try_out(proposal.edits)  # it also uses labels of single findings
    better, worse = (0, 0) if trial is None else (len(trial.better), len(trial.worse))
    return ChangeEffect(
        done.judged, done.newly_accepted, done.newly_refused, done.value_changed, better, worse,
        done.rate("refused_before").share, done.rate("refused").share,
    )  # fmt: skip
