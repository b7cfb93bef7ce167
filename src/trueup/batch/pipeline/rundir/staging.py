"""Changes many files of a run together: writes them beside the run first; then one record in the journal makes them count.

`Staged` collects whole files in a separate folder. Once the record is in the journal, `put_in_place` copies them over the run's
files, publishes the results and records that too. After a crash, the next owner of the run repeats that, or deletes files that
were never recorded.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

from trueup.batch.pipeline.rundir.directory import STAGED, OwnedRun


class Staged:
    """New contents for files of a run that do not count yet."""

    def __init__(self, run: OwnedRun) -> None:
        self._run = run
        self.name = f"{STAGED}{run.lock.term}-{run.state.number}"
        self.folder = run.path / self.name
        shutil.rmtree(self.folder, ignore_errors=True)
        self._folders: set[Path] = set()

    def put(self, target: Path, chunks: Iterable[bytes]) -> None:
        """Stage the contents of a file; the current contents are archived beside it."""
        self._run.archive(target)
        self._write(target, chunks)

    def put_over(self, target: Path, chunks: Iterable[bytes]) -> None:
        """Stage the contents of a file that is kept elsewhere already."""
        self._write(target, chunks)

    def sync(self) -> None:
        """Make the staged files durable, which is required before the journal says that they count."""
        for folder in sorted(self._folders):
            self._run.disk.sync_folder(folder)
        self._run.disk.sync_folder(self._run.path)

    def _write(self, target: Path, chunks: Iterable[bytes]) -> None:
        staged = self.folder / target.relative_to(self._run.path)
        staged.parent.mkdir(parents=True, exist_ok=True)
        self._run.disk.place(staged, chunks)
        folder = staged.parent
        while folder != self._run.path:
            self._folders.add(folder)
            folder = folder.parent


def put_in_place(run: OwnedRun, folder: Path) -> None:
    """Copy the staged files over the run's files, publish the results, and delete the staged files. It may be repeated."""
    from trueup.batch.pipeline.running.post_processing import compress_again
    from trueup.batch.pipeline.running.results import publish

    changed: set[Path] = set()
    for staged in sorted(folder.rglob("*")):
        if staged.is_file() and not staged.name.startswith("."):
            target = run.path / staged.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            run.disk.place(target, [staged.read_bytes()])
            changed.add(target.parent)
    for place in sorted(changed):
        run.disk.sync_folder(place)
    run.forget_pipeline()
    publish(run)
    compress_again(run)
    run.commit("placed", folder=folder.name)  # not needed from here on, even if it cannot be deleted
    shutil.rmtree(folder, ignore_errors=True)
