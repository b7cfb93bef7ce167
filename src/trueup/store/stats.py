"""Rates over time: one row for each model and interval.

Rows come from tallies that were counted when verdicts were written, so a year costs as little as a day.
"""

from collections import Counter
from typing import Any, Literal

import msgspec

from trueup.store.alarm import LEAST, RETRY_RATE
from trueup.store.cells import pack, unpack
from trueup.store.errors import MICROS
from trueup.store.session import Session

By = Literal["hour", "day", "all"]
_STEP = {"hour": 3600 * MICROS, "day": 86_400 * MICROS}


class ModelRates(msgspec.Struct, frozen=True):
    """The rates of a model in an interval that begins at `at` (seconds since 1970)."""

    at: float
    model: str
    asked: int
    failed: int
    retried: int
    attempts: int
    cost: int
    outcomes: dict[str, int]
    reasons: dict[str, int]
    codes: dict[str, int]

    @property
    def failure_rate(self) -> float:
        """Requests that ended without a valid reply."""
        return self.failed / self.asked if self.asked else 0.0

    @property
    def retry_rate(self) -> float:
        """Requests that needed more than one attempt."""
        return self.retried / self.asked if self.asked else 0.0

    @property
    def mean_attempts(self) -> float:
        return self.attempts / self.asked if self.asked else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-able data, including rates."""
        rates = {name: round(getattr(self, name), 6) for name in ("failure_rate", "retry_rate", "mean_attempts")}
        return {**msgspec.structs.asdict(self), **rates}


def rates(
    session: Session, *, by: By = "all", since: float = 0.0, until: float | None = None, model: str | None = None,
    contract: str | None = None,
) -> list[ModelRates]:  # fmt: skip
    """Rates of each model, in total or by hour or day (UTC), oldest first."""
    if by not in ("hour", "day", "all"):
        raise ValueError(f"by must be hour, day or all; got {by!r}")
    hour = _STEP["hour"]
    terms, values = ["hour >= ?"], [int(since * MICROS) // hour * hour]
    for term, value in (
        ("hour < ?", None if until is None else int(until * MICROS)),
        ("model = ?", None if model is None else pack(model)),
        ("contract = ?", None if contract is None else pack(contract)),
    ):
        if value is not None:
            terms.append(term)
            values.append(value)  # type: ignore[arg-type]
    what = "hour, model, what, n" if by != "all" else "0, model, what, sum(n)"  # a year has few sums, but many hours
    group = "GROUP BY model, what" if by == "all" else ""
    rows = session.run(f"SELECT {what} FROM tallies WHERE {' AND '.join(terms)} {group}", values)  # noqa: S608 - our own words
    sums: dict[tuple[int, str], Counter[str]] = {}
    for at, name, word, n in rows:
        start = 0 if by == "all" else at - at % _STEP[by]
        sums.setdefault((start, unpack(name)), Counter())[word] += int(n)
    return [_rate(start, name, counts) for (start, name), counts in sorted(sums.items())]


class Recent(msgspec.Struct, frozen=True):
    """The outcomes of the latest requests."""

    requests: int
    """How many there were."""
    outcomes: tuple[tuple[str, int], ...]
    """Each outcome with its count, most frequent first."""
    models: tuple[tuple[str, int, int], ...]
    """Each model with its requests, and how many of them needed more than one attempt; most used first."""
    is_cut: bool
    """Whether there were more, which are not counted."""


def recent(session: Session, since: float, tenant: str | None = None, most: int = 20_000) -> Recent:
    """The requests since a time, in seconds since 1970; of a `tenant`, or of all if it is None.

    Reads only the latest verdicts, so the cost is bounded no matter how many there are.
    """
    rows = session.run(
        "SELECT id, request, tenant, model, outcome, attempts FROM verdicts WHERE at >= ? "
        "ORDER BY at DESC, attempt DESC LIMIT ?",
        (int(since * MICROS), most),
    )
    asked: Counter[str] = Counter()
    retried: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    whose = None if tenant is None else pack(tenant)
    seen: set[str] = set()
    for name, request, owner, model, outcome, attempts in rows:
        if outcome == "refused" or (request or name) in seen:
            continue  # an earlier attempt of a request
        seen.add(request or name)
        if whose in (None, owner):
            asked[model] += 1
            outcomes[outcome] += 1
            retried[model] += attempts > 1
    return Recent(
        outcomes.total(),
        tuple((unpack(name), n) for name, n in _most(outcomes)),
        tuple((unpack(name), n, retried[name]) for name, n in _most(asked)),
        len(rows) >= most,
    )


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def warnings(found: list[ModelRates], threshold: float = RETRY_RATE, least: int = LEAST) -> list[str]:
    """A sentence for each model whose retry rate is over the threshold, given enough requests."""
    return [
        f"model {rate.model!r} is asked again for {rate.retry_rate:.0%} of {rate.asked:,} requests, over {threshold:.0%}"
        for rate in found
        if rate.asked >= least and rate.retry_rate > threshold
    ]


def _rate(start: int, model: str, counts: Counter[str]) -> ModelRates:
    outcomes = _named(counts, "outcome:")
    return ModelRates(
        start / MICROS, model, counts["asked"], outcomes.get("failed", 0), counts["retried"], counts["attempts"],
        counts["cost"], outcomes, _named(counts, "reason:"), _named(counts, "code:"),
    )  # fmt: skip


def _named(counts: Counter[str], prefix: str) -> dict[str, int]:
    found = {unpack(what[len(prefix) :]): n for what, n in counts.items() if what.startswith(prefix)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
