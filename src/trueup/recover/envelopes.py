"""Envelopes: objects such as `{"result": {…}}` that wrap an answer, and JSON in a string under such a key.

Takes a value, the keys of the schema's root and a reader for strings; returns the values one level inside, with their
paths. A key of the schema is a field and never an envelope. A key that reports an error never contains an answer.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from trueup.recover.json.clean import keeps_all_keys, repeats_a_key
from trueup.recover.json.lexer import fold
from trueup.verdict.codec import decode, written
from trueup.verdict.paths import Parts

_ENVELOPES = frozenset(
    fold(word)
    for word in (
        "response result results answer output data json value values content object item items final finalAnswer "
        "arguments args parameters params input properties payload body return returns structured_output tool_input "
        "function functionCall message root schema instance entity extraction extracted parsed calls text tool_calls"
    ).split()
)
# Words in keys that explain why there is no answer.
_FAILURES = ("error", "exception", "traceback", "failure", "refusal", "warning")
_FAILED = frozenset({"err", "errno", "errs", "failed", "fault", "fail", "fails"})
_DETAILS = frozenset({"detail", "details", "reason", "status", "code"})
# Envelopes of the question, which may be next to the envelope of the answer.
_SOURCES = frozenset({"input", "tool_input", "schema"})
_MOST_KEYS = 8
_LONGEST = 1_000_000


class InnerValue(NamedTuple):
    """The value in a string, the codes of the fixes that reading it took, and other values that the string may mean."""

    value: Any
    codes: tuple[str, ...] = ()
    rivals: tuple[Any, ...] = ()


Reader = Callable[[Parts, str], InnerValue | None]  # reads the string at a path


class EnvelopeValue(NamedTuple):
    """A value inside an envelope: its path, the value, and the fixes and rivals if it was read from a string."""

    base: Parts
    value: Any
    codes: tuple[str, ...] = ()
    rivals: tuple[Any, ...] = ()

    @property
    def is_source(self) -> bool:
        """Whether the path leads to the question's input rather than the answer."""
        return not _SOURCES.isdisjoint(self.base)


def opened(value: Any, own: frozenset[str], read: Reader) -> Iterator[EnvelopeValue]:
    """The values under the envelope keys of an object; `read` reads a string that is not plain JSON.

    A key of the schema is not an envelope, and an object that shares no key with the root is not an answer.

    >>> [inside.value for inside in opened({"result": {"a": 1}}, frozenset({"a"}), lambda *_: None)]
    [{'a': 1}]
    >>> list(opened({"error": {"a": 1}}, frozenset({"a"}), lambda *_: None))
    []
    """
    folded = _folded(own)
    if isinstance(value, str):
        keys: list[str] = []
        fenced = "```" in value or "~~~" in value
        inner: list[EnvelopeValue] = list(_as_text((), value, read if fenced or _opens(value) else _read_nothing))
    elif isinstance(value, dict):
        keys = [key for key in value if _is_envelope(key, len(value), own, folded)][:_MOST_KEYS]
        inner = [
            inside
            for key in keys
            for inside in ((EnvelopeValue((key,), value[key])), *_as_text((key,), value[key], read))
        ]
    else:
        return
    for inside in inner:
        if folded and not isinstance(inside.value, dict | list):
            continue
        if not (folded and isinstance(inside.value, dict)) or any(fold(key) in folded for key in inside.value):
            yield inside


def may_wrap(key: str, own: frozenset[str]) -> bool:
    """Whether a key beside others may be an envelope around the answer, for a schema with these keys.

    >>> may_wrap("result", frozenset({"age"})), may_wrap("height", frozenset({"age"}))
    (True, False)
    """
    return _is_envelope(key, 2, own, _folded(own))


def _is_envelope(key: str, size: int, own: frozenset[str], folded: frozenset[str]) -> bool:
    if key in own:
        return False
    name = fold(key)
    if name in folded or name in _FAILED or any(word in name for word in _FAILURES):
        return False
    if name in _DETAILS and size == 1:
        return False
    return size == 1 or name in _ENVELOPES


def _as_text(base: Parts, text: Any, read: Reader) -> Iterator[EnvelopeValue]:
    """The JSON in a string: the whole string, or the part that the reader finds."""
    if not isinstance(text, str) or len(text) > _LONGEST or ("{" not in text and "[" not in text):
        return
    inner = (_plain(text) if _opens(text) else None) or read(base, text)
    if inner is not None:
        yield EnvelopeValue(base, inner.value, ("W008", *inner.codes), inner.rivals)


def _plain(text: str) -> InnerValue | None:
    """The value of a text that is valid JSON; None if it is not, or has a repeated key."""
    try:
        value = decode(text)
        return InnerValue(value) if keeps_all_keys(text, written(value)) or not repeats_a_key(text) else None
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None


def _opens(text: str) -> bool:
    """Whether a text begins like an object or a list."""
    return text.lstrip()[:1] in ("{", "[")


def _read_nothing(_base: Parts, _text: str) -> None:
    """A reader for strings without JSON: the words around a value have already been read."""


@lru_cache(64)
def _folded(own: frozenset[str]) -> frozenset[str]:
    return frozenset(map(fold, own))
