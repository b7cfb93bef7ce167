"""Counting: takes judged replies and returns the numbers of a window: outcomes and latencies over time, tokens, money,
models, codes.

A request counts once, by its last reply; its earlier attempts have the outcome `refused`. A latency of zero was not
measured. A percentile is a value that occurred (the nearest rank), and is returned with the number of values.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from trueup.store.alarm import LEAST, RETRY_RATE
from trueup.store.cells import unpack
from trueup.store.errors import MICROS
from trueup.store.recent import EARLIER, RecentCall
from trueup.store.stats import ModelRates
from trueup.studio.live.windows import Window
from trueup.verdict.catalogue import FINDINGS, FIXES, OWN

ORDER = ("accepted", "repaired", "regenerated", "degraded", "fallback", "failed")
_TOP = 12  # codes
_MOST_MODELS = 50


class Requests(NamedTuple):
    """Replies by request: the last one of each, and the attempts before them."""

    last: list[RecentCall]
    earlier: list[RecentCall]


def requests(rows: Iterable[RecentCall]) -> Requests:
    """Sort replies, newest first, into requests and their earlier attempts."""
    last: list[RecentCall] = []
    earlier: list[RecentCall] = []
    seen: set[str] = set()
    for call in rows:
        name = call.request or call.id
        if call.outcome == EARLIER or name in seen:
            earlier.append(call)
        else:
            seen.add(name)
            last.append(call)
    return Requests(last, earlier)


def percentile(ordered: Sequence[int], percent: int) -> int | None:
    """The smallest value that at least `percent` of all values do not exceed; None without values.

    >>> percentile([1, 2, 3, 4], 50), percentile([1, 2, 3, 4], 95), percentile([], 50)
    (2, 4, None)
    """
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None


def latency(values: Iterable[int]) -> dict[str, Any]:
    """The median and the 95th percentile of latencies, in seconds, and their number."""
    ordered = sorted(value for value in values if value > 0)
    return {"median": _seconds(percentile(ordered, 50)), "p95": _seconds(percentile(ordered, 95)), "of": len(ordered)}


def latencies(window: Window, last: Sequence[RecentCall]) -> dict[str, list[float | None]]:
    """The same for each step of a window."""
    steps: list[list[int]] = [[] for _ in window.times]
    for call in last:
        steps[window.step_of(call.at)].append(call.latency)
    found = [latency(values) for values in steps]
    return {"median": [each["median"] for each in found], "p95": [each["p95"] for each in found]}


def tokens(last: Sequence[RecentCall]) -> dict[str, int]:
    """Tokens in and out, and the number of requests."""
    return {
        "in": sum(call.tokens_in for call in last), "out": sum(call.tokens_out for call in last), "of": len(last)
    }  # fmt: skip


def outcomes(window: Window, last: Sequence[RecentCall]) -> dict[str, list[int]]:
    """How requests ended, by step."""
    found: dict[str, list[int]] = {}
    for call in last:
        found.setdefault(call.outcome, [0] * len(window.times))[window.step_of(call.at)] += 1
    return found


def in_order(series: Mapping[str, list[int]]) -> list[dict[str, Any]]:
    """Outcomes from good to bad; unknown ones come last."""
    names = sorted(series, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    return [{"outcome": unpack(name), "count": sum(series[name]), "counts": series[name]} for name in names]


def rates(asked: Requests) -> list[ModelRates]:
    """Rates of each model, computed from the replies like those of `Store.stats`.

    As there, a model that was abandoned for another one counts as asked, retried and failed, but here only if one of
    its replies was judged.
    """
    before: dict[str, list[RecentCall]] = defaultdict(list)
    for call in asked.earlier:
        if call.request:
            before[call.request].append(call)
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for call in asked.last:
        others = [each for each in before.get(call.request, ()) if each.model != call.model]
        own = call.attempts - len(others)
        cost = max(0, call.cost - sum(each.cost for each in others))
        sums[call.model].update({"asked": 1, "retried": int(own > 1), "attempts": own, "cost": cost})
        sums[call.model]["failed"] += call.outcome == "failed"
        for model in {each.model for each in others}:
            mine = [each for each in others if each.model == model]
            cost = sum(each.cost for each in mine)
            sums[model].update({"asked": 1, "retried": 1, "failed": 1, "attempts": len(mine), "cost": cost})
    return [
        ModelRates(0.0, unpack(model), n["asked"], n["failed"], n["retried"], n["attempts"], n["cost"], {}, {}, {})
        for model, n in sums.items()
    ]


def models(found: Iterable[ModelRates], last: Sequence[RecentCall]) -> list[dict[str, Any]]:
    """A row for each model, the most used first; `warned` if it must be asked again too often, as in `stats.warnings`."""
    times: dict[str, list[int]] = defaultdict(list)
    for call in last:
        times[unpack(call.model)].append(call.latency)
    return [
        {
            "model": each.model, "asked": each.asked, "retried": each.retried, "retry_rate": each.retry_rate,
            "failed": each.failed, "failure_rate": each.failure_rate, "attempts": each.mean_attempts, "cost": each.cost,
            "warned": each.asked >= LEAST and each.retry_rate > RETRY_RATE, "latency": latency(times[each.model]),
        }
        for each in sorted(found, key=lambda each: (-each.asked, each.model))[:_MOST_MODELS]
        if each.asked
    ]  # fmt: skip


def codes(counted: Mapping[str, int]) -> list[dict[str, Any]]:
    """The most frequent codes of errors, with their titles."""
    found = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:_TOP]
    return [{"code": code, "title": _title(code), "count": n} for code, n in found]


def _title(code: str) -> str:
    kind = FINDINGS.get(code) or OWN.get(code) or FIXES.get(code)
    return kind.title if kind else ""


def _seconds(value: int | None) -> float | None:
    return None if value is None else value / MICROS
