"""The options that select stored replies. They turn words from the command line into a `Selection`.

Times are dates or durations before now. Other values are compared unchanged.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.references import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from trueup.material.case import Case
    from trueup.material.selection import Selection

Command = Callable[..., Any]
_STEP = 5_000  # replies between two progress updates
_SPAN = re.compile(r"(\d{1,6})\s*([mhdw])\Z")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MOMENTS = ("since", "until")
_WORDS = ("model", "state", "tenant", "code", "rule", "judged_by")


def selection_options(command: Command) -> Command:
    """Add the options to a command."""
    for option in reversed((
        click.option("--since", default="", metavar="WHEN", help="Only replies since this time: 24h, 7d, 2w, or a date such as 2026-01-31 (UTC)."),
        click.option("--until", default="", metavar="WHEN", help="Only replies until this time, in the same formats."),
        click.option("--model", metavar="NAME", help="Only replies from this model."),
        click.option("--state", metavar="NAME", help="Only replies in this state."),
        click.option("--tenant", metavar="NAME", help="Only replies to this tenant."),
        click.option("--code", metavar="CODE", help="Only replies with this finding, such as V005."),
        click.option("--rule", metavar="NAME", help="Only replies that broke this rule."),
        click.option("--judged-by", metavar="NAME", help="Only replies that were judged by the contract with this name."),
    )):  # fmt: skip
        command = option(command)
    return command


def take_selection(options: dict[str, Any]) -> "Selection":
    """The selection that the options name. The options are removed from `options`."""
    from trueup.material.selection import Selection

    moments: dict[str, Any] = {name: moment(f"--{name}", options.pop(name)) for name in _MOMENTS}
    words = {name: options.pop(name) for name in _WORDS}
    words["contract"] = words.pop("judged_by")
    return Selection(**moments, **words)


def moment(option: str, given: str) -> float | None:
    """A time in seconds since 1970; None if no time is given.

    >>> moment("--since", "2026-01-31")
    1769817600.0
    """
    if not given:
        return None
    span = _SPAN.match(given.strip())
    if span is not None:
        return (datetime.now(UTC) - timedelta(**{_UNITS[span[2]]: int(span[1])})).timestamp()
    try:
        day = datetime.fromisoformat(given.strip())
    except ValueError:
        raise click.UsageError(f"{option} {given!r}: give 24h, 7d, 2w, or a date such as 2026-01-31") from None
    return (day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp()


def readable() -> "AbstractContextManager[None]":
    """Report unreadable sources and labels on one line."""
    from contextlib import contextmanager

    from trueup.material.labels import BadLabels
    from trueup.material.sources import SourceError
    from trueup.store.errors import StoreError

    @contextmanager
    def told() -> "Iterator[None]":
        try:
            yield
        except (SourceError, BadLabels, StoreError) as error:
            raise Unavailable(str(error)) from None

    return told()


def counted(found: "Iterable[Case]") -> "Iterator[Case]":
    """The same cases, with a progress line during reading."""
    import sys

    shown = False
    for number, case in enumerate(found, 1):
        if number % _STEP == 0 and sys.stderr.isatty():
            click.echo(f"\rreading: {number:,} replies", nl=False, err=True)
            shown = True
        yield case
    if shown:
        click.echo("\r\x1b[K", nl=False, err=True)
