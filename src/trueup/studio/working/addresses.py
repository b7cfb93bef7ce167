"""Addresses: takes the store of a studio and returns the address by which another process opens it."""

from pathlib import Path

from trueup.store.open import file_of
from trueup.studio.refusal import RequestRefused
from trueup.studio.studio import Studio


def address_of(studio: Studio) -> str:
    """The path or URL of the store; it may contain a password, so it is passed only to our own processes."""
    store = studio.store
    path = getattr(store.backend, "path", None)
    if path is not None:
        return str(Path(path).absolute())
    given = studio.settings.store or getattr(store.backend, "url", "")
    if not given:
        raise RequestRefused(503, "The address of the store is not known here.", code="store_unavailable")
    known = file_of(given)
    return given if known is None else str(known.absolute())
