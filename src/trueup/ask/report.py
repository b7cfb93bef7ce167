"""A report on many asks, for each model: how many replies were parsed, valid and repaired, and what they cost.

Takes answers, or events if it subscribes to them; returns rates, means, tokens and costs. If a count or a price is not known, the
sum that it belongs to is unknown too.
"""

from typing import Any

import msgspec

from trueup.ask.answer import Answer
from trueup.verdict.events import Event, Finished, Judged

_UNREAD = frozenset({"P001", "P002", "R001", "R002", "R003", "R004", "A002"})
_GIVEN_UP = frozenset({"fallback", "degraded", "failed"})
TARGETS = {"parse_rate": 0.95, "schema_rate": 0.99, "mean_repairs": 1.2, "fallback_rate": 0.01}


class Row(msgspec.Struct):
    """The figures of one model."""

    model: str
    """The model; empty if its name is not known."""
    asks: int = 0
    """How many asks there were."""
    parsed: int = 0
    """Asks that ended with a reply from which a value or a text could be read."""
    valid: int = 0
    """Asks that ended with a valid reply from the model."""
    first: int = 0
    """Asks whose first reply was valid."""
    repairs: int = 0
    """The total number of repairs."""
    regenerations: int = 0
    """The total number of regenerations."""
    regenerated: int = 0
    """Asks with at least one regeneration."""
    fallbacks: int = 0
    """Asks that ended without a valid reply from the model."""
    degraded: int = 0
    """Asks without a valid reply that gave part of a reply, or its best reading."""
    tokens: int | None = 0
    """The total number of tokens; None if a count is not known."""
    cost: float | None = 0.0
    """The total cost; None if a price or a count is not known."""
    seconds: float = 0.0
    """The total duration, in seconds."""

    @property
    def parse_rate(self) -> float:
        """The share of asks that ended with a reply from which a value or a text could be read."""
        return self.parsed / self.asks if self.asks else 0.0

    @property
    def schema_rate(self) -> float:
        """The share of asks that ended with a valid reply from the model."""
        return self.valid / self.asks if self.asks else 0.0

    @property
    def first_rate(self) -> float:
        """The share of asks whose first reply was valid."""
        return self.first / self.asks if self.asks else 0.0

    @property
    def mean_repairs(self) -> float:
        """The mean number of repairs per ask."""
        return self.repairs / self.asks if self.asks else 0.0

    @property
    def regeneration_rate(self) -> float:
        """The share of asks in which another reply was requested because one did not fit the conversation's state."""
        return self.regenerated / self.asks if self.asks else 0.0

    @property
    def fallback_rate(self) -> float:
        """The share of asks that ended without a valid reply from the model."""
        return self.fallbacks / self.asks if self.asks else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-able data, rates included."""
        rates = ("parse_rate", "schema_rate", "first_rate", "mean_repairs", "regeneration_rate", "fallback_rate")
        return {**msgspec.to_builtins(self), **{name: getattr(self, name) for name in rates}}


class Report:
    """The figures of many asks. Pass it as `on_event`, or add answers to it. `rows` contains the figures by model.

    >>> from trueup import Contract
    >>> report = Report()
    >>> report.add(Contract(True).ask(lambda messages: "[1, 2]", "Two numbers, please."))
    >>> report.rows[""].schema_rate
    1.0
    """

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self._open: dict[str, list[tuple[str, ...]]] = {}

    def add(self, answer: Answer) -> None:
        """Count one `answer`."""
        last = next((a.verdict for a in reversed(answer.attempts) if a.verdict is not None), None)
        codes = {"R002"} if last is None else {found.code for found in last.errors}
        known = [
            0 if a.cached else a.usage.get("total_tokens") for a in answer.attempts if a.verdict is not None or a.usage
        ]
        model = answer.attempts[-1].model if answer.attempts else ""
        self._count(
            model or answer.verdict.reply.model, codes, answer.outcome, calls=len(answer.attempts), repairs=answer.repairs, regenerations=answer.regenerations,
            tokens=None if None in known or not known else sum(n for n in known if n is not None), cost=answer.cost, seconds=answer.seconds,
        )  # fmt: skip

    def __call__(self, event: Event) -> None:
        """Count an event; events of other kinds are ignored."""
        if isinstance(event, Judged):
            self._open.setdefault(event.ask, []).append(event.codes)
        elif isinstance(event, Finished):
            judged = self._open.pop(event.ask, [])
            codes = set(judged[-1]) if judged else {"R002"}
            self._count(
                event.model, codes, event.outcome, calls=event.attempt, repairs=event.repairs, regenerations=event.regenerations, tokens=event.tokens,
                cost=event.cost, seconds=event.seconds,
            )  # fmt: skip

    def _count(
        self, model: str, codes: set[str], outcome: str, *, calls: int, repairs: int, regenerations: int, tokens: int | None, cost: float | None, seconds: float,
    ) -> None:  # fmt: skip
        row = self.rows.setdefault(model, Row(model))
        row.asks += 1
        row.parsed += calls > 0 and codes.isdisjoint(_UNREAD)
        row.valid += outcome not in _GIVEN_UP
        row.first += outcome == "accepted" and calls == 1
        row.repairs += repairs
        row.regenerations += regenerations
        row.regenerated += regenerations > 0
        row.fallbacks += outcome in _GIVEN_UP
        row.degraded += outcome == "degraded"
        row.tokens = None if row.tokens is None or tokens is None else row.tokens + tokens
        row.cost = None if row.cost is None or cost is None else row.cost + cost
        row.seconds += seconds

    def to_dict(self) -> dict[str, Any]:
        """All figures as JSON-able data."""
        return {"targets": TARGETS, "models": [row.to_dict() for row in self.rows.values()]}

    def __str__(self) -> str:
        heads = (
            "model", "asks", "parsed", "valid", "first try", "repairs", "regenerated", "fallback", "tokens", "cost", "seconds",
        )  # fmt: skip
        lines = [heads] + [
            (
                row.model or "-", f"{row.asks}", f"{row.parse_rate:.1%}", f"{row.schema_rate:.1%}",
                f"{row.first_rate:.1%}", f"{row.mean_repairs:.2f}", f"{row.regeneration_rate:.1%}",
                f"{row.fallback_rate:.1%}",
                "unknown" if row.tokens is None else f"{row.tokens}",
                "unknown" if row.cost is None else f"{row.cost:.4f}", f"{row.seconds:.1f}",
            )
            for row in self.rows.values()
        ]  # fmt: skip
        widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
        return "\n".join(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )
