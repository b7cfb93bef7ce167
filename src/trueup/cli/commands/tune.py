"""`trueup tune`: measure the rules of a contract file by labelled replies, and suggest changes to the file."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.references import Unavailable
from trueup.cli.options.selection import counted, readable, selection_options, take_selection
from trueup.cli.terminal.layout import Line, count, short, wrapped
from trueup.verdict.display import safe_line

if TYPE_CHECKING:
    from trueup.material.case import Case
    from trueup.tuning.tune import Suggestion, Tuning

_ROWS = 30  # rows in the table, unless --all is given
_NEEDS = 5
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_WIDE = 60


@click.command()
@click.argument("contract", metavar="CONTRACT")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option(
    "--labels", multiple=True, metavar="FILE", help="A JSONL file of labels, for sources that are not a store."
)
@selection_options
@click.option("--limit", type=click.IntRange(min=1), default=20_000, show_default=True, metavar="N",
              help="Read at most N replies without a label.")  # fmt: skip
@click.option("--apply", "numbers", multiple=True, type=click.IntRange(min=1), metavar="N",
              help="Write suggestion N to the contract's file; may be repeated.")  # fmt: skip
@click.option(
    "--no-examples", is_flag=True, help="With --apply: do not add the deciding replies to the file's examples."
)
@click.option("--no-backtest", is_flag=True, help="Do not backtest each suggestion.")
@click.option("--all", "everything", is_flag=True, help="Show every rule, even those without a label.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
              help="Colour; auto means on a terminal, unless NO_COLOR is set.")  # fmt: skip
def tune(contract: str, sources: tuple[str, ...], **options: Any) -> int:
    """Measure the rules of a CONTRACT file against labelled replies, and suggest changes to the file.

    Judges the replies of each SOURCE under the contract, and compares its decisions with people's labels
    (from `trueup label`). Finds rules that never fire, mostly misfire or only repeat another rule. Finds better thresholds,
    spellings that should be aliases, and values that could be coerced. Each suggestion is a diff of the file with its
    own backtest. It needs at least 10 labels; p-values are corrected for all tests of the run. SOURCE is a store, a
    folder from `trueup sift`, a run, or a file of replies.

    Exit code 0: done, with or without suggestions, 2: the command or a file is wrong.

    \b
      trueup tune salon.yaml verdicts.db --since 30d
      trueup tune person.yaml replies.jsonl --labels labels.jsonl
      trueup tune person.yaml verdicts.db --apply 1 --apply 3
    """
    from trueup.contract.files.faults import ContractError
    from trueup.tuning.tune import tune as run

    if options["as_json"] and options["as_markdown"]:
        raise click.UsageError("--json and --markdown: choose one")
    selection = take_selection(options)
    how = "CONTRACT is a YAML, TOML or JSON file"
    if Path(contract).is_dir():
        raise Unavailable(f"{contract}: that is a directory; {how}")
    if not Path(contract).exists():
        from trueup.cli.options.references import no_file

        raise Unavailable(f"{contract}: {no_file(contract, how)}")
    try:
        with readable():
            found = _cases(sources, selection, options["labels"])
            tuning = run(contract, counted(found), most=options["limit"], backtest=not options["no_backtest"])
    except ContractError as error:
        raise Unavailable(f"the contract cannot be used\n{error}") from None
    applied = _apply(tuning, options) if options["numbers"] else None
    if applied is not None and (options["as_json"] or options["as_markdown"]):
        for line in applied:
            click.echo(safe_line(line), err=True)
    _show(tuning, sources, applied, options)
    return 0


def _cases(sources: tuple[str, ...], selection: Any, labels: tuple[str, ...]) -> "Iterator[Case]":
    from trueup.cli.commands.label import label_file  # `trueup label` writes labels there
    from trueup.material.sources import cases

    beside = [label_file((source,), None) for source in sources] if not labels else []
    return cases(sources, selection, labels=[*labels, *(file for file in beside if file is not None and file.exists())])


def _apply(tuning: "Tuning", options: dict[str, Any]) -> list[str]:
    """Write the requested suggestions, and return the lines that report it."""
    from trueup.tuning.applying import CannotApply, apply

    try:
        done = apply(tuning, options["numbers"], examples=not options["no_examples"])
    except CannotApply as error:
        raise Unavailable(str(error)) from None
    except OSError as error:
        raise Unavailable(f"{error.filename}: cannot be written: {error.strerror}") from None
    lines = [f"Written: {', '.join(file.as_posix() for file in done.files)}"]
    if done.examples:
        lines.append(
            f"{count(done.examples, 'example')} added from your traffic: look at them before you share the file."
        )
    if done.left_out:
        lines.append(f"{count(done.left_out, 'deciding text')} too long for an example, or not text: left out.")
    return [*lines, *([done.note] if done.note else [])]


def _show(tuning: "Tuning", sources: tuple[str, ...], applied: list[str] | None, options: dict[str, Any]) -> None:
    from trueup.cli.terminal.output import is_terminal, open_console, write
    from trueup.tuning.report import to_dict, to_markdown

    if options["as_json"]:
        from trueup.cli.terminal.json_text import document

        told = {**to_dict(tuning), "applied": sorted(set(options["numbers"]))}
        write(document(told, indented=is_terminal()) + "\n")
        return
    if options["as_markdown"]:
        write(to_markdown(tuning))
        return
    from rich.text import Text

    console = open_console(options["color"])
    width = min(console.width, 110) if is_terminal() else 80
    if applied is not None:
        for line in applied:
            console.print(Text.assemble(("✓ ", "green"), safe_line(line)), soft_wrap=True)
        return
    for pieces in _lines(tuning, sources, width, everything=options["everything"]):
        console.print(Text.assemble(*pieces), soft_wrap=True)


def _lines(tuning: "Tuning", sources: tuple[str, ...], width: int, *, everything: bool) -> Iterator[Line]:
    yield from _head(tuning, width)
    yield []
    yield from _table(tuning, width, everything=everything)
    for suggestion in tuning.suggestions:
        yield []
        if not suggestion.is_advice and (suggestion.number == 1 or tuning.suggestions[suggestion.number - 2].is_advice):
            yield [("For your information", "bold")]
        yield from _suggestion(suggestion, width)
    yield []
    yield from _ending(tuning, sources, width)


def _head(tuning: "Tuning", width: int) -> Iterator[Line]:
    from trueup.tuning.report import agreement, unjudgeable

    evidence = tuning.evidence
    people = tuning.measured.agreement.authors
    by = f" by {'1 person' if people == 1 else f'{people} people'}" if people else ""
    said = f"{len(evidence.seen):,} replies judged, {len(evidence.labelled):,} labelled{by}; {agreement(tuning)}"
    yield [(safe_line(tuning.file.path.as_posix()), "bold")]
    yield from ([(line, "")] for line in wrapped(said, width))
    for line in unjudgeable(tuning):
        yield [(line, "yellow")]
    if evidence.unrecorded:
        said = (
            f"{evidence.unrecorded:,} labels do not say which decision they are about, and neither does their source. trueup assumes"
            " that they are about the current contract. That is no longer true once you change it."
        )
        yield from ([(line, "yellow")] for line in wrapped(said, width))
    if evidence.unnoted:
        said = (
            f"{evidence.unnoted:,} replies do not say which context they were judged with. They are judged without any, so rules about"
            " context may give wrong results."
        )
        yield from ([(line, "yellow")] for line in wrapped(said, width))
    if evidence.left_out:
        yield [(f"{evidence.left_out:,} replies without a label left out: see --limit", "yellow")]


def _table(tuning: "Tuning", width: int, *, everything: bool) -> Iterator[Line]:
    from trueup.cli.terminal.table import table
    from trueup.tuning.report import name_of, recall, rows_of, share

    measured = tuning.measured
    rows = [row for row in rows_of(tuning) if everything or row.labelled or row.fired or row.unit.at]
    shown = rows if everything else rows[:_ROWS]
    cells = [
        [name_of(row), f"{row.fired:,}", f"{row.labelled:,}", share(row), recall(row)]
        for row in (measured.whole, *shown)
    ]
    wide = bool(measured.sample) or width >= _WIDE  # a line below says that recall is unknown
    head = ["", "fired", "labels", "precision", "recall"]
    if wide:
        yield from table(head, cells, "<>><<", width, whole=(1, 2, 3, 4))
    else:
        yield from table(head[:-1], [row[:-1] for row in cells], "<>><", width, whole=(1, 2, 3))
    if len(rows) > len(shown):
        yield [(f"… and {len(rows) - len(shown)} more: --all", "dim")]
    if not measured.sample:
        said = "Recall is unknown: no random sample of accepted replies is labelled (`trueup label` draws one)."
        yield from ([(line, "dim")] for line in wrapped(said, width))


def _suggestion(suggestion: "Suggestion", width: int) -> Iterator[Line]:
    from trueup.tuning.report import backtest_line, evidence_line

    number = f"{suggestion.number}. "
    pad = " " * len(number)
    title = wrapped(safe_line(suggestion.proposal.title), width - len(number))
    yield [(number, "bold cyan"), (title[0], "bold")]
    yield from ([(pad + line, "bold")] for line in title[1:])
    for said in (evidence_line(suggestion), backtest_line(suggestion), suggestion.proposal.note):
        yield from ([(pad + line, "")] for line in (wrapped(safe_line(said), width - len(pad)) if said else ()))
    widest = max((len(one.case.id[:20]) for one in suggestion.examples), default=0)
    for one in suggestion.examples:
        text = " ".join(one.case.text.split()) or "(not text)"
        said = "people accept it" if one.said.should else "people refuse it"
        room = width - len(pad) - len(said) - widest - 4
        yield [
            (f"{pad}{safe_line(one.case.id)[:20]:<{widest}}  ", "dim"),
            (short(safe_line(text), max(room, 12)), ""),
            (f"  {said}", "dim"),
        ]
    if suggestion.refusal:
        yield from ([(pad + line, "yellow")] for line in wrapped(f"No diff: {suggestion.refusal}.", width - len(pad)))
    for line in suggestion.diff.splitlines():
        style = "bold" if line.startswith(("---", "+++")) else _STYLES.get(line[:1], "")
        yield [(pad, ""), (safe_line(line), style)]


def _ending(tuning: "Tuning", sources: tuple[str, ...], width: int) -> Iterator[Line]:
    from trueup.tuning.proposals import NEEDED

    evidence = tuning.evidence
    if not evidence.seen:
        yield [("No reply was judged, so nothing is known about this contract.", "yellow")]
        return
    source = " ".join(map(quote, sources))
    is_recorded = all(one.case.recorded is not None for one in evidence.seen)
    if not is_recorded:  # replies without verdicts cannot be selected
        source += f" --contract {quote(tuning.file.path.as_posix())}"
    if not evidence.labelled and not tuning.needed:
        yield [("These replies have no labels yet: ", "dim"), (safe_line(f"trueup label {source}"), "")]
    for row in tuning.needed[:_NEEDS]:
        chosen = ("--rule", row.unit.name) if row.unit.kind != "field" else ("--code", row.unit.name[:4])
        name = f" {chosen[0]} {quote(chosen[1])}" if is_recorded else ""
        what = f"{row.unit.name} has {count(row.labelled, 'label')}; {NEEDED} are needed: "
        command = f"trueup label {source}{name}"
        if len(what) + len(command) <= width:
            yield [(safe_line(what), "dim"), (safe_line(command), "")]
        else:
            yield [(safe_line(what).rstrip(), "dim")]
            yield [("  " + safe_line(command), "")]
    if len(tuning.needed) > _NEEDS:
        yield [(f"… and {len(tuning.needed) - _NEEDS} more with too few labels", "dim")]
    advice = [suggestion for suggestion in tuning.suggestions if suggestion.is_advice]
    writable = [suggestion.number for suggestion in advice if not suggestion.refusal]
    said = count(len(advice), "suggestion") if advice else "No suggestions"
    if silent := len(tuning.suggestions) - len(advice):
        said += f", {count(silent, 'silent rule')} for your information"
    if writable:
        command = f"trueup tune … --apply {writable[0]}"
        if len(said) + len(command) + 15 <= width:
            yield [("✓ ", "green"), (f"{said}. Write one: ", ""), (command, "bold")]
        else:
            yield [("✓ ", "green"), (f"{said}. Write one:", "")]
            yield [(f"  {command}", "bold")]
    else:
        yield [("✓ ", "green"), (f"{said}: {count(tuning.tests, 'test')} made.", "")]
