"""Folders in another process: takes their description from a specification and returns settings."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trueup.studio.settings import StudioSettings


def told_of(settings: StudioSettings) -> dict[str, Any]:
    """A description of the folders for another process."""
    return {
        "folders": [str(each) for each in settings.folders],
        "hidden": sorted(str(each) for each in settings.hidden),
    }


def settings_of(folders: Iterable[str], hidden: Iterable[str] = ()) -> StudioSettings:
    """The settings of a studio with these folders, for reading files in them."""
    return StudioSettings(keys=(), folders=tuple(map(Path, folders)), hidden=frozenset(map(Path, hidden)))
