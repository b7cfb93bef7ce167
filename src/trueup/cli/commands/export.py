"""`trueup export`: write the valid pairs of prompt and reply from a sift or a run as a file for fine-tuning."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trueup.cli.options.references import Unavailable

if TYPE_CHECKING:
    from trueup.batch.exporting.fine_tuning import Exported
    from trueup.batch.exporting.pairs import Skipped, TrainingPair

FORMATS = ("openai", "anthropic", "gemini", "completion")


@click.command()
@click.argument("place", metavar="FOLDER|RUN")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The file to write the pairs to.",
)
@click.option(
    "--to",
    "form",
    type=click.Choice(FORMATS),
    default="openai",
    show_default=True,
    help="The fine-tuning format to write.",
)
@click.option("--step", default="", metavar="NAME", help="The step of a run; required if several steps ask a model.")
@click.option(
    "--prompt",
    default="",
    metavar="FIELD",
    help="The field of a unit's input that contains the prompt or the messages, for a sift.",
)
@click.option("--system", default="", metavar="TEXT", help="Put this system message before every prompt.")
@click.option("--as-written", is_flag=True, help="Export the reply as the model wrote it, not its conformed value.")
@click.option(
    "--preference", is_flag=True, help="Export preference pairs instead: prompts with both a valid and a refused reply."
)
@click.option(
    "--held-out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a share of the pairs to FILE instead, for validation.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="The share of pairs for --held-out.  [default: 0.1]",
)
def export(place: str, out: Path, held_out: Path | None, share: float | None, **options: Any) -> int:
    """Export valid replies and their prompts as a fine-tuning file, from a FOLDER of `trueup sift` or a RUN.

    Replies are exported as their conformed values; the replies of a run are judged again first. With --held-out, all pairs from the same
    unit go to the same file. Units that give no pair are counted, with the reason. Exit code 0: pairs were written, 1: there
    are none, 2: the command is wrong, 3: the disk is full.

    \b
      trueup export runs/reviews --step split -o train.jsonl --held-out validation.jsonl
      trueup export sifted --to gemini --prompt question -o train.jsonl
    """
    from trueup.batch.exporting.fine_tuning import SHARE, ExportOptions, export_pairs
    from trueup.batch.exporting.pairs import PREFERENCES
    from trueup.cli.options.outputs import keep_results
    from trueup.cli.options.runs import told

    form = options["form"]
    if options["preference"] and form not in PREFERENCES:
        raise Unavailable(f"--preference: {form} has no such format; use {' or '.join(PREFERENCES)}")
    if share is not None and held_out is None:
        raise Unavailable("--share needs --held-out FILE")
    if held_out is not None and held_out.resolve() == out.resolve():
        raise Unavailable("--held-out and --out name the same file")
    wish = ExportOptions(form, options["preference"], options["system"], SHARE if share is None else share)
    for option, path in (("--out", out), ("--held-out", held_out)):
        if path is not None:
            if not path.absolute().parent.is_dir():
                raise Unavailable(f"{path}: there is no folder {path.parent}")
            keep_results(option, path)
    pairs = _pairs(place, options)
    with told():
        found = export_pairs(pairs, wish, out, held_out)
    _report(found, out, held_out)
    _note_unfinished(place)
    return 0 if found.written or found.held_out else 1


def _pairs(place: str, options: dict[str, Any]) -> "Iterator[TrainingPair | Skipped]":
    from trueup.cli.options.runs import find_run, is_run, told

    as_written = options["as_written"]
    if is_run(place):
        from trueup.batch.pipeline.reporting.exporting import pairs_of
        from trueup.batch.pipeline.rundir.directory import RunDir

        if options["prompt"]:
            raise Unavailable("--prompt is for sifted folders; a run has recorded its prompts")
        with told():
            return pairs_of(RunDir.look(find_run(place)), options["step"], as_written=as_written)
    from trueup.batch.exporting.pairs import pairs_in

    if options["step"]:
        raise Unavailable(f"--step is for runs; {place} is not a run")
    if not (Path(place) / "validated.jsonl").is_file():
        raise Unavailable(f"{place}: there is no validated.jsonl; name a folder of `trueup sift`, or a run")
    return pairs_in(Path(place), prompt=options["prompt"], as_written=as_written)


def _note_unfinished(place: str) -> None:
    """Say that a run has not ended and may give more pairs."""
    from trueup.batch.pipeline.reporting.report import word_for
    from trueup.batch.pipeline.rundir.directory import RunDir
    from trueup.cli.options.runs import find_run, is_run
    from trueup.cli.terminal.output import write

    if is_run(place) and (word := word_for(RunDir.look(find_run(place)))) not in {"done", "failed"}:
        write(f"the run is {word}: units that have not passed the step are not exported\n")


def _report(found: "Exported", out: Path, held_out: Path | None) -> None:
    from trueup.batch.exporting.pairs import NO_PROMPT
    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe_line

    write(f"{count(found.written, 'pair')} in {safe_line(str(out))}\n")
    if held_out is not None:
        write(f"{count(found.held_out, 'pair')} held out in {safe_line(str(held_out))}\n")
    for reason, number in found.skipped.items():
        write(f"{count(number, 'unit')} left out: {safe_line(reason)}\n")
    if not found.written and not found.held_out and NO_PROMPT in found.skipped:
        write("name the field of the input that contains the prompt: --prompt FIELD\n")
