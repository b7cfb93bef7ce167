"""`trueup schema`, the first phase of a check as a filter; and the `--schema` option, which gives a contract its
schema.

The option takes a file, `module:Class`, JSON text, `any`, or `none`.
"""

from typing import Any

import click

from trueup.cli.filtering import filter_options, run_filter
from trueup.cli.options.acceptance import accept_option
from trueup.cli.options.coercion import coercion_options, take_coercion
from trueup.cli.options.references import Unavailable, python_object, read_json
from trueup.contract.options import OPTIONS

_HOW = "give a .json file, module:Class, JSON text that starts with '{', 'any' or 'none'"


_SAYS = frozenset(
    {"type", "properties", "$ref", "$defs", "anyOf", "oneOf", "allOf", "enum", "const", "items", "required"}
)
_WORDS = {type(None): "null", int: "a number", float: "a number", str: "a string", list: "an array"}


def read_schema(given: str, *, quiet: bool = False, option: str = "--schema") -> Any:
    """The source that an option or argument names. Misspelled keywords print a warning to stderr, unless `quiet` is
    set.

    >>> read_schema("any"), read_schema("none"), read_schema('{"type": "integer"}')
    (True, None, {'type': 'integer'})
    """
    if given in {"any", "none"}:
        return True if given == "any" else None
    found = python_object(option, given)
    if found is not None:
        return found
    schema = read_json(option, given, "schema", _HOW)
    if not isinstance(schema, dict | bool):
        where = option if given.lstrip().startswith("[") else given
        raise Unavailable(f"{where}: a JSON Schema is an object, this is {_WORDS[type(schema)]}; {_HOW}")
    _tell_slips(schema, option if given.lstrip()[:1] == "{" else f"{option} {given}", quiet=quiet)
    return schema


def _tell_slips(schema: Any, where: str, *, quiet: bool) -> None:
    """Refuse a schema without keywords of JSON Schema, which would accept anything. Warn about keys similar to
    keywords.
    """
    from trueup.contract.lint.words import strange_words
    from trueup.verdict.display import safe_line
    from trueup.verdict.paths import render

    if isinstance(schema, dict) and "schema" in schema and _SAYS.isdisjoint(schema):
        raise Unavailable(f"{where}: this looks like a contract, not a schema: pass it with --contract")
    for path, near in strange_words(schema):
        if not path:
            keys = ", ".join(list(schema)[:4])
            raise Unavailable(f"{where}: none of its keys ({keys}) is a JSON Schema keyword, so any value would fit")
        if not quiet:
            told = f"{where}: {render(path)} is not a JSON Schema keyword and has no effect; did you mean {near!r}?"
            click.echo(f"trueup: warning: {safe_line(told)}", err=True)


@click.command()
@click.argument("given", metavar="SCHEMA")
@accept_option(OPTIONS["accept"].default)
@coercion_options(OPTIONS["coerce"].default)
@filter_options
def schema(given: str, accept: Any, max_line: int, timeout: float, log: str | None, **options: Any) -> int:
    """Check JSONL records against a JSON Schema: the first phase of a check, as a filter.

    Reads units (one JSON record per line) from standard input. Valid units go to standard output with all their fields
    and coerced values; failure records go to standard error. SCHEMA is the same as for `trueup check --schema`. Exit code
    0: all valid, 1: some failed, 2: the command or the schema is wrong, 3: out of time or disk space.

    \b
      trueup schema invoice.json < replies.jsonl > valid.jsonl
      trueup schema invoice.json < replies.jsonl | trueup rules orders.yaml
      trueup schema card.json --enum-prefix "shadow " --enum-delimiter " | " < units.jsonl
    """
    from trueup.batch.judging.filters import Filter
    from trueup.conform.options import STANDARD
    from trueup.conform.schema import SchemaError
    from trueup.contract.contract import Contract

    try:
        coerce = take_coercion(options) or STANDARD
        contract = Contract(read_schema(given, quiet=True, option="SCHEMA"), accept=accept, coerce=coerce)
    except SchemaError as error:
        raise Unavailable(f"{given if len(given) < 200 else 'SCHEMA'}: {error}") from None
    return run_filter(Filter(contract, max_line), max_line, timeout, log)
