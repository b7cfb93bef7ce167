"""Stores: finds the stores of verdicts in folders, by looking at files without opening them as stores. It also
explains, for the page, why a store cannot be used.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from trueup.store.errors import StoreError
from trueup.store.open import file_of
from trueup.studio.refusal import RequestRefused

_ENDINGS = (".db", ".sqlite", ".sqlite3")
_MOST = 100  # files of a folder that are looked into


def stores_in(folders: Iterable[Path]) -> list[Path]:
    """The SQLite files directly in these folders that contain verdicts."""
    found: dict[Path, None] = {}
    for folder in folders:
        try:
            named = sorted(path for path in folder.iterdir() if path.suffix.lower() in _ENDINGS)
        except OSError:
            continue
        found |= dict.fromkeys(path for path in named[:_MOST] if _is_store(path, folder))
    return list(found)


def unavailable(error: Exception, address: str) -> RequestRefused:
    """Why the store at an address cannot be used, without that address: users of the studio need not know it.

    >>> unavailable(StoreError("/data/v.db: there is no such store"), "sqlite:///data/v.db").message
    'The store cannot be used: there is no such store.'
    >>> unavailable(StoreError("v.db: the server cannot be reached; is it running?"), "v.db").message
    'The store cannot be used: the server cannot be reached; is it running?'
    """
    said = str(error)
    for spelled in sorted(_spellings(address), key=len, reverse=True):
        said = said.removeprefix(f"{spelled}: ").replace(spelled, "the store")
    end = "" if said.endswith((".", "?")) else "."
    return RequestRefused(503, f"The store cannot be used: {said}{end}", code="store_unavailable")


def _spellings(address: str) -> set[str]:
    """The ways in which messages name a store."""
    found = {address}
    try:
        path = file_of(address)
    except StoreError:
        return found
    if path is not None:
        return found | {str(path), str(path.absolute()), str(path.resolve())}
    from trueup.store.postgres import without_password

    return found | {without_password(address)}


def _is_store(path: Path, folder: Path) -> bool:
    """Whether a file in a folder is a store. A pipe is not, and a link that leads out of the folder is not followed."""
    try:
        inside = path.is_file() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False
    return inside and _holds_verdicts(path)


def _holds_verdicts(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            if file.read(16) != b"SQLite format 3\0":
                return False
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as found:
            rows = found.execute("SELECT name FROM sqlite_master WHERE name IN ('verdicts', 'replies')").fetchall()
    except (OSError, ValueError, sqlite3.Error):
        return False
    return len(rows) == 2
