"""The words of a backtest: turns figures into short texts for people, the same in a terminal, in Markdown and on a
page.
"""

from typing import TYPE_CHECKING, Any

from trueup.material.case import REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trueup.backtesting.result import Backtest, Rate

EVIDENT = frozenset({"E001", "E002", "E003", "E004"})
"""Codes of findings with messages that quote the source."""
KINDS = {"newly_refused": "newly refused", "newly_accepted": "newly accepted", "value_changed": "another value"}
_MILLION = 1_000_000


def percent(share: float, more: int = 0) -> str:
    """A share in percent, with as many digits as it needs, plus `more` digits.

    >>> percent(0.5), percent(0.0123), percent(0.00021), percent(0.0), percent(0.9999)
    ('50 %', '1.2 %', '0.021 %', '0 %', '99.99 %')
    """
    value = 100 * share
    if value in (0, 100):
        return f"{value:.0f} %"
    digits = 0
    near = min(value, 100 - value) if value > 50 else value
    while digits < 6 and near * 10**digits < 1:
        digits += 1
    if near < 10 and near * 10**digits < 10:
        digits += 1
    digits += more
    return f"{round(value, digits):g} %" if digits < 5 else f"{value:.2g} %"


def interval(rate: "Rate") -> str:
    """The interval of a rate, with enough digits to distinguish its ends: `0.81–0.98 %`."""
    ends = [(percent(rate.low, more), percent(rate.high, more)) for more in range(4)]
    low, high = next(((low, high) for low, high in ends if low != high), ends[0])
    return f"{low.removesuffix(' %')}–{high}"


def some_of(names: "Sequence[str]", most: int = 5) -> list[str]:
    """The first of many names, and the number of the others.

    >>> some_of(["a", "b", "c"], 2)
    ['a', 'b', '1 more']
    """
    return list(names) if len(names) <= most else [*names[:most], f"{len(names) - most:,} more"]


def p_value(p: float) -> str:
    """A p-value.

    >>> p_value(0.0004), p_value(0.04123), p_value(1.0)
    ('p < 0.001', 'p = 0.041', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def signed(number: float, unit: str = "") -> str:
    """A number with its sign.

    >>> signed(-405.2), signed(3.14159), signed(0)
    ('−405', '+3.1', '0')
    """
    size = abs(number)
    digits = 0 if size >= 10 or size == int(size) else 1 if size >= 1 else 2
    text = f"{size:,.{digits}f}"
    sign = "" if float(text.replace(",", "")) == 0 else "−" if number < 0 else "+"
    return f"{sign}{text}{unit}"


def duration(seconds: float) -> str:
    """A length of time with its sign: `+11 min`."""
    size = abs(seconds)
    for length, unit in ((172_800.0, "d"), (7200.0, "h"), (120.0, "min")):
        if size >= length:
            scale = {"d": 86_400.0, "h": 3600.0, "min": 60.0}[unit]
            return signed(seconds / scale, f" {unit}")
    return signed(seconds, " s")


def amounts(cost: dict[str, Any]) -> list[tuple[str, str]]:
    """The amounts of a cost in words; `unknown` for unobserved amounts."""
    rows = (
        ("asks", "retries", signed),
        ("tokens", "tokens", signed),
        ("cost", "cost", lambda micros: signed(micros / _MILLION)),
        ("latency", "waiting time", duration),
        ("failed", "requests that fail and are not charged", signed),
    )
    return [(word, "unknown" if cost[name] is None else write(cost[name])) for name, word, write in rows]


def how_computed(cost: dict[str, Any]) -> str:
    """How the cost was computed, and from which observations."""
    seen = cost["observed"]
    rate = seen["asks_per_refusal"]
    if rate is None:
        return "unknown: no request in these sources was retried, so the cost of a refusal was not observed"
    told = (
        f"(newly refused − newly accepted) × {rate:.2f} retries per refusal, as observed in {seen['replies']:,} replies"
    )
    each = []
    if seen["tokens_per_ask"] is not None:
        each.append(f"{seen['tokens_per_ask']:,.0f} tokens")
    if seen["cost_per_ask"] is not None:
        each.append(f"a cost of {seen['cost_per_ask'] / _MILLION:.4g}")
    if seen["seconds_per_ask"] is not None:
        each.append(f"{seen['seconds_per_ask']:.2g} s")
    return f"{told}; on average, a retry takes {', '.join(each)}" if each else told


def conclusion(found: "Backtest") -> str:
    """The result in one sentence."""
    if not found.judged:
        return (
            "No reply could be judged under both contracts."
            if found.total
            else "The sources contain no replies that match the selection."
        )
    over = f"of {found.judged:,} judged replies"
    if found.same:
        return f"Both contracts have the same fingerprint, so none {over} can flip."
    if not found.flips:
        return f"None {over} flips{'' if found.complete else ' so far'}{_within(found)}."
    parts = [f"{count:,} {word}" for count, word in ((found.newly_refused, "newly refused"), (found.newly_accepted, "newly accepted"), (found.value_changed, "with another value")) if count]  # fmt: skip
    told = f"{percent(found.flips / found.judged)} {over} flip: {_listed(parts)}"
    labels = found.labels
    if labels["better"] or labels["worse"]:
        told += f"; of {labels['better'] + labels['worse']:,} labelled flips, {labels['better']:,} are better and {labels['worse']:,} worse"
    return f"{told}{_within(found)}."


def _within(found: "Backtest") -> str:
    margin = percent(found.margin)
    if found.equivalent:
        return f"; the refusal rates differ by less than {margin}"
    if found.newly_refused + found.newly_accepted and found.p < 0.05:
        more = "more" if found.newly_refused > found.newly_accepted else "less"
        return f"; the new contract refuses {more} ({p_value(found.p)})"
    return f"; a difference of {margin} cannot be ruled out"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def reasons(found: "Backtest") -> list[tuple[int, str]]:
    """The reasons why replies could not be judged, most frequent first."""
    return [(n, REASONS[reason]) for reason, n in found.unjudgeable.items()]
