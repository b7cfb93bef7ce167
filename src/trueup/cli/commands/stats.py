"""`trueup stats`: show the failure and retry rates of each model, the reasons, and the trend over time."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from trueup.cli.commands.quota import MONEY
from trueup.cli.options.selection import moment
from trueup.cli.options.store import opened, store_option
from trueup.cli.terminal.output import Color

if TYPE_CHECKING:
    from trueup.cli.terminal.layout import Line
    from trueup.store.stats import ModelRates

_BARS = "▁▂▃▄▅▆▇█"


@click.command()
@store_option
@click.option(
    "--by", type=click.Choice(["all", "hour", "day", "rules"]), default="all", show_default=True,
    help="One row per hour, day, or version of the rules (a contract's fingerprint).",
)  # fmt: skip
@click.option(
    "--since",
    default="",
    metavar="WHEN",
    help="Only requests since this time: 24h, 7d, 2w, or a date such as 2026-01-31 (UTC).",
)
@click.option("--model", metavar="NAME", help="Only this model.")
@click.option("--contract", metavar="NAME", help="Only this contract.")
@click.option("--json", "as_json", is_flag=True, help="Print the rates as one JSON document.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)  # fmt: skip
def stats(
    url: str, by: str, *, since: str, model: str | None, contract: str | None, as_json: bool, color: Color
) -> None:  # fmt: skip
    """Show failure and retry rates by model, with the reasons.

    Prints a warning to stderr for each model that needed a retry for more than 20% of its requests.

    \b
      trueup stats --store s.db --since 24h
      trueup stats --store s.db --by day --model gpt-4o
      trueup stats --store s.db --by rules --contract chat-quota
    """
    from trueup.store.stats import warnings

    start = moment("--since", since) or 0.0
    if by == "rules":
        if model is not None:
            raise click.UsageError("--by rules counts all models; remove --model")
        _show_rules(url, contract, start, color, as_json=as_json)
        return
    with opened(url) as store:
        rows = store.stats(by=by, since=start, model=model, contract=contract)
        whole = rows if by == "all" else store.stats(since=start, model=model, contract=contract)
        steps = store.stats(by="hour", since=start, model=model, contract=contract) if by == "all" else []
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import is_terminal, write

        data = {"rates": [row.to_dict() for row in rows], "warnings": warnings(whole)}
        write(document(data, indented=is_terminal()) + "\n")
        return
    from rich.text import Text

    from trueup.cli.terminal.output import open_console
    from trueup.verdict.display import safe_line

    console = open_console(color)
    for line in _lines(rows, steps, by, console.width if console.is_terminal else 0):
        console.print(Text.assemble(*line), soft_wrap=True)
    for warning in warnings(whole):
        click.echo(f"warning: {safe_line(warning)}", err=True)


def _show_rules(url: str, contract: str | None, start: float, color: Color, *, as_json: bool) -> None:
    """Print each version of the rules: when it came into use, and what it refused."""
    from trueup.cli.terminal.output import is_terminal, open_console, write
    from trueup.cli.terminal.table import table

    with opened(url) as store:
        found = store.rules(contract=contract, since=start)
    if as_json:
        from trueup.cli.terminal.json_text import document

        write(document({"rules": [change.to_dict() for change in found]}, indented=is_terminal()) + "\n")
        return
    from rich.text import Text

    head = ["since", "contract", "fingerprint", "verdicts", "refused", "reasons"]
    cells = [
        [
            _when(change.first, "hour"), change.contract or "(none)", change.fingerprint or "(unknown)",
            f"{change.verdicts:,}", f"{change.refusal_rate:.1%}",
            ", ".join(f"{code} {n:,}" for code, n in change.reasons.items()),
        ]
        for change in found
    ]  # fmt: skip
    console = open_console(color)
    width = console.width if console.is_terminal else 0
    lines = table(head, cells, "<<<>><", width, whole=(0, 2)) if found else [[("no verdicts in this period", "")]]
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)


def _lines(rows: "list[ModelRates]", steps: "list[ModelRates]", by: str, width: int) -> "list[Line]":
    from trueup.cli.terminal.table import table

    if not rows:
        return [[("no verdicts in this period", "")]]
    head = ["model", "asked", "failed", "again", "attempts", "cost", "over time" if by == "all" else "", "reasons"]
    align = "<>>>>><<"
    cells = []
    for row in rows:
        when = _curve([step for step in steps if step.model == row.model]) if by == "all" else _when(row.at, by)
        reasons = ", ".join(f"{code} {n:,}" for code, n in row.reasons.items())
        cells.append([
            row.model or "(none)", f"{row.asked:,}", f"{row.failure_rate:.1%}", f"{row.retry_rate:.1%}",
            f"{row.mean_attempts:.2f}", f"{row.cost / MONEY:,.2f}", when, reasons,
        ])  # fmt: skip
    if by != "all":  # the time comes first
        order = [6, 0, 1, 2, 3, 4, 5, 7]
        head = ["when", *[head[at] for at in order[1:]]]
        cells = [[row[at] for at in order] for row in cells]
        align = "<<>>>>><"
    return table(head, cells, align, width)


def _curve(steps: "list[ModelRates]") -> str:
    """The failure rate of the last hours with requests, one bar each."""
    last = [step.failure_rate for step in steps[-12:]]
    return "".join(_BARS[min(round(rate * (len(_BARS) - 1)), len(_BARS) - 1)] for rate in last)


def _when(at: float, by: str) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M" if by == "hour" else "%Y-%m-%d")
