"""Options of ready checks: takes the options that a contract gives for a check; returns values of the right type.

A bad option raises `BadOption`; its text begins with the place: `language.least: takes a whole number`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from trueup.verdict.likeness import nearest

COMMON = ("level", "fields", "calls")
"""Options of every check: what is judged, and how its findings count."""


class BadOption(ValueError):
    """An option of a ready check that cannot be used; the text begins with its place."""


class OptionReader:
    """The options of one check, read one by one.

    >>> OptionReader("language", {"language": "es"}, ("language", "least")).texts("language")
    ('es',)
    """

    __slots__ = ("check", "given")

    def __init__(self, check: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
        self.check = check
        self.given = given
        for key in given:
            if key not in known:
                names = (*known, *COMMON)
                near = nearest(str(key), names)
                also = f"; did you mean {near!r}?" if near else f"; it takes {', '.join(names)}"
                raise self.bad(key, f"not an option of {check}{also}")

    def bad(self, key: str, problem: str) -> BadOption:
        """The error for an option."""
        return BadOption(f"{self.check}.{key}: {problem}" if key.isidentifier() else f"{self.check}: {problem}")

    def texts(self, key: str) -> tuple[str, ...]:
        """A text, or a list of texts; empty if there is none."""
        value = self.given.get(key)
        if value is None:
            return ()
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(isinstance(one, str) and one.strip() for one in listed):
            raise self.bad(key, f"takes a text or a list of texts; got {value!r:.60}")
        return tuple(listed)

    def number(self, key: str, default: int, least: int = 1, most: int = 10_000) -> int:
        """A whole number between two bounds."""
        value = self.given.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.bad(key, f"takes a whole number from {least} to {most}; got {value!r:.60}")
        return value

    def share(self, key: str, default: float) -> float:
        """A share above 0, up to 1."""
        value = self.given.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
            raise self.bad(key, f"takes a number above 0 and up to 1; got {value!r:.60}")
        return float(value)
