"""`trueup revalidate`: judge the stored replies of a sift under another contract. No model is asked."""

from pathlib import Path
from typing import Any

import click

from trueup.cli.commands.sift import run_batch, running_options
from trueup.cli.options.batch_contract import contract_options, read_spec
from trueup.cli.options.references import Unavailable
from trueup.verdict.display import safe_line

_SHOWN = 10


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("-o", "--out", metavar="DIR", help="The folder to write the results to.  [default: a folder inside DIR]")
@click.option("--pipeline", metavar="FOLDER", help="For a run: the pipeline to judge by.  [default: the run's copy]")
@click.option(
    "--apply",
    "adopt",
    is_flag=True,
    help="For a run: adopt the pipeline, so that the run's files and counts agree with it.",
)
@contract_options
@running_options
def revalidate(folder: str, out: str | None, pipeline: str | None, *, adopt: bool, **options: Any) -> int:
    """Judge the replies that a sift stored in DIR again, under another contract, and show which verdicts flip.

    Writes validated.jsonl and failures.jsonl with the new outcomes. Also writes flips.jsonl: the units that changed
    between valid and failed, or got another value, each with its old and new errors. The results in DIR stay unchanged.

    \b
      trueup revalidate sifted --contract stricter.yaml

    DIR may also be a run of a pipeline. Its stored replies are judged by the schemas and rules of --pipeline.

    Exit code 0: all valid (for a run: no unit flips to failed), 1: otherwise, 2: the command or the contract is wrong,
    3: out of time or disk space, 130: stopped.
    """
    run = _run_of(folder)
    if run is not None:
        from trueup.cli.revalidating import revalidate_run

        given = next((name for name in ("contract", "schema", "tools") if options[name] is not None), None)
        if given is not None:
            raise click.UsageError(f"{folder}: a run is judged by its pipeline; give --pipeline FOLDER, not --{given}")
        return revalidate_run(run, pipeline, apply=adopt, as_json=options["as_json"])
    if pipeline is not None or adopt:
        raise click.UsageError(f"{folder}: --pipeline and --apply are for a run of a pipeline")
    spec = read_spec(options)
    files = [Path(folder) / name for name in ("validated.jsonl", "failures.jsonl")]
    missing = [file for file in files if not file.exists()]
    if missing:
        raise Unavailable(f"{missing[0]}: there is no such file; DIR is the output folder of a finished `trueup sift`")
    target = Path(out) if out else Path(folder) / f"revalidated-{spec.digest[:8]}"
    code = run_batch([str(file) for file in files], spec, target, options, flips=True)
    if code in {0, 1} and not options["as_json"] and options["progress"] != "none":
        click.echo(_flips(target / "flips.jsonl"), err=True, nl=False)
    return code


def _run_of(given: str) -> Path | None:
    """The run with this path or this name in `runs/`; None for an existing folder that is not a run."""
    from trueup.cli.options.runs import find_run, is_run

    folder = Path(given)
    return find_run(given) if is_run(given) and ((folder / "journal.jsonl").exists() or not folder.exists()) else None


def _flips(path: Path) -> str:
    """The first flips of each kind, one line each."""
    from trueup.batch.input.units import read_row

    lines: dict[tuple[str, str], list[str]] = {}
    with path.open("rb") as opened:
        for line in opened:
            row = read_row(line)
            told = lines.setdefault((row["was"], row["now"]), [])
            if len(told) < _SHOWN:
                errors = row["errors_now"] or row["errors_before"]
                why = "; ".join(f"{error['code']} {error['path']}" for error in errors[:2])
                told.append(f"  {safe_line(row['unit_id'])[:40]}{f'  {safe_line(why)}' if why else ''}")
    parts = []
    for (was, now), told in sorted(lines.items()):
        head = f"{was} → {now}" if was != now else "valid with another value"
        parts.append("\n".join([f"\n{head}", *told]))
    return "\n".join([*parts, f"\nAll of them: {path}"]) + "\n" if parts else "\nNothing flips.\n"
