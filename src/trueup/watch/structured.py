"""Events in structlog: each event is one entry, with plain scalars as fields. Needs the extra `telemetry`."""

from typing import Any

from trueup.verdict.events import Event, Subscriber
from trueup.watch.lines import fields_of, seriousness
from trueup.watch.missing import needed


def structlog_events(
    logger: Any = None, *, info: str = "info", warnings: str = "warning", refusals: str = "error"
) -> Subscriber:
    """A subscriber that writes each event to the structlog `logger`, by default one named `trueup`.

    `info`, `warnings` and `refusals` name the methods of the logger; they are used for the same events as in
    `log_events`.
    """
    target = logger if logger is not None else needed("structlog").get_logger("trueup")
    methods = {"info": info, "warning": warnings, "refusal": refusals}

    def write(event: Event) -> None:
        log = getattr(target, methods[seriousness(event)])
        log(f"trueup.{event.event}", **fields_of(event))

    return write
