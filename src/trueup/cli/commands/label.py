"""`trueup label`: show stored replies, read one key for each, and store whether trueup decided correctly."""

import getpass
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.references import Unavailable
from trueup.cli.options.selection import counted, readable, selection_options, take_selection
from trueup.cli.terminal.output import Color

if TYPE_CHECKING:
    from rich.console import Console

    from trueup.cli.terminal.keyboard import Keyboard
    from trueup.cli.terminal.layout import Line
    from trueup.labelling.labels import Sink
    from trueup.labelling.queue import Queue
    from trueup.labelling.session import LabellingSession
    from trueup.labelling.summary import Summary
    from trueup.material.case import Case, Label
    from trueup.material.selection import Selection

_MOST_SUBJECTS = 20


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option(
    "-c",
    "--contract",
    metavar="CONTRACT",
    help="Judge replies that have no verdict yet under this contract: a file or module:name.",
)
@click.option("--labels", metavar="FILE", help="The file of labels, for replies that are not in a store.")
@click.option(
    "--author",
    envvar="TRUEUP_AUTHOR",
    metavar="NAME",
    help="The author of the labels.  [default: $TRUEUP_AUTHOR, or your user name]",
)
@click.option(
    "--size",
    type=click.IntRange(min=1, max=10_000),
    default=30,
    show_default=True,
    metavar="N",
    help="How many replies to show.",
)
@click.option("--random", "share", type=click.FloatRange(0, 1), default=0.25, show_default=True, metavar="SHARE",
              help="The share of these replies that is a random sample of accepted ones.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="The seed of the random sample.")
@selection_options
@click.option("--import", "imported", metavar="FILE", help="Import the labels of a JSONL file instead of asking.")
@click.option("--export", "exported", metavar="FILE", help="Export all labels to a JSONL file instead of asking.")
@click.option("--summary", is_flag=True, help="Show which labels exist and which are missing, instead of asking.")
@click.option("--json", "as_json", is_flag=True, help="With --summary: print it as one JSON document.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
              help="Colour; auto means on a terminal, unless NO_COLOR is set.")  # fmt: skip
def label(sources: tuple[str, ...], **options: Any) -> None:
    """Label stored replies: was trueup's decision right? One key per reply.

    Shows the replies with the least certain decisions, mixed with a random sample of accepted replies. Only the random
    sample can show how many bad replies are accepted. Each answer is stored immediately; run the command again to continue. SOURCE is a
    store, a folder from `trueup sift`, a run, or a file of replies. Labels go into the store, or into a file next to the
    source. Without a terminal, it reads one letter per line.

    \b
      trueup label verdicts.db --since 7d
      trueup label sifted --labels labels.jsonl --code V005
      trueup label replies.jsonl --contract salon.yaml
      trueup label verdicts.db --summary
    """
    selection = take_selection(options)
    modes = [name for name in ("imported", "exported", "summary") if options[name]]
    if len(modes) > 1:
        raise click.UsageError("--import, --export and --summary: choose one")
    if options["as_json"] and not options["summary"]:
        raise click.UsageError("--json needs --summary")
    with readable():
        if options["imported"]:
            _import(sources, options["imported"], options["labels"])
        elif options["exported"]:
            _export(_cases(sources, selection, options), options["exported"])
        elif options["summary"]:
            _summarise(_cases(sources, selection, options), options["color"], as_json=options["as_json"])
        else:
            _ask(sources, selection, options)


def _cases(sources: tuple[str, ...], selection: "Selection", options: dict[str, Any]) -> "Iterator[Case]":
    """The replies with their labels, and with verdicts if there is a contract to judge them by."""
    from trueup.material.sources import cases

    file = label_file(sources, options["labels"])
    found = cases(sources, selection, labels=[file] if file is not None and file.exists() else [])
    return counted(found if options["contract"] is None else _judged(found, options["contract"]))


def _judged(found: "Iterable[Case]", contract: str) -> "Iterator[Case]":
    from trueup.batch.judging.contracts import BadContract, spec_of
    from trueup.labelling.judging import with_verdicts

    try:
        judge = spec_of(contract).open()
    except BadContract as error:
        raise Unavailable(f"--contract: {error}") from None
    except OSError as error:
        raise Unavailable(f"--contract {contract}: cannot be read: {error.strerror}") from None
    return with_verdicts(found, judge)


def label_file(sources: tuple[str, ...], given: str | None) -> Path | None:
    """The file of labels; None if they are in a store."""
    from trueup.material.sources import is_store

    if given is not None:
        return Path(given)
    stores = [source for source in sources if is_store(source)]
    if len(sources) > 1 and stores != [sources[0]] * len(sources):
        raise click.UsageError("labels of several sources need a file: give --labels FILE")
    if stores:
        return None
    source = Path(sources[0].rstrip("/"))
    name = source.name
    for ending in (".gz", ".zst", ".jsonl", ".csv", ".parquet", ".arrow"):
        name = name.removesuffix(ending)
    return source.with_name(f"{name or 'replies'}.labels.jsonl")


def _import(sources: tuple[str, ...], file: str, labels: str | None) -> None:
    from trueup.cli.options.store import opened
    from trueup.labelling.labels import LabelFile, labels_of, read_labels
    from trueup.material.sources import cases
    from trueup.store.labels import said_in

    target = label_file(sources, labels)
    if target is None:
        with opened(sources[0]) as store:
            stored, unknown, contradicted = _imported(store, file)
    else:
        contradicted = 0
        known = {case.id for case in cases(sources)}
        there = read_labels([target]) if target.exists() else {}
        sink = LabelFile(target)
        stored = unknown = 0
        for number, given in enumerate(labels_of(file)):
            try:
                said_in(given, number)
            except ValueError as error:
                raise Unavailable(f"{file}: {error}") from None
            if given.verdict not in known:
                unknown += 1
                continue
            stored += 1
            if given not in there.get(given.verdict, ()):
                sink.write(given)
    click.echo(f"{stored:,} labels imported" + (f" into {target}" if target is not None else ""))
    if unknown:
        click.echo(f"{unknown:,} are about replies that are not in the source, and were left out", err=True)
    if contradicted:
        said = "are about a decision other than the stored one, and were left out"
        click.echo(f"{contradicted:,} {said}", err=True)


def _imported(store: Any, file: str) -> tuple[int, int, int]:
    from trueup.labelling.labels import BadLabels, labels_of

    try:
        done = store.import_labels(labels_of(file))
    except BadLabels:
        raise
    except ValueError as error:
        raise Unavailable(f"{file}: {error}") from None
    return done.stored, done.unknown, done.contradicted


def _export(found: "Iterable[Case]", file: str) -> None:
    from trueup.labelling.labels import write_labels

    if Path(file).is_dir():
        raise Unavailable(f"--export {file}: this is a folder; give a file")
    try:
        n = write_labels(file, (label for case in found for label in case.labels))
    except OSError as error:
        raise Unavailable(f"--export {file}: cannot be written: {error.strerror}") from None
    click.echo(f"{n:,} labels written to {file}")


def _summarise(found: "Iterable[Case]", color: Color, *, as_json: bool) -> None:
    from trueup.cli.terminal.output import is_terminal, open_console, write
    from trueup.labelling.summary import summarise

    summary = summarise(found)
    if as_json:
        from trueup.cli.terminal.json_text import document

        write(document(summary.to_dict(), indented=is_terminal()) + "\n")
        return
    console = open_console(color)
    _print(console, _summary_lines(summary, console.width if console.is_terminal else 0))


def _summary_lines(summary: "Summary", width: int) -> "Iterator[Line]":
    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.table import table
    from trueup.labelling.summary import NEEDED

    yield [(f"{summary.labelled:,} of {count(summary.replies, 'reply').replace('replys', 'replies')} labelled", "bold")]
    if summary.authors:
        yield []
        head = ["author", "right", "wrong", "skipped", "other"]
        kinds = ("right", "wrong", "skipped")
        rows = [
            [
                author or "(not known)",
                *(f"{n[kind]:,}" for kind in kinds),
                f"{n.total() - sum(n[kind] for kind in kinds):,}",
            ]
            for author, n in sorted(summary.authors.items())
        ]
        yield from table(head, rows, "<>>>>", width)
    if summary.subjects:
        yield []
        shown = summary.subjects[:_MOST_SUBJECTS]
        rows = [
            [each.name.partition(":")[2], f"{each.fired:,}", f"{each.right:,}", f"{each.wrong:,}", _interval(each.precision),
             f"{each.needed} more" if each.needed else "enough" if each.right + each.wrong >= NEEDED else ("fires too rarely")]
            for each in shown
        ]  # fmt: skip
        yield from table(["rule or code", "fired", "right", "wrong", "precision", "for tune"], rows, "<>>><<", width)
        if len(summary.subjects) > len(shown):
            yield [(f"… and {len(summary.subjects) - len(shown):,} more", "dim")]
        short = [each for each in summary.subjects if each.needed]
        if short:
            each = short[0]
            has = each.right + each.wrong
            yield [(f"`trueup tune` needs {NEEDED} labels per rule: {each.name.partition(':')[2]} has {has}", "dim")]
    yield []
    sample = summary.sample
    n = sample.right + sample.wrong
    if n:
        said = f"random sample: {n:,} accepted replies labelled, {sample.wrong:,} wrong ({_interval(sample.missed)})"
    else:
        said = "random sample: none labelled, so recall is unknown"
    yield [(said, "")]
    if sample.skipped:
        yield [(f"{sample.skipped:,} of the random sample were skipped, which may distort recall", "yellow")]
    found = summary.agreement
    if found.items:
        kappa = "undefined" if found.kappa is None else f"{found.kappa:.2f}"
        yield [(f"agreement: κ {kappa}, {found.observed:.0%} equal, {found.items:,} replies with several authors", "")]
    else:
        yield [("agreement: unknown, no reply has labels from two authors", "")]


def _interval(found: Any) -> str:
    return "unknown" if found is None else f"{found.low:.0%}–{found.high:.0%}"


def _ask(sources: tuple[str, ...], selection: "Selection", options: dict[str, Any]) -> None:
    from trueup.labelling.labels import LabelFile, LabelStore
    from trueup.labelling.queue import queue

    author = _author(options["author"])
    target = label_file(sources, options["labels"])
    found = queue(
        _cases(sources, selection, options),
        size=options["size"],
        share=options["share"],
        author=author,
        seed=options["seed"],
    )
    if not found.entries:
        _say_nothing_left(found)
    _say_left_out(found, options["contract"])
    if not found.entries:
        return
    if target is not None:
        _run(found, LabelFile(target), author, options["color"])
        return
    from trueup.cli.options.store import opened

    with opened(sources[0]) as store:  # closed during the reading of replies
        _run(found, LabelStore(store), author, options["color"])


def _author(given: str | None) -> str:
    if given is not None:
        return given.strip()
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user, as in some containers
        return os.environ.get("USER", "")


def _say_nothing_left(found: "Queue") -> None:
    if not found.seen:
        click.echo("no replies are selected")
        return
    click.echo(f"nothing to label: {found.seen:,} replies, {found.labelled:,} of them already labelled")


def _say_left_out(found: "Queue", contract: str | None) -> None:
    if found.unjudged:
        advice = "; give --contract to judge them" if contract is None else ""
        click.echo(f"{found.unjudged:,} of {found.seen:,} have no verdict{advice}", err=True)
    for reason, n in found.unreadable.items():
        click.echo(f"{n:,} of {found.seen:,} cannot be shown: {reason.replace('_', ' ')}", err=True)


def _run(found: "Queue", sink: "Sink", author: str, color: Color) -> None:
    """Show one entry after another until the person has answered them all, quits or interrupts."""
    from trueup.cli.terminal.keyboard import open_keyboard
    from trueup.cli.terminal.output import open_console
    from trueup.labelling.session import LabellingSession

    for given in found.promoted:
        sink.write(given)
    session = LabellingSession(found.entries, sink, author)
    console = open_console(color)
    try:
        with open_keyboard() as keyboard:
            if not keyboard.is_terminal:
                click.echo("no terminal: one letter per line (r, w, s, …); ? explains them", err=True)
            _loop(session, keyboard, console)
    except KeyboardInterrupt:
        session.quit()
        _say_result(session, found.promoted)
        raise
    _say_result(session, found.promoted)


def _loop(session: "LabellingSession", keyboard: "Keyboard", console: "Console") -> None:
    from trueup.cli.display.labelling import help_lines, screen

    said = ""
    drawn, key = None, ""
    while not session.is_over:
        width = min(console.width, 100)
        state = (session.at, session.focus)
        if console.is_terminal and key != "?":
            console.clear()
            _print(console, screen(session, width, console.height))
        elif state != drawn:  # in a pipe, nothing is repeated
            _print(console, screen(session, width))
        if said:
            console.print(said, style="yellow")
        said, drawn = "", state
        try:
            key = keyboard.key()
            if key == "?":
                _print(console, help_lines(width))
            elif key in ("n", "N"):
                said = session.remark(keyboard.line("note: "))
            elif key in ("l", "L"):
                said = session.name(keyboard.line("label: "))
            elif key.strip():
                said = session.press(key)
        except EOFError:
            session.quit()
        except ValueError as error:  # such as a rule with a name that stores do not accept
            said = f"not stored: {error}"


def _print(console: "Console", lines: "Iterable[Line]") -> None:
    from rich.text import Text

    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)


def _say_result(session: "LabellingSession", promoted: "tuple[Label, ...]") -> None:
    from trueup.verdict.display import safe_line

    counted = session.counts()
    answered = counted["right"] + counted["wrong"]
    said = [
        f"{answered:,} of {len(session.entries):,} labelled: {counted['right']:,} right, {counted['wrong']:,} wrong"
    ]
    said += [
        f"{counted[kind]:,} {words}"
        for kind, words in (("finding", "about findings"), ("skipped", "skipped"))
        if counted[kind]
    ]
    if words := session.words.total():
        said.append(f"{words:,} of your own words")
    if not session.answers and not session.words and not promoted:
        click.echo("\nnothing was labelled")
        return
    click.echo("\n" + ", ".join(said))
    click.echo(safe_line(f"stored in {session.sink.name}" + (f", author {session.author}" if session.author else "")))
    if promoted:
        click.echo(
            f"{len(promoted):,} earlier labels now count towards the random sample, because their replies were drawn for it"
        )
    if n := counted["skipped at random"]:
        click.echo(f"{n:,} of the random sample skipped; they are shown again, since recall depends on them", err=True)
