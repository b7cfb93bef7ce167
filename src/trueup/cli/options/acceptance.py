"""The options `--accept` and `--strict`: which replies are accepted although something is wrong with them."""

from collections.abc import Callable
from typing import Any

import click

from trueup.contract.options import OPTIONS

Command = Callable[..., Any]


def accept_option(default: str | None) -> Callable[[Command], Command]:
    """The option `--accept`; `default` is the grade if the user gives none."""
    return click.option(
        "--accept",
        type=click.Choice(OPTIONS["accept"].choices),
        default=default,
        show_default=default is not None,
        help="The riskiest grade of fix to accept: none (no fixes), lossless (the meaning is certain), guess (one of "
        "several readings was chosen) or lossy (something is missing).",
    )


def strict_option(*, default: bool | None) -> Callable[[Command], Command]:
    """The option `--strict`; `default` is the value if the user does not give it."""
    return click.option(
        "--strict",
        is_flag=True,
        default=default,
        help="Refuse replies that can be read in several ways, and replies with warnings.",
    )
