"""Answers: the shapes of what judging and a stored verdict give, for the description of the API. Handlers return data of these shapes."""

from typing import Any, Literal

import msgspec

from trueup.studio.judging.evidence import EvidenceShown


class ShownFact(msgspec.Struct, frozen=True):
    """A finding, or a fix."""

    kind: Literal["finding", "fix"]
    code: str
    name: str
    title: str
    level: str | None
    """Of a finding: `error` or `warning`."""
    grade: str | None
    """Of a fix: `lossless`, `guess` or `lossy`."""
    path: str
    message: str
    hint: str
    before: str | None
    after: str | None
    span: tuple[int, int] | None
    """Its place in the text, in characters; `marks` has it in UTF-16 units."""
    rule: str
    reading: bool = False
    """Of a fix: whether it marks a stretch that was read in another way, rather than dropped or replaced."""
    subject: str = ""
    """Of a finding of a stored verdict: what a label is about."""


class ShownCall(msgspec.Struct, frozen=True):
    """A tool call."""

    name: str
    arguments: str
    ok: bool
    origin: str
    facts: list[int]
    """The indexes of the facts about it."""


class ShownVerdict(msgspec.Struct, frozen=True):
    """A verdict as the page draws it."""

    ok: bool
    state: str
    reason: str
    counts: dict[str, int]
    text: str
    """The text of the reply."""
    marks: list[tuple[int, int, int]]
    """Start and end in the text, in UTF-16 units, and the index of a fact."""
    facts: list[ShownFact]
    unmarked: int
    omitted: int
    value: str | None
    """The value as indented JSON: numbers of any length survive."""
    value_cut: bool
    calls: list[ShownCall]
    told: str | None
    """What the model would be told about the refusal."""
    untold: str
    """Why there is nothing to tell."""
    evidence: EvidenceShown | None
    """Where the sources have each value; null if the contract is not grounded, or if the source is not there."""


class Judged(msgspec.Struct, frozen=True):
    """A reply that was judged."""

    verdict: ShownVerdict | None
    faults: list[dict[str, Any]]
    """What is wrong with the contract and the context."""
    took: float
    """Seconds of the check itself."""
    read: str
    """What the reply was read as: `text`, or the family of a provider's response."""
    contract: dict[str, Any] | None


class Detail(msgspec.Struct, frozen=True):
    """A stored verdict with all that is known about it."""

    row: dict[str, Any] | None
    verdict: ShownVerdict | None
    gone: str
    """Why the verdict is not there any more."""
    unsourced: str
    """Why a grounded contract's evidence cannot be shown; empty if it is shown, or if the contract is not grounded."""
    kept: str
    context: dict[str, Any] | None
    missing: dict[str, str]
    """What of the context is not there, and why."""
    contract: dict[str, Any]
    attempts: list[dict[str, Any]]
    conversation: list[dict[str, Any]]
    of: dict[str, int]
    labels: list[dict[str, Any]]
    user: str
    tokens: dict[str, int]
    engine: str
