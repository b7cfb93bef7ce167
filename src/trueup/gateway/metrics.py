"""Counters of the gateway, in Prometheus' text form: what happened enters, a page leaves. Needs no package.

Labels come from requests, so their number is bounded: what comes after the hundredth model counts as `other`.
"""

from bisect import bisect_left
from collections.abc import Iterable

BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
_MOST = 100
Cell = list[int]  # of one number, which is counted up
REQUESTS = ("trueup_requests_total", ("route", "model", "outcome", "status"))
ATTEMPTS = ("trueup_attempts_total", ("model",))
_HELP = {
    "trueup_requests_total": "Requests that were answered, by route, model, outcome and status.",
    "trueup_attempts_total": "Calls of an upstream, by model.",
    "trueup_findings_total": "Errors that replies were refused for, by contract, model and code.",
    "trueup_fixes_total": "Replies that were changed, by contract.",
    "trueup_retried_total": "Requests that needed more than one call, by model.",
    "trueup_overhead_seconds": "Time of a request that was not spent waiting for an upstream.",
    "trueup_upstream_seconds": "Time of a request that was.",
}


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, tuple[tuple[str, str], ...]], Cell] = {}
        self._ticks: dict[tuple[tuple[str, tuple[str, ...]], tuple[str, ...]], Cell] = {}
        self._times: dict[str, list[float]] = {}
        self._seen: dict[str, set[str]] = {}
        self.active = 0

    def count(self, name: str, n: int = 1, **labels: str) -> None:
        """Count something under labels."""
        self._cell(name, labels)[0] += n

    def _cell(self, name: str, labels: dict[str, str]) -> Cell:
        key = (name, tuple((label, self._label(label, value)) for label, value in labels.items()))
        return self._cells.setdefault(key, [0])

    def tick(self, what: tuple[str, tuple[str, ...]], values: tuple[str, ...], n: int = 1) -> None:
        """Count something under labels that are always the same ones, which is quicker."""
        cell = self._ticks.get((what, values))
        if cell is None:
            cell = self._cell(what[0], dict(zip(what[1], values, strict=True)))
            if len(self._ticks) < _MOST * _MOST:
                self._ticks[what, values] = cell
        cell[0] += n

    def time(self, name: str, seconds: float) -> None:
        """Put a time into its histogram."""
        row = self._times.get(name)
        if row is None:
            row = self._times[name] = [0.0] * (len(BOUNDS) + 2)
        row[-1] += seconds
        row[-2] += 1
        at = bisect_left(BOUNDS, seconds)
        if at < len(BOUNDS):
            row[at] += 1

    def page(self, gauges: Iterable[tuple[str, float]] = ()) -> str:
        """Everything that was counted, as Prometheus reads it."""
        lines = []
        for name in sorted({name for name, _ in self._cells}):
            lines += [f"# HELP {name} {_HELP.get(name, name)}", f"# TYPE {name} counter"]
            for (which, labels), (n,) in sorted(self._cells.items()):
                if which == name:
                    lines.append(f"{name}{_written(labels)} {n}")
        for name, row in sorted(self._times.items()):
            lines += [f"# HELP {name} {_HELP.get(name, name)}", f"# TYPE {name} histogram"]
            total = 0.0
            for bound, within in zip(BOUNDS, row, strict=False):
                total += within
                lines.append(f'{name}_bucket{{le="{bound:g}"}} {total:g}')
            lines += [
                f'{name}_bucket{{le="+Inf"}} {row[-2]:g}',
                f"{name}_sum {row[-1]:.6f}",
                f"{name}_count {row[-2]:g}",
            ]
        for name, value in [("trueup_requests_active", float(self.active)), *gauges]:
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"

    def _label(self, key: str, value: str) -> str:
        seen = self._seen.setdefault(key, set())
        if value in seen:
            return value
        if len(seen) >= _MOST:
            return "other"
        seen.add(value)
        return value


def _written(labels: tuple[tuple[str, str], ...]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels) + "}"


def _escaped(value: str) -> str:
    plain = value[:80].encode("utf-8", "replace").decode()
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
