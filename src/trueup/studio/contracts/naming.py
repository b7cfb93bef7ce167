"""Naming: checks a file that a contract names. It is barred unless users who can read contracts may also read it.

Output about a contract can quote the files that it names, so naming a file is a way to read it. A run does not belong
to a tenant, and the settings of a pipeline or a gateway may contain keys.
"""

import os
from pathlib import Path

from trueup.batch.pipeline.rundir.journal import JOURNAL
from trueup.contract.files.documents import KINDS, LIMITS, Barred, parse_document
from trueup.contract.files.faults import ContractError
from trueup.studio.contracts.kinds import PIPELINE
from trueup.studio.places import top_of
from trueup.studio.settings import StudioSettings

_SETTINGS = "upstreams"  # the key that every gateway file has


def bar_private(settings: StudioSettings, path: Path) -> None:
    """Raise Barred for a file of a run, and for the settings of a pipeline or a gateway."""
    if not os.path.isfile(path):  # noqa: PTH113 - which says no for a name that is too long, where a Path raises
        return
    top = top_of(settings, path)
    if any((folder / JOURNAL).is_file() for folder in path.parents if folder == top or top in folder.parents):
        raise Barred("It belongs to a run; a contract cannot name files of a run here.")
    if path.name.lower() == PIPELINE or _is_gateway(path):
        raise Barred("It contains the settings of a pipeline or a gateway; a contract cannot name such files here.")


def _is_gateway(path: Path) -> bool:
    """Whether a file belongs to a gateway; an unreadable one does not."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        return False
    try:
        with path.open("rb") as opened:
            text = opened.read(LIMITS[kind] * 4).decode("utf-8-sig", "replace")
    except OSError:
        return False
    if _SETTINGS not in text:
        return False
    try:
        data = parse_document(text, "", kind).data
    except ContractError:
        return True  # its kind is unknown: it may be broken only for a moment
    return isinstance(data, dict) and _SETTINGS in data
