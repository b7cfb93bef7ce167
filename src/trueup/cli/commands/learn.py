"""`trueup learn`: train a model of quality on labelled replies, and compare it with the rules."""

import os
import sys
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from trueup.cli.options.references import Unavailable

if TYPE_CHECKING:
    from trueup.learning.learn import Confusion, Learned

_WIDTH = 80
_ROOM_FOR_INTERVALS = 71


@click.command()
@click.argument("contract", metavar="CONTRACT")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("-o", "--out", metavar="FILE", help="The file to write the model to.  [default: NAME.quality.json]")
@click.option("--labels", metavar="FILE", multiple=True, help="Labels for files of replies, as JSON lines.")
@click.option("--good", metavar="LABEL", multiple=True, help="Your own label for good replies.")
@click.option("--bad", metavar="LABEL", multiple=True, help="Your own label for bad replies.")
@click.option(
    "--below",
    type=click.FloatRange(0, 1),
    default=0.7,
    show_default=True,
    metavar="SCORE",
    help="A reply with a score below this is bad.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="The random seed; the same seed gives the same model.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
def learn(contract: str, sources: tuple[str, ...], out: str | None, *, as_json: bool, **options: Any) -> int:
    """Train a quality model on labelled replies, and report whether it beats the rules of CONTRACT.

    SOURCE is a store, a folder from `trueup sift`, a run directory, or a file of replies. `right` and `wrong` say whether
    trueup's decision was correct: an accepted reply labelled `wrong` is bad, and so is a refused reply labelled
    `right`. The latest quarter of the labels, in whole conversations, tests the model; the others train it. Replies
    that differ from others only in their numbers are left out of the test. At least 80 labels are needed.

    \b
      trueup learn salon.yaml verdicts.db
      trueup learn salon.yaml replies.jsonl --labels labels.jsonl --bad rude

    A model passes if it beats the rules on the latest labels and its scores are calibrated probabilities. Until then, a
    contract only records its score. A model that passed is never replaced by one that did not.

    Exit code 0: the model passes, 1: it does not, or there are too few labels, 2: the command, the contract or a source is
    wrong, 3: the disk is full, 130: stopped.
    """
    from trueup.batch.judging.contracts import BadContract, spec_of
    from trueup.learning.files import NotReplaced, refuse_other, write_model
    from trueup.learning.learn import TooFew
    from trueup.learning.learn import learn as train
    from trueup.material.labels import BadLabels
    from trueup.material.sources import SourceError, cases

    path = Path(out or f"{Path(contract).stem if Path(contract).suffix else 'contract'}.quality.json")
    if isnan(options["below"]):
        raise click.UsageError("--below takes a number between 0 and 1; nan is not one")
    both = set(options["good"]) & set(options["bad"])
    if both:
        raise click.UsageError(f"{min(both)!r} cannot be both --good and --bad")
    shown = _Shown()
    try:
        earlier = refuse_other(path)
        held = spec_of(contract).open()
        material = cases(sources, labels=options["labels"])
        learned = train(
            held, material, good=options["good"], bad=options["bad"], below=options["below"], seed=options["seed"],
            on_progress=shown,
        )  # fmt: skip
    except TooFew as error:
        shown.close()
        for line in _sentence(f"trueup: {error}", sys.stderr):
            click.echo(line, err=True)
        return 1
    except (BadContract, BadLabels, SourceError, NotReplaced) as error:
        raise Unavailable(str(error)) from None
    finally:
        shown.close()
    is_kept = earlier is not None and earlier.evaluation.passed and not learned.evaluation.passed
    size = None if is_kept else write_model(path, learned.model)
    named = os.path.relpath(path, Path(contract).parent) if Path(contract).is_file() else str(path)
    if as_json:
        from trueup.cli.terminal.json_text import document
        from trueup.cli.terminal.output import is_terminal, write

        write(document(_as_data(learned, path, size), indented=is_terminal()) + "\n")
    else:
        for line in _lines(learned, path, size, named):
            click.echo(line)
    return 0 if learned.evaluation.passed else 1


class _Shown:
    """Show progress on one line of a terminal, and nothing elsewhere."""

    def __init__(self) -> None:
        self._write: Callable[[str], object] | None = sys.stderr.write if sys.stderr.isatty() else None
        self._last = ""

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._write is None or (not total and done % 500):
            return
        line = f"{step} {100 * done // total}%" if total else f"{step} {done:,} replies"
        if line != self._last:
            self._write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._last = line

    def close(self) -> None:
        """Clear the line."""
        if self._write is not None and self._last:
            self._write("\r\x1b[K")
            self._last = ""


def _lines(learned: "Learned", path: Path, size: int | None, named: str) -> list[str]:
    """Print the result for people. Without a size, the earlier file was kept."""
    facts, found = learned.model.facts, learned.evaluation
    width = _width(sys.stdout)
    who = f", by {facts.authors:,} {_plural('person', facts.authors, 'people')}" if facts.authors else ""
    when = f", {facts.since} to {facts.until}" if facts.since else ""
    repeats = f" ({learned.repeated:,} more differ from others only in numbers)" if learned.repeated else ""
    judges = (
        ("rules", learned.rules),
        (f"model below {found.below:g}", learned.alone),
        ("rules and model", learned.together),
    )
    left_out = "; ".join(f"{count:,} × {why}" for why, count in learned.gathered.left_out.most_common())
    lines = [
        *([] if size is None else [f"{path}: {size / 1000:,.0f} KB"]),
        *_wrapped(f"{facts.labels:,} labels: {facts.good:,} good, {facts.bad:,} bad{who}{when}", width),
        *_wrapped(f"{learned.trained:,} to learn from, the latest {learned.tested:,} to test on{repeats}", width),
        *(_wrapped(f"not used: {left_out}", width) if left_out else ()),
        "",
        *_table(judges, with_intervals=width >= _ROOM_FOR_INTERVALS),
        "",
        *(line for said in _outcome(learned) for line in _wrapped(said, width)),
        *_wrapped(_quality_of(learned), width),
        "",
    ]
    if size is None:
        kept = f"{path} contains an earlier model that passed, so it was not replaced. To write this one, name another file with -o."
        return [*lines, *_wrapped(kept, width)]
    lines += [
        "Add this to the contract:",
        "",
        "quality:",
        f"  model: {named}",
        f"  below: {found.below:g}",
        "  level: warning",
    ]
    return [line.rstrip() for line in lines]


def _outcome(learned: "Learned") -> list[str]:
    from trueup.learning.learn import CALIBRATED, LEVEL

    found = learned.evaluation
    counts = f"{found.better:,} replies judged better, {found.worse:,} worse (McNemar p {_p(found.p)})"
    if found.passed:
        return [f"It beats the rules: {counts}."]
    shadow = "Its score is only recorded until it passes: label more replies, then learn again."
    if found.better <= found.worse:
        return [f"It is no better than the rules: {counts}.", shadow]
    if found.p is None or found.p >= LEVEL:
        return [f"It is not known to beat the rules: {counts}.", shadow]
    off = f"But its scores are not probabilities: the calibration error is above {CALIBRATED:g}, and not by chance."
    return [f"It beats the rules: {counts}.", off, shadow]


def _quality_of(learned: "Learned") -> str:
    found = learned.evaluation
    chance = (
        f" (chance alone: up to {_number(found.calibration_chance)})" if found.calibration_chance is not None else ""
    )
    numbers = f"Calibration error {_number(found.calibration_error)}{chance}, AUC {_number(found.auc)}"
    return f"{numbers}; abstained from {found.abstained:,} of {found.labels:,}."


def _table(judges: "tuple[tuple[str, Confusion], ...]", *, with_intervals: bool) -> list[str]:
    """The results of the judges. A narrow screen has no room for the intervals and F1."""
    if not with_intervals:
        rows = [(name, one.part) for name, one in judges]
        return [
            f"{'':15} {'precision':>9} {'recall':>6} {'mistakes':>8}",
            *(f"{name:15} {_number(p.precision, 2):>9} {_number(p.recall, 2):>6} {p.wrong:>8,}" for name, p in rows),
        ]
    return [f"{'':17} {'precision':18} {'recall':18} {'F1':>5} {'mistakes':>9}", *(_row(*judge) for judge in judges)]


def _row(name: str, found: "Confusion") -> str:
    part = found.part
    precision, recall = _share(part.precision, found.precision), _share(part.recall, found.recall)
    return f"{name:17} {precision:18} {recall:18} {_number(part.f1, 2):>5} {part.wrong:>9,}"


def _share(share: float | None, interval: tuple[float, float]) -> str:
    return "—" if share is None else f"{share:.2f} ({interval[0]:.2f}–{interval[1]:.2f})"


def _number(value: float | None, digits: int = 3) -> str:
    return "—" if value is None else f"{value:.{digits}f}"


def _p(value: float | None) -> str:
    return "—" if value is None else "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _plural(one: str, count: int, many: str) -> str:
    return one if count == 1 else many


def _width(stream: TextIO) -> int:
    """The columns of the terminal; elsewhere, the width of a page."""
    from shutil import get_terminal_size

    return min(get_terminal_size().columns, _WIDTH) if stream.isatty() else _WIDTH


def _sentence(text: str, stream: TextIO) -> list[str]:
    """A message, wrapped for a person, on one line for a log."""
    return _wrapped(text, _width(stream)) if stream.isatty() else [text]


def _wrapped(text: str, width: int) -> list[str]:
    from trueup.cli.terminal.layout import wrapped

    return wrapped(text, width - 1)


def _as_data(learned: "Learned", path: Path, size: int | None) -> dict[str, Any]:
    """The result for programs. The model is None if an earlier one is kept."""
    import msgspec

    intervals = {
        name: {"precision": [*one.precision], "recall": [*one.recall]}
        for name, one in (("rules", learned.rules), ("model", learned.alone), ("together", learned.together))
    }
    return {
        "model": None if size is None else str(path),
        "bytes": size,
        "passed": learned.evaluation.passed,
        "facts": msgspec.to_builtins(learned.model.facts),
        "evaluation": msgspec.to_builtins(learned.evaluation),
        "intervals": intervals,
        "trained": learned.trained,
        "tested": learned.tested,
        "repeated": learned.repeated,
        "left_out": dict(learned.gathered.left_out),
    }
