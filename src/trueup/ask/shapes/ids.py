"""Ids of calls as a target takes them.

Calls and outputs enter, in their order; they leave with ids that the target accepts, the same for a call and its output. A call without an
id, as Gemini and Ollama make them, gets one, and its output is found by its name. Other ids are changed only where the target refuses them.
"""

import hashlib
import re
from typing import Protocol

from trueup.ask.shapes.neutral import Call, Output, Part
from trueup.verdict.patterns import lazy_regex

ANY = lazy_regex(r"")  # for a target that takes every id, but wants one


class Pattern(Protocol):
    """A compiled pattern, or one that is compiled on first use."""

    def match(self, text: str, /) -> re.Match[str] | None:
        """What it matches at the start of a text; None if nothing."""


class Ids:
    """The ids of one conversation; without a pattern, every id stays as it is, an empty one too."""

    __slots__ = ("_made", "_pattern", "_waiting")

    def __init__(self, pattern: Pattern | None) -> None:
        self._pattern = pattern
        self._made = 0
        self._waiting: list[tuple[str, str]] = []  # calls that got an id, and have no output yet: name and id

    def on(self, part: Part) -> Part:
        """A part of a message; a call or an output with an id that the target accepts."""
        if self._pattern is None or not isinstance(part, Call | Output):
            return part
        if part.id:
            return part._replace(id=accepted(part.id, self._pattern))
        return self._called(part) if isinstance(part, Call) else self._answered(part)

    def _called(self, call: Call) -> Call:
        self._made += 1
        made = f"call{self._made:05}"  # nine letters and digits: every provider takes them
        self._waiting.append((call.name, made))
        return call._replace(id=made)

    def _answered(self, output: Output) -> Output:
        at = next((n for n, (name, _) in enumerate(self._waiting) if output.name in ("", name)), None)
        if at is None:
            return output
        name, made = self._waiting.pop(at)
        return output._replace(id=made, name=name)


def accepted(call_id: str, pattern: Pattern) -> str:
    """An id that a target accepts: the id itself, or one made from it."""
    return call_id if pattern.match(call_id) else hashlib.sha256(call_id.encode()).hexdigest()[:9]
