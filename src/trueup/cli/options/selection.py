"""The options that say which stored replies a command takes; words from the command line enter, a `Selection` leaves.

Moments are spans back from now or dates; everything else is compared as it is.
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
_STEP = 5_000  # replies between two words about the progress
_SPAN = re.compile(r"(\d{1,6})\s*([mhdw])\Z")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MOMENTS = ("since", "until")
_WORDS = ("model", "state", "tenant", "code", "rule", "judged_by")


def selection_options(command: Command) -> Command:
    """Add the options to a command."""
    for option in reversed((
        click.option("--since", default="", metavar="WHEN", help="From when: 24h, 7d, 2w, or a date such as 2026-01-31 (UTC)."),
        click.option("--until", default="", metavar="WHEN", help="Until when, in the same forms."),
        click.option("--model", metavar="NAME", help="Only replies of this model."),
        click.option("--state", metavar="NAME", help="Only replies in this state."),
        click.option("--tenant", metavar="NAME", help="Only replies of this tenant."),
        click.option("--code", metavar="CODE", help="Only replies with this finding, such as V005."),
        click.option("--rule", metavar="NAME", help="Only replies that broke this rule."),
        click.option("--judged-by", metavar="NAME", help="Only replies that the contract of this name judged."),
    )):  # fmt: skip
        command = option(command)
    return command


def take_selection(options: dict[str, Any]) -> "Selection":
    """The selection that the options name; they are taken out."""
    from trueup.material.selection import Selection

    moments: dict[str, Any] = {name: moment(f"--{name}", options.pop(name)) for name in _MOMENTS}
    words = {name: options.pop(name) for name in _WORDS}
    words["contract"] = words.pop("judged_by")
    return Selection(**moments, **words)


def moment(option: str, given: str) -> float | None:
    """A moment in seconds since 1970; None if none is given.

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
    """Report sources and labels that cannot be read in one line."""
    from contextlib import contextmanager

    from trueup.material.labels import BadLabels
    from trueup.material.sources import Missing
    from trueup.store.errors import StoreError

    @contextmanager
    def told() -> "Iterator[None]":
        try:
            yield
        except (Missing, BadLabels, StoreError) as error:
            raise Unavailable(str(error)) from None

    return told()


def counted(found: "Iterable[Case]") -> "Iterator[Case]":
    """The same cases; a progress line shows how far the reading is."""
    import sys

    shown = False
    for number, case in enumerate(found, 1):
        if number % _STEP == 0 and sys.stderr.isatty():
            click.echo(f"\rreading: {number:,} replies", nl=False, err=True)
            shown = True
        yield case
    if shown:
        click.echo("\r\x1b[K", nl=False, err=True)
