"""`trueup studio`: serve the web page for contracts, replies, runs and a store on this machine."""

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

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

_PORT = 8765
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")


@click.command()
@click.argument("folders", nargs=-1, metavar="[FOLDERS]...")
@click.option(
    "--store", metavar="STORE", envvar="TRUEUP_STORE", show_envvar=False,
    help="A store of verdicts: a file or postgresql://…  [default: $TRUEUP_STORE, or the one in FOLDERS]",
)  # fmt: skip
@click.option("--demo", is_flag=True, help="Show sample traffic of the example contracts, in a separate folder.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), metavar="N",
    help=f"The port to listen on; 0 picks a free one.  [default: {_PORT}, or a free one]",
)  # fmt: skip
@click.option("--listen", metavar="HOST:PORT", help="Listen on another address, for other machines.")
@click.option(
    "--host", "hosts", multiple=True, metavar="NAME", help="Also accept requests to this host name; may be repeated."
)
@click.option("--read-only", is_flag=True, help="Show everything and change nothing.")
@click.option("--no-browser", is_flag=True, help="Print the URL and do not open it.")
@click.pass_context
def studio(
    context: click.Context,
    *,
    folders: tuple[str, ...],
    store: str | None,
    demo: bool,
    port: int | None,
    listen: str | None,
    hosts: tuple[str, ...],
    read_only: bool,
    no_browser: bool,
) -> int:
    """Open the studio, a web page: try replies, read verdicts, edit contracts.

    FOLDERS contain contracts and runs; the studio does not read or write files outside them. The default is the current
    folder. To open the studio, you need the URL or the key that it prints. Ctrl-C stops it.

    \b
      trueup studio contracts runs --store verdicts.db
      trueup studio --demo
    """
    if listen is not None and port is not None:
        raise click.UsageError("give --port or --listen, not both")
    if demo and context.get_parameter_source("store") is ParameterSource.ENVIRONMENT:
        store = None
    if demo and (folders or store):
        raise click.UsageError("--demo has its own folder and store: give it without FOLDERS and --store")
    try:
        from trueup.studio.app import Application
        from trueup.studio.door.sessions import digest_of, new_secret
        from trueup.studio.serving import serve
        from trueup.studio.settings import LOOPBACK, Key, StudioSettings
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed: {install('studio')}") from None
    where, wanted = address_of(listen, _PORT) if listen is not None else (HERE, port)
    secret = new_secret()
    own = () if where in EVERYWHERE else (as_sent(where),)
    with contextlib.ExitStack() as stack:
        settings = StudioSettings(
            keys=(Key("you", digest_of(secret), "reader" if read_only else "editor"),),
            hosts=LOOPBACK | {host_name(name) for name in hosts} | set(own),
            addresses=where in EVERYWHERE,
            folders=() if demo else folders_of(folders),
            demo=demo,
        )
        listening = stack.enter_context(bound(where, wanted, "--port" if listen is None else "--listen", usual=_PORT))
        settings = stack.enter_context(_with_demo(settings)) if demo else with_store(settings, store or "")
        app = Application(settings)
        at = listening.getsockname()[1]
        url = f"http://{bracketed(HERE if where in EVERYWHERE else where)}:{at}"

        def started() -> None:
            _say_started(settings, f"{url}/?token={app.code_for(settings.keys[0])}", secret, where, wanted, at)
            if not no_browser:
                _open(f"{url}/?token={app.code_for(settings.keys[0])}")

        serve(app, listening, started)
    return 0


@contextlib.contextmanager
def _with_demo(settings: "StudioSettings") -> "Iterator[StudioSettings]":
    from trueup.studio.demo.demo import demo

    click.echo("making sample traffic…", err=True)
    with demo(settings) as filled:
        yield filled


def _say_started(settings: "StudioSettings", url: str, secret: str, where: str, wanted: int | None, at: int) -> None:
    """Print what is shown, where, and how to stop it."""
    from trueup.store.open import file_of
    from trueup.verdict.display import safe_line

    if wanted is None and at != _PORT:
        click.echo(f"port {_PORT} is in use; this is port {at}", err=True)
    file = file_of(settings.store) if settings.store else None
    shown = "PostgreSQL" if settings.store and file is None else "none" if file is None else short_path(file)
    lines = [
        f"studio: {url}",
        f"  folders: {', '.join(short_path(folder) for folder in settings.folders)}",
        f"  store: {shown}" + ("" if settings.store else " (give one with --store)"),
    ]
    if settings.demo:
        lines[1:] = ["  sample traffic of the example contracts, deleted when you stop it"]
    if settings.keys[0].role == "reader":
        lines.append("  read-only: nothing can be changed")
    if where not in (HERE, "localhost", "::1"):
        lines += [
            f"  WARNING: other machines can reach {where}, and the connection is not",
            "  encrypted. Anyone who can read the traffic can open the studio.",
        ]
    lines += [
        f"  key: {secret}",
        "  The URL works once. Another browser, or a program, needs the key.",
        "  Ctrl-C stops it.",
    ]
    for line in lines:
        click.echo(safe_line(line), err=True)


def _open(url: str) -> None:
    """Open a browser if there is a graphical screen: a text browser would take over this terminal."""
    import sys
    import threading
    import webbrowser

    if sys.platform == "linux" and not any(os.environ.get(name) for name in _SCREENS):
        return

    def look() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(url)

    threading.Thread(target=look, name="trueup-browser", daemon=True).start()
