"""Events as Prometheus metrics: checks by contract, state and result, findings by code, and the time of a check.

Needs the extra `telemetry`. Labels come from contexts, so their number is limited: the hundred-and-first state and all
later ones are counted under `other`. No server is started.
"""

from typing import Any

from trueup.verdict.events import Checked, Event, Subscriber
from trueup.watch.lines import visible
from trueup.watch.missing import needed

MOST_LABELS = 100
SECONDS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


class LabelValues:
    """The values of one label so far; the first hundred are kept, the others are counted as one."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def of(self, value: str) -> str:
        """The value to count under."""
        value = visible(value[:80])
        if value not in self._seen:
            if len(self._seen) >= MOST_LABELS:
                return "other"
            self._seen.add(value)
        return value


def prometheus_events(registry: Any = None) -> Subscriber:
    """A subscriber that counts events in `registry`, by default the global one."""
    client = needed("prometheus_client")
    where = {"registry": registry if registry is not None else client.REGISTRY}
    events = client.Counter("trueup_events", "Events, by name.", ["event"], **where)
    checks = client.Counter("trueup_checks", "Replies that were judged.", ["contract", "state", "result"], **where)
    findings = client.Counter("trueup_findings", "Findings, by code.", ["contract", "code", "level"], **where)
    fixes = client.Counter("trueup_fixes", "Changes made to replies.", ["contract"], **where)
    seconds = client.Histogram("trueup_check_seconds", "The time of a check.", ["contract"], buckets=SECONDS, **where)
    contracts, states, codes = LabelValues(), LabelValues(), LabelValues()

    def count(event: Event) -> None:
        events.labels(event.event).inc()
        if not isinstance(event, Checked):
            return
        contract = contracts.of(event.contract)
        checks.labels(contract, states.of(event.state), event.result).inc()
        seconds.labels(contract).observe(event.seconds)
        fixes.labels(contract).inc(event.fixes)
        for level, found in (("error", event.violations), ("warning", event.warnings)):
            for violation in found:
                findings.labels(contract, codes.of(violation.code), level).inc()

    return count
