"""Finding: takes the folders of a studio and returns the sifts and runs in them, each with its name, its path and its
kind.

A folder that is a run or a sift is not searched any further. Links are not followed, and hidden folders are not entered.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from trueup.batch.pipeline.rundir.journal import JOURNAL
from trueup.batch.siftdir.directory import is_sifted
from trueup.studio import places
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings

Kind = Literal["run", "sift"]
MOST = 1000  # runs in a list
_MOST_ENTRIES = 50_000  # files and folders that are visited
_DEEPEST = 8
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})


class RunPlace(NamedTuple):
    """A run or a sift: its name in the studio, its path, and its kind."""

    name: str
    path: Path
    kind: Kind


class FoundRuns(NamedTuple):
    """The runs and sifts in the folders; `complete` unless there were too many folders to visit all."""

    places: list[RunPlace]
    complete: bool


def kind_of(path: Path) -> Kind | None:
    """The kind of a folder; None if it is neither a run nor a sift."""
    try:
        if (path / JOURNAL).is_file():
            return "run"
        return "sift" if is_sifted(path) else None
    except (OSError, ValueError):
        return None


def all_in(settings: StudioSettings) -> FoundRuns:
    """Every run and sift in the folders of a studio."""
    found: list[RunPlace] = []
    seen = 0
    waiting = [(label, top, 0) for label, top in places.labelled(settings).items()]
    while waiting:
        name, folder, depth = waiting.pop()
        kind = kind_of(folder)
        if kind is not None:
            found.append(RunPlace(name, folder, kind))
            if len(found) >= MOST:
                return FoundRuns(found, complete=not waiting)
            continue
        for entry in _folders(folder) if depth < _DEEPEST else ():
            seen += 1
            if seen > _MOST_ENTRIES:
                return FoundRuns(found, complete=False)
            if entry is not None:
                waiting.append((f"{name}/{entry.name}", Path(entry.path), depth + 1))
    return FoundRuns(found, complete=True)


def _folders(folder: Path) -> Iterator["os.DirEntry[str] | None"]:
    """The folders in a folder; None for each entry that is skipped."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                plain = not entry.name.startswith(".") and entry.name not in _SKIPPED
                yield entry if plain and entry.is_dir(follow_symlinks=False) else None
    except OSError:
        return


def place_of(settings: StudioSettings, name: str) -> RunPlace:
    """The run or sift with a name; a Refusal if there is none."""
    path = places.find(settings, name)
    kind = kind_of(path)
    if kind is None:
        raise RequestRefused(
            404, f"{name[:200]!r} is neither a run of a pipeline nor the folder of a sift.", code="no_run",
            hint="`trueup run` and `trueup sift` make one.",
        )  # fmt: skip
    return RunPlace(name, path, kind)
