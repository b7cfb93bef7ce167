"""The results of drafting: the draft itself, its evidence, and a report with counts that add up."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.inferring.reading import WHY
from trueup.inferring.words import count
from trueup.inferring.yamltext import Path as Place
from trueup.inferring.yamltext import document
from trueup.statistics.proportions import Interval, wilson
from trueup.verdict.paths import render

if TYPE_CHECKING:
    from trueup.contract.contract import Contract
    from trueup.contract.files.faults import Fault


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """The results for the held-out replies."""

    total: int = 0
    whole: int = 0
    """Replies with a readable value, from which nothing was lost."""
    accepted: int = 0
    """How many of those the draft accepts."""
    at_first: int = 0
    """How many it accepted before any relaxing."""
    cut: int = 0
    """Replies that were cut, or that lost something."""
    cut_accepted: int = 0
    without: int = 0
    """Replies without a value, or with a value of a different shape."""
    relaxed: tuple[str, ...] = ()
    """The constraints relaxed for them."""
    refused_by: dict[str, int] = {}
    """The codes that still refuse complete replies."""

    @property
    def interval(self) -> Interval:
        """The Wilson interval of the share of accepted replies."""
        return wilson(self.accepted, self.whole)


class DraftReport(msgspec.Struct, frozen=True, kw_only=True):
    """The number of replies and their use: `cases == used + held.total + sum(unusable)`."""

    cases: int = 0
    used: int = 0
    unusable: dict[str, int] = {}
    """How many replies were not used, by reason."""
    held: HeldOut = HeldOut()
    mended: int = 0
    """How many of the used values had to be repaired."""
    kind: str = "value"
    """The source of the draft: `value`, `text`, `calls`, `type` or `openapi`."""
    other: int = 0
    """In a draft for text: how many replies contained a value anyway."""
    whole_lines: bool = False
    """Whether no line of a file named its reply, so that each line was read as a value."""
    source: str = ""
    """The type or the API description that the draft was made from, if any."""

    @property
    def ok(self) -> bool:
        """Whether at least 99 % of the held-out replies pass; True if there are none."""
        return self.held.accepted >= 0.99 * self.held.whole

    def why(self) -> str:
        """The reasons for unused replies, in words."""
        return ", ".join(
            f"{count(times)}: {WHY.get(reason, reason)}" for reason, times in sorted(self.unusable.items())
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON data."""
        out: dict[str, Any] = msgspec.to_builtins(self)
        low, high = self.held.interval
        out["held"]["interval"] = [low, high] if self.held.whole else None
        out["ok"] = self.ok
        return out


class ContractDraft:
    """A drafted contract.

    >>> from trueup.inferring.infer import infer
    >>> drafted = infer(['{"n": 1}', '{"n": 2}'])
    >>> drafted.evidence["$.schema.properties.n"]
    'in 2 of 2'
    >>> drafted.contract().check('{"n": "3"}').data
    {'n': 3}
    """

    def __init__(self, data: dict[str, Any], notes: dict[Place, str], head: list[str], report: DraftReport) -> None:
        self.data = data
        """The contract as plain data."""
        self.report = report
        """How each reply was used."""
        self._notes = notes
        self._head = head

    @property
    def evidence(self) -> dict[str, str]:
        """The evidence for each line of the contract, by its path."""
        return {render(path): note for path, note in self._notes.items()}

    @property
    def yaml(self) -> str:
        """The contract as a file, with its evidence as comments."""
        return document(self.data, self._notes, self._head)

    def contract(self) -> "Contract[Any]":
        """The contract, ready to check replies."""
        from trueup.contract.contract import Contract

        return Contract(**self.data)

    def faults(self) -> "tuple[Fault, ...]":
        """The problems that `trueup lint` finds in the file."""
        from trueup.contract.lint.run import lint_contract

        with tempfile.TemporaryDirectory(prefix="trueup-draft-") as folder:
            path = Path(folder) / "draft.yaml"
            path.write_text(self.yaml, "utf-8")
            return lint_contract(path).faults

    def __repr__(self) -> str:
        return f"<Draft of {count(self.report.used)} replies>"
