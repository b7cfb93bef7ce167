"""The result of a backtest: turns counts into rates with intervals, tests, groups, labels and cost.

Every figure is computed on request, so a running backtest refines the same object.
"""

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import msgspec

from trueup.backtesting.conditions import Condition, CountAndShare
from trueup.backtesting.cost import estimate
from trueup.backtesting.judging import FLIPS
from trueup.backtesting.tally import DIMENSIONS, FlipTally
from trueup.material.case import Reason
from trueup.statistics.clusters import Clustered
from trueup.statistics.proportions import clustered_wilson, mcnemar, tost_paired, wilson

Row = dict[str, Any]
_NAMED = 100_000  # conversations that are distinguished by name
_BUCKETS = 65_536  # for further conversations; some share one, which keeps the intervals valid
RATES = ("newly_refused", "newly_accepted", "value_changed", "flips", "refused", "refused_before")
AMOUNTS = ("asks", "tokens", "cost", "latency")
NAMES: Mapping[str, object] = dict.fromkeys(
    [
        *RATES, "unjudgeable", "judged", "total", "better", "worse", "unlabelled", "difference", "p", *AMOUNTS,
        *(f"{name}.{end}" for name in (*RATES, "difference") for end in ("low", "high")),
    ]
)  # fmt: skip


class Rate(msgspec.Struct, frozen=True):
    """A number of judged replies, as a share with its interval."""

    count: int
    n: int
    share: float
    low: float
    high: float


class Conversations:
    """The three differences by conversation: new minus old, newly refused, newly accepted."""

    def __init__(self) -> None:
        self.difference, self.refused, self.accepted = Clustered(), Clustered(), Clustered()
        self.several = False
        """Whether a conversation has more than one reply."""

    def add(self, tally: FlipTally) -> None:
        """Add the conversations of a block."""
        for name, counts in tally.conversations.items():
            self._add(self._known(name), *counts)
        self._add("", *tally.alone)

    def _add(self, name: str, n: int, refused: int, accepted: int) -> None:
        if not n:
            return
        rest = n - refused - accepted
        for values, part in (
            (self.difference, ((1, refused), (-1, accepted), (0, rest))),
            (self.refused, ((1, refused), (0, n - refused))),
            (self.accepted, ((1, accepted), (0, n - accepted))),
        ):
            for value, times in part:
                if times:
                    values.add(name, value, times)
        if name and not self.several:
            self.several = self.refused.clusters[name][0] > 1

    def _known(self, name: str) -> str:
        known = self.refused.clusters
        if name in known or len(known) < _NAMED:
            return name
        return f"\x00{crc32(name.encode('utf-8', 'surrogatepass')) % _BUCKETS}"


class Backtest:
    """The flips between two contracts over stored replies.

    Each of the `total` replies is `judged`, or counted under `unjudgeable` with the reason. `backtest` makes this
    object for a contract called `new` and an `old` one (None: the recorded outcomes) over `sources`. Refusal rates
    within the `margin`, 1 % by default, count as equivalent.
    """

    def __init__(self, new: str, old: str | None, sources: tuple[str, ...], margin: float = 0.01) -> None:
        self.new = new
        """The name of the new contract."""
        self.old = old
        """The name of the old contract; None if the recorded outcomes are the old ones."""
        self.sources = sources
        self.margin = margin
        """Refusal rates count as equivalent if they differ by no more than this."""
        self.same = False
        """Whether both contracts have the same fingerprint, so that nothing can flip."""
        self.done = 0
        self.blocks = 0
        """The number of blocks read, and of all blocks; their order is random, so a part of them is a fair sample."""
        self.seconds = 0.0
        self.complete = False
        self.tally = FlipTally()
        self._conversations = Conversations()
        self._by_block = Clustered()

    def take(self, tally: FlipTally) -> None:
        """Add the results of a block."""
        self.tally.add(tally)
        self._conversations.add(tally)
        refused, accepted = tally.kinds["newly_refused"], tally.kinds["newly_accepted"]
        for value, times in ((1, refused), (-1, accepted), (0, tally.judged - refused - accepted)):
            if times:
                self._by_block.add(str(self.done), value, times)
        self.done += 1

    # -- counts --------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """The replies that were selected."""
        return self.tally.total

    @property
    def judged(self) -> int:
        """The replies that could be judged under both contracts."""
        return self.tally.judged

    @property
    def unjudgeable(self) -> dict[Reason, int]:
        """The other replies by reason, most frequent first."""
        return {reason: n for reason, n in self.tally.unjudgeable.most_common()}  # noqa: C416 - in the order of their number

    @property
    def newly_refused(self) -> int:
        """Replies that the old contract accepts and the new one refuses."""
        return self.tally.kinds["newly_refused"]

    @property
    def newly_accepted(self) -> int:
        """Replies that the old contract refuses and the new one accepts."""
        return self.tally.kinds["newly_accepted"]

    @property
    def value_changed(self) -> int:
        """Replies that both accept with different values."""
        return self.tally.kinds["value_changed"]

    @property
    def unchanged(self) -> int:
        """Replies with the same outcome and value."""
        return self.tally.kinds["same"]

    @property
    def flips(self) -> int:
        """Replies that change in any way."""
        return self.newly_refused + self.newly_accepted + self.value_changed

    @property
    def share(self) -> float:
        """The share of the sources that was read; 1 for a complete backtest."""
        return 1.0 if self.complete or not self.blocks else self.done / self.blocks

    # -- statistics ----------------------------------------------------------------------------

    def rate(self, kind: str, confidence: float = 0.95) -> Rate:
        """The share of judged replies of a kind with its Wilson interval, on effective counts if conversations have
        several replies.

        `kind` is `newly_refused`, `newly_accepted`, `value_changed`, `flips`, `unchanged`, `refused` or
        `refused_before`; `confidence` is the confidence level of the interval, 95 % by default.
        """
        n = self.judged
        counts: dict[str, int] = {
            **{name: self.tally.kinds[name] for name in FLIPS},
            "flips": self.flips,
            "unchanged": self.unchanged,
            "refused": self.tally.now_refused,
            "refused_before": self.tally.was_refused,
        }
        if kind not in counts:
            raise ValueError(f"unknown rate {kind!r}; the rates are {', '.join(counts)}")
        k = counts[kind]
        design = self.design_effect
        if design > 1:
            low, high = clustered_wilson(k, n, design, confidence)
        else:
            low, high = wilson(k, n, confidence)
        return Rate(k, n, k / n if n else 0.0, low, high)

    @property
    def clustered(self) -> bool:
        """Whether there are conversations with several replies."""
        return self._conversations.several

    @property
    def design_effect(self) -> float:
        """The ratio of the variances to the variances of independent replies; at least 1.

        Before all blocks are read, the similarity of replies within a block counts as well.
        """
        designs = [1.0]
        if self.clustered:
            designs.append(self._conversations.difference.difference().design_effect)
        if not self.complete and self._by_block.count > 1 and self.newly_refused + self.newly_accepted > 0:
            designs.append(self._by_block.difference().design_effect)
        return max(designs)

    @property
    def tests(self) -> Row:
        """Whether the two contracts differ: exact McNemar test, equivalence within the margin, and both by conversation."""
        b, c, n = self.newly_refused, self.newly_accepted, self.judged
        equivalence = tost_paired(b, c, n, self.margin)
        told: Row = {
            "mcnemar": {"p": mcnemar(b, c), "newly_refused": b, "newly_accepted": c},
            "equivalence": {"p": equivalence.p, "margin": self.margin, "equivalent": equivalence.equivalent},
            "clustered": None,
        }
        if self.clustered:
            seen = self._conversations.difference
            found, narrow = seen.difference(), seen.difference(0.90)
            told["clustered"] = {
                "difference": found.value, "low": found.low, "high": found.high, "p": seen.mcnemar(),
                "clusters": found.clusters, "design_effect": found.design_effect,
                "equivalent": -self.margin < narrow.low and narrow.high < self.margin,
            }  # fmt: skip
        return told

    @property
    def p(self) -> float:
        """The p-value of "both directions are equally likely", by conversation if that matters."""
        tests = self.tests
        return float((tests["clustered"] or tests["mcnemar"])["p"])

    @property
    def equivalent(self) -> bool:
        """Whether the data shows that the refusal rates differ by less than the margin."""
        tests = self.tests
        return bool((tests["clustered"] or tests["equivalence"])["equivalent"])

    # -- what flips ----------------------------------------------------------------------------

    @property
    def groups(self) -> dict[str, list[Row]]:
        """Flips by reason (a code with its rule or path), code, rule, path, model, state and tenant, each with its
        direction, key, count and an example; most frequent first.
        """
        told: dict[str, list[Row]] = {name: [] for name in DIMENSIONS}
        for (name, kind, key), (count, _, example) in self.tally.groups.items():
            row: Row = {"kind": kind, "key": key, "count": count, "example": example}
            if name in ("model", "state", "tenant"):
                row["of"] = self.tally.of[name, key]
            told[name].append(row)
        for rows in told.values():
            rows.sort(key=lambda row: (-row["count"], row["kind"], row["key"]))
        return told

    @property
    def examples(self) -> dict[str, list[Row]]:
        """Some flips of each direction, chosen at random, but always the same ones."""
        return {
            kind: [example for _, _, example in sorted(kept, key=lambda entry: (-entry[0], entry[1]))]
            for kind, kept in self.tally.examples.items()
        }

    @property
    def labels(self) -> Row:
        """The labels of the flips: better, worse or not labelled, in total and by direction; also other labels and
        outcomes.
        """
        marks = self.tally.marks
        by_kind = {kind: {mark: marks[kind, mark] for mark in ("better", "worse", "unlabelled")} for kind in FLIPS}
        return {
            **{mark: sum(row[mark] for row in by_kind.values()) for mark in ("better", "worse", "unlabelled")},
            "replies": self.tally.labelled,
            "by_kind": by_kind,
            "words": _nested(self.tally.words),
            "outcomes": _nested(self.tally.outcomes),
        }

    @property
    def cost(self) -> Row:
        """The cost of the change at the observed rates; None for unobserved figures."""
        return estimate(self.tally.observed, self.newly_refused, self.newly_accepted, self.share)

    # -- conditions ----------------------------------------------------------------------------

    def figures(self) -> dict[str, CountAndShare]:
        """All figures that a condition may name."""
        n = self.judged
        told: dict[str, CountAndShare] = {}
        for name in RATES:
            rate = self.rate(name)
            told[name] = CountAndShare(rate.count, rate.share)
            told[f"{name}.low"] = CountAndShare(rate.low * n, rate.low)
            told[f"{name}.high"] = CountAndShare(rate.high * n, rate.high)
        labels = self.labels
        marked = labels["better"] + labels["worse"]
        for mark in ("better", "worse"):
            told[mark] = CountAndShare(labels[mark], labels[mark] / marked if marked else None)
        told["unlabelled"] = CountAndShare(
            labels["unlabelled"], labels["unlabelled"] / self.flips if self.flips else 0.0
        )
        lost = self.total - n
        told["unjudgeable"] = CountAndShare(lost, lost / self.total if self.total else 0.0)
        told["judged"] = CountAndShare(n, n / self.total if self.total else 0.0)
        told["total"] = CountAndShare(self.total, 1.0)
        told["p"] = CountAndShare(None, self.p)
        estimate_ = self._conversations.difference.difference()
        for name, value in (
            ("difference", estimate_.value),
            ("difference.low", estimate_.low),
            ("difference.high", estimate_.high),
        ):
            told[name] = CountAndShare(None, value)
        cost = self.cost
        told |= {name: CountAndShare(cost[name]) for name in AMOUNTS}
        if cost["cost"] is not None:
            told["cost"] = CountAndShare(cost["cost"] / 1_000_000)
        return told

    def fails(self, expression: str) -> bool:
        """Whether a condition is true: an `expression` such as `newly_refused > 0.5%`; `newly_refused.high` is the
        upper end of the interval.
        """
        return Condition(expression, NAMES).holds(self.figures())

    # -- in other forms ------------------------------------------------------------------------

    @property
    def conclusion(self) -> str:
        """The result in one sentence."""
        from trueup.backtesting.words import conclusion

        return conclusion(self)

    def to_dict(self) -> Row:
        """The backtest as JSON-able data."""
        return {
            "new": self.new,
            "old": self.old,
            "sources": list(self.sources),
            "complete": self.complete,
            "share": self.share,
            "seconds": round(self.seconds, 3),
            "same_fingerprint": self.same,
            "total": self.total,
            "judged": self.judged,
            "unjudgeable": dict(self.unjudgeable),
            "errors": dict(self.tally.errors.most_common(20)),
            **{kind: self.tally.kinds[kind] for kind in FLIPS},
            "unchanged": self.unchanged,
            "rates": {name: msgspec.structs.asdict(self.rate(name)) for name in RATES},
            "tests": self.tests,
            "design_effect": self.design_effect,
            "labels": self.labels,
            "cost": self.cost,
            "groups": self.groups,
            "examples": self.examples,
            "verdicts": {"made": self.tally.verdicts, "skipped": self.tally.skipped},
            "conclusion": self.conclusion,
        }

    def to_markdown(self) -> str:
        """The backtest as Markdown, for a pull request."""
        from trueup.backtesting.markdown import markdown

        return markdown(self)

    def to_html(self) -> str:
        """The backtest as a self-contained HTML page."""
        from trueup.backtesting.html import page

        return page(self)

    def __repr__(self) -> str:
        return (
            f"<Backtest {self.judged:,} judged: {self.newly_refused:,} newly refused, "
            f"{self.newly_accepted:,} newly accepted, {self.value_changed:,} with another value>"
        )


def _nested(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {}
    for (kind, word), n in sorted(counts.items(), key=lambda entry: -entry[1]):
        told.setdefault(kind, {})[word] = n
    return told
