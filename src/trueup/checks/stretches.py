"""Stretches of a long text in which a slow pattern may match: takes a text and a gate; returns positions.

The gate is a pattern for the linear engine that matches wherever the slow one does, and elsewhere as rarely as
possible. A short text is one stretch. The stretches overlap by more than the longest match, so that no match is cut.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

LONG = 20_000
_BLOCK, _LAP = 4_096, 1_024


def stretches(text: str, gate: str) -> Iterator[tuple[int, int]]:
    """The stretches of a text that must be searched.

    >>> list(stretches("I ran a_b.", "_")), list(stretches("-" * 40_000 + "_", "_"))
    ([(0, 10)], [(36864, 40001)])
    """
    if len(text) <= LONG:
        yield 0, len(text)
        return
    may_match = _compiled(gate)
    for start in range(0, len(text), _BLOCK):
        stop = min(start + _BLOCK + _LAP, len(text))
        if may_match(text[start:stop].encode("utf-8", "replace")):
            yield start, stop


def matches(pattern: re.Pattern[str], text: str, gate: str) -> Iterator[re.Match[str]]:
    """The matches of a slow pattern in a text. A match that starts in the next stretch is found there, as a whole."""
    for start, stop in stretches(text, gate):
        last = stop if stop == len(text) else stop - _LAP
        for found in pattern.finditer(text, start, stop):
            if found.start() < last:
                yield found


@lru_cache(maxsize=16)
def _compiled(gate: str) -> Callable[[bytes], Any]:
    import re2

    search: Callable[[bytes], Any] = re2.compile(gate).search
    return search
