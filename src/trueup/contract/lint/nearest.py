"""The name that was likely meant, as a hint."""

from collections.abc import Iterable

from rapidfuzz import process

_CLOSE = 60


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A question that names the nearest of the known names, or another hint where none is near.

    >>> did_you_mean("max_ph", ["hp", "max_hp"])
    "Did you mean 'max_hp'?"
    """
    near = process.extractOne(name, list(known), score_cutoff=_CLOSE)
    return f"Did you mean {near[0]!r}?" if near else otherwise
