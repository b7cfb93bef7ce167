"""`trueup revalidate` over a run of a pipeline: its stored replies under schemas and rules as they are now."""

from pathlib import Path

from trueup.cli.runs import told

_SHOWN = 10


def revalidate_run(folder: Path, pipeline: str | None, apply: bool, as_json: bool) -> int:
    """Say what flips; with `apply`, take the pipeline over and let what would pass go on."""
    from trueup.batch.pipeline.lint import check_pipeline
    from trueup.batch.pipeline.revalidate import adopt, revalidate
    from trueup.batch.pipeline.rundir import OwnedRun, RunDir
    from trueup.cli.layout import count
    from trueup.cli.runview import by_code, print_json
    from trueup.cli.terminal import write
    from trueup.verdict.display import safe_line

    with told():
        run = RunDir.look(folder)
        new = check_pipeline(Path(pipeline) if pipeline else folder / "config" / str(run.state.run["config"]))
        looked = revalidate(run, new)
        adopted = None
        if apply:
            owned = OwnedRun.open(folder)
            try:
                adopted = adopt(owned, new, looked.flips)
                owned.write_manifest()
            finally:
                owned.close()
    if as_json:
        flips_now = [flip._asdict() for flip in looked.flips]
        print_json({"replies": looked.replies, "flips": flips_now, "warnings": looked.warnings})
        return 1 if any(flip.now == "failed" for flip in looked.flips) else 0
    for was, now in (("failed", "valid"), ("valid", "failed")):
        flips = [flip for flip in looked.flips if flip.now == now]
        if not flips:
            continue
        write(f"{was} → {now}: {count(len(flips), 'unit')}\n")
        for flip in flips[:_SHOWN]:
            errors = flip.errors_now or flip.errors_before
            why = "; ".join(f"{error['code']} {error['path']}" for error in errors[:2])
            write(safe_line(f"  {flip.step}  {flip.unit_id[:60]}  {why}") + "\n")
        if len(flips) > _SHOWN:
            write(f"  … and {len(flips) - _SHOWN} more\n")
    write(f"{count(looked.replies, 'reply').replace('replys', 'replies')} judged again, {len(looked.flips)} flip\n")
    if looked.warnings:
        write(f"warnings: {by_code(looked.warnings)}\n")
    if adopted is not None:
        write(f"{count(adopted.units, 'unit')} can go on: `trueup run {safe_line(str(folder))}`\n")
    return 1 if any(flip.now == "failed" for flip in looked.flips) else 0
