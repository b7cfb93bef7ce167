"""`trueup check`: one reply in, its verdict on the screen or as JSON; the exit code says ok or refused."""

import sys
from pathlib import Path
from typing import Any

import click

from trueup.cli.terminal import Color

_UNSET = "any"


@click.command()
@click.argument("file", required=False, metavar="[FILE]")
@click.option(
    "-s",
    "--schema",
    default=_UNSET,
    show_default=True,
    metavar="SCHEMA",
    help="A .json file, module:Class, JSON text, or 'any' for any JSON value.",
)
@click.option(
    "--accept",
    type=click.Choice(["none", "lossless", "guess", "lossy"]),
    default="guess",
    show_default=True,
    help="The boldest fix a reply may need and still be ok.",
)
@click.option(
    "--coerce",
    type=click.Choice(["off", "standard", "eager"]),
    default="standard",
    show_default=True,
    help="How far values are brought to the schema's types.",
)
@click.option("--strict", is_flag=True, help="Refuse where one of several readings would have to be chosen.")
@click.option(
    "--max-size",
    type=click.IntRange(min=1),
    default=10_000_000,
    show_default=True,
    metavar="N",
    help="Refuse replies longer than N characters.",
)
@click.option(
    "--max-depth",
    type=click.IntRange(min=1, max=10_000),
    default=500,
    show_default=True,
    metavar="N",
    help="Refuse replies nested deeper than N.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON document.")
@click.option("--value", "only_value", is_flag=True, help="Print the value alone, as JSON; nothing if refused.")
@click.option("-a", "--all", "everything", is_flag=True, help="Leave nothing out, however long.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)
def check(
    file: str | None, schema: str, as_json: bool, only_value: bool, everything: bool, color: Color, **options: Any
) -> int:
    """Judge one reply, from FILE or standard input.

    Shows what was changed, as a diff; what is wrong, with its place underlined; and the value.
    Exit code 0: ok, 1: refused, 2: the command or the schema is wrong.

    \b
      trueup check reply.txt --schema person.json
      llm "…" | trueup check --schema shop.models:Invoice --json
    """
    if as_json and only_value:
        raise click.UsageError("--json and --value exclude each other")
    contract = _contract(schema, options)
    raw, name = _read(file, options["max_size"])
    verdict = contract.check(raw)
    if as_json or only_value:
        _print_json(verdict.to_dict() if as_json else verdict.data, show=as_json or verdict.ok)
    else:
        from trueup.cli.layout import View
        from trueup.cli.show import show
        from trueup.cli.terminal import open_console

        console = open_console(color)
        named = "" if schema == _UNSET else schema if len(schema) <= 60 else schema[:59] + "…"
        show(verdict, console, View(console.width, console.is_terminal, everything, name, named))
    return 0 if verdict.ok else 1


def _contract(schema: str, options: dict[str, Any]) -> Any:
    from trueup.cli.schema import BadSchema, read_schema
    from trueup.conform.schema import SchemaError
    from trueup.contract.contract import Contract

    source = read_schema(schema)
    try:
        return Contract(schema=source, **options)
    except SchemaError as error:
        where = schema if not schema.lstrip().startswith("{") else "that JSON"
        raise BadSchema(f"--schema {where}: {error}") from None


def _read(file: str | None, max_size: int) -> tuple[bytes, str]:
    """The bytes of a reply and a name for it; of a reply that is too long, just enough to see that it is."""
    most = 4 * max_size + 4
    if file is None or file == "-":
        if file is None and sys.stdin.isatty():
            raise click.UsageError(
                "no reply to judge: name a FILE, or pipe one in (use '-' to type it here, end with Ctrl-D)"
            )
        return sys.stdin.buffer.read(most), "reply"
    try:
        with Path(file).open("rb") as opened:
            return opened.read(most), file
    except FileNotFoundError:
        raise click.UsageError(f"{file}: there is no such file") from None
    except IsADirectoryError:
        raise click.UsageError(f"{file}: that is a directory; name one reply") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise click.UsageError(f"{file}: cannot be read: {reason}") from None


def _print_json(value: Any, show: bool) -> None:
    from trueup.cli.pretty import document
    from trueup.cli.terminal import is_terminal, write

    if show:
        write(document(value, indented=is_terminal()) + "\n")
