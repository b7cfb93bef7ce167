"""Estimate the cost of a change from the rates observed in stored replies.

After a refused reply, the model is asked again. How often this happens, and what such an attempt takes, comes from the
source: nothing is assumed, and unobserved figures are None. An estimate covers the judged replies, and a month at the
same traffic.
"""

from typing import Any

import msgspec

MONTH = 30 * 86_400.0
_SHORTEST = 3_600.0  # a source of less than an hour cannot predict a month
_AMOUNTS = ("tokens_in", "tokens_out", "cost", "latency")


class Sums(msgspec.Struct):
    """A number of replies, and the totals of what they took."""

    replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: int = 0
    latency: float = 0.0

    def add(self, other: "Sums") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class ObservedRates(msgspec.Struct):
    """The observations of a source about retries."""

    all: Sums = msgspec.field(default_factory=Sums)
    again: Sums = msgspec.field(default_factory=Sums)
    """The number of replies that followed a refused one."""
    refused: int = 0
    more: int = 0
    """The number of further attempts that requests report."""
    first: float = 0.0
    last: float = 0.0

    def note(self, case: Any) -> None:
        """Count one stored reply, judged again or not."""
        sums = self.all
        sums.replies += 1
        sums.tokens_in += case.tokens_in
        sums.tokens_out += case.tokens_out
        sums.cost += case.cost
        sums.latency += case.latency
        recorded = case.recorded
        if recorded is not None and not recorded.ok:
            self.refused += 1
        if case.attempt > 1:
            self.again.add(Sums(1, case.tokens_in, case.tokens_out, case.cost, case.latency))
        elif case.attempts > 1:
            self.more += case.attempts - 1
        if case.at > 0:
            self.first = min(self.first, case.at) if self.first else case.at
            self.last = max(self.last, case.at)

    def add(self, other: "ObservedRates") -> None:
        """Add the counts of another instance."""
        self.all.add(other.all)
        self.again.add(other.again)
        self.refused += other.refused
        self.more += other.more
        if other.first:
            self.first = min(self.first, other.first) if self.first else other.first
            self.last = max(self.last, other.last)

    @property
    def asks_per_refusal(self) -> float | None:
        """The mean number of further attempts after a refused reply; None if nothing was refused.

        If every attempt is stored, this counts the attempts after the first. If only the last attempt of a request is
        stored, it uses the number of attempts that the request reports.
        """
        if self.again.replies:
            return min(self.again.replies / self.refused, 10.0) if self.refused else None
        refusals = self.refused + self.more
        return self.more / refusals if refusals and self.more else None

    def per_ask(self, name: str) -> float | None:
        """The mean use of a resource per further attempt; None if the source does not show it."""
        of = self.again if self.again.replies and getattr(self.again, name) else self.all
        amount = getattr(of, name)
        return amount / of.replies if of.replies and amount else None

    @property
    def span(self) -> float:
        """The number of seconds that the source covers."""
        return self.last - self.first


def estimate(observed: ObservedRates, refused: int, accepted: int, share: float = 1.0) -> dict[str, Any]:
    """The cost of newly refused replies minus the savings of newly accepted ones, at the observed rates.

    `share` is the part of the source that was read. Amounts of money are in millionths of your unit; None means not
    observed. `failed` are requests that end without a valid reply, since not every refusal is followed by another
    attempt.

    >>> seen = ObservedRates(Sums(100, 5000, 1000, 0, 200.0), Sums(10, 600, 100, 0, 20.0), refused=20)
    >>> told = estimate(seen, refused=8, accepted=2)
    >>> told["asks"], told["tokens"], told["cost"], told["latency"]
    (3.0, 210.0, None, 6.0)
    """
    rate = observed.asks_per_refusal
    asks = None if rate is None else (refused - accepted) * rate
    each = {name: observed.per_ask(name) for name in _AMOUNTS}
    tokens = (
        None
        if each["tokens_in"] is None and each["tokens_out"] is None
        else (each["tokens_in"] or 0) + (each["tokens_out"] or 0)
    )
    amounts = {"tokens": tokens, "cost": each["cost"], "latency": each["latency"]}
    told = {name: None if asks is None or amount is None else asks * amount for name, amount in amounts.items()}
    months = MONTH / observed.span / share if observed.span >= _SHORTEST and share > 0 else None
    failed = None if rate is None else (refused - accepted) * max(0.0, 1.0 - rate)
    whole = {"asks": asks, **told, "failed": failed}
    return {
        **whole,
        # a request that ends without a valid reply is not charged
        "quota": None if failed is None else {"requests": -failed, "tokens": told["tokens"], "cost": told["cost"]},
        "monthly": None
        if months is None
        else {name: None if amount is None else amount * months for name, amount in whole.items()},
        "observed": {
            "asks_per_refusal": rate,
            "tokens_per_ask": tokens,
            "cost_per_ask": each["cost"],
            "seconds_per_ask": each["latency"],
            "replies": observed.all.replies,
            "refused": observed.refused,
            "asked_again": observed.again.replies or observed.more,
            "days": observed.span / 86_400 if observed.span else None,
        },
    }
