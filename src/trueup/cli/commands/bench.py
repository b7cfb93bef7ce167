"""`trueup bench`: measure what checking costs on this machine, next to other installed libraries, and print tables."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trueup.cli.terminal.output import Color

if TYPE_CHECKING:
    from rich.console import Console

NAMES = ("clean", "broken", "streaming", "tools", "rules", "state", "reply")
MARKS = {"right": "", "wrong": " ✗", "error": " –"}


class BenchTable(NamedTuple):
    """One section of the output."""

    title: str
    note: str
    head: list[str]
    rows: list[list[str]]
    align: str


def _names(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    wanted = [name.strip() for part in given for name in part.split(",") if name.strip()]
    for name in wanted:
        if name not in NAMES:
            raise click.BadParameter(f"unknown section {name!r}; the sections are {', '.join(NAMES)}")
    return tuple(name for name in NAMES if not wanted or name in wanted)


@click.command()
@click.option(
    "--only", metavar="SECTION", multiple=True, callback=_names,
    help=f"One section, or several separated by commas: {', '.join(NAMES)}.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print all figures as one JSON document.")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
    help="Colour; auto means on a terminal, unless NO_COLOR is set.",
)  # fmt: skip
def bench(only: tuple[str, ...], *, as_json: bool, color: Color) -> None:
    """Measure how fast checking is on this machine, compared with other installed libraries.

    Shows the CPU time of one call: the best of several. Libraries take turns in one process. This takes about ten
    seconds. Libraries that are not installed are listed and left out.

    \b
      trueup bench --only rules,state
    """
    from trueup.measure.sections import SECTIONS, machine

    about = machine(only)
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import is_terminal, write

        figures = {**about, "sections": {name: SECTIONS[name]() for name in only}}
        write(document(figures, indented=is_terminal()) + "\n")
        return
    from trueup.cli.terminal.output import open_console

    console = open_console(color)
    console.print(
        f"trueup {about['versions']['trueup']}, {about['python']}, {about['processor']}",
        soft_wrap=True,
    )
    for name in only:
        _show(console, DRAW[name](SECTIONS[name]()))
    absent = [name for name, version in about["versions"].items() if version is None]
    if absent:
        console.print()
        _say(console, f"Not installed, so not measured: {', '.join(absent)}.", "dim")


def _show(console: "Console", shown: BenchTable) -> None:
    from rich.text import Text

    from trueup.cli.terminal.table import table

    console.print()
    console.print(Text(shown.title, "bold cyan"), soft_wrap=True)
    _say(console, shown.note, "dim")
    for line in table(shown.head, shown.rows, shown.align, console.width if console.is_terminal else 0):
        console.print(Text.assemble(*line), soft_wrap=True)


def _say(console: "Console", sentence: str, style: str) -> None:
    from rich.text import Text

    from trueup.cli.terminal.layout import wrapped

    for line in wrapped(sentence, min(console.width, 80)):
        console.print(Text(line, style), soft_wrap=True)


def _us(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}×"


def _clean(data: Any) -> BenchTable:
    rows = [
        [name, _us(row["us"]) + MARKS[row["outcome"]], _times(row["ratio"])]
        for name, row in data["peers"].items()
        if "us" in row
    ]
    note = (
        f"Valid JSON of {data['characters']:,} characters under a schema of 20 fields, in µs. The ratio is to "
        f"orjson + jsonschema-rs, which answer only yes or no."
    )
    return BenchTable("Clean reply", note, ["reader", "µs", "ratio"], rows, "<>>")


def _broken(data: Any) -> BenchTable:
    names = list(next(iter(data["kinds"].values())))
    rows = [
        [kind, *(_us(row[name]["us"]) + MARKS[row[name]["outcome"]] for name in names)]
        for kind, row in data["kinds"].items()
    ]
    note = "One reply with typical errors, in µs; ✗ a wrong value, – an error. trueup also checks the schema."
    return BenchTable("Broken replies", note, ["kind", *names], rows, "<" + ">" * len(names))


def _streaming(data: Any) -> BenchTable:
    rows = [
        [name, f"{row['ms']:,.1f}" + MARKS[row["outcome"]], _times(row.get("ratio"))]
        for name, row in data["peers"].items()
        if "ms" in row
    ]
    note = (
        f"{data['characters']:,} characters in {data['chunks']:,} chunks, reading the value so far at every chunk, in ms; "
        "the ratio is to jiter."
    )
    return BenchTable("Streaming", note, ["reader", "ms", "ratio"], rows, "<>>")


def _tools(data: Any) -> BenchTable:
    rows = [[name, _us(us)] for name, us in data["us"].items()]
    rows.append([f"compile: a contract of {data['tools']:,} tools", f"{data['made'] * 1e6:,.0f}"])
    return BenchTable("Tool calls", "Reading and judging one reply, in µs.", ["reply", "µs"], rows, "<>")


def _rules(data: Any) -> BenchTable:
    rows = list(_rule_rows(data))
    rows.append([_us(data["whole"]["with three rules"]), "", "", "", "a whole check of a small reply, three rules"])
    rows.append([_us(data["whole"]["without rules"]), "", "", "", "the same without rules"])
    note = "One evaluation and one compilation in µs, next to a Python function that does the same."
    return BenchTable("Business rules", note, ["trueup", "Python", "asteval", "compile", "rule"], rows, ">>>><")


def _rule_rows(data: Any) -> Iterator[list[str]]:
    for source, row in data["evaluated"].items():
        shown = [value if isinstance(value := row[name], str) else _us(value) for name in ("trueup", "Python function")]
        other = row["asteval"]
        other = {"not installed": "–"}.get(other, other) if isinstance(other, str) else _us(other)
        yield [*shown, other, _us(data["compiled"][source]), source]


def _state(data: Any) -> BenchTable:
    rows = [[name, _us(us)] for name, us in data["us"].items()]
    rows.append(["compile: 100 patterns and 200 terms", f"{data['compiled'] * 1e6:,.0f}"])
    note = (
        f"{data['characters']:,} characters of Spanish against 100 patterns and 200 terms, ignoring case and "
        "accents, in µs; the rows of `re` ignore only case."
    )
    return BenchTable("Dialogue state", note, ["check", "µs"], rows, "<>")


def _reply(data: Any) -> BenchTable:
    rows = [[name, _us(us)] for name, us in data["us"].items()]
    rows.append(["compile: all reply rules", _us(data["compiled"])])
    note = f"Whether {data['characters']:,} characters are worth charging for, in µs."
    return BenchTable("Reply rules", note, ["check", "µs"], rows, "<>")


DRAW: dict[str, Callable[[Any], BenchTable]] = {
    "clean": _clean,
    "broken": _broken,
    "streaming": _streaming,
    "tools": _tools,
    "rules": _rules,
    "state": _state,
    "reply": _reply,
}
