"""`trueup lint`: check contract files, pipelines and gateway files; print each error with its file, line and column."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trueup.cli.options.references import Unavailable
from trueup.cli.terminal.output import Color
from trueup.verdict.extras import install

if TYPE_CHECKING:
    from trueup.contract.files.faults import Fault


# The kinds of files that editors can complete, and the package with the JSON Schema of each.
SCHEMAS = {
    "contract": "trueup.contract.files",
    "pipeline": "trueup.batch.pipeline.lint",
    "gateway": "trueup.gateway.file",
}


class Looked(NamedTuple):
    """The faults in one file, and how many of its examples were run."""

    file: str
    faults: "tuple[Fault, ...]"
    examples: int


@click.command()
@click.argument("files", nargs=-1, metavar="FILES...")
@click.option("--run", "run_them", is_flag=True, help="Also run the examples inside each contract.")
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the faults as one JSON document.")
@click.option(
    "--editor-schema",
    type=click.Choice(list(SCHEMAS)),
    is_flag=False,
    flag_value="contract",
    help="Print the JSON Schema of contract, pipeline or gateway files, for an editor.  [default: contract]",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)
def lint(
    files: tuple[str, ...], *, run_them: bool, strict: bool, as_json: bool, editor_schema: str | None, color: Color
) -> int:
    """Find errors in contract FILES, folders of contracts, pipeline folders and gateway files, before any reply
    arrives.

    Prints one line for each fault: file, line, column, code and what to do. Exit code 0: no errors (and with --strict, no
    warnings), 1: at least one error, 2: a file cannot be read, or the command is wrong.

    \b
      trueup lint contracts/*.yaml
      trueup lint --run salon.yaml
      trueup lint pipelines/reviews
      trueup lint gateway.yaml
    """
    from trueup.cli.terminal.json_text import document
    from trueup.cli.terminal.output import is_terminal, write

    if editor_schema:
        from importlib.resources import files as data_of

        write((data_of(SCHEMAS[editor_schema]) / f"{editor_schema}.schema.json").read_text("utf-8"))
        return 0
    if not files:
        raise click.UsageError("no files: name at least one contract")
    files = tuple(name for file in files for name in _inside(file))
    looked = [_look(file, run_them=run_them) for file in files]
    failed = any(found.level == "error" or strict for each in looked for found in each.faults)
    if as_json:
        write(document(_report(looked, failed=failed), indented=is_terminal()) + "\n")
    else:
        _show(looked, color, run_them=run_them, failed=failed)
    names = {*files, *(f"{file.rstrip('/')}/config.yaml" for file in files)}
    if any(found.code == "N001" and found.file in names for each in looked for found in each.faults):
        return 2
    return 1 if failed else 0


def _inside(file: str) -> list[str]:
    """The contracts in a folder. A pipeline's folder, a file and an unreadable folder are returned unchanged."""
    folder = Path(file)
    try:
        if not folder.is_dir() or (folder / "config.yaml").exists():
            return [file]
        found = sorted(inner for inner in folder.iterdir() if inner.suffix in (".yaml", ".yml", ".toml"))
    except OSError:  # reported when the file or the configuration is read
        return [file]
    return [str(inner) for inner in found] or [file]


def _look(file: str, *, run_them: bool) -> Looked:
    if os.path.isdir(file) or Path(file).name == "config.yaml":  # noqa: PTH112 - False for a name that is too long
        from trueup.batch.pipeline.lint.run import lint_pipeline
        from trueup.batch.pipeline.prompts.templates import PromptError

        try:
            return Looked(file, lint_pipeline(Path(file)), 0)
        except PromptError as error:
            raise Unavailable(f"{file}: {error}") from None
    if _is_gateway(Path(file)):
        try:
            from trueup.gateway.settings import read_config
        except ImportError as error:
            raise Unavailable(f"{error.name} is not installed: {install('gateway')}") from None
        return Looked(file, tuple(read_config(file)[1]), 0)
    from trueup.contract.lint.run import lint_contract

    linted = lint_contract(file)
    faults = linted.faults
    if run_them:
        from trueup.contract.lint.examples import run_examples

        faults = (*faults, *run_examples(linted))
    ran = len(linted.examples) if run_them and linted.contract is not None else 0
    return Looked(file, tuple(sorted(faults, key=lambda found: found.sort_key)), ran)


def _is_gateway(file: Path) -> bool:
    """Whether a file names upstreams, which only a gateway's file does. Most files are not read twice for this."""
    from trueup.contract.files.documents import read_document
    from trueup.contract.files.faults import ContractError

    try:
        if not file.is_file() or b"upstreams" not in file.read_bytes():  # a pipe may never end
            return False
        data = read_document(file).data
    except (OSError, ContractError):
        return False
    return isinstance(data, dict) and "upstreams" in data


def _report(looked: list[Looked], *, failed: bool) -> dict[str, Any]:
    return {
        "ok": not failed,
        "files": [{"file": each.file, "examples": each.examples} for each in looked],
        "faults": [found.to_dict() for each in looked for found in each.faults],
    }


def _show(looked: list[Looked], color: Color, *, run_them: bool, failed: bool) -> None:
    from rich.text import Text

    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.output import open_console
    from trueup.verdict.display import safe_line

    console = open_console(color)
    faults = [found for each in looked for found in each.faults]
    for found in faults:
        style = "red" if found.level == "error" else "yellow"
        where = f"{found.file}:{found.line}:{found.column}: "
        line = Text.assemble((safe_line(where), "bold"), (f"{found.level}[{found.code}]", style), " ")
        line.append(safe_line(found.message))
        if found.hint:
            line.append(f"{'' if found.message.endswith(('.', '!', '?')) else '.'} {safe_line(found.hint)}", "dim")
        console.print(line, soft_wrap=True)
    errors = sum(found.level == "error" for found in faults)
    parts = [count(errors, "error"), count(len(faults) - errors, "warning")] if faults else ["nothing wrong"]
    ran = f", {count(sum(each.examples for each in looked), 'example')} run" if run_them else ""
    sign = ("✗ ", "red") if failed else ("✓ ", "green")
    console.print(Text.assemble(sign, f"{count(len(looked), 'file')}: {', '.join(parts)}{ran}"), soft_wrap=True)
