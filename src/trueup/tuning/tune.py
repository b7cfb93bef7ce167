"""Tuning: takes a contract file and stored replies, and returns measures of its rules and suggestions for the file.

Every reply is judged again under the current contract. This module writes nothing: `applying` does.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trueup.material.case import Case
from trueup.tuning.choosing import ChosenProposal, Q, choose
from trueup.tuning.coercions import coercions
from trueup.tuning.evidence import MOST, JudgedCase, JudgedCases, gather
from trueup.tuning.files import ContractFile, FileChange
from trueup.tuning.measures import Measured, UnitMeasures, measure
from trueup.tuning.misfires import misfires
from trueup.tuning.proposals import NEEDED, Proposal, Workshop
from trueup.tuning.silent import silent
from trueup.tuning.spellings import spellings
from trueup.tuning.thresholds import thresholds
from trueup.tuning.trying import ChangeEffect, tried
from trueup.tuning.units import rules_in
from trueup.tuning.yamltext import CannotEdit

_SHOWN = 3


class Suggestion(NamedTuple):
    """A change of the contract's file, with its evidence and its effect."""

    number: int
    proposal: Proposal
    p: float
    """The p-value, corrected for all tests of its kind."""
    tests: int
    """The number of these tests: tests with labels, or tests without labels."""
    changes: tuple[FileChange, ...]
    refusal: str
    """The reason why there is no diff; empty if there is one."""
    outcome: ChangeEffect | None
    """The result of a backtest of the change; None if it was not requested."""
    examples: tuple[JudgedCase, ...]
    """The numbers of labelled replies that it judges correctly or leaves unchanged."""

    @property
    def is_advice(self) -> bool:
        """Whether evidence supports it. That a rule is silent is only information."""
        return self.proposal.kind != "dead"

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        return "\n".join(change.diff() for change in self.changes)


class Tuning(NamedTuple):
    """All results of one tuning run."""

    file: ContractFile
    evidence: JudgedCases
    measured: Measured
    suggestions: list[Suggestion]
    tests: int
    """The number of tests."""
    needed: list[UnitMeasures]
    """Units that fire but have too few labels."""


def tune(
    contract: str | Path,
    cases: Iterable[Case],
    *,
    q: float = Q,
    most: int = MOST,
    backtest: bool = True,
    on_progress: Callable[[int, int], object] | None = None,
) -> Tuning:
    """Measure the rules of a contract file on cases, and suggest changes to the file.

    `on_progress` is called with the number of tried suggestions and the number of all suggestions.
    """
    file = ContractFile(contract)
    evidence = gather(cases, file.contract(), rules_in(file.data), most)
    shop = Workshop(file, evidence)
    proposals = [*spellings(shop), *thresholds(shop), *coercions(shop), *misfires(shop), *silent(shop)]
    measured = measure(evidence, shop.patterns)
    standing = choose(proposals, q, shop.cluster)
    suggestions: list[Suggestion] = []
    for number, chosen in enumerate(standing, 1):
        if on_progress is not None:
            on_progress(number - 1, len(standing))
        suggestions.append(_suggestion(number, chosen, shop, backtest=backtest))
    return Tuning(file, evidence, measured, suggestions, len(proposals), _needed(measured.units))


def _suggestion(number: int, chosen: ChosenProposal, shop: Workshop, *, backtest: bool) -> Suggestion:
    proposal = chosen.proposal
    refusal = ""
    changes: tuple[FileChange, ...] = ()
    try:
        changes = tuple(shop.file.change(proposal.edits))
    except CannotEdit as error:
        refusal = str(error)
    outcome = tried(shop, proposal) if backtest else None
    return Suggestion(number, proposal, chosen.p, chosen.tests, changes, refusal, outcome, _examples(shop, proposal))


def _examples(shop: Workshop, proposal: Proposal) -> tuple[JudgedCase, ...]:
    """The deciding replies to show: replies that get better, and one that gets worse."""
    seen = shop.evidence.seen
    return tuple(seen[number] for number in (*proposal.better[:_SHOWN], *proposal.worse[:1]))


def _needed(rows: Sequence[UnitMeasures]) -> list[UnitMeasures]:
    """Units that fire often enough but have too few labels; the most frequent first."""
    short = [row for row in rows if row.fired >= NEEDED > row.labelled]
    return sorted(short, key=lambda row: (-row.fired, row.unit.key))


def facts_of(suggestion: Suggestion) -> dict[str, Any]:
    """A suggestion as JSON-able data."""
    proposal = suggestion.proposal
    return {
        "number": suggestion.number, "kind": proposal.kind, "at": list(proposal.at), "title": proposal.title, "why": proposal.why,
        "note": proposal.note, "labels": proposal.labels, "better": len(proposal.better), "worse": len(proposal.worse),
        "p": proposal.p, "p_adjusted": suggestion.p, "tests": suggestion.tests, "advice": suggestion.is_advice, "facts": proposal.facts, "diff": suggestion.diff or None,
        "no_diff": suggestion.refusal or None, "backtest": None if suggestion.outcome is None else suggestion.outcome.to_dict(),
        "replies": [one.case.id for one in suggestion.examples],
    }  # fmt: skip
