"""`trueup infer`: draft a contract, with its evidence, from replies, a type or an OpenAPI file.

The draft goes to standard output or a file. The report goes to standard error, so that the draft can be piped. No model
is asked.
"""

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from trueup.cli.options.references import Unavailable, python_object
from trueup.cli.options.selection import readable, selection_options, take_selection

if TYPE_CHECKING:
    from trueup.inferring.report import ContractDraft, DraftReport

_STEP = 5_000
_EDITOR_SCHEMA = "contract.schema.json"  # as `trueup lint --editor-schema` is saved


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("-o", "--output", metavar="FILE", help="Write the contract to this file.  [default: standard output]")
@click.option("--force", is_flag=True, help="With -o: replace an existing file.")
@click.option("--name", default="", metavar="NAME", help="The contract's name.")
@click.option(
    "--strictness",
    type=click.Choice(["loose", "standard", "tight"]),
    default="standard",
    show_default=True,
    help="How strict the draft is: tight needs the least evidence for a constraint, and refuses unknown keys.",
)
@click.option(
    "--expect",
    type=click.Choice(["auto", "value", "text"]),
    default="auto",
    show_default=True,
    help="The kind of replies: values or text; auto means values if at least half of them contain one.",
)
@click.option(
    "--operation", default="", metavar="ID", help="For an OpenAPI file: the operation whose response to draft."
)
@click.option(
    "--holdout",
    type=click.FloatRange(0, 0.5),
    default=0.2,
    show_default=True,
    metavar="SHARE",
    help="The share of replies to hold out for testing the draft.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="The random seed for choosing the held-out replies.",
)
@click.option("--reply-column", default="", metavar="NAME", help="The field of JSON lines that contains the reply.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Read at most N replies.")
@selection_options
@click.option("--json", "as_json", is_flag=True, help="Print contract, evidence and report as one JSON document.")
def infer(sources: tuple[str, ...], **options: Any) -> int:
    """Draft a contract from replies, a Python type or an OpenAPI file.

    SOURCE is a file of replies (JSONL, CSV, Parquet, a JSON array), '-' for lines from standard input, a text file or a
    folder of text or JSON files with one reply each, a folder from `trueup sift`, a run directory or a store. Broken
    replies are used too. SOURCE can also be module:Name (a pydantic model, a dataclass, a TypedDict, functions) or an
    OpenAPI file: give openapi.yaml#/components/schemas/Order for one schema, or only the file to draft its
    operations as tools.

    Each line of the draft has a comment with its evidence. A share of the replies is held out, and constraints that
    refuse them are relaxed until 99% pass. Exit code 0: drafted, 1: drafted, but fewer than 99% of the held-out
    replies pass, 2: the command or a source is wrong, or there is nothing to draft from.

    \b
      trueup infer replies.jsonl -o order.yaml
      trueup infer verdicts.db --since 7d --model small > draft.yaml
      trueup infer shop.models:Order
      trueup infer openapi.yaml --operation getOrder
    """
    output = options["output"]
    if output is not None:
        _refuse_output(Path(output), force=options["force"])
    draft = _drafted(sources, options)
    if options["as_json"]:
        _print_json(draft)
    elif output is None:
        from trueup.cli.terminal.output import write

        write(draft.yaml)
    if output is not None:
        _save(Path(output), _editor_line(Path(output)) + draft.yaml, force=options["force"])
    _tell(draft.report, output)
    return 0 if draft.report.ok else 1


def _refuse_output(path: Path, *, force: bool) -> None:
    """Fail before anything is read if the draft cannot be written."""
    from trueup.cli.options.outputs import keep_results

    keep_results("-o", path)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise Unavailable(f"-o {path}: a draft is YAML; give a name that ends in .yaml")
    if path.is_dir():
        raise Unavailable(f"-o {path}: that is a directory; name a file")
    if not path.absolute().parent.is_dir():
        raise Unavailable(f"-o {path}: there is no folder {path.parent}")
    if path.exists() and not force:
        raise Unavailable(f"-o {path}: the file already exists; choose another name, or give --force to replace it")


def _drafted(sources: tuple[str, ...], options: dict[str, Any]) -> "ContractDraft":
    from msgspec.structs import replace

    from trueup.inferring.declarations import Mixed
    from trueup.inferring.infer import NothingToLearn
    from trueup.inferring.infer import infer as run
    from trueup.inferring.openapi import BadDescription

    selection = replace(take_selection(options), limit=options["limit"])
    given = [_source(source) for source in sources]
    with readable(), _Counter() as counter:
        try:
            return run(
                *given,
                name=options["name"],
                strictness=options["strictness"],
                holdout=options["holdout"],
                seed=options["seed"],
                expect=options["expect"],
                operation=options["operation"],
                reply_column=options["reply_column"],
                selection=selection,
                on_case=counter,
            )
        except (NothingToLearn, Mixed, BadDescription) as error:
            raise Unavailable(str(error)) from None


def _source(given: str) -> Any:
    """The Python object that a source names, or the source unchanged."""
    found = python_object("SOURCE", given)
    return given if found is None else found


class _Counter:
    """Show on a terminal how many replies have been read."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __call__(self, number: int) -> None:
        if self._shows and number % _STEP == 0:
            self._write(f"\r{number:,} replies read")

    def __exit__(self, *_: object) -> None:
        if self._shows:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _editor_line(path: Path) -> str:
    """The first line of a file for editors, if its folder has the schema of contracts."""
    there = path.with_name(_EDITOR_SCHEMA).is_file()
    return f"# yaml-language-server: $schema={_EDITOR_SCHEMA}\n" if there else ""


def _save(path: Path, text: str, *, force: bool) -> None:
    """Put a file in place in one step, and never replace one that was made in the meantime."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        beside.write_text(text, "utf-8")
        if force:
            beside.replace(path)
        else:
            os.link(beside, path)
    except FileExistsError:
        raise Unavailable(f"-o {path}: the file already exists; choose another name, or give --force") from None
    except OSError as error:
        raise Unavailable(f"-o {path}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def _print_json(draft: "ContractDraft") -> None:
    from trueup.cli.terminal.json_text import document
    from trueup.cli.terminal.output import is_terminal, write

    data = {"contract": draft.data, "evidence": draft.evidence, "report": draft.report.to_dict(), "yaml": draft.yaml}
    write(document(data, indented=is_terminal()) + "\n")


def _tell(report: "DraftReport", output: str | None) -> None:
    """The report on standard error, at most 80 columns wide."""
    from trueup.inferring.heading import told
    from trueup.inferring.words import lines_of
    from trueup.verdict.display import safe_line

    width = min(78, shutil.get_terminal_size().columns - 2) if sys.stderr.isatty() else 78
    for sentence in told(report):
        for index, line in enumerate(lines_of(safe_line(sentence), max(20, width))):
            click.echo(f"{'  ' if index else ''}{line}", err=True)
    if output is not None:
        click.echo(f"Written to {safe_line(output)}. Review it, then run: trueup lint {safe_line(output)}", err=True)
