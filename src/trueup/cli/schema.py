"""`trueup schema`: the first phase as a filter; and the `--schema` option: a word enters, a schema source for a Contract leaves.

The option takes a file, `module:Class`, JSON text, `any`, or `none`.
"""

from typing import Any

import click

from trueup.cli.filtering import filter_options, run_filter
from trueup.cli.named import Unavailable, python_object, read_json

_HOW = "give a .json file, module:Class, JSON text that starts with '{', 'any' or 'none'"


def read_schema(given: str) -> Any:
    """The source that an option names.

    >>> read_schema("any"), read_schema("none"), read_schema('{"type": "integer"}')
    (True, None, {'type': 'integer'})
    """
    if given in {"any", "none"}:
        return True if given == "any" else None
    found = python_object("--schema", given)
    if found is not None:
        return found
    schema = read_json("--schema", given, "schema", _HOW)
    if not isinstance(schema, dict | bool):
        where = "--schema" if given.lstrip().startswith("[") else given
        raise Unavailable(f"{where}: a JSON Schema is an object, this is {type(schema).__name__}; {_HOW}")
    return schema


@click.command()
@click.argument("given", metavar="SCHEMA")
@click.option(
    "--accept",
    type=click.Choice(["none", "lossless", "guess", "lossy"]),
    default="guess",
    show_default=True,
    help="The boldest fix a reply may need.",
)
@click.option(
    "--coerce",
    type=click.Choice(["off", "standard", "eager"]),
    default="standard",
    show_default=True,
    help="How far values are brought to the schema's types.",
)
@filter_options
def schema(given: str, accept: Any, coerce: Any, max_line: int, timeout: float, log: str | None) -> int:
    """Put units through a JSON Schema: the first phase as a filter.

    Units come on standard input, one a line; the valid ones go to standard output with every field kept and their
    values coerced, failure records go to standard error, and nothing else does. SCHEMA is what --schema of
    `trueup check` takes. Exit code 0: all valid, 1: some failed, 2: the command or the schema is wrong, 3: out of time.

    \b
      trueup schema invoice.json < replies.jsonl 2> failures.jsonl | trueup rules rules.yaml > valid.jsonl
    """
    from trueup.batch.filters import Filter
    from trueup.conform.schema import SchemaError
    from trueup.contract.contract import Contract

    try:
        contract = Contract(read_schema(given), accept=accept, coerce=coerce)
    except SchemaError as error:
        raise Unavailable(f"{given if len(given) < 200 else 'SCHEMA'}: {error}") from None
    return run_filter(Filter(contract, max_line), max_line, timeout, log)
