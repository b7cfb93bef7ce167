"""`trueup mcp`: give a model tools for contracts and stored replies, through the Model Context Protocol."""

import os
from typing import TYPE_CHECKING

import click

from trueup.cli.options.references import Unavailable
from trueup.cli.options.serving import (
    EVERYWHERE,
    HERE,
    address_of,
    as_sent,
    bound,
    bracketed,
    folders_of,
    host_name,
    short_path,
    with_store,
)
from trueup.verdict.extras import install

if TYPE_CHECKING:
    from trueup.studio.settings import StudioSettings

_PORT = 8766
_KEY = "TRUEUP_MCP_KEY"
_SHORTEST = 16  # characters of a key


@click.command()
@click.argument("folders", nargs=-1, metavar="[FOLDERS]...")
@click.option(
    "--store", metavar="STORE", envvar="TRUEUP_STORE", show_envvar=False,
    help="A store of verdicts: a file or postgresql://…  [default: $TRUEUP_STORE, or the one in FOLDERS]",
)  # fmt: skip
@click.option(
    "--allow-edit", is_flag=True, help="Let the model change contract files. Without this, nothing is written."
)
@click.option(
    "--http", is_flag=True, help="Serve over HTTP, for several clients, instead of standard input and output."
)
@click.option(
    "--port", type=click.IntRange(0, 65_535), metavar="N",
    help=f"With --http: the port to listen on; 0 picks a free one.  [default: {_PORT}, or a free one]",
)  # fmt: skip
@click.option("--listen", metavar="HOST:PORT", help="With --http: listen on another address, for other machines.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="With --http: also accept requests to this host name; may be repeated.",
)
def mcp(
    folders: tuple[str, ...],
    *,
    store: str | None,
    allow_edit: bool,
    http: bool,
    port: int | None,
    listen: str | None,
    hosts: tuple[str, ...],
) -> int:
    """Serve tools to a model: check, lint, backtest, stored replies, edits.

    Speaks the Model Context Protocol (MCP) on standard input and output, so an MCP client starts this command. FOLDERS contain contracts
    and replies; no file outside them is read. The default is the current folder. With --http, clients need the key in $TRUEUP_MCP_KEY; if
    it is not set, a new key is printed.

    \b
      trueup mcp contracts --store verdicts.db
      trueup mcp contracts --store verdicts.db --allow-edit
      trueup mcp contracts --http --port 8766
    """
    if not http and (port is not None or listen is not None or hosts):
        raise click.UsageError("--port, --listen and --host need --http")
    if listen is not None and port is not None:
        raise click.UsageError("give --port or --listen, not both")
    try:
        from trueup.mcp.transports import run_stdio
        from trueup.mcp.workspace import Workspace
        from trueup.studio.settings import StudioSettings
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed: {install('mcp')}") from None
    settings = with_store(StudioSettings(keys=(), folders=folders_of(folders)), store or "")
    if http:
        _serve_http(settings, port, listen, hosts, allow_edit=allow_edit)
    else:
        run_stdio(Workspace(settings, allow_edit=allow_edit))
    return 0


def _serve_http(
    settings: "StudioSettings", port: int | None, listen: str | None, hosts: tuple[str, ...], *, allow_edit: bool
) -> None:  # fmt: skip
    from msgspec.structs import replace

    from trueup.mcp.transports import PATH, run_http
    from trueup.mcp.workspace import Workspace
    from trueup.studio.door.sessions import digest_of, new_secret
    from trueup.studio.settings import LOOPBACK, Key

    given = _given_key()
    secret = given or new_secret()
    where, wanted = address_of(listen, _PORT) if listen is not None else (HERE, port)
    own = () if where in EVERYWHERE else (as_sent(where),)
    settings = replace(
        settings, keys=(Key("mcp", digest_of(secret)),), hosts=LOOPBACK | {host_name(name) for name in hosts} | set(own),
        addresses=where in EVERYWHERE,
    )  # fmt: skip
    with bound(where, wanted, "--port" if listen is None else "--listen", usual=_PORT) as listening:
        at = listening.getsockname()[1]
        url = f"http://{bracketed(HERE if where in EVERYWHERE else where)}:{at}{PATH}"
        workspace = Workspace(settings, allow_edit=allow_edit)
        run_http(
            workspace,
            listening,
            lambda: _say_started(workspace.settings, url, where, "" if given else secret, allow_edit=allow_edit),
        )


def _given_key() -> str:
    key = os.environ.get(_KEY, "").strip()
    if key and len(key) < _SHORTEST:
        raise Unavailable(f"{_KEY} has {len(key)} characters; a key has at least {_SHORTEST}")
    if not (key.isascii() and key.isprintable()):  # clients encode other characters in different ways
        raise Unavailable(f"{_KEY} contains characters that a header cannot send; use ASCII letters, digits and signs")
    return key


def _say_started(settings: "StudioSettings", url: str, where: str, secret: str, *, allow_edit: bool) -> None:
    """Print where the server is, what it serves, and which key opens it."""
    from trueup.store.open import file_of
    from trueup.verdict.display import safe_line

    file = file_of(settings.store) if settings.store else None
    store = "PostgreSQL" if settings.store and file is None else "none" if file is None else short_path(file)
    lines = [
        f"mcp: {url}",
        f"  folders: {', '.join(short_path(folder) for folder in settings.folders)}",
        f"  store: {store}",
        "  clients can edit contracts"
        if allow_edit
        else "  read-only: give --allow-edit to let clients edit contracts",
        f"  key: {secret}" if secret else f"  key: the one in {_KEY}",
    ]
    if where not in (HERE, "localhost", "::1"):
        lines.append(f"  WARNING: other machines can reach {where}, and the connection is not encrypted.")
    lines.append("  Ctrl-C stops it.")
    for line in lines:
        click.echo(safe_line(line), err=True)
