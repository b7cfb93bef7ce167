"""What a ready check sees and says: the reply's text with its context enters, stretches of it with their reason leave.

A check never repeats what it must not show: a message, its data and its hint hold no secret, card or phone number.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class Seen(NamedTuple):
    """One reply as the ready checks see it."""

    text: str
    """The text; blanks stand where reasoning was, so that places stay what they are."""
    context: Mapping[str, Any] = {}
    """What the conversation knows."""
    data: Any = None
    """The value that was read from the text, if the contract asks for one."""


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

MOST = 50
"""The most findings that one check gives for one reply."""
