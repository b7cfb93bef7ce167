"""Documents: the texts that values are looked up in, each with what was found in it so far.

A text enters; its words, numbers and dates leave, each found when first asked for. A text that was seen lately is not read again, so a source
that many replies share is indexed once.
"""

from collections import OrderedDict
from datetime import date
from functools import cached_property
from threading import Lock
from typing import NamedTuple

from trueup.grounding.moments.find import Moment, moments
from trueup.grounding.quantities.find import Quantity, quantities
from trueup.grounding.words import Words
from trueup.verdict.facts import Span

_MOST_TEXTS, _MOST_CHARACTERS = 256, 4_000_000  # kept in memory with all that was found in them


class Text:
    """One text, and what was found in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._moments: tuple[date | None, list[Moment]] | None = None

    @cached_property
    def words(self) -> Words:
        """Its words."""
        return Words(self.text)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Its numbers, amounts and measures, in order."""
        return quantities(self.text)

    @cached_property
    def by_number(self) -> dict[str, list[Quantity]]:
        """The same by each number that they may stand for."""
        found: dict[str, list[Quantity]] = {}
        for mention in self.quantities:
            for value in mention.values:
                found.setdefault(value, []).append(mention)
        return found

    def moments(self, today: date | None) -> list[Moment]:
        """Its dates and times, in order; relative ones are counted from `today`."""
        kept = self._moments
        if kept is None or kept[0] != today:
            kept = self._moments = (today, moments(self.text, today))
        return kept[1]


class Document(NamedTuple):
    """A text with a name, and the stretches of it that only show an example."""

    name: str
    content: Text
    examples: tuple[Span, ...] = ()

    @property
    def text(self) -> str:
        """The text itself."""
        return self.content.text


class _Kept:
    """The texts that were seen lately."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, Text] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, text: str) -> Text:
        with self._lock:
            found = self._texts.get(text)
            if found is not None:
                self._texts.move_to_end(text)
                return found
            found = Text(text)
            if len(text) <= _MOST_CHARACTERS:
                self._texts[text] = found
                self._size += len(text)
            while len(self._texts) > _MOST_TEXTS or self._size > _MOST_CHARACTERS:
                self._size -= len(self._texts.popitem(last=False)[0])
        return found


_kept = _Kept()


def text_of(text: str) -> Text:
    """A text with what was found in it before, if it was seen lately."""
    return _kept.get(text)
