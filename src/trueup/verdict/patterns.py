"""Regular expressions that are compiled when they are first used, so that a module with many of them loads in no time.

The source of a pattern enters, or a function that makes it; an object with the methods of `re.Pattern` leaves. It does not
check the source: tests/verdict/test_patterns.py compiles every pattern of the package.
"""

import re
from collections.abc import Callable
from typing import Any, AnyStr, cast

_OF_PATTERN = (
    "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "scanner", "search", "split", "sub", "subn",
)  # fmt: skip


def lazy_regex(source: AnyStr | Callable[[], AnyStr], flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile`, put off until the pattern is used; for patterns that a module keeps.

    >>> word = lazy_regex(r"[a-z]+")
    >>> word.findall("one two"), word.pattern
    (['one', 'two'], '[a-z]+')
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(source, flags))


class LazyPattern:
    """A pattern before its first use; from then on each slot holds what the compiled pattern has under that name."""

    __slots__ = ("_given", "_source", "pattern", *_OF_PATTERN)

    def __init__(self, source: Any, flags: int) -> None:
        self._source = source
        self._given = flags

    def __getattr__(self, name: str) -> Any:
        """Fill the slots, when one of them is asked for and empty."""
        if name not in _OF_PATTERN and name != "pattern":
            raise AttributeError(f"a pattern has no attribute {name!r}")
        self.pattern = self._source() if callable(self._source) else self._source
        if name != "pattern":
            compiled = re.compile(self.pattern, self._given)
            for own in _OF_PATTERN:
                setattr(self, own, getattr(compiled, own))
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"lazy_regex({self.pattern!r})"
