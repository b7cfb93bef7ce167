"""`trueup check`: judge one reply and show the verdict as text or JSON. The exit code says whether it was accepted."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trueup.cli.options.acceptance import accept_option, strict_option
from trueup.cli.options.coercion import coercion_options, take_coercion
from trueup.cli.options.references import Unavailable, no_file
from trueup.cli.terminal.output import Color
from trueup.contract.options import OPTIONS

if TYPE_CHECKING:
    from trueup.contract.contract import Contract
    from trueup.verdict.verdict import Verdict

_MOST_RESPONSE = 256 * 1024 * 1024  # bytes of a provider's response
_MOST_ERRORS = 10  # errors that --value lists


@click.command()
@click.argument("file", required=False, metavar="[FILE]")
@click.option(
    "-s",
    "--schema",
    metavar="SCHEMA",
    help="A .json file, module:Class, JSON text, 'any' for any JSON value, or 'none' if the text may say anything."
    "  [default: any; with --tools, none]",
)
@click.option(
    "-r",
    "--reply",
    "response",
    metavar="FILE",
    help="A provider's response instead of FILE: JSON, the body of a stream, or a line of a batch.",
)
@click.option(
    "-t",
    "--tools",
    metavar="TOOLS",
    help="The tools that were offered: a .json file or JSON text in any provider's format, or module:name.",
)
@click.option(
    "--order",
    metavar="ORDER",
    help="The expected order of tool calls: names separated by commas, JSON text, or a .json file.",
)
@click.option("--history", metavar="FILE", help="A .json file with the messages before the reply.")
@click.option(
    "-c",
    "--contract",
    "contract_file",
    metavar="FILE",
    help="A contract file (YAML, TOML or JSON) instead of --schema, --tools and --order.",
)
@click.option(
    "--context", "context_text", metavar="CONTEXT", help="The facts of the conversation: a .json file or JSON text."
)
@click.option(
    "--source",
    multiple=True,
    metavar="FILE",
    help="The text in which every value must appear; a .json file may contain documents or messages. May be repeated.",
)
@click.option(
    "--state", metavar="NAME", help="The state that the conversation is in; short for a `state` in --context."
)
@accept_option(OPTIONS["accept"].default)
@coercion_options(OPTIONS["coerce"].default)
@strict_option(default=False)
@click.option(
    "--max-size",
    type=click.IntRange(min=OPTIONS["max_size"].least),
    default=OPTIONS["max_size"].default,
    show_default=True,
    metavar="N",
    help="Refuse replies longer than N characters.",
)
@click.option(
    "--max-depth",
    type=click.IntRange(min=OPTIONS["max_depth"].least, max=OPTIONS["max_depth"].most),
    default=OPTIONS["max_depth"].default,
    show_default=True,
    metavar="N",
    help="Refuse replies nested deeper than N.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as one JSON document.")
@click.option(
    "--value",
    "only_value",
    is_flag=True,
    help="Print only the value, as JSON; if the reply is refused, print the reasons to stderr.",
)
@click.option("-a", "--all", "everything", is_flag=True, help="Show everything, without shortening.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)
def check(
    file: str | None,
    *,
    response: str | None,
    as_json: bool,
    only_value: bool,
    everything: bool,
    color: Color,
    contract_file: str | None,
    **options: Any,
) -> int:
    """Judge one reply, from FILE or standard input.

    Shows each tool call with its verdict, the changes as a diff, each error underlined in the text, and the value. Exit
    code 0: ok, 1: refused, 2: the command, the schema, the tools or the contract is wrong.

    \b
      trueup check reply.txt --schema person.json
      trueup check --tools tools.json --reply response.json
      trueup check --contract salon.yaml --state SLOT_SELECTION reply.txt
      trueup check reply.json --source mail.txt
      llm "…" | trueup check --schema shop.models:Invoice --json
    """
    if as_json and only_value:
        raise click.UsageError("--json and --value exclude each other")
    if file is not None and response is not None:
        raise click.UsageError("FILE is the text of a reply, --reply is a provider's response: give one of them")
    if options["tools"] is None and options["order"] is not None:
        raise click.UsageError("--order needs --tools")
    max_size = options["max_size"]
    contract, given = _given(contract_file, options)
    source = file if response is None else response
    raw, name = _read(source, _MOST_RESPONSE if response is not None else 4 * max(max_size, contract.max_size) + 4)
    verdict, name = _judge(contract, raw, name, given, response=response is not None)
    if as_json:
        _print_json(verdict.to_dict())
    elif only_value:
        _print_value(verdict, has_value=contract.schema is not None)
    else:
        from trueup.cli.display.verdict import show
        from trueup.cli.terminal.layout import Layout
        from trueup.cli.terminal.output import open_console

        console = open_console(color)
        text = "text" if response is not None or verdict.reply.provider else ""
        names = Layout(console.width, console.is_terminal, everything, name, given.schema_name, given.tools_name, text)
        show(verdict, console, names._replace(value=contract.schema is not None, contract=contract_file or ""))
    return 0 if verdict.ok else 1


def _given(contract_file: str | None, options: dict[str, Any]) -> "tuple[Contract, CheckInputs]":
    """The contract that the options name or define, and the other inputs that they give."""
    if contract_file is None:
        grounded = True if options["source"] else None
        given = CheckInputs.of(options)
        coerce = take_coercion(options) or "standard"
        return _contract(given, {**options, "coerce": coerce, "grounded": grounded}), given
    from trueup.cli.options.contract import read_contract

    contract = read_contract(contract_file, options)
    return contract, CheckInputs.of({**options, "schema": "none", "tools": None, "order": None})


class CheckInputs(NamedTuple):
    """The files and texts that the options name, after reading: the schema, the tools, their order, the context."""

    schema: Any
    schema_name: str
    tools: Any
    tools_name: str
    order: Any
    context: dict[str, Any]

    @classmethod
    def of(cls, options: dict[str, Any]) -> "CheckInputs":
        """Read what the options name."""
        from trueup.cli.commands.schema import read_schema
        from trueup.cli.options.contract import read_context
        from trueup.cli.options.sources import read_sources
        from trueup.cli.options.tools import read_history, read_order, read_tools

        names = ("schema", "tools", "order", "history", "context_text", "state", "source")
        schema, tools, order, history, context, state, source = (options.pop(name) for name in names)
        known = read_context(context, state, None if history is None else read_history(history))
        return cls(
            read_schema(schema or ("any" if tools is None else "none")),
            "" if schema in (None, "any", "none") else _named(schema),
            None if tools is None else read_tools(tools),
            "" if tools is None else _named(tools),
            None if order is None else read_order(order),
            {**known, "source": read_sources(source)} if source else known,
        )


def _named(given: str) -> str:
    return given if len(given) <= 60 else given[:59] + "…"


def _contract(given: CheckInputs, options: dict[str, Any]) -> "Contract":
    from trueup.conform.schema import SchemaError
    from trueup.contract.contract import Contract

    try:
        return Contract(schema=given.schema, tools=given.tools, order=given.order, **options)
    except SchemaError as error:
        if str(error).startswith("tool "):
            raise Unavailable(f"--tools {given.tools_name}: {error}") from None
        where = f"--schema {given.schema_name}" if given.schema_name[:1] != "{" else "--schema"
        raise Unavailable(f"{where}: {error}") from None
    except ValueError as error:
        option = "--order" if str(error).startswith("order") else f"--tools {given.tools_name}"
        raise Unavailable(f"{option}: {error}") from None


def _judge(contract: Any, raw: bytes, name: str, given: CheckInputs, *, response: bool) -> "tuple[Verdict, str]":
    """The verdict on a reply, and the reply's name. The name includes the line of a batch, or says that the file is not
    a response.
    """
    from trueup.conform.schema import SchemaError

    source: Any = raw
    if response:
        from trueup.read.reader import read_document

        reading = read_document(raw)
        name = f"{name} · {reading.key}" if reading.key else name
        if not reading.findings and not reading.reply.provider:
            name = f"{name} · not a known response format, read as text"
        source = reading
    try:
        return contract.check(source, given.context), name
    except SchemaError as error:
        raise Unavailable(f"--tools {given.tools_name}: the schema of a tool cannot be used: {error}") from None


def _read(file: str | None, most: int) -> tuple[bytes, str]:
    """The bytes of a reply, and a name for it. If a reply is too long, just enough bytes to show that."""
    if file is None or file == "-":
        if file is None and sys.stdin.isatty():
            raise click.UsageError(
                "no reply to judge: give a FILE or pipe a reply in (to type it here, use '-' and end with Ctrl-D)"
            )
        return sys.stdin.buffer.read(most), "reply"
    try:
        with Path(file).open("rb") as opened:
            return opened.read(most), file
    except FileNotFoundError:
        raise Unavailable(f"{file}: {no_file(file)}") from None
    except IsADirectoryError:
        raise Unavailable(f"{file}: that is a directory; name one reply") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Unavailable(f"{file}: cannot be read: {reason}") from None


def _print_json(value: Any) -> None:
    from trueup.cli.terminal.json_text import document
    from trueup.cli.terminal.output import is_terminal, write

    write(document(value, indented=is_terminal()) + "\n")


def _print_value(verdict: "Verdict", *, has_value: bool) -> None:
    """Print the value to stdout; without a value, print the reason to stderr."""
    if verdict.ok and has_value and not verdict.calls:
        _print_json(verdict.data)
        return
    from trueup.verdict.display import safe_line

    errors = verdict.errors
    said = [f"{found}" for found in errors[:_MOST_ERRORS]]
    if len(errors) > len(said):
        said.append(f"… and {len(errors) - len(said):,} more; without --value, the whole verdict is shown")
    if verdict.ok:
        why = "the reply calls tools" if verdict.calls else "the contract has no schema"
        said = [f"{why}, so there is no value; --json shows the {'calls' if verdict.calls else 'verdict'}"]
    for line in said:
        click.echo(safe_line(f"trueup: {line}"), err=True)
