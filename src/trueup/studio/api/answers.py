"""Answers: the types of the answers about judged replies and stored verdicts, for the description of the API. Handlers
return data of these types.
"""

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
    """For a finding: `error` or `warning`."""
    grade: str | None
    """For a fix: `lossless`, `guess` or `lossy`."""
    path: str
    message: str
    hint: str
    before: str | None
    after: str | None
    span: tuple[int, int] | None
    """Its place in the text, in characters; `marks` has it in UTF-16 units."""
    rule: str
    reading: bool = False
    """For a fix: whether it marks text that was read in another way, rather than dropped or replaced."""
    subject: str = ""
    """For a finding of a stored verdict: the subject of a label about it."""


class ShownCall(msgspec.Struct, frozen=True):
    """A tool call."""

    name: str
    arguments: str
    ok: bool
    origin: str
    facts: list[int]
    """The indexes of the facts about it."""


class ShownVerdict(msgspec.Struct, frozen=True):
    """A verdict in the form that the page draws."""

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
    """The feedback that the model would get about the refusal."""
    untold: str
    """Why there is no feedback."""
    evidence: EvidenceShown | None
    """The places of each value in the sources; null if the contract is not grounded, or if the source is missing."""


class JudgedAnswer(msgspec.Struct, frozen=True):
    """A judged reply."""

    verdict: ShownVerdict | None
    faults: list[dict[str, Any]]
    """The problems of the contract and the context."""
    took: float
    """The seconds that the check took."""
    read: str
    """How the reply was read: as `text`, or as a provider's response (its family)."""
    contract: dict[str, Any] | None


class Detail(msgspec.Struct, frozen=True):
    """A stored verdict with all that is known about it."""

    row: dict[str, Any] | None
    verdict: ShownVerdict | None
    gone: str
    """Why the verdict is no longer available."""
    unsourced: str
    """Why a grounded contract's evidence cannot be shown; empty if it is shown, or if the contract is not grounded."""
    kept: str
    context: dict[str, Any] | None
    missing: dict[str, str]
    """The missing parts of the context, and the reasons."""
    contract: dict[str, Any]
    attempts: list[dict[str, Any]]
    conversation: list[dict[str, Any]]
    of: dict[str, int]
    labels: list[dict[str, Any]]
    user: str
    tokens: dict[str, int]
    engine: str
