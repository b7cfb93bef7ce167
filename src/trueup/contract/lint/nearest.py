"""The name that was likely meant, as a hint."""

from collections.abc import Iterable

from trueup.verdict.likeness import nearest


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A question that names the nearest of the known names, or another hint where none is near.

    >>> did_you_mean("max_ph", ["hp", "max_hp"])
    "Did you mean 'max_hp'?"
    """
    near = nearest(name, known)
    return f"Did you mean {near!r}?" if near else otherwise
