"""Objects that an answer is wrapped in: `{"result": {…}}`, and text under such a key that is JSON itself.

A value and the keys of the schema's root enter; what stands one level inside leaves, with the way to it. An error is never
an answer, whatever it holds. Nothing is judged here.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from trueup.recover.json.lexer import fold
from trueup.recover.json.parser import Parser, TooDeep
from trueup.verdict.catalogue import GRADE
from trueup.verdict.codec import decode
from trueup.verdict.paths import Parts

_ENVELOPES = frozenset(
    fold(word)
    for word in (
        "response result results answer output data json value values content object item items final finalAnswer "
        "arguments args parameters params input properties payload body return returns structured_output tool_input "
        "function functionCall message root schema instance entity extraction extracted parsed text tool_calls calls"
    ).split()
)
# What a key says that holds no answer, but why there is none.
_FAILURES = ("error", "exception", "traceback", "failure", "refusal", "warning")
_FAILED = frozenset({"err", "errno", "errs", "failed", "fault", "fail", "fails"})
_DETAILS = frozenset({"detail", "details", "reason", "status", "code"})
# Envelopes of what was asked with, beside one of the answer.
_SOURCES = frozenset({"input", "tool_input", "schema"})
_MOST_KEYS = 8
_LONGEST = 1_000_000
_DEPTH = 100
_FENCED = re.compile(r"(?:```|~~~)[^\n`]{0,60}\n([\s\S]*?)\n?[ \t]*(?:```|~~~)")


class Inside(NamedTuple):
    """What stands inside an envelope: the way to it, the value, and the codes of what reading it as text took."""

    base: Parts
    value: Any
    codes: tuple[str, ...] = ()

    @property
    def is_source(self) -> bool:
        """Whether the way leads to what was asked with, not to the answer."""
        return not _SOURCES.isdisjoint(self.base)


def opened(value: Any, own: frozenset[str]) -> Iterator[Inside]:
    """What stands inside the envelope keys of an object.

    A key that the schema knows is not an envelope, and an object that shares no key with the root is not inside one.

    >>> [inside.value for inside in opened({"result": {"a": 1}}, frozenset({"a"}))]
    [{'a': 1}]
    >>> list(opened({"error": {"a": 1}}, frozenset({"a"})))
    []
    """
    folded = _folded(own)
    if isinstance(value, str):
        keys: list[str] = []
        inner: list[Inside] = list(_as_text((), value))
    elif isinstance(value, dict):
        keys = [key for key in value if _is_envelope(key, len(value), own, folded)][:_MOST_KEYS]
        inner = [inside for key in keys for inside in ((Inside((key,), value[key])), *_as_text((key,), value[key]))]
    else:
        return
    for inside in inner:
        if folded and not isinstance(inside.value, dict | list):
            continue
        if not (folded and isinstance(inside.value, dict)) or any(fold(key) in folded for key in inside.value):
            yield inside


def _is_envelope(key: str, size: int, own: frozenset[str], folded: frozenset[str]) -> bool:
    name = fold(key)
    if key in own or name in folded or name in _FAILED or any(word in name for word in _FAILURES):
        return False
    if name in _DETAILS and size == 1:
        return False
    return size == 1 or name in _ENVELOPES


def _as_text(base: Parts, text: Any) -> Iterator[Inside]:
    """A string as the JSON that it is, perhaps in a fence and with faults that lose nothing."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        return
    fences = _FENCED.findall(text) if "```" in text or "~~~" in text else []
    fenced = len(fences) == 1
    body = (fences[0] if fenced else text).strip()
    if body[:1] not in ("{", "["):
        return
    codes = ("W008", "W001") if fenced else ("W008",)
    try:
        yield Inside(base, decode(body), codes)
        return
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        pass
    try:
        outcome = Parser(body, 0, len(body), frozenset(), _DEPTH).read()
    except TooDeep:
        return
    faults = [record[0] for record in outcome.records]
    if outcome.end >= len(body) and not outcome.cut and not any(GRADE[code] == "lossy" for code in faults):
        yield Inside(base, outcome.value, (*codes, *sorted(set(faults))))


@lru_cache(64)
def _folded(own: frozenset[str]) -> frozenset[str]:
    return frozenset(map(fold, own))
