"""The words that a comparison knows: titles, articles, negations and their like, read once from `vocabulary.toml`.

Nothing enters; sets of folded words leave, by the names that the file gives them.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from trueup.grounding.words import TextWords


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("trueup.grounding") / "vocabulary.toml").read_text(encoding="utf-8"))


@cache
def known(name: str) -> frozenset[str]:
    """The words of one list, folded; those of more than one word with single spaces.

    >>> "garcia" in known("titles"), "dr" in known("titles"), "not given" in known("answers")
    (False, True, True)
    """
    return frozenset(" ".join(TextWords(word).folded) for word in _table()[name])


@cache
def listed(name: str) -> tuple[str, ...]:
    """The words of one list as they are written, the longest first."""
    return tuple(sorted(_table()[name], key=len, reverse=True))
