"""`trueup serve`: run the gateway from a file, or only check the file."""

from functools import partial
from typing import TYPE_CHECKING

import click

from trueup.cli.options.references import Unavailable
from trueup.verdict.extras import install

if TYPE_CHECKING:
    from trueup.gateway.config import Config

_STUDIO = "trueup.studio.mounted:offer"  # every worker imports it if the file has a section for it


@click.command()
@click.argument("config", metavar="[FILE]", required=False)
@click.option("--listen", metavar="HOST:PORT", help="The address to listen on; overrides the file.")
@click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="The number of worker processes.")
@click.option("--server", type=click.Choice(["uvicorn", "granian"]), help="The HTTP server to use.")
@click.option(
    "--demo", is_flag=True, help="Run a demo without FILE: the local model, example contracts, sample requests."
)
@click.option("--reload", is_flag=True, help="Apply changes to the file and its contracts without a SIGHUP.")
@click.option("--check", is_flag=True, help="Report the errors in the file, and exit.")
def serve(
    config: str | None,
    *,
    listen: str | None,
    workers: int | None,
    server: str | None,
    demo: bool,
    reload: bool,
    check: bool,
) -> int:
    """Serve an OpenAI- and Anthropic-compatible gateway that repairs and checks replies.

    FILE defines upstreams, contracts and routes. On SIGHUP, the running gateway reads it again. Exit code 2: the file has
    errors; each is printed on one line.

    \b
      trueup serve gateway.yaml
      trueup serve gateway.yaml --check
      trueup serve --demo
    """
    if demo == (config is not None):
        raise click.UsageError("give a FILE, or --demo without one")
    if config is None:
        return _demo(listen)
    from trueup.verdict.display import safe_line

    try:
        from trueup.gateway.serve import NotReady, check_place
        from trueup.gateway.serve import serve as run
        from trueup.gateway.settings import read_config
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed: {install('gateway')}") from None
    found, faults = read_config(config)
    for fault in faults:
        click.echo(safe_line(str(fault)), err=True)
    if found is None:
        return 2
    changed = partial(_changed, listen=listen, workers=workers, server=server)
    found = changed(found)
    if check:
        counts = {"upstream": found.upstreams, "route": found.routes, "contract": found.contracts}
        words = ", ".join(f"{len(each)} {name}{'s' * (len(each) != 1)}" for name, each in counts.items())
        click.echo(f"{safe_line(config)}: {words}")
        return 0
    try:
        check_place(found)
        run(found, config, changed=changed, listening=_listening, watches=reload, studio=_STUDIO)
    except NotReady as error:
        raise Unavailable(str(error)) from None
    return 0


def _listening(where: str) -> None:
    click.echo(f"listening on {where}", err=True)


def _demo(listen: str | None) -> int:
    import threading

    try:
        from trueup.ask.clients.weights import NotInstalled
        from trueup.gateway.demo import demo
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed: {install('gateway')}") from None
    port = _address(listen)[1] if listen is not None else 8080
    try:
        demo(click.echo, threading.Event().wait, port)
    except NotInstalled as error:
        raise Unavailable(str(error)) from None
    except OSError as error:
        raise Unavailable(f"port {port} cannot be used: {error.strerror}; choose another with --listen") from None
    return 0


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise click.UsageError(f"--listen {listen!r}: give an address and a port, such as 127.0.0.1:8080")
    return host.strip("[]") or "127.0.0.1", int(port)


def _changed(config: "Config", listen: str | None, workers: int | None, server: str | None) -> "Config":
    from msgspec.structs import replace

    changes: dict[str, object] = {}
    if listen is not None:
        host, port = _address(listen)
        changes |= {"host": host, "port": port}
    if workers is not None:
        changes["workers"] = workers
    if server is not None:
        changes["server"] = server
    return replace(config, **changes)
