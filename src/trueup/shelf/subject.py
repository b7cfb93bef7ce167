"""The input and output of a ready check: it takes the reply's text with its context, and returns stretches with a
reason.

A check never repeats sensitive text: its message, data and hint contain no secret, card number or phone number.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class CheckedText(NamedTuple):
    """One reply, or a part of one, as a ready check sees it."""

    text: str
    """The text; reasoning is replaced by blanks, so that positions stay the same."""
    context: Mapping[str, Any] = {}
    """The context of the conversation."""
    data: Any = None
    """The value that was read from the text, if the contract expects one; then the text may be JSON."""


class ReadyFinding(NamedTuple):
    """One finding of a ready check."""

    message: str
    hint: str
    span: tuple[int, int] | None = None
    data: Mapping[str, Any] = {}
    code: str = ""
    """The code, for a check that has several; empty: the code from the table."""


Look = Callable[[CheckedText], Iterable[ReadyFinding]]
"""A compiled check."""

NOT_JUDGED = "H013"
"""The code for a part that is too long to judge or has too many findings; always a warning."""

MOST = 50
"""The most findings of one check for one reply."""


def not_judged(what: str, span: tuple[int, int] | None = None) -> ReadyFinding:
    """The finding for a part that a check does not judge."""
    return ReadyFinding(f"Not judged: {what}", "", span, {}, NOT_JUDGED)
