"""`trueup rules`: the second phase as a filter."""

from pathlib import Path
from typing import Any

import click

from trueup.cli.filtering import filter_options, run_filter
from trueup.cli.options.references import Unavailable

_PARTS = frozenset({"required", "types", "ranges", "enums", "rules", "budget"})
_OTHERS = frozenset({"schema", "tools", "states", "reply", "pipeline"})  # of contracts and pipelines
_HOW = "give a file with a `validation:` or `rules:` section, or a list of rules"


@click.command()
@click.argument("given", metavar="RULES")
@click.option(
    "--step", metavar="NAME", help="The step to take the rules from, if the file has rules for several steps."
)
@filter_options
def rules(given: str, step: str | None, max_line: int, timeout: float, log: str | None) -> int:
    """Check JSONL records against business rules: the second phase of a check, as a filter.

    Reads units (one JSON record per line) from standard input. Units that satisfy every rule go to standard output unchanged; failure
    records go to standard error. RULES is a YAML, TOML or JSON file with `required`, `types`, `ranges`, `enums` and
    `rules`, at the top level or under `validation` or `rules`. The exit codes are the same as for `trueup schema`.

    \b
      trueup rules orders.yaml < units.jsonl > valid.jsonl 2> failures.jsonl
      trueup rules pipelines/reviews/config.yaml --step grade < units.jsonl
    """
    from trueup.batch.judging.filters import RulesFilter
    from trueup.contract.contract import Contract

    spec = _section(given, step)
    try:
        contract = Contract(schema=True, rules=spec)
    except (ValueError, TypeError) as error:
        raise Unavailable(f"{given}: {error}") from None
    return run_filter(RulesFilter(contract, max_line), max_line, timeout, log)


def _section(given: str, step: str | None) -> Any:
    """The rules in a file, at the top level or in a section."""
    from trueup.contract.files.documents import read_document
    from trueup.contract.files.faults import ContractError

    try:
        document = read_document(Path(given))
    except ContractError as error:
        raise Unavailable(str(error)) from None
    if document.faults:
        raise Unavailable(str(document.faults[0]))
    data = document.data
    if isinstance(data, dict) and "validation" in data:
        data = data["validation"]
    elif isinstance(data, dict) and (
        isinstance(data.get("rules"), dict) or (isinstance(data.get("rules"), list) and not _OTHERS.isdisjoint(data))
    ):
        data = data["rules"]
    if step is not None:
        if not isinstance(data, dict) or step not in data:
            there = ", ".join(map(str, data)) if isinstance(data, dict) else "none"
            raise Unavailable(f"--step {step}: {given} has no such step (there: {there})")
        data = data[step]
    elif isinstance(data, dict) and _PARTS.isdisjoint(data):
        if not _OTHERS.isdisjoint(data):
            raise Unavailable(f"{given}: there are no rules in it; {_HOW}")
        if data and "validation" in document.data and all(isinstance(part, dict | list) for part in data.values()):
            raise Unavailable(
                f"{given}: its rules are grouped by step; choose one with --step: {', '.join(map(str, data))}"
            )
    if not isinstance(data, dict | list):
        raise Unavailable(f"{given}: {_HOW}")
    return data
