"""Lists in prose: is a name in a list or an enumeration together with offered tools?

Takes a text and the position of a name; returns yes or no. If `- ping_gateway: ok` is an item of a list, the other
items are names of tools too, and so is each name that is joined to an offered one (`ping_dns and check_cable`). The
items of lists are read once per text; apart from that, only a bounded stretch around the name is read.
"""

import re
from collections.abc import Callable

from trueup.recover.words import pattern, small
from trueup.verdict.patterns import lazy_regex

_AROUND = 120
_NAME = r"[a-zß-öø-ÿ0-9][\w.-]{1,60}(?<![.-])"
_CLOSING, _OPENING = r"[`\"'”’»*]{0,3}(?: ?\([^()\n]{0,80}\))?", r"[`\"'“‘«*]{0,3}"
_JOINED = r"(?:\s{0,2}(?:[,、;/&+→]|[-=]>|<scalar.and>|<call.then>|<mention.article>)){1,4}\s{0,2}"
_BEFORE = rf"(?<![\w.-])({_NAME}){_CLOSING}{_JOINED}{_OPENING}\Z"
_BEHIND = rf"{_CLOSING}{_JOINED}{_OPENING}({_NAME})"
# The first name of an item, a row or a step: `- **ping_dns**`, `2) ping_dns`, `| ping_dns |`.
_ITEM = lazy_regex(r"^[ \t]*(?:[-*+•|]|\d{1,3}[.)])[ \t]*[*`]{0,3}([A-Za-z][\w.-]{1,60}\b)", re.MULTILINE)


class Lists:
    """The lists of a text. `offers` says whether a name belongs to an offered tool."""

    __slots__ = ("_items", "_offers", "_text")

    def __init__(self, text: str, offers: Callable[[str], bool]) -> None:
        self._text, self._offers = text, offers
        self._items: frozenset[int] | None = None

    def hold(self, start: int, stop: int) -> bool:
        """Whether a name is next to an offered tool, or begins an item of a list that has an offered tool in it."""
        return self._is_beside(start, stop) or start in self._tools_listed()

    def _is_beside(self, start: int, stop: int) -> bool:
        first = max(0, start - _AROUND)
        before = pattern(_BEFORE).search(small(self._text[first:start]))
        if before and self._offers(self._text[first + before.start(1) : first + before.end(1)]):
            return True
        behind = pattern(_BEHIND).match(small(self._text[stop : stop + _AROUND]))
        return bool(behind and self._offers(self._text[stop + behind.start(1) : stop + behind.end(1)]))

    def _tools_listed(self) -> frozenset[int]:
        """The positions where the items of lists begin, if an offered tool begins one of them."""
        if self._items is None:
            items = list(_ITEM.finditer(self._text))
            tools = any(self._offers(item[1]) for item in items)
            self._items = frozenset(item.start(1) for item in items) if tools else frozenset()
        return self._items
