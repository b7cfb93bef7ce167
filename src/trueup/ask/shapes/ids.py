"""Call ids that a target accepts.

Takes calls and outputs, in order; returns them with ids that the target accepts. A call and its output have the same id. A call without
an id, as Gemini and Ollama make them, gets one, and its output is found by its name. Other ids change only if the target refuses them.
"""

import hashlib
import re
from typing import Protocol

from trueup.ask.shapes.neutral import CallPart, Output, Part
from trueup.verdict.patterns import lazy_regex

ANY = lazy_regex(r"")  # for a target that accepts every id, but requires one


class CompiledPattern(Protocol):
    """A compiled pattern, or one that is compiled on first use."""

    def match(self, text: str, /) -> re.Match[str] | None:
        """The match at the start of a text; None if there is no match."""


class Ids:
    """The ids of one conversation. Without a pattern, every id stays unchanged, even an empty one."""

    __slots__ = ("_made", "_pattern", "_waiting")

    def __init__(self, pattern: CompiledPattern | None) -> None:
        self._pattern = pattern
        self._made = 0
        self._waiting: list[tuple[str, str]] = []  # name and new id of calls without an output

    def on(self, part: Part) -> Part:
        """A part of a message, with an id that the target accepts if it is a call or an output."""
        if self._pattern is None or not isinstance(part, CallPart | Output):
            return part
        if part.id:
            return part._replace(id=accepted(part.id, self._pattern))
        return self._called(part) if isinstance(part, CallPart) else self._answered(part)

    def _called(self, call: CallPart) -> CallPart:
        self._made += 1
        made = f"call{self._made:05}"  # nine letters and digits, which every provider accepts
        self._waiting.append((call.name, made))
        return call._replace(id=made)

    def _answered(self, output: Output) -> Output:
        at = next((n for n, (name, _) in enumerate(self._waiting) if output.name in ("", name)), None)
        if at is None:
            return output
        name, made = self._waiting.pop(at)
        return output._replace(id=made, name=name)


def accepted(call_id: str, pattern: CompiledPattern) -> str:
    """An id that a target accepts: the id itself, or one made from it."""
    return call_id if pattern.match(call_id) else hashlib.sha256(call_id.encode()).hexdigest()[:9]
