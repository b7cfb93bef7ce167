"""Refuse an output path if writing to it would replace results of a sift or a run."""

from pathlib import Path

from trueup.cli.options.references import Unavailable

_PAGES = ".html"
_DEEP = 3  # levels between a file of a run and the run's directory: chunks/NAME/file


def keep_results(option: str, path: Path) -> None:
    """Refuse the path of a present or possible file of a sift or a run. Pages next to these files are allowed."""
    from trueup.batch.merging.stored_ranges import FILES
    from trueup.batch.pipeline.rundir.journal import JOURNAL
    from trueup.batch.siftdir.directory import is_sifted

    target = path.resolve()
    results = {Path(name).stem for name in (*FILES, "summary.json")}  # as JSON, and as tables of any format
    if target.stem in results and target.suffix != _PAGES and is_sifted(target.parent):
        raise Unavailable(f"{option} {path}: that is a file of a sift; choose another name")
    run = next((folder for folder in target.parents[:_DEEP] if (folder / JOURNAL).is_file()), None)
    if run is not None and (target.suffix != _PAGES or target.parent != run):
        raise Unavailable(f"{option} {path}: that is inside the run {run.name}; choose a path outside it")
