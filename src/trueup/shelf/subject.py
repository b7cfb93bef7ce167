"""What a ready check sees and says: the reply's text with its context enters, stretches of it with their reason leave.

A check never repeats what it must not show: a message, its data and its hint hold no secret, card or phone number.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class Seen(NamedTuple):
    """One reply, or a part of one, as a ready check sees it."""

    text: str
    """The text; blanks stand where reasoning was, so that places stay what they are."""
    context: Mapping[str, Any] = {}
    """What the conversation knows."""
    data: Any = None
    """The value that was read from the text, if the contract asks for one; then the text may be JSON."""


class Told(NamedTuple):
    """One thing that a ready check finds."""

    message: str
    hint: str
    span: tuple[int, int] | None = None
    data: Mapping[str, Any] = {}
    code: str = ""
    """The code, for a check that has several; empty: the code of the table."""


Look = Callable[[Seen], Iterable[Told]]
"""A compiled check."""

NOT_JUDGED = "H013"
"""The code of a part that a check does not judge, because it is too long or because there are too many findings; always a warning."""

MOST = 50
"""The most findings that one check gives for one reply."""


def not_judged(what: str, span: tuple[int, int] | None = None) -> Told:
    """What a check says of a part that it does not judge."""
    return Told(f"Not judged: {what}", "", span, {}, NOT_JUDGED)
