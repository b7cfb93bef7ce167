"""The `trueup` command: a table of commands, each loaded only when it is called.

To add a command, add a file `cli/commands/<name>.py` with a click command of that name, and a row in `GROUPS`. Exit
codes: 0 ok, 1 refused, 2 usage or configuration, 3 stopped by a limit, a deadline, a budget or a full disk, 70 a bug in
trueup itself, 130 interrupted, 141 the reader of the pipe went away.
"""

import contextlib
import errno
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from trueup import __version__
from trueup.cli.full_disk import NoSpace, resumable
from trueup.cli.terminal.output import forgive_encoding, open_streams
from trueup.verdict.display import safe

GROUPS = {
    "Replies": {
        "studio": "Open a web page: try replies, read verdicts, edit contracts.",
        "mcp": "Serve tools to a model (MCP): check, lint, backtest, edit.",
        "check": "Judge one reply: its value, its fixes and what is wrong.",
        "explain": "Explain a code, with examples.",
        "lint": "Find errors in contracts and pipelines, with line and column.",
    },
    "Files of replies": {
        "sift": "Judge files of replies: what is valid, what failed, and why.",
        "schema": "Filter JSONL by a JSON Schema: the first phase of a check.",
        "rules": "Filter JSONL by business rules: the second phase of a check.",
        "revalidate": "Judge stored replies again, under another contract.",
        "report": "Write an HTML report on a sift or a run.",
        "compare": "Compare two sifts or two runs: verdicts, findings, cost.",
        "export": "Write valid replies and their prompts as a fine-tuning file.",
    },
    "Before you change a contract": {
        "backtest": "Compare two contracts on stored replies: which verdicts flip?",
        "label": "Label trueup's decisions as right or wrong, one key per reply.",
        "tune": "Measure rules against labels; suggest changes to the contract.",
        "infer": "Draft a contract from replies, a type or an OpenAPI file.",
        "learn": "Train a quality model on labels; compare it with the rules.",
    },
    "Pipelines of prompts": {
        "init": "Create a run of a pipeline without starting it.",
        "run": "Run a pipeline, or resume a run.",
        "status": "Show the state of runs: units, failures and cost by step.",
        "tui": "Browse runs in the terminal: rates, failures, every unit.",
        "retry": "Retry units that failed.",
        "verify": "Check that a run has every unit exactly once.",
        "repair": "Repair a run that failed verification.",
        "pause": "Stop a run when the calls in progress have finished.",
        "kill": "End the process of a run.",
    },
    "Models": {
        "ask": "Ask a model until its reply is valid under a contract.",
        "instructions": "Print the instructions that a model gets for a contract.",
        "local": "Run a real model on this machine: install, status, serve.",
        "bench": "Measure how fast checking is on this machine.",
    },
    "The gateway": {
        "serve": "Serve the OpenAI- and Anthropic-compatible gateway.",
        "keys": "Create, hash and list keys for the gateway and its studio.",
        "quota": "Show and set limits per tenant, user and model.",
        "store": "Inspect, back up, restore and prune a store; erase data.",
        "stats": "Show failure and retry rates by model, with the reasons.",
    },
}
COMMANDS = {name: sentence for group in GROUPS.values() for name, sentence in group.items()}

# Packages that a small installation lacks, and the extras that install them. Used if no other code has reported it.
EXTRAS = {
    "aiohttp": "pipelines", "fsspec": "sift", "granian": "gateway", "httptools": "gateway", "httpx": "http", "mcp": "mcp", "jinja2": "pipelines",
    "opentelemetry": "telemetry", "phonenumbers": "shelf", "prometheus_client": "telemetry", "psycopg": "postgres", "py3langid": "shelf",
    "pyarrow": "tables", "ray": "ray", "sqlglot": "shelf",
    "starlette": "gateway", "structlog": "telemetry", "textual": "tui", "uvicorn": "gateway", "uvloop": "gateway",
    "wordllama": "relevance", "xllamacpp": "local", "zstandard": "sift",
}  # fmt: skip

# Words of click that name its own types.
_TYPES = {
    "not a valid integer range": "not a whole number", "not a valid float range": "not a number",
    "not a valid integer": "not a whole number", "not a valid float": "not a number",
}  # fmt: skip

FAULT, INTERRUPTED, PIPE_CLOSED = 70, 130, 141


class PipeClosed(Exception):
    """The reader of our output has gone."""


class Commands(click.Group):
    """A group that imports a command's file when the command is called, and never shows a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"trueup.cli.commands.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from trueup.verdict.likeness import nearest

            near = nearest(args[0], COMMANDS)
            also = f" Did you mean {near!r}?" if near else ""
            ctx.fail(f"unknown command {args[0]!r}.{also or ' `trueup --help` lists them all.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", sentence) for name, sentence in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise PipeClosed from None  # click would use 1, which means refused here
        except KeyboardInterrupt:
            raise click.Abort from None  # click would write an empty line to standard error, which may be a file of records
        return result

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        open_streams()
        forgive_encoding()
        extra["standalone_mode"] = False
        code = _guarded(lambda: _pointed(lambda: super(Commands, self).main(args, prog_name or "trueup", **extra)))
        sys.exit(code)


def _guarded(run: Callable[[], Any]) -> int:
    """Run, and turn every outcome into an exit code and at most one message."""
    try:
        with resumable("Free some space, then run the same command again."):
            result = run()
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except NoSpace as error:
        _drop_output()
        _say(f"trueup: {safe(error.message)}")
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        _say(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        from trueup.cli.options.references import Unavailable

        context = getattr(error, "ctx", None)
        if context is not None and not isinstance(error, Unavailable):
            _say(context.get_usage())
        said = error.format_message()
        for theirs, ours in _TYPES.items():
            if said.endswith(f" is {theirs}."):
                said = said.replace(f" is {theirs}.", f" is {ours}.")
        _say(f"trueup: {safe(said)}")
        return error.exit_code if isinstance(error, click.UsageError) else 2
    except (KeyboardInterrupt, click.Abort):
        _ignore_interrupts()
        if sys.stderr.isatty():
            _say("")  # so that the prompt does not follow ^C on the same line
        return INTERRUPTED
    except (PipeClosed, BrokenPipeError):
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:
        _drop_output()
        _say(f"trueup: {safe(_no_way(error))}")
        return 2
    except Exception as error:  # a bug in trueup: show no traceback unless it was requested
        if os.environ.get("TRUEUP_DEBUG"):
            raise
        _drop_output()
        from trueup.verdict.extras import install

        if isinstance(error, ModuleNotFoundError) and (extra := EXTRAS.get((error.name or "").partition(".")[0])):
            _say(f"trueup: {error.name} is not installed: {install(extra)}")
            return 2
        _say(f"trueup: {safe(_own_fault(error))}")
        return FAULT


def _pointed(run: Callable[[], Any]) -> Any:
    """Run; a bug in the code of a contract becomes one line that names the user's own line."""
    try:
        return run()
    except (Exception, SystemExit) as error:
        from trueup.verdict.bugs import bug_of

        bug = bug_of(error)
        if bug is None:
            raise
        from trueup.cli.options.references import Unavailable

        if os.environ.get("TRUEUP_DEBUG"):
            import traceback

            traceback.print_exception(error)
        said = " ".join(str(error).split())[:200]
        where = f"; {bug.kind}: {said}" if said else ""
        message = f"{bug}: a bug in the contract, not a fault of the reply{where}"
        raise Unavailable(message) from None


def _say(message: str) -> None:
    """Print a message to stderr. If stderr is closed, the exit code must be enough."""
    with contextlib.suppress(OSError):
        click.echo(message, err=True)


def _ignore_interrupts() -> None:
    """The command is already ending: another Ctrl-C must not interrupt the interpreter's clean-up."""
    with contextlib.suppress(ValueError):  # this is not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _drop_output() -> None:
    """Python flushes standard output again when it exits; discard that output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _no_way(error: OSError) -> str:
    if error.errno == errno.EBADF:
        return "standard input or standard output is closed: name a file, or redirect the stream to one"
    return f"cannot continue: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}"


def _own_fault(error: Exception) -> str:
    import traceback

    at = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return (
        f"a bug in trueup itself, not in your reply: {what} (in {at.name}, {at.filename}:{at.lineno}); please "
        f"report it; TRUEUP_DEBUG=1 shows the traceback"
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="trueup", message="%(prog)s %(version)s")
def main() -> None:
    """Read, repair and check LLM replies; report every change and every error.

    \b
      trueup check reply.txt --schema person.json
      trueup sift replies.jsonl --schema person.json --out sifted
      trueup COMMAND --help
    """
