"""The options that say how to judge units, combined into one contract for a batch.

`--contract` names a complete contract. `--schema`, `--tools` and related options make one from their values.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.acceptance import accept_option, strict_option
from trueup.cli.options.coercion import NAMES as COERCION
from trueup.cli.options.coercion import coercion_options, take_coercion
from trueup.cli.options.references import Unavailable, no_file

if TYPE_CHECKING:
    from trueup.batch.judging.contracts import ContractSpec

Command = Callable[..., Any]
_MADE = ("schema", "tools", "order", "accept", "strict")


def contract_options(command: Command) -> Command:
    """Add the options to a command."""
    for option in reversed((
        click.option("-c", "--contract", metavar="CONTRACT", help="A contract file, a JSON Schema file, or module:name."),
        click.option("-s", "--schema", metavar="SCHEMA", help="Instead of a contract: a schema, as for `trueup check`."),
        click.option("-t", "--tools", metavar="TOOLS", help="Instead of a contract: the tools that were offered."),
        click.option("--order", metavar="ORDER", help="With --tools: the expected order of calls."),
        accept_option(None),
        coercion_options(None),
        strict_option(default=None),
    )):  # fmt: skip
        command = option(command)
    return command


def read_spec(options: dict[str, Any]) -> "ContractSpec":
    """The contract that the options name. The options are removed from `options`."""
    from trueup.batch.judging.contracts import BadContract, spec_of

    contract = options.pop("contract")
    typed = [name for name in COERCION if options[name]]
    made = {**{name: options.pop(name) for name in _MADE}, "coerce": take_coercion(options)}
    given = {name: value for name, value in made.items() if value is not None}
    if contract is not None and given:
        raise click.UsageError(
            f"--contract already decides this: leave out --{(typed or list(given))[0].replace('_', '-')}, or give --schema or --tools instead of --contract"
        )
    if contract is None and made["schema"] is None and made["tools"] is None:
        raise click.UsageError("no contract: give --contract, --schema or --tools")
    if made["order"] is not None and made["tools"] is None:
        raise click.UsageError("--order needs --tools")
    try:
        return spec_of(contract) if contract is not None else spec_of(options=_read(given))
    except BadContract as error:
        if contract is not None and not Path(contract).exists() and ":" not in contract:
            raise Unavailable(f"--contract {contract}: {no_file(contract)}") from None
        option = "--contract" if contract is not None else "--schema" if made["tools"] is None else "--tools"
        raise Unavailable(f"{option}: {error}") from None
    except OSError as error:
        raise Unavailable(f"--contract {contract}: cannot be read: {error.strerror}") from None


def _read(given: dict[str, Any]) -> dict[str, Any]:
    from trueup.cli.commands.schema import read_schema
    from trueup.cli.options.tools import read_order, read_tools

    readers: dict[str, Callable[[str], Any]] = {"schema": read_schema, "tools": read_tools, "order": read_order}
    return {name: readers[name](value) if name in readers else value for name, value in given.items()}
