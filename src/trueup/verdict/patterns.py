"""Regular expressions that are compiled at first use, so that a module with many of them loads quickly.

Takes the source of a pattern, or a function that makes it, and returns an object with the methods of `re.Pattern`. It does not
check the source: tests/verdict/test_patterns.py compiles every pattern of the package.
"""

import re
from collections.abc import Callable
from typing import Any, AnyStr, cast

_OF_PATTERN = (
    "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "scanner", "search", "split", "sub", "subn",
)  # fmt: skip


def lazy_regex(source: AnyStr | Callable[[], AnyStr], flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile`, delayed until the pattern is used; for patterns at module level.

    >>> word = lazy_regex(r"[a-z]+")
    >>> word.findall("one two"), word.pattern
    (['one', 'two'], '[a-z]+')
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(source, flags))


class LazyPattern:
    """A pattern that compiles itself at first use; from then on each slot is the compiled pattern's attribute of that name."""

    __slots__ = ("_flags", "_source", "pattern", *_OF_PATTERN)

    def __init__(self, source: Any, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Fill the slots when an empty slot is read."""
        if name not in _OF_PATTERN and name != "pattern":
            raise AttributeError(f"a pattern has no attribute {name!r}")
        self.pattern = self._source() if callable(self._source) else self._source
        if name != "pattern":
            compiled = re.compile(self.pattern, self._flags)
            for own in _OF_PATTERN:
                setattr(self, own, getattr(compiled, own))
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"lazy_regex({self.pattern!r})"
