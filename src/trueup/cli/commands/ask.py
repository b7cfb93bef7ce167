"""`trueup ask`: ask a model until a reply is valid under a contract. The value goes to stdout, everything else to
stderr.

The exit code says whether a reply was valid, or that time ran out. An invalid reply is printed only as part of
`--json`. Ctrl-C ends the call in progress.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.coercion import coercion_options
from trueup.cli.options.contract import given_contract
from trueup.cli.options.references import Unavailable, no_file

if TYPE_CHECKING:
    from trueup.ask.answer import Answer
    from trueup.ask.policy import Policy
    from trueup.contract.contract import Contract

_MOST_PROMPT = 10_000_000  # bytes
OUT_OF_TIME = 3


@click.command()
@click.argument("prompt", required=False, metavar="[PROMPT]")
@click.option("-f", "--file", "file", metavar="FILE", help="Read the prompt from a file; '-' is standard input.")
@click.option("--system", metavar="TEXT", help="A system message before the prompt.")
@click.option("-c", "--contract", "contract_file", metavar="FILE", help="A contract file (YAML, TOML or JSON).")
@click.option("-s", "--schema", metavar="SCHEMA", help="Instead of a contract: a schema, as for `trueup check`.")
@click.option("-t", "--tools", metavar="TOOLS", help="Instead of a contract: the tools to offer.")
@coercion_options(None)
@click.option(
    "--context", "context", metavar="CONTEXT", help="The facts of the conversation: a .json file or JSON text."
)
@click.option("--state", metavar="NAME", help="The state that the conversation is in.")
@click.option(
    "--url", metavar="URL", help="A server with OpenAI's chat completions API, such as http://127.0.0.1:8080/v1."
)
@click.option("--local", is_flag=True, help="Ask the small model on this machine (see `trueup local`).")
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="The model; repeat the option for fallback models.",
)
@click.option("--key-env", metavar="NAME", help="The environment variable that contains the key for --url.")
@click.option(
    "--repairs",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="N",
    help="How many times to ask the model to repair an invalid reply.",
)
@click.option(
    "--repair",
    type=click.Choice(["whole", "fields"]),
    default="whole",
    show_default=True,
    help="Ask again for the whole reply, or only for the failing fields.",
)
@click.option(
    "--attempts", type=click.IntRange(min=1), default=12, show_default=True, metavar="N", help="Make at most N calls."
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="The time limit for all calls together.",
)
@click.option("--tokens", type=click.IntRange(min=1), metavar="N", help="The token limit for all calls together.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="The token limit for one reply.")
@click.option("--language", metavar="LANG", default="", help="The language of the instructions to the model: en, es.")
@click.option("--stream", is_flag=True, help="Show the text while it arrives, each sentence after it is checked.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer with all details as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors to standard error.")
def ask(prompt: str | None, file: str | None, *, as_json: bool, stream: bool, quiet: bool, **options: Any) -> int:
    """Ask a model until its reply is valid under a contract.

    The prompt comes from PROMPT, --file, or standard input. The value, or the text, goes to standard output; progress goes to
    standard error. Exit code 0: a reply was valid, 1: no reply was valid, 2: the command or the contract is wrong, 3:
    no reply was valid before the deadline, 130: stopped with Ctrl-C.

    \b
      trueup ask --local --schema person.json "Ana is 34. Give her name and age."
      trueup ask --url http://127.0.0.1:8080/v1 -c shop.yaml < letter.txt
    """
    if as_json and stream:
        raise click.UsageError("give --json or --stream, not both")
    contract = given_contract(options)
    messages = _messages(_prompt(prompt, file), options["system"])
    policy = _policy(options)
    context = _context(options)
    with _client(options) as client:
        answer = _asked(contract, client, messages, policy, context, stream=stream, quiet=quiet)
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import is_terminal, write

        write(document(answer.to_dict(), indented=is_terminal()) + "\n")
    elif not stream or contract.schema is not None or answer.calls:
        _print(answer, contract)
    _summary(answer, quiet=quiet)
    return 0 if answer.ok else OUT_OF_TIME if answer.reason == "deadline" else 1


def _asked(
    contract: "Contract", client: Any, messages: Any, policy: "Policy", context: Any, *, stream: bool, quiet: bool
) -> "Answer":
    from trueup.watch.progress import Progress

    with Progress() as progress:
        on_event = None if quiet else progress
        try:
            if not stream or contract.schema is not None:
                return contract.ask(client, messages, policy, context=context, on_event=on_event)
            return _streamed(contract, client, messages, policy, context, on_event)
        except (ValueError, TypeError) as error:
            from trueup.verdict.bugs import bug_of

            if bug_of(error) is not None:  # the command names the line itself
                raise
            raise Unavailable(str(error)) from None


def _streamed(
    contract: "Contract", client: Any, messages: Any, policy: "Policy", context: Any, on_event: Any
) -> "Answer":
    """Show sentences as they arrive. A terminal cannot erase printed text, so text that is withdrawn gets a mark."""
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe

    with contract.ask_stream(client, messages, policy, context=context, on_event=on_event) as parts:
        try:
            for part in parts:
                if part.kind == "restart":
                    write("\n[taken back: another answer follows]\n")
                write(safe(part.text))
                sys.stdout.flush()
        finally:
            write("\n")
        return parts.answer


def _prompt(prompt: str | None, file: str | None) -> str:
    if prompt is not None and file is not None:
        raise click.UsageError("give PROMPT or --file, not both")
    if prompt is not None and prompt != "-":
        return prompt
    if file is None and prompt is None and sys.stdin.isatty():
        raise click.UsageError("no prompt: give it in quotes, with --file, or on standard input")
    if file is None or file == "-":
        raw = sys.stdin.buffer.read(_MOST_PROMPT + 1)
    else:
        try:
            with Path(file).open("rb") as opened:
                raw = opened.read(_MOST_PROMPT + 1)
        except FileNotFoundError:
            raise Unavailable(f"{file}: {no_file(file)}") from None
        except (OSError, ValueError) as error:
            raise Unavailable(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(raw) > _MOST_PROMPT:
        raise click.UsageError(f"the prompt is longer than {_MOST_PROMPT:,} bytes")
    text = raw.decode("utf-8", "replace").strip()
    if not text:
        raise click.UsageError("the prompt is empty")
    return text


def _messages(prompt: str, system: str | None) -> list[dict[str, str]]:
    head = [{"role": "system", "content": system}] if system else []
    return [*head, {"role": "user", "content": prompt}]


def _policy(options: dict[str, Any]) -> "Policy":
    from trueup.ask.policy import Policy

    names = ("models", "repairs", "repair", "attempts", "deadline", "tokens", "max_tokens", "language")
    return Policy(**{name: options[name] for name in names})


def _context(options: dict[str, Any]) -> dict[str, Any]:
    from trueup.cli.options.contract import read_context

    return read_context(options["context"], options["state"], None)


def _client(options: dict[str, Any]) -> Any:
    """The client to ask with. The context manager closes it."""
    from contextlib import closing

    if options["local"] and options["url"] is not None:
        raise click.UsageError("give --url or --local, not both")
    if not options["local"] and options["url"] is None:
        raise click.UsageError("no model to ask: give --url, or --local for the model on this machine")
    if options["local"]:
        from trueup.ask.clients.local import LocalModel
        from trueup.ask.clients.weights import NotInstalled

        try:
            return LocalModel()
        except NotInstalled as error:
            raise Unavailable(str(error)) from None
    key = None
    if options["key_env"] is not None:
        key = os.environ.get(options["key_env"])
        if not key:
            raise Unavailable(f"--key-env {options['key_env']}: there is no such variable in the environment")
    from trueup.ask.clients.http import Http

    try:
        return closing(Http(options["url"], key=key))
    except (ValueError, ModuleNotFoundError) as error:
        raise Unavailable(f"--url: {error}") from None


def _print(answer: "Answer", contract: "Contract") -> None:
    from trueup.cli.terminal.json_text import document
    from trueup.cli.terminal.output import is_terminal, write
    from trueup.verdict.display import safe

    if not answer.ok:
        return
    if answer.calls:
        calls = [{"name": call.name, "arguments": call.args} for call in answer.calls]
        write(document(calls, indented=is_terminal()) + "\n")
    elif contract.schema is not None:
        write(document(answer.verdict.data, indented=is_terminal()) + "\n")
    else:
        write((safe(answer.text) if is_terminal() else answer.text) + "\n")


def _summary(answer: "Answer", *, quiet: bool) -> None:
    """One line about the outcome, and one line for each finding."""
    from trueup.verdict.display import safe_line

    if not answer.ok:
        for found in answer.findings.errors[:10]:
            click.echo(safe_line(f"trueup: {found}"), err=True)
    if quiet:
        return
    calls = len(answer.attempts)
    facts = [answer.outcome, f"{calls} call{'s' * (calls != 1)}"]
    facts += [f"{answer.repairs} repair{'s' * (answer.repairs != 1)}"] if answer.repairs else []
    tokens = answer.usage.get("total_tokens")
    facts += [f"{'about ' * answer.estimated}{tokens} tokens"] if tokens is not None else []
    facts += [f"{answer.seconds:.1f} s"]
    click.echo(safe_line(f"trueup: {' · '.join(facts)}"), err=True)
