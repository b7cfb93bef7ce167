"""Counts and times the two phases of judging a reply: the schema first, then the rules.

The contract of a step is a `PhasedContract`. It gives the same verdicts as any contract. For the log of the run, it also counts
the replies that entered and passed each phase, and the time of each. If only another configuration could prevent a refusal, the
verdict says so.
"""

import time
from typing import Any

import msgspec

from trueup.batch.pipeline.retrying.unrepairable import ConfigurationFaults
from trueup.checks.rules import Rules
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

    def count(self, *, fits: bool, first: float, valid: bool, second: float) -> None:
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
    """A contract that counts and times both phases in `phases`, which must be set to the chunk's own before judging."""

    __slots__ = ("_fits", "_fitted_at", "_hopeless", "phases")

    def __init__(self, schema: Any, **options: Any) -> None:
        super().__init__(schema, **options)
        self.phases = Phases()
        self._fits = False
        rules = None if self._meaning is None else self._meaning.rules
        self._hopeless = ConfigurationFaults(rules, self.schema) if isinstance(rules, Rules) else None
        self._fitted_at = 0.0  # when phase 1 of the current reply ended; 0 without a phase 2

    def check(self, reply: Any, context: dict[str, Any] | None = None) -> Verdict:
        """Judge one reply, as any contract does."""
        self._fitted_at = 0.0
        began = time.perf_counter()
        verdict = super().check(reply, context)
        if not verdict.ok:
            verdict = self._with_hopeless(verdict, context)
        ended = time.perf_counter()
        valid = verdict.ok
        fits, between = (self._fits, self._fitted_at) if self._fitted_at else (valid, ended)
        self.phases.count(fits=fits, first=between - began, valid=valid, second=ended - between)
        return verdict

    def _with_hopeless(self, verdict: Verdict, context: dict[str, Any] | None) -> Verdict:
        """The verdict, with a finding if only another configuration could help."""
        if self._hopeless is None:
            return verdict
        context = context or {}
        unit, prompt = context.get("input") or {}, context.get("question")
        why = self._hopeless.look(verdict.errors, verdict.data, unit, prompt if isinstance(prompt, str) else "")
        return verdict if why is None else verdict.with_more([why], {})

    def _check_structure(self, reply: Any, context: dict[str, Any]) -> Verdict:
        verdict = super()._check_structure(reply, context)
        self._fits = verdict.ok
        self._fitted_at = time.perf_counter()
        return verdict
