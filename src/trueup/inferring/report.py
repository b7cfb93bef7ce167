"""What came of drafting: the draft itself, its evidence, and a report whose numbers add up."""

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
    """What came of the replies that were held out."""

    total: int = 0
    whole: int = 0
    """Replies whose value can be read, and from which nothing was lost."""
    accepted: int = 0
    """How many of those the draft accepts."""
    at_first: int = 0
    """How many it accepted before anything was relaxed."""
    cut: int = 0
    """Replies that were cut, or that lost something."""
    cut_accepted: int = 0
    without: int = 0
    """Replies that hold no value, or one of another shape than the rest."""
    relaxed: tuple[str, ...] = ()
    """What was relaxed for them."""
    refused_by: dict[str, int] = {}
    """The codes by which whole replies are still refused."""

    @property
    def interval(self) -> Interval:
        """The Wilson interval of the share that is accepted."""
        return wilson(self.accepted, self.whole)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How many replies there were, and how each was used: `cases == used + held.total + sum(unusable)`."""

    cases: int = 0
    used: int = 0
    unusable: dict[str, int] = {}
    """How many replies were not used, by reason."""
    held: HeldOut = HeldOut()
    mended: int = 0
    """How many of the values that were used had to be mended."""
    kind: str = "value"
    """`value`, `text`, `calls`, `type` or `openapi`: what the draft was made from."""
    other: int = 0
    """In a draft for text: how many replies held a value all the same."""
    whole_lines: bool = False
    """Whether no line of a file named its reply, so that each line was taken as a value."""
    source: str = ""
    """The type or the API description, where the draft was made from one."""

    @property
    def ok(self) -> bool:
        """Whether at least 99 % of the held-out replies pass; True if none was held out."""
        return self.held.accepted >= 0.99 * self.held.whole

    def why(self) -> str:
        """Why replies were not used, in words."""
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


class Draft:
    """A drafted contract.

    >>> from trueup.inferring.infer import infer
    >>> drafted = infer(['{"n": 1}', '{"n": 2}'])
    >>> drafted.evidence["$.schema.properties.n"]
    'in 2 of 2'
    >>> drafted.contract().check('{"n": "3"}').data
    {'n': 3}
    """

    def __init__(self, data: dict[str, Any], notes: dict[Place, str], head: list[str], report: Report) -> None:
        self.data = data
        """The contract as plain data."""
        self.report = report
        """How each reply was used."""
        self._notes = notes
        self._head = head

    @property
    def evidence(self) -> dict[str, str]:
        """What each line of the contract rests on, by its path."""
        return {render(path): note for path, note in self._notes.items()}

    @property
    def yaml(self) -> str:
        """The contract as a file, with its evidence as comments."""
        return document(self.data, self._notes, self._head)

    def contract(self) -> "Contract[Any]":
        """The contract, ready to judge."""
        from trueup.contract.contract import Contract

        return Contract(**self.data)

    def faults(self) -> "tuple[Fault, ...]":
        """What `trueup lint` says of the file."""
        from trueup.contract.lint.run import lint_contract

        with tempfile.TemporaryDirectory(prefix="trueup-draft-") as folder:
            path = Path(folder) / "draft.yaml"
            path.write_text(self.yaml, "utf-8")
            return lint_contract(path).faults

    def __repr__(self) -> str:
        return f"<Draft of {count(self.report.used)} replies>"
