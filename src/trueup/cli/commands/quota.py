"""`trueup quota`: show and set limits and their use, and check the sums against the ledger."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from trueup.cli.options.store import opened, store_option
from trueup.cli.terminal.output import Color

if TYPE_CHECKING:
    from trueup.store.limits import BucketState

MONEY = 1_000_000  # cost is kept in millionths


@click.group()
def quota() -> None:
    """Show and set limits per tenant, user and model, and how much is used."""


@quota.command()
@store_option
@click.option("--tenant", metavar="NAME", help="Only this tenant.")
@click.option("--json", "as_json", is_flag=True, help="Print the limits as one JSON document.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)  # fmt: skip
def show(url: str, tenant: str | None, *, as_json: bool, color: Color) -> None:
    """Show the limits, and how much is used and on hold."""
    with opened(url) as store:
        store.quota.expire()
        standings = store.quota.standings(tenant)
        limits = [limit for limit in store.quota.limits() if tenant is None or limit.tenant in (tenant, "*")]
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import is_terminal, write

        data = {"used": [s._asdict() for s in standings], "limits": [limit._asdict() for limit in limits]}
        write(document(data, indented=is_terminal()) + "\n")
        return
    from rich.text import Text

    from trueup.cli.terminal.output import open_console
    from trueup.cli.terminal.table import table

    console = open_console(color)
    width = console.width if console.is_terminal else 0
    lines = []
    if standings:
        head = ["tenant", "whose", "what", "since", "used", "on hold", "limit"]
        lines = table(head, [_row(standing) for standing in standings], "<<<<>>>", width)
    if limits:
        rows = [
            [li.tenant, _whose(li.scope, li.name), li.unit, li.period, _amount(li.amount, li.unit)] for li in limits
        ]
        lines += [
            *([[("", "")]] if lines else []),
            *table(["tenant", "whose", "what", "per", "limit"], rows, "<<<<>", width),
        ]
    if not lines:
        lines = [[("nothing has been used and no limit is set; `trueup quota set` sets one", "")]]
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)


@quota.command(name="set")
@store_option
@click.option("--tenant", required=True, metavar="NAME", help="The tenant; `*` for every tenant without its own limit.")
@click.option("--user", metavar="NAME", help="Limit one user of the tenant, or with `*` each user.")
@click.option("--model", metavar="NAME", help="Limit one model of the tenant, or with `*` each model.")
@click.option("--replies", type=click.IntRange(0), metavar="N", help="The limit on valid replies.")
@click.option(
    "--cost", type=click.FloatRange(0), metavar="MONEY", help="The limit on the cost of all attempts, valid or not."
)
@click.option(
    "--per", type=click.Choice(["hour", "day", "month", "total"]), default="month", show_default=True,
    help="The period after which the count starts again (UTC); total means never.",
)  # fmt: skip
@click.option("--no-limit", is_flag=True, help="Set no limit here, even if `*` has one; needs --replies 0 or --cost 0.")
@click.option("--remove", is_flag=True, help="Remove the limit; needs --replies 0 or --cost 0.")
def set_limit(
    url: str, tenant: str, *, user: str | None, model: str | None, replies: int | None, cost: float | None, per: str, no_limit: bool, remove: bool,
) -> None:  # fmt: skip
    """Set a limit, and print it.

    \b
      trueup quota set --store s.db --tenant acme --replies 10000 --per month
      trueup quota set --store s.db --tenant acme --user '*' --replies 50 --per day
      trueup quota set --store s.db --tenant acme --cost 25 --per day
    """
    if (replies is None) == (cost is None):
        raise click.UsageError("give one of --replies and --cost")
    from trueup.store.errors import MOST

    if (replies or 0) > MOST or not (cost or 0) * MONEY <= MOST:  # refuses NaN, too
        said = (
            f"--replies {replies}: a number up to {MOST:,}"
            if cost is None
            else f"--cost {cost:g}: a number up to {MOST // MONEY:,}"
        )
        raise click.UsageError(said)
    if user is not None and model is not None:
        raise click.UsageError("give --user or --model, or neither for the tenant itself")
    unit = "replies" if cost is None else "cost"
    amount: int | None = replies if replies is not None else round((cost or 0) * MONEY)
    if no_limit or remove:
        amount = -1 if no_limit else None
    scope, name = ("user", user) if user is not None else ("model", model) if model is not None else ("tenant", "")
    with opened(url, create=True) as store:
        store.quota.set_limit(tenant, amount, scope=scope, name=name or "", unit=unit, period=per)  # type: ignore[arg-type]
    from trueup.verdict.display import safe_line

    span = "in total" if per == "total" else f"per {per}"
    if amount is None:
        said = f"the limit on {unit} {span} is removed"
    elif amount < 0:
        said = f"no limit on {unit} {span}"
    else:
        shown = _amount(amount, unit)
        said = f"{shown} replies {span}" if unit == "replies" else f"a cost of {shown} {span}"
    click.echo(f"{safe_line(tenant)}, {safe_line(_whose(scope, name or ''))}: {said}")


@quota.command()
@store_option
@click.option("--tenant", metavar="NAME", help="Only this tenant.")
def check(url: str, tenant: str | None) -> int:
    """Compare the ledger's sums with the recorded use.

    Exit code 0: they agree, 1: they do not.
    """
    from trueup.verdict.display import safe_line

    with opened(url) as store:
        faults = store.quota.audit(tenant)
    for fault in faults:
        click.echo(safe_line(fault))
    click.echo(
        "the ledger agrees with the recorded use and reservations"
        if not faults
        else f"{len(faults)} sums disagree with the ledger",
        err=bool(faults),
    )
    return 1 if faults else 0


def _whose(scope: str, name: str) -> str:
    return f"{scope} {name}" if name else scope


def _amount(amount: int | None, unit: str) -> str:
    if amount is None or amount < 0:
        return "none"
    return f"{amount:,}" if unit == "replies" else f"{amount / MONEY:,.2f}"


def _row(standing: "BucketState") -> list[str]:
    since = "ever" if standing.period == "total" else _since(standing.start)
    counts = [_amount(n, standing.unit) for n in (standing.used, standing.held, standing.limit)]
    return [standing.tenant, _whose(standing.scope, standing.name), standing.unit, since, *counts]


def _since(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")
