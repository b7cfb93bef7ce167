"""Events in structlog: one event is one entry, its fields plain scalars. Needs `trueup[telemetry]`."""

from typing import Any

from trueup.verdict.events import Event, Subscriber
from trueup.watch.lines import fields_of, is_serious
from trueup.watch.missing import needed


def structlog_events(logger: Any = None) -> Subscriber:
    """A subscriber that writes each event to a structlog logger, by default one named `trueup`."""
    target = logger if logger is not None else needed("structlog").get_logger("trueup")

    def write(event: Event) -> None:
        log = target.warning if is_serious(event) else target.info
        fields = fields_of(event)
        log(f"trueup.{event.event}", **fields)

    return write
