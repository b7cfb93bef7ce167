"""The two phases of judging a reply, counted and timed: the schema first, then the rules.

The contract of a step is a `PhasedContract`. It gives the verdicts of any contract, and for the log of the run it counts the
replies that entered and passed each phase, and how long that took.
"""

import time
from typing import Any

import msgspec

from trueup.contract.contract import Contract
from trueup.verdict.verdict import Verdict


class Phase(msgspec.Struct):
    """One phase: the replies that entered and passed it, and its seconds."""

    seen: int = 0
    passed: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.passed} of {self.seen} passed in {self.seconds:.3f}s"


class Phases(msgspec.Struct):
    """Both phases of a step."""

    schema: Phase = msgspec.field(default_factory=Phase)
    rules: Phase = msgspec.field(default_factory=Phase)

    def count(self, fits: bool, first: float, valid: bool, second: float) -> None:
        """Count one reply: whether it passed each phase, and the seconds of each."""
        schema = self.schema
        schema.seen += 1
        schema.seconds += first
        if fits:
            schema.passed += 1
            rules = self.rules
            rules.seen += 1
            rules.passed += valid
            rules.seconds += second

    def __str__(self) -> str:
        return f"schema validation: {self.schema}; business rules: {self.rules}"


class PhasedContract(Contract):
    """A contract that counts and times both phases in `phases`; before it judges for a chunk, set the chunk's own."""

    __slots__ = ("_fits", "_fitted_at", "phases")

    def __init__(self, schema: Any, **options: Any) -> None:
        super().__init__(schema, **options)
        self.phases = Phases()
        self._fits = False
        self._fitted_at = 0.0  # when phase 1 of the present reply was over; 0 without a phase 2

    def check(self, reply: Any, context: dict[str, Any] | None = None) -> Verdict:
        """Judge one reply, as any contract does."""
        self._fitted_at = 0.0
        began = time.perf_counter()
        verdict = super().check(reply, context)
        ended = time.perf_counter()
        valid = verdict.ok
        fits, between = (self._fits, self._fitted_at) if self._fitted_at else (valid, ended)
        self.phases.count(fits, between - began, valid, ended - between)
        return verdict

    def _check_structure(self, reply: Any, context: dict[str, Any]) -> Verdict:
        verdict = super()._check_structure(reply, context)
        self._fits = verdict.ok
        self._fitted_at = time.perf_counter()
        return verdict
