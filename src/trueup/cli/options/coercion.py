"""The coercion options of every command with a schema, combined into one value for `coerce`.

`--coerce` names the profile; `--enum-prefix`, `--enum-delimiter` and `--alias` add what a profile cannot express.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from trueup.contract.options import OPTIONS

if TYPE_CHECKING:
    from trueup.conform.options import Options

Command = Callable[..., Any]
NAMES = ("coerce", "enum_prefix", "enum_delimiter", "alias")


def coercion_options(default: str | None) -> Callable[[Command], Command]:
    """Add the options to a command; `default` is the profile if the user gives none."""

    def add(command: Command) -> Command:
        for option in reversed((
            click.option("--coerce", type=click.Choice(OPTIONS["coerce"].choices), default=default, show_default=default is not None,
                         help="How much to coerce values to the schema's types."),
            click.option("--enum-prefix", multiple=True, metavar="TEXT", help="A prefix to ignore before enum values; may be repeated."),
            click.option("--enum-delimiter", multiple=True, metavar="TEXT", help="A separator between several enum values; may be repeated."),
            click.option("--alias", multiple=True, metavar="NAME=OTHER", help="Read OTHER as the key or enum value NAME; may be repeated."),
        )):  # fmt: skip
            command = option(command)
        return command

    return add


def take_coercion(options: dict[str, Any], over: "Options | None" = None) -> "Options | None":
    """Remove the options and return their value, or None if they are not given. `over` supplies the rest."""
    profile, *lists = (options.pop(name, None) for name in NAMES)
    prefixes, delimiters, aliases = (given or () for given in lists)
    return read_coercion(profile, prefixes, delimiters, aliases, over)


def read_coercion(
    profile: Any, prefixes: tuple[str, ...], delimiters: tuple[str, ...], aliases: tuple[str, ...], over: Any = None
) -> "Options | None":
    """The given coercion options as one value; None if there are none."""
    if profile is None and not (prefixes or delimiters or aliases):
        return None
    from msgspec.structs import asdict

    from trueup.conform.options import STANDARD, read_options

    said: dict[str, Any] = {
        "profile": profile, "enum_prefixes": prefixes, "enum_delimiters": delimiters, "aliases": _aliases(aliases)
    }  # fmt: skip
    return read_options({**asdict(over or STANDARD), **{name: value for name, value in said.items() if value}})


def _aliases(given: tuple[str, ...]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in given:
        name, sign, other = each.partition("=")
        if not sign or not name or not other:
            raise click.UsageError(f"--alias {each!r}: write NAME=OTHER, such as --alias total=sum")
        found.setdefault(name, []).append(other)
    return found
