"""Counters of the gateway, as a page in Prometheus' text format. Needs no package.

With a folder, the page has the numbers of all workers that use it. Labels come from requests, so their number is limited:
after the hundredth model, further ones count as `other`.
"""

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from trueup.gateway.watching.board import WIDTH, Board, Series

log = logging.getLogger("trueup.gateway")

BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
assert len(BOUNDS) + 2 == WIDTH
_MOST = 100  # values of one label
_MOST_SERIES = 2_000  # of one metric
OTHER = "other"
UNCOUNTED = "trueup_uncounted_total"  # what found no room; hidden while it is 0
REQUESTS = ("trueup_requests_total", ("route", "model", "outcome", "status"))
ASKED = ("trueup_asked_total", ("model",))
ATTEMPTS = ("trueup_attempts_total", ("model",))
RETRIED = ("trueup_retried_total", ("model",))
FAILURES = ("trueup_failures_total", ("model", "reason"))
RELOAD_FAILURES = "trueup_config_reload_failures_total"
# so that 0 is visible
_FROM_THE_START = (RELOAD_FAILURES, "trueup_config_reloads_total", "trueup_prune_failures_total")
HELP = {
    "trueup_requests_total": "Requests, by route, model, outcome and status.",
    "trueup_asked_total": "Requests for which this model was asked at least once, by model.",
    "trueup_attempts_total": "Calls of an upstream, by the model that was asked.",
    "trueup_failures_total": "Calls that gave no valid reply, by model and reason: a finding's code, a status, or a kind of connection failure.",
    "trueup_findings_total": "Errors for which replies were refused, by contract, model and code.",
    "trueup_fixes_total": "Replies that were changed, by contract.",
    "trueup_endpoints_total": "Requests to other endpoints, by endpoint and status.",
    "trueup_feedback_total": "Feedback that was stored.",
    "trueup_retried_total": "Requests for which this model's first call was not enough, by model.",
    "trueup_overhead_seconds": "Time that requests spent in the gateway itself.",
    "trueup_upstream_seconds": "Time that requests spent waiting for upstreams.",
    "trueup_requests_active": "Requests that are being served.",
    "trueup_store_queued": "Writes that wait for the store.",
    "trueup_store_trouble": "1 while the store cannot be written to.",
    "trueup_pruned_total": "Rows deleted because they were past their retention, by kind.",
    "trueup_pruned_timestamp_seconds": "When this gateway last pruned the store, in seconds since 1970; 0: not yet.",
    "trueup_prune_failures_total": "Attempts to prune the store that failed.",
    "trueup_config_loaded_timestamp_seconds": "When the configuration in force was loaded, in seconds since 1970.",
    "trueup_config_reloads_total": "Changed configurations that workers have applied.",
    RELOAD_FAILURES: "Changed configurations that could not be used.",
    "trueup_log_dropped_total": "Log lines dropped because the disk was full or too slow, by log.",
    "trueup_breaker_open": "1 while the circuit breaker of an upstream is open in a worker, by upstream.",
    "trueup_workers": "Workers that are alive.",
    UNCOUNTED: "Events not counted under their own name, because there are too many names.",
}  # fmt: skip


class _Gauge(NamedTuple):
    place: int
    read: Callable[[], float]


class Metrics:
    """The counters of one worker; `folder` is where the workers of one gateway find each other's, None: it is the only one."""

    def __init__(self, folder: Path | None = None) -> None:
        self._board = Board(folder)
        self._cells = self._board.cells
        self._ticks: dict[tuple[tuple[str, tuple[str, ...]], tuple[str, ...]], int] = {}
        self._times: dict[str, int] = {}
        self._seen: dict[str, set[str]] = {}
        self._sizes: Counter[str] = Counter()
        self._gauges: dict[Series, _Gauge] = {}
        self._spare = self._board.place(Series("counter", UNCOUNTED)) or 0  # the first of all
        self.active = 0
        for series in self._board.names():
            self._sizes[series.name] += 1
            for label, value in series.labels:
                self._seen.setdefault(label, set()).add(value)
        self.gauge("trueup_requests_active", lambda: self.active)
        for name in _FROM_THE_START:
            self._counter(name, {})

    def count(self, name: str, n: int = 1, **labels: str) -> None:
        """Count something under labels."""
        self._cells[self._counter(name, labels)] += n

    def tick(self, what: tuple[str, tuple[str, ...]], values: tuple[str, ...], n: int = 1) -> None:
        """Count something under labels that are always the same, which is faster."""
        place = self._ticks.get((what, values))
        if place is None:
            place = self._counter(what[0], dict(zip(what[1], values, strict=True)))
            if len(self._ticks) < _MOST * _MOST:
                self._ticks[what, values] = place
        self._cells[place] += n

    def time(self, name: str, seconds: float) -> None:
        """Add a time to its histogram."""
        place = self._times.get(name)
        if place is None:
            place = self._board.place(Series("times", name))
            if place is None:
                return
            self._times[name] = place
        cells = self._cells
        cells[place + WIDTH - 1] += seconds
        cells[place + WIDTH - 2] += 1
        at = bisect_left(BOUNDS, seconds)
        if at < len(BOUNDS):
            cells[place + at] += 1

    def gauge(
        self, name: str, read: Callable[[], float], *, how: Literal["sum", "max", "min"] = "sum", **labels: str
    ) -> None:
        """Show the result of `read` whenever the page is read; `how` says how to combine the numbers of several workers.

        A gauge with the same name and labels replaces the earlier one.
        """
        series = Series(how, name, self._labels(labels))
        self._gauges[series] = _Gauge(self._place(series), read)

    def forget(self, name: str, **labels: str) -> None:
        """Stop showing a gauge whose subject is gone; its number stays at 0."""
        for how in ("sum", "max", "min"):
            gauge = self._gauges.pop(Series(how, name, tuple(labels.items())), None)
            if gauge is not None:
                self._cells[gauge.place] = 0.0

    def publish(self) -> None:
        """Let the other workers see this one's gauges; they always see counters."""
        for series, (place, read) in self._gauges.items():
            try:
                self._cells[place] = read()
            except Exception as error:  # noqa: BLE001 - a gauge of the application must not break the page
                log.debug("the gauge %s cannot be read: %s", series.name, error)

    def page(self) -> str:
        """Everything that all workers counted, in Prometheus' format."""
        self.publish()
        lines: list[str] = []
        before = ""
        for series, values in sorted(self._board.all().items(), key=lambda item: (item[0].name, item[0].labels)):
            name, labels = series.name, series.labels
            if name == UNCOUNTED and not values[0]:
                continue
            if name != before:
                kind = {"counter": "counter", "times": "histogram"}.get(series.kind, "gauge")
                lines += [f"# HELP {name} {HELP.get(name, name)}", f"# TYPE {name} {kind}"]
                before = name
            lines += (
                _histogram(name, values)
                if series.kind == "times"
                else [f"{name}{_written(labels)} {_number(values[0])}"]
            )
        return "\n".join(lines) + "\n"

    def ready(self) -> None:
        """Report to the parent that this worker serves requests and handles signals."""
        self.gauge("trueup_workers", lambda: 1)
        self._board.ready()

    def close(self) -> None:
        """Stop counting; the counts stay available to the other workers."""
        self._cells.release()
        self._board.close()

    def _counter(self, name: str, labels: dict[str, str]) -> int:
        series = Series("counter", name, self._labels(labels))
        if not self._board.knows(series):
            if self._sizes[name] >= _MOST_SERIES:
                series = Series("counter", name, tuple((label, OTHER) for label in labels))
            self._sizes[name] += 1
        return self._place(series)

    def _place(self, series: Series) -> int:
        place = self._board.place(series)
        return self._spare if place is None else place

    def _labels(self, labels: dict[str, str]) -> tuple[tuple[str, str], ...]:
        return tuple((label, self._label(label, value)) for label, value in labels.items())

    def _label(self, key: str, value: str) -> str:
        value = value[:80].encode("utf-8", "replace").decode()
        seen = self._seen.setdefault(key, set())
        if value in seen:
            return value
        if len(seen) >= _MOST:
            return OTHER
        seen.add(value)
        return value


def _histogram(name: str, values: list[float]) -> list[str]:
    lines = []
    total = 0.0
    for bound, within in zip(BOUNDS, values, strict=False):
        total += within
        lines.append(f'{name}_bucket{{le="{bound:g}"}} {_number(total)}')
    return [
        *lines,
        f'{name}_bucket{{le="+Inf"}} {_number(values[-2])}',
        f"{name}_sum {values[-1]:.6f}",
        f"{name}_count {_number(values[-2])}",
    ]


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _written(labels: tuple[tuple[str, str], ...]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
