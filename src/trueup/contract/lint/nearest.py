"""The name that was probably meant, as a hint."""

from collections.abc import Iterable

from trueup.verdict.likeness import nearest


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A question with the nearest known name, or another hint if no name is near.

    >>> did_you_mean("max_ph", ["hp", "max_hp"])
    "Did you mean 'max_hp'?"
    """
    near = nearest(name, known)
    return f"Did you mean {near!r}?" if near else otherwise
