"""Events in the standard library's log: each event is one record and one line."""

import logging
from typing import Any

from trueup.verdict.events import Event, Subscriber
from trueup.watch.lines import fields_of, line_of, seriousness


def log_events(
    logger: logging.Logger | logging.LoggerAdapter[Any] | str | None = None,
    *,
    info: int | str = logging.INFO,
    warnings: int | str = logging.WARNING,
    refusals: int | str = logging.ERROR,
) -> Subscriber:
    """A subscriber that logs each event to `logger` (a logger or its name), by default the one named `trueup`.

    `refusals` is the level of a refused reply, `warnings` of an accepted reply with warnings, a failed call and a
    fallback, `info` of everything else; each is a number or a name such as `"ERROR"`. The record has the fields under
    `trueup`, for handlers that write JSON.
    """
    target = (
        logger if isinstance(logger, logging.Logger | logging.LoggerAdapter) else logging.getLogger(logger or "trueup")
    )
    levels = {"info": _level(info), "warning": _level(warnings), "refusal": _level(refusals)}

    def log(event: Event) -> None:
        level = levels[seriousness(event)]
        if target.isEnabledFor(level):
            target.log(level, "%s", line_of(event), extra={"trueup": {"event": event.event, **fields_of(event)}})

    return log


def _level(level: int | str) -> int:
    """A level as a number; an unknown one is refused here, not when the first event is logged."""
    number = logging.getLevelNamesMapping().get(level.upper()) if isinstance(level, str) else level
    if isinstance(number, int):
        return number
    raise ValueError(f"{level!r} is not a logging level; use a number or a name such as 'ERROR'")
