"""Objects that an answer is wrapped in: `{"result": {…}}`, a list of one, JSON in a string.

A value and the keys of the schema's root enter; what may stand inside leaves, with the way to it. Nothing is judged here.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from trueup.recover.json.clean import decode
from trueup.recover.json.lexer import fold
from trueup.verdict.paths import Parts

_ENVELOPES = frozenset(
    fold(word)
    for word in (
        "response result results answer output data json value values content object item items final finalAnswer "
        "arguments args parameters params input properties payload body return returns structured_output tool_input "
        "function functionCall message root schema instance entity extraction extracted parsed text tool_calls calls"
    ).split()
)
# Envelopes of what was asked with, beside one of the answer.
_SOURCES = frozenset({"input", "tool_input", "schema"})
_MAX_OPENED = 6


def is_source(base: Parts) -> bool:
    """Whether a way leads to what was asked with, not to the answer.

    >>> is_source(("input",)), is_source(("output", "a"))
    (True, False)
    """
    return not _SOURCES.isdisjoint(base)


def opened(value: Any, own: frozenset[str]) -> Iterator[tuple[Parts, Any]]:
    """What stands inside envelope keys, outermost first.

    A key that the schema knows is no envelope, and an object that shares no key with the root is not inside one.
    """
    folded = _folded(own)
    level: list[tuple[Parts, Any]] = [((), value)]
    for _ in range(_MAX_OPENED):
        inside: list[tuple[Parts, Any]] = []
        for base, outer in level:
            inside += _step_in(base, outer, own, folded)
        for base, inner in inside:
            if folded and not isinstance(inner, dict | list):
                continue
            if base == (0,):
                continue  # the one element of a list is a matter of coercion, not an envelope
            if not (folded and isinstance(inner, dict)) or any(fold(key) in folded for key in inner):
                yield base, inner
        level = inside


@lru_cache(64)
def _folded(own: frozenset[str]) -> frozenset[str]:
    return frozenset(map(fold, own))


def leads_through_text(value: Any, base: Parts) -> bool:
    """Whether the way to a part leads through a string that holds JSON."""
    for part in base:
        if isinstance(value, str):
            return True
        value = value[part]
    return isinstance(value, str)


def _step_in(base: Parts, outer: Any, own: frozenset[str], folded: frozenset[str]) -> list[tuple[Parts, Any]]:
    """What stands one step inside a value: under an envelope key, alone in a list, or as JSON in a string."""
    if isinstance(outer, dict):
        odd = [key for key in outer if key not in own]
        keys = [key for key in odd if (len(outer) == 1 or fold(key) in _ENVELOPES) and fold(key) not in folded]
        return [((*base, key), outer[key]) for key in keys[:8]]
    if isinstance(outer, list) and len(outer) == 1:
        return [((*base, 0), outer[0])]
    if isinstance(outer, str) and outer[:1] in ("{", "["):
        try:
            return [(base, decode(outer))]
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
            return []
    return []
