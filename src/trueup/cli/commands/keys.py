"""`trueup keys`: make, hash and list keys for the gateway's clients and for its studio.

A key is printed once, when it is made. It is never an argument, because other users of a machine can see arguments.
"""

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from trueup.cli.options.references import Unavailable
from trueup.cli.terminal.output import Color
from trueup.verdict.extras import install

if TYPE_CHECKING:
    from trueup.gateway.config import Caller, Config, StudioKey

_SHORT = 20  # a shorter key could be guessed from its hash


@click.group()
def keys() -> None:
    """Create, hash and list keys for the gateway and its studio."""


@keys.command()
@click.option("--tenant", metavar="NAME", help="The tenant that the key belongs to.")
@click.option("--user", metavar="NAME", help="The user, if the key is for one user.")
@click.option("--name", metavar="NAME", help="The name of the key in logs.")
@click.option("--expires", metavar="DAY", help="The day on which the key stops working, such as 2027-01-31 (UTC).")
@click.option(
    "--role", type=click.Choice(["reader", "labeller", "editor"]),
    help="Create a key with this role for the gateway's studio, not for a client.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the key and its entry as one JSON document.")
def new(
    tenant: str | None, user: str | None, name: str | None, expires: str | None, role: str | None, *, as_json: bool
) -> None:
    """Create a key; print it once with its entry for the gateway's file.

    \b
      trueup keys new --tenant acme --name web --expires 2027-01-31
      trueup keys new --role editor --name ana
    """
    from trueup.gateway.keys import hash_of, new_key

    if role is not None and user is not None:
        raise click.UsageError("a key for the studio cannot have a --user")
    if expires is not None:
        _refuse_past(expires)
    key = new_key()
    if role is None:
        tenant = tenant or "NAME"
    else:
        name = name or "NAME"
    given = {"name": name, "role": role, "tenant": tenant, "user": user, "hash": hash_of(key), "expires": expires}
    entry = {what: value for what, value in given.items() if value}
    if as_json:
        click.echo(json.dumps({"key": key, "entry": entry}))
        return
    click.echo(key)
    where = "clients:" if role is None else "keys:` of `studio:"
    click.echo(f"\nSave it now: it is not shown again. For `{where}` in the gateway's file:\n")
    click.echo(f"  - {{{', '.join(f'{what}: {json.dumps(value)}' for what, value in entry.items())}}}")


def _refuse_past(expires: str) -> None:
    try:
        until = datetime.fromisoformat(expires)
    except ValueError:
        raise click.UsageError(f"--expires {expires!r}: give a day or a moment, such as 2027-01-31") from None
    if (until if until.tzinfo is not None else until.replace(tzinfo=UTC)) <= datetime.now(UTC):
        raise click.UsageError(f"--expires {expires!r} is in the past: such a key never works")


@keys.command(name="hash")
def hash_key() -> None:
    """Print the hash of a key from standard input.

    \b
      trueup keys hash < key.txt
    """
    from trueup.gateway.keys import hash_of

    key = _given_key()
    if len(key) < _SHORT:
        said = f"this key has fewer than {_SHORT} characters, so its hash may reveal it; use `trueup keys new`"
        click.echo(f"trueup: {said}", err=True)
    click.echo(hash_of(key))


@keys.command()
@click.argument("file", metavar="FILE")
@click.option("--whose", is_flag=True, help="Read a key from standard input, and show which entry it belongs to.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)  # fmt: skip
def check(file: str, *, whose: bool, color: Color) -> int:
    """List the keys in a gateway's FILE, and when they expire.

    Exit code 0: all keys work, 1: a key has expired, or no entry matches the key for --whose, 2: the file has an error.
    """
    try:
        from trueup.gateway.settings import read_config
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed: {install('gateway')}") from None
    from trueup.verdict.display import safe_line

    config, faults = read_config(file)
    for fault in faults:
        click.echo(safe_line(str(fault)), err=True)
    if config is None:
        return 2
    callers = _listed(config)
    if whose:
        callers = _matching(callers, _given_key())
        if not callers:
            click.echo("no entry has this key", err=True)
            return 1
    if not config.clients and not whose:
        click.echo("no clients: everyone has access")
    return _show(callers, color) if callers else 0


def _listed(config: "Config") -> "tuple[Caller | StudioKey, ...]":
    """The keys of clients, then the keys of the studio."""
    return (*config.clients, *(() if config.studio is None else config.studio.keys))


def _matching(callers: "tuple[Caller | StudioKey, ...]", key: str) -> "tuple[Caller | StudioKey, ...]":
    from trueup.gateway.keys import hash_of

    return tuple(each for each in callers if (each.hash.lower() or hash_of(each.key)) == hash_of(key))


def _show(callers: "tuple[Caller | StudioKey, ...]", color: Color) -> int:
    from rich.text import Text

    from trueup.cli.terminal.output import open_console
    from trueup.cli.terminal.table import table
    from trueup.gateway.file.clients import now

    time = now()
    expired = [each for each in callers if each.expires is not None and each.expires <= time]
    rows = [
        [
            each.name or "-",
            each.tenant or "-",
            _use(each),
            _until(each.expires),
            "expired" if each in expired else "works",
        ]
        for each in callers
    ]
    console = open_console(color)
    for line in table(
        ["name", "tenant", "user", "expires", "state"], rows, "<<<<<", console.width if console.is_terminal else 0
    ):
        console.print(Text.assemble(*line), soft_wrap=True)
    return 1 if expired else 0


def _use(each: "Caller | StudioKey") -> str:
    """The user of a client's key, or the role of a studio key."""
    role = getattr(each, "role", "")
    return f"studio: {role}" if role else getattr(each, "user", "") or "-"


def _until(expires: float | None) -> str:
    return "never" if expires is None else datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%d %H:%M")


def _given_key() -> str:
    """A key from standard input. A terminal does not show it."""
    key = click.prompt("Key", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    if not key.strip():
        raise click.UsageError("no key given: pass it on standard input")
    return str(key).strip()
