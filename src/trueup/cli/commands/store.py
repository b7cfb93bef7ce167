"""`trueup store`: inspect a store, back it up, restore it, and erase a tenant's or a user's data."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.references import Unavailable
from trueup.cli.options.store import opened, store_option

if TYPE_CHECKING:
    from trueup.store.backup import Copied
    from trueup.store.session import Session
    from trueup.store.store import Store


@click.group()
def store() -> None:
    """Inspect, back up, restore and erase a store."""


@store.command()
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def info(url: str, *, as_json: bool) -> None:
    """Show where a store is, how much it contains and since when."""
    with opened(url) as found:
        about = _about(found)
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import is_terminal, write

        write(document(about, indented=is_terminal()) + "\n")
        return
    from trueup.verdict.display import safe_line

    size = "" if about["bytes"] is None else f", {about['bytes']:,} bytes"
    click.echo(f"{safe_line(about['where'])}: tables of version {about['version']}{size}")
    if about["since"]:
        click.echo(f"verdicts from {about['since']} to {about['until']}, of {about['tenants']:,} tenants")
    for line in _counts(about["rows"]):
        click.echo(line)


@store.command()
@store_option
@click.option(
    "--to",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file to write the backup to.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
def backup(url: str, path: Path, *, force: bool) -> int:
    """Back up a store into one file, even while it is in use.

    The store may be SQLite or PostgreSQL. The file is checked before it gets its final name. Exit code 1: it was
    written, but the quota does not agree with its ledger.

    \b
      trueup store backup --store verdicts.db --to verdicts-monday.db
    """
    from trueup.store.backup import back_up

    with opened(url) as found:
        return _tell(path, back_up(found, path, force=force), "backed up")


@store.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@store_option
@click.option("--force", is_flag=True, help="Replace everything in the store.")
def restore(file: Path, url: str, *, force: bool) -> int:
    """Restore the backup in FILE into a store, SQLite or PostgreSQL.

    Stop the gateways that use the store first. Exit code 1: it was restored, but the quota does not agree with its ledger.

    \b
      trueup store restore verdicts-monday.db --store verdicts.db
      trueup store restore verdicts-monday.db --store postgresql://trueup@db/trueup
    """
    from trueup.store.backup import restore as put_back
    from trueup.store.errors import StoreError

    try:
        return _tell(file, put_back(file, url, force=force), "restored")
    except StoreError as error:
        raise Unavailable(str(error)) from None


@store.command()
@store_option
@click.option("--tenant", required=True, metavar="NAME", help="The tenant to erase the data of.")
@click.option("--user", metavar="NAME", help="Erase only the data of this user of the tenant.")
@click.option("--sums", is_flag=True, help="Also erase the tenant's usage and limits.")
@click.option("--yes", is_flag=True, help="Delete the data; without this, it is only counted.")
def erase(url: str, tenant: str, user: str | None, *, sums: bool, yes: bool) -> int:
    """Delete the data of a tenant or a user.

    Without --yes, it only shows what would be deleted. The sums of the tenant and its models stay for billing, unless
    --sums is given. Gateways may keep running. Exit code 1: requests were in progress; run it again.

    \b
      trueup store erase --store s.db --tenant acme --user ada
      trueup store erase --store s.db --tenant acme --user ada --yes
    """
    from trueup.verdict.display import safe_line

    if sums and user is not None:
        raise click.UsageError("--sums is for a whole tenant; the sums of a user always go")
    with opened(url) as found:
        erased = found.erase(tenant, user, sums=sums, dry=not yes)
    whose = safe_line(tenant if user is None else f"{tenant}, user {user}")
    if not erased.rows:
        click.echo(f"{whose}: nothing is stored")
    else:
        click.echo(f"{whose}: {'deleted' if yes else 'would be deleted'}")
        for line in _counts(erased.rows):
            click.echo(line)
    if erased.left:
        click.echo(f"{erased.left:,} requests are in progress; run it again in five minutes", err=True)
    if erased.rows and not yes:
        click.echo("nothing was deleted; add --yes", err=True)
    return 1 if erased.left and yes else 0


def _days(given: str) -> float | None:
    """A number of days; None for `forever`."""
    if given == "forever":
        return None
    try:
        days = float(given)
    except ValueError:
        days = -1.0
    if not 0 <= days < 1e6:
        raise click.BadParameter(f"{given!r} is not a number of days; give one, or 'forever'")
    return days


@store.command()
@store_option
@click.option("--replies", type=_days, default="30", show_default=True, metavar="DAYS", help="How long to keep texts.")
@click.option(
    "--verdicts", type=_days, default="365", show_default=True, metavar="DAYS", help="How long to keep verdicts."
)
@click.option(
    "--ledger",
    type=_days,
    default="90",
    show_default=True,
    metavar="DAYS",
    help="How long to keep settled quota entries.",
)
@click.option(
    "--tallies", type=_days, default="forever", show_default=True, metavar="DAYS", help="How long to keep rates."
)
def prune(url: str, replies: float | None, verdicts: float | None, ledger: float | None, tallies: float | None) -> None:
    """Delete data that is older than its retention time.

    Gateways may keep running. `trueup serve` does this every hour, with the `retention` times in its file. DAYS is a
    number, or `forever`.

    \b
      trueup store prune --store s.db --replies 7
    """
    from trueup.store.retention import Retention

    with opened(url) as found:
        gone = found.prune(Retention(replies=replies, verdicts=verdicts, ledger=ledger, tallies=tallies))
    if not gone:
        click.echo("nothing is older than its retention time")
        return
    click.echo("deleted")
    for line in _counts(gone):
        click.echo(line)


def _tell(file: Path, copied: "Copied", what: str) -> int:
    from trueup.verdict.display import safe_line

    click.echo(f"{safe_line(str(file))}: {what}, as of {copied.made}")
    for line in _counts(copied.rows):
        click.echo(line)
    for fault in copied.faults:
        click.echo(safe_line(fault), err=True)
    if copied.faults:
        click.echo(f"the quota disagrees with its ledger in {len(copied.faults)} places", err=True)
        return 1
    click.echo("the quota agrees with its ledger")
    return 0


def _counts(rows: dict[str, int]) -> list[str]:
    width = max(map(len, rows), default=0)
    return [f"  {table:<{width}}  {count:>9,}" for table, count in rows.items()]


def _about(found: "Store") -> dict[str, Any]:
    from trueup.store.backup import tables
    from trueup.store.sqlite import Sqlite

    backend = found.backend

    def look(session: "Session") -> tuple[Any, ...]:
        counts = {name: int(session.run(f"SELECT count(*) FROM {name}")[0][0]) for name in tables(session, backend)}  # noqa: S608
        version = session.run("SELECT value FROM meta WHERE name = 'version'")[0][0]
        return (counts, int(version), *session.run("SELECT min(at), max(at), count(DISTINCT tenant) FROM verdicts")[0])

    rows, version, first, last, tenants = found.read(look)
    size = backend.path.stat().st_size if isinstance(backend, Sqlite) else None
    span = {"since": first and _when(first), "until": last and _when(last)}
    return {"where": found.where, "version": version, "bytes": size, "tenants": tenants, **span, "rows": rows}


def _when(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")
