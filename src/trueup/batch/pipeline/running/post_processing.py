"""Runs the actions after the last step: scripts of the pipeline, and compression of files. A failure is reported and does not
stop the run, except for a full disk.
"""

import contextlib
import gzip
import shutil
from pathlib import Path
from typing import Any

from trueup.batch.disk.full_disk import is_full, writing
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.steps.script import args_of, run_script

_RESULTS = ["validated.jsonl", "failures.jsonl"]


def post_process(run: OwnedRun) -> None:
    """Run the `post_process` section."""
    for number, entry in enumerate(run.pipeline.posts):
        if not isinstance(entry, dict):
            continue
        if run.given_up.is_set():
            return
        name = str(entry.get("name") or entry.get("script") or entry.get("type") or f"post_process {number + 1}")
        try:
            error = _compress(run, entry) if entry.get("type") == "gzip" else _script(run, entry)
        except (OSError, ValueError, NotImplementedError) as refused:  # names and patterns that the system refuses
            if is_full(refused):
                raise
            error = str(refused)
        run.note("posted", name=name, status=error or "done")
        run.log.say(f"post_process {name!r}: {error or 'done'}")


def compress_again(run: OwnedRun) -> None:
    """Update compressed files after the results of a finished run have changed; scripts wait for its next end."""
    for entry in run.pipeline.posts if run.state.post else ():
        if isinstance(entry, dict) and entry.get("type") == "gzip":
            with contextlib.suppress(ValueError, NotImplementedError):  # reported when it was first compressed
                _compress(run, entry)


def _script(run: OwnedRun, entry: dict[str, Any]) -> str:
    try:
        script = run.pipeline.inside(str(entry.get("script") or ""))
    except ValueError as error:
        return str(error)
    if not script.is_file():
        return f"there is no script {entry.get('script')!r} in the folder of the pipeline; skipped"
    timeout = float(run.pipeline.number(("api", "subprocess_timeout_seconds"), 600, 0.001))
    result = run_script(script, run.path, args_of(entry), "post_process", timeout, run.given_up)
    if result.error:
        return f"the script {result.error}"
    target = entry.get("output")
    if isinstance(target, str) and target:
        run.disk.put(run.path / Path(target).name, [result.output])
    elif result.output:
        run.log.say(result.output.decode("utf-8", "replace")[:10_000])
    return ""


def _compress(run: OwnedRun, entry: dict[str, Any]) -> str:
    """Compress files of the run. Files that the run itself needs are kept too."""
    files = entry.get("files", _RESULTS)
    for pattern in files if isinstance(files, list) else [files]:
        if not isinstance(pattern, str) or pattern.startswith("/") or ".." in pattern:
            return f"a pattern of files must be inside the run; got {pattern!r}"
        for file in sorted(run.path.glob(pattern)):
            if file.suffix == ".gz" or not file.is_file():
                continue
            beside = file.with_name(f".{file.name}.gz.new")
            try:
                with writing(f"{file}.gz"), file.open("rb") as source, gzip.open(beside, "wb") as target:
                    shutil.copyfileobj(source, target)
                beside.replace(file.with_name(f"{file.name}.gz"))
            finally:
                beside.unlink(missing_ok=True)
    return ""
