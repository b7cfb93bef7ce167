"""The word lists for comparisons: titles, articles, negations and so on, read once from `vocabulary.toml`.

Takes the name of a list in that file; returns the list as folded words.
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
    """The words of one list, folded. Entries with several words have single spaces.

    >>> "garcia" in known("titles"), "dr" in known("titles"), "not given" in known("answers")
    (False, True, True)
    """
    return frozenset(" ".join(TextWords(word).folded) for word in _table()[name])


@cache
def listed(name: str) -> tuple[str, ...]:
    """The words of one list as written, longest first."""
    return tuple(sorted(_table()[name], key=len, reverse=True))
