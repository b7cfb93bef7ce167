"""The options `--contract`, `--context` and `--state`: turn words from the command line into a contract and a
context.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.coercion import NAMES as COERCION
from trueup.cli.options.coercion import take_coercion
from trueup.cli.options.references import Unavailable, no_file, read_json

if TYPE_CHECKING:
    from trueup.conform.options import Options
    from trueup.contract.contract import Contract

_KEYS = (
    "state",
    "data",
    "history",
    "question",
    "tenant",
    "input",
    "source",
    "prompt",
    "today",
    "offered",
    "expected_sequence",
)
_HOW = f"give a .json file or JSON text with an object: {', '.join(_KEYS)}"
_SLIP = 75.0  # keys with at least this likeness, from 0 to 100, count as misspelled
_INSTEAD = ("schema", "tools", "order")


def read_contract(path: str, options: Mapping[str, Any]) -> "Contract":
    """The contract in a file. Errors are reported line by line, as in `trueup lint`."""
    from trueup.contract.contract import Contract
    from trueup.contract.files.faults import ContractError

    given = [name for name in _INSTEAD if options.get(name) is not None]
    if given:
        raise click.UsageError(f"--contract and --{given[0]} cannot be combined: give one of them")
    if not Path(path).exists():
        raise Unavailable(f"--contract {path}: {no_file(path)}")
    try:
        chosen = _chosen(options)
        coerce = _chosen_coercion(options)
        if coerce is not None:  # the file decides the rest
            chosen["coerce"] = coerce(Contract.load(path).options)
        contract = Contract.load(path, **chosen)
        if options.get("source") and not contract.is_grounded:
            return Contract.load(path, **chosen, grounded=True)
        return contract
    except ContractError as error:
        unknown = {str(found.path).removeprefix("$.") for found in error.faults if found.code == "N005"}
        if {"type", "properties", "anyOf", "oneOf", "allOf", "enum", "items", "$ref"} & unknown:
            raise Unavailable(f"--contract {path}: this looks like a JSON Schema: give it with --schema") from None
        raise Unavailable(f"--contract {path}: the contract cannot be used\n{error}") from None


def given_contract(options: Mapping[str, Any]) -> "Contract":
    """The contract that --contract names, or the one that --schema and --tools make."""
    if options["contract_file"] is not None:
        return read_contract(options["contract_file"], options)
    from trueup.cli.commands.schema import read_schema
    from trueup.cli.options.tools import read_tools
    from trueup.contract.contract import Contract

    schema = None if options["schema"] is None else read_schema(options["schema"])
    tools = None if options["tools"] is None else read_tools(options["tools"])
    try:
        return Contract(schema, tools=tools, coerce=take_coercion(dict(options)) or "standard")
    except ValueError as error:
        raise Unavailable(f"--schema or --tools: {error}") from None


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the user typed. The contract decides about the others."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    names = ("accept", "strict", "max_size", "max_depth")
    return {name: options[name] for name in names if context.get_parameter_source(name) is typed}


def _chosen_coercion(options: Mapping[str, Any]) -> "Callable[[Options], Options | None] | None":
    """A function that applies the typed coercion options to the contract's options; None without such options."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    said = {name: options[name] for name in COERCION if context.get_parameter_source(name) is typed}
    if not said:
        return None
    given = {**dict.fromkeys(COERCION[1:], ()), "coerce": None, **said}
    return lambda over: take_coercion(given, over)


def read_context(given: str | None, state: str | None, history: list[Any] | None) -> dict[str, Any]:
    """The context that the options name. `--state` and `--history` override `--context`."""
    context: Any = {}
    if given is not None:
        context = read_json("--context", given, "context", _HOW)
        if not isinstance(context, dict):
            raise Unavailable(f"--context: the context must be an object; {_HOW}")
        _refuse_slips(context)
        if not isinstance(context.get("history", []), list):
            raise Unavailable("--context: `history` must be a list of messages")
        _refuse_bad_sequence(context)
    return {**context, **({"state": state} if state else {}), **({"history": history} if history else {})}


def _refuse_bad_sequence(context: dict[str, Any]) -> None:
    from trueup.checks.order import Order, with_expected  # needed only for --context

    try:
        with_expected(Order(), context.get("expected_sequence"))
    except TypeError as error:
        raise Unavailable(f"--context: {error}") from None


def _refuse_slips(context: dict[str, Any]) -> None:
    """Refuse keys that are misspellings of known keys. Other unknown keys are fine, since custom checks may use
    them.
    """
    from trueup.verdict.likeness import KnownNames

    known = KnownNames(_KEYS)
    for key in context:
        near = None if key in _KEYS else known.misspelt(key, _SLIP)
        if near:
            raise Unavailable(f"--context: unknown key {key!r}; did you mean {near!r}?")
