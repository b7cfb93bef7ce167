"""`trueup compare`: compare two sifts or runs by flips, changed values, findings, cost and speed."""

from pathlib import Path
from typing import Any

import click

from trueup.cli.options.references import Unavailable


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print it as Markdown, for a pull request.")
@click.option("--html", metavar="FILE", help="Also write it as a self-contained HTML page.")
@click.option("--examples", type=click.IntRange(min=0, max=1000), default=5, show_default=True, metavar="N",
              help="The number of units to show for each difference.")  # fmt: skip
def compare(a: str, b: str, *, as_json: bool, as_markdown: bool, html: str | None, examples: int) -> int:
    """Compare two sifts or two runs: which units flip, which values and findings differ, and what each cost.

    A and B are folders from `trueup sift`, runs of a pipeline, or one of each. Units are matched by id, in any order. If
    one is still in progress, its results so far are compared. Exit code 0: the units and findings are the same, 1:
    something differs, 2: A or B cannot be read.

    \b
      trueup compare sifted again
      trueup compare runs/first runs/second --markdown >> "$GITHUB_STEP_SUMMARY"
    """
    from trueup.cli.options.outputs import keep_results
    from trueup.cli.terminal.output import write

    if as_json and as_markdown:
        raise click.UsageError("--json and --markdown: choose one")
    if html is not None:
        keep_results("--html", Path(html))
    found = _compared(a, b, examples)
    if html is not None:
        _write_page(Path(html), found)
    if as_json:
        from trueup.cli.display.run import print_json

        print_json(found.to_dict())
    elif as_markdown:
        from trueup.cli.display.comparison import markdown

        write(markdown(found.to_dict()))
    else:
        from trueup.cli.display.comparison import show

        show(found.to_dict())
    return 1 if found.differs else 0


def _compared(a: str, b: str, examples: int) -> Any:
    from trueup.batch.compare import NotASift
    from trueup.batch.compare import compare as compare_sides
    from trueup.cli.options.runs import told

    try:
        with told():
            return compare_sides(place_of(a), place_of(b), examples=examples)
    except NotASift as error:
        raise Unavailable(str(error)) from None


def place_of(given: str) -> Path:
    """The folder that the user named: a path, or the name of a run in `runs/`."""
    from trueup.cli.options.runs import find_run, is_run

    if Path(given).is_dir():
        return Path(given)
    if is_run(given):
        return find_run(given)
    raise Unavailable(f"{given}: there is no such folder or run")


def _write_page(path: Path, found: Any) -> None:
    from trueup.batch.compare import page_data
    from trueup.batch.reporting.html import put_page, render

    try:
        put_page(path, render(page_data(found), "compare"))
    except OSError as error:
        raise Unavailable(f"--html {path}: cannot be written: {error.strerror}") from None
