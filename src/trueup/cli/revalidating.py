"""`trueup revalidate` for a run of a pipeline: judge its stored replies under the current schemas and rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueup.cli.options.runs import told

if TYPE_CHECKING:
    from trueup.batch.flips import Flip
    from trueup.batch.pipeline.config import Pipeline
    from trueup.batch.pipeline.revalidating.adopting import Adopted

_SHOWN = 10
_KINDS = (
    ("failed", "valid", "failed → valid"),
    ("valid", "failed", "valid → failed"),
    ("valid", "valid", "another value"),
)


def revalidate_run(folder: Path, pipeline: str | None, *, apply: bool, as_json: bool) -> int:
    """Print what flips. With `apply`, make the run agree with the pipeline."""
    from trueup.batch.pipeline.lint.run import check_pipeline
    from trueup.batch.pipeline.reporting.words import by_code
    from trueup.batch.pipeline.revalidating.revalidate import revalidate
    from trueup.batch.pipeline.rundir.directory import OwnedRun, RunDir
    from trueup.cli.display.run import print_json
    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.output import write

    adopted = None
    with told():
        run = OwnedRun.open(folder) if apply else RunDir.look(folder)
        try:
            new = check_pipeline(Path(pipeline) if pipeline else folder / "config" / str(run.state.run["config"]))
            looked = revalidate(run, new)
            if isinstance(run, OwnedRun):
                adopted = _apply(run, new)
        finally:
            if isinstance(run, OwnedRun):
                run.close()
    code = 1 if any(flip.now == "failed" for flip in looked.flips) else 0
    if as_json:
        flips = [flip.to_dict() for flip in looked.flips]
        found: dict[str, Any] = {"replies": looked.replies, "flips": flips, "warnings": looked.warnings}
        print_json(found | ({"applied": adopted._asdict()} if adopted is not None else {}))
        return code
    for was, now, title in _KINDS:
        _show([flip for flip in looked.flips if (flip.was, flip.now) == (was, now)], title)
    write(f"{count(looked.replies, 'reply').replace('replys', 'replies')} judged again, {len(looked.flips)} flip\n")
    if looked.warnings:
        write(f"warnings: {by_code(looked.warnings)}\n")
    if adopted is not None:
        _show_adopted(folder, adopted, unfinished=any(map(run.state.is_open, run.state.chunks.values())))
    return code


def _apply(run: Any, pipeline: "Pipeline") -> "Adopted":
    """Adopt the pipeline, and update the run's files and counts."""
    from trueup.batch.pipeline.reporting.report import report_run
    from trueup.batch.pipeline.revalidating.adopting import adopt
    from trueup.batch.reporting.report import REPORT

    adopted = adopt(run, pipeline)
    run.write_manifest()
    if (run.path / REPORT).exists():
        report_run(run.path)
    return adopted


def _show(flips: "list[Flip]", title: str) -> None:
    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe_line

    if not flips:
        return
    write(f"{title}: {count(len(flips), 'unit')}\n")
    for flip in flips[:_SHOWN]:
        errors = flip.errors_now or flip.errors_before
        why = "; ".join(f"{error['code']} {error['path']}" for error in errors[:2])
        write(safe_line(f"  {flip.step}  {flip.unit_id[:60]}  {why}".rstrip()) + "\n")
    if len(flips) > _SHOWN:
        write(f"  … and {len(flips) - _SHOWN} more\n")


def _show_adopted(folder: Path, adopted: "Adopted", *, unfinished: bool) -> None:
    from trueup.cli.terminal.layout import count
    from trueup.cli.terminal.output import write
    from trueup.verdict.display import safe_line

    if adopted.refused:
        also = f"; {count(adopted.withdrawn, 'later result')} withdrawn" if adopted.withdrawn else ""
        write(f"{count(adopted.refused, 'unit')} moved to the failures{also}\n")
    if adopted.units:
        resume = "resumes" if adopted.units == 1 else "resume"
        write(f"{count(adopted.units, 'unit')} {resume}: `trueup run {safe_line(str(folder))}`\n")
    elif unfinished:
        write(f"the run agrees with the pipeline; `trueup run {safe_line(str(folder))}` resumes it\n")
    else:
        write("the run agrees with the pipeline\n")
