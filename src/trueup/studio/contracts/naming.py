"""Naming: a file that a contract names enters; it is barred unless it is for whoever may read contracts.

What is made of a contract can quote the files that it names, so naming one is a way to read it. A run belongs to no tenant, and the settings
of a pipeline or a gateway may hold keys.
"""

import os
from pathlib import Path

from trueup.batch.pipeline.rundir.journal import JOURNAL
from trueup.contract.files.documents import KINDS, LIMITS, Barred, parse_document
from trueup.contract.files.faults import ContractError
from trueup.studio.contracts.kinds import PIPELINE
from trueup.studio.places import top_of
from trueup.studio.settings import Settings

_SETTINGS = "upstreams"  # the part that every file of a gateway has


def bar_private(settings: Settings, path: Path) -> None:
    """Raise Barred for a file of a run, and for the settings of a pipeline or a gateway."""
    if not os.path.isfile(path):  # noqa: PTH113 - which says no for a name that is too long, where a Path raises
        return
    top = top_of(settings, path)
    if any((folder / JOURNAL).is_file() for folder in path.parents if folder == top or top in folder.parents):
        raise Barred("It belongs to a run, whose files a contract cannot name here.")
    if path.name.lower() == PIPELINE or _is_gateway(path):
        raise Barred("It holds the settings of a pipeline or a gateway, which a contract cannot name here.")


def _is_gateway(path: Path) -> bool:
    """Whether a file is one of a gateway; what cannot be read is not."""
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
        return True  # nobody can say what it is: it may be broken for a moment only
    return isinstance(data, dict) and _SETTINGS in data
