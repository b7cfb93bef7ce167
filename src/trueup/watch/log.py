"""Events in the standard library's log: one event is one record, and one line."""

import logging

from trueup.verdict.events import Event, Subscriber
from trueup.watch.lines import fields_of, is_serious, line_of


def log_events(logger: logging.Logger | None = None) -> Subscriber:
    """A subscriber that logs each event to `logger`, by default the one named `trueup`.

    A refused reply is a warning, everything else an info. The fields are on the record, under `trueup`, for handlers
    that write JSON.
    """
    target = logger or logging.getLogger("trueup")

    def log(event: Event) -> None:
        level = logging.WARNING if is_serious(event) else logging.INFO
        if target.isEnabledFor(level):
            target.log(level, "%s", line_of(event), extra={"trueup": {"event": event.event, **fields_of(event)}})

    return log
