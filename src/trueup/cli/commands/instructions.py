"""`trueup instructions`: print the instructions that `trueup ask` sends for a contract, or a provider's strict schema.

The output is text or one JSON document on standard output. No model is asked.
"""

from typing import Any

import click

from trueup.cli.options.contract import given_contract
from trueup.cli.options.references import Unavailable


@click.command()
@click.option("-c", "--contract", "contract_file", metavar="FILE", help="A contract file (YAML, TOML or JSON).")
@click.option("-s", "--schema", metavar="SCHEMA", help="Instead of a contract: a schema, as for `trueup check`.")
@click.option("-t", "--tools", metavar="TOOLS", help="Instead of a contract: the tools to offer.")
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    default="form",
    show_default=True,
    help="How to describe the reply: form, json-schema or typescript.",
)
@click.option("--language", metavar="LANG", help="The language of the instructions: en, es.")
@click.option("--no-tools", is_flag=True, help="Leave out the tools, if you pass them to the provider yourself.")
@click.option(
    "--strict", "provider", metavar="PROVIDER", help="Print the strict schema for a provider instead: openai, gemini …"
)
def instructions(form: Any, language: str | None, *, no_tools: bool, provider: Any, **options: Any) -> int:
    """Print the instructions that `trueup ask` sends to a model for a contract.

    Use them in your own prompt, then judge the reply with `trueup check`. With --strict, print the schema in the strict
    form that a provider enforces. Exit code 0: printed, 2: the command or the contract is wrong, or its schema cannot
    be strict.

    \b
      trueup instructions -c order.yaml
      trueup instructions -s person.json --format typescript --language es
      trueup instructions -s person.json --strict openai
    """
    from trueup.cli.terminal.output import is_terminal, write
    from trueup.verdict.display import safe

    if all(options[name] is None for name in ("contract_file", "schema", "tools")):
        raise click.UsageError("no contract: give --contract, --schema or --tools")
    contract = given_contract(options)
    try:
        if provider is not None:
            from trueup.cli.terminal.json_text import document

            write(document(contract.strict_schema(provider), indented=is_terminal()) + "\n")
            return 0
        text = contract.instructions(form, language, tools=not no_tools)
    except ValueError as error:
        raise Unavailable(f"--strict {provider}: {error}" if provider is not None else str(error)) from None
    if text:
        write(safe(text) + "\n")
    else:
        click.echo("trueup: no instructions: any text is a valid reply under this contract", err=True)
    return 0
