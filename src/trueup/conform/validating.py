"""The context of the current check, for validators of the user's types, which get it from pydantic as `info.context`.

A check opens and closes it, and code that builds a value in between reads it. Nothing else is kept here.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_context: ContextVar[Mapping[str, Any] | None] = ContextVar("trueup_validation_context", default=None)
present = _context.get
# Keys that trueup adds to every context; a context with only these does not count as given by the caller.
_ADDED = frozenset({"history", "question", "first"})


def not_a_context(given: Any) -> TypeError:
    """The error for a context that is not a dict."""
    return TypeError(f"context must be a dict such as {{'state': 'IDLE'}}; got {type(given).__name__}")


@contextmanager
def validating(context: Mapping[str, Any] | None) -> Iterator[None]:
    """While this is open, validators get the caller's context; None if trueup added all of it.

    >>> with validating({"user": "ada", "history": []}):
    ...     present()
    {'user': 'ada', 'history': []}
    >>> with validating({"history": []}):
    ...     present()
    """
    if context is not None and not isinstance(context, Mapping):
        raise not_a_context(context)
    if not context or _ADDED.issuperset(context):
        yield
        return
    token = _context.set(context)
    try:
        yield
    finally:
        _context.reset(token)
