"""`trueup studio`: the web page over contracts, replies, runs and a store, on this machine."""

import contextlib
import ipaddress
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from trueup.cli.options.references import Unavailable
from trueup.verdict.extras import install

if TYPE_CHECKING:
    import socket

    from trueup.studio.settings import Settings

_PORT = 8765
_HERE = "127.0.0.1"
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, and bound only if asked for


@click.command()
@click.argument("folders", nargs=-1, metavar="[FOLDERS]...")
@click.option(
    "--store", metavar="STORE", envvar="TRUEUP_STORE", show_envvar=False,
    help="A store of verdicts: a file or postgresql://…  [default: $TRUEUP_STORE, or the one in FOLDERS]",
)  # fmt: skip
@click.option("--demo", is_flag=True, help="Sample traffic of the example contracts, in a folder of its own.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), metavar="N",
    help=f"The port to listen on; 0 is any free one.  [default: {_PORT}, or a free one]",
)  # fmt: skip
@click.option("--listen", metavar="HOST:PORT", help="Listen on another address, for other machines.")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Also answer to this name; may be repeated.")
@click.option("--read-only", is_flag=True, help="Show everything and change nothing.")
@click.option("--no-browser", is_flag=True, help="Print the URL and do not open it.")
@click.pass_context
def studio(
    context: click.Context,
    folders: tuple[str, ...],
    store: str | None,
    demo: bool,
    port: int | None,
    listen: str | None,
    hosts: tuple[str, ...],
    read_only: bool,
    no_browser: bool,
) -> int:
    """Open the studio: try replies, read verdicts, edit contracts.

    FOLDERS hold contracts and runs; the studio reads and writes no file outside them. The default is the current folder. To open the studio, you
    need the URL or the key that it prints. Ctrl-C stops it.

    \b
      trueup studio
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
        from trueup.studio.settings import LOOPBACK, Key, Settings
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed: {install('studio')}") from None
    where, wanted = _address(listen) if listen is not None else (_HERE, port)
    secret = new_secret()
    own = () if where in _EVERYWHERE else (_as_sent(where),)
    with contextlib.ExitStack() as stack:
        settings = Settings(
            keys=(Key("you", digest_of(secret), "reader" if read_only else "editor"),),
            hosts=LOOPBACK | {_host(name) for name in hosts} | set(own),
            addresses=where in _EVERYWHERE,
            folders=() if demo else _folders(folders),
            demo=demo,
        )
        listening = stack.enter_context(_bound(where, wanted, "--port" if listen is None else "--listen"))
        settings = stack.enter_context(_with_demo(settings)) if demo else _with_store(settings, store or "")
        app = Application(settings)
        at = listening.getsockname()[1]
        url = f"http://{_bracketed(_HERE if where in _EVERYWHERE else where)}:{at}"

        def started() -> None:
            _say_started(settings, f"{url}/?token={app.code_for(settings.keys[0])}", secret, where, wanted, at)
            if not no_browser:
                _open(f"{url}/?token={app.code_for(settings.keys[0])}")

        serve(app, listening, started)
    return 0


def _folders(given: tuple[str, ...]) -> tuple[Path, ...]:
    """The folders as absolute paths, each once."""
    found: dict[Path, None] = {}
    for each in given or (".",):
        path = Path(each)
        if not path.is_dir():
            said = "that is a file; give the folder that holds it" if path.exists() else "there is no such folder"
            raise Unavailable(f"{each}: {said}")
        found[path.resolve()] = None
    return tuple(found)


def _with_store(settings: "Settings", given: str) -> "Settings":
    """The settings with a store: the one that was given, or else the only one that lies in the folders."""
    from msgspec.structs import replace

    from trueup.cli.options.store import opened
    from trueup.studio.stores import stores_in

    if not given:
        found = stores_in(settings.folders)
        if len(found) > 1:
            names = ", ".join(map(_shown, found))
            click.echo(f"several stores are here ({names}); choose one with --store", err=True)
        if len(found) != 1:
            return settings
        given = str(found[0])
    with opened(given):  # what is wrong with it is said now
        pass
    return replace(settings, store=given)


@contextlib.contextmanager
def _with_demo(settings: "Settings") -> "Iterator[Settings]":
    from trueup.studio.demo.demo import demo

    click.echo("making sample traffic…", err=True)
    with demo(settings) as filled:
        yield filled


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise click.UsageError(f"--listen {listen!r}: give an address and a port, such as 0.0.0.0:{_PORT}")
    return host.strip("[]") or _HERE, int(port)


def _bound(host: str, port: int | None, option: str) -> "socket.socket":
    """A socket on the port that was asked for, or on the usual one, or on any if that is taken; `option` is where a port was given."""
    from trueup.studio.serving import CannotListen, bind

    try:
        return bind(host, _PORT if port is None else port)
    except CannotListen as error:
        if port is not None:
            raise Unavailable(f"{error}; give another with {option}; port 0 is any free one") from None
    try:
        return bind(host, 0)
    except CannotListen as error:
        raise Unavailable(str(error)) from None


def _say_started(settings: "Settings", url: str, secret: str, where: str, wanted: int | None, at: int) -> None:
    """Say what is shown, where, and how to stop it."""
    from trueup.store.open import file_of
    from trueup.verdict.display import safe_line

    if wanted is None and at != _PORT:
        click.echo(f"port {_PORT} is in use; this is port {at}", err=True)
    file = file_of(settings.store) if settings.store else None
    shown = "PostgreSQL" if settings.store and file is None else "none" if file is None else _shown(file)
    lines = [
        f"studio: {url}",
        f"  folders: {', '.join(_shown(folder) for folder in settings.folders)}",
        f"  store: {shown}" + ("" if settings.store else " (give one with --store)"),
    ]
    if settings.demo:
        lines[1:] = ["  sample traffic of the example contracts, deleted when you stop it"]
    if settings.keys[0].role == "reader":
        lines.append("  read-only: nothing can be changed")
    if where not in (_HERE, "localhost", "::1"):
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


def _shown(path: Path) -> str:
    """A path as a person would write it here."""
    with contextlib.suppress(ValueError, OSError):
        near = os.path.relpath(path)
        return near if not near.startswith("..") else str(path)
    return str(path)


def _host(given: str) -> str:
    """A name that requests may address the studio by; one that no browser sends is refused."""
    name = _as_sent(given)
    if not _HOST.fullmatch(name):
        raise click.UsageError(f"--host {given!r}: give a name without a scheme and a port, such as studio.example.com")
    return name


def _as_sent(host: str) -> str:
    """A name or an address as browsers send it.

    >>> _as_sent("Studio.Example.com"), _as_sent("2001:DB8:0::1"), _as_sent("[::1]")
    ('studio.example.com', '[2001:db8::1]', '[::1]')
    """
    plain = host.removeprefix("[").removesuffix("]").lower()
    with contextlib.suppress(ValueError):
        plain = str(ipaddress.ip_address(plain))
    return _bracketed(plain)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _open(url: str) -> None:
    """Open a browser, if there is a screen for one: a browser of text would take over this terminal."""
    import sys
    import threading
    import webbrowser

    if sys.platform == "linux" and not any(os.environ.get(name) for name in _SCREENS):
        return

    def look() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(url)

    threading.Thread(target=look, name="trueup-browser", daemon=True).start()
