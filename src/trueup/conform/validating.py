"""The context of the check that is under way, for validators of the user's types: pydantic's get it as `info.context`.

A check opens it and closes it again; whatever builds a value meanwhile reads it. Nothing else is kept here.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_context: ContextVar[Mapping[str, Any] | None] = ContextVar("trueup_validation_context", default=None)
present = _context.get
# What is added to every context, so that it does not count as one that the caller gave.
_ADDED = frozenset({"history", "question", "first"})


@contextmanager
def validating(context: Mapping[str, Any] | None) -> Iterator[None]:
    """While this is open, validators get the context that the caller gave; None where all of it was added by asking.

    >>> with validating({"user": "ada", "history": []}):
    ...     present()
    {'user': 'ada', 'history': []}
    >>> with validating({"history": []}):
    ...     present()
    """
    if not context or _ADDED.issuperset(context):
        yield
        return
    token = _context.set(context)
    try:
        yield
    finally:
        _context.reset(token)
