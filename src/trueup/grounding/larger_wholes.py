"""Numbers that belong to something larger: the day of a date, the hour of a time, part of an identifier, a list number.

Takes a mention and its text; returns whether it is part of something else. Most texts contain a small number such as 4
somewhere. Only a number that is not part of something larger shows that there are four of something.
"""

from bisect import bisect_right

from trueup.grounding.moments.find import Moment
from trueup.grounding.quantities.find import Quantity
from trueup.verdict.patterns import lazy_regex

# The signs of a certain date or time: a colon, two separators, letters, or East Asian date characters.
_CERTAIN = lazy_regex(r"\d ?: ?\d|\d[./-]\d+[./-]\d|[^\W\d_]{3}|[ap]\.?\s?m\b|[年月日時时点點分号號]")
# Scripts without spaces do not attach numbers to words: in 共25件, the number is separate.
_LETTER = r"A-Za-z\u00c0-\u052f"
_GLUED_BEFORE = lazy_regex(rf"(?:[{_LETTER}]|[{_LETTER}0-9][-_/#]|[./@_-])\Z")
_GLUED_AFTER = lazy_regex(
    rf"[-_/]?[{_LETTER}]{{1,2}}\d|[{_LETTER}]{{3,16}}\d|[A-Z]{{4,}}|[A-Z](?!\w)|[-_/]\d|@|\.[{_LETTER}0-9]"
)
_ITEM = lazy_regex(r"(?:^|\n)[ \t>*]*\Z")
_ITEM_SIGN = lazy_regex(r"[.)\]][ \t]")
_REACH = 24


def is_bound(mention: Quantity, text: str, moments: list[Moment]) -> bool:
    """Whether a mention is only a part of something else.

    >>> from trueup.grounding.quantities.find import quantities
    >>> text = "A table for 4 on INV-2024-7."
    >>> [is_bound(one, text, []) for one in quantities(text) if one.values[0] in ("4", "7")]
    [False, True]
    """
    if mention.unit:
        return False
    start, end = mention.start, mention.end
    if mention.words:  # "at nine" may also count people at a table; "a quarter to nine" cannot
        return _in_moment(start, end, text, moments, longer=True)
    if _in_moment(start, end, text, moments):
        return True
    before = text[max(0, start - _REACH) : start]
    if text[start : start + 1] not in "-+−" and _is_glued(before, text, end):
        return True
    return end - start <= 2 and _ITEM.search(before) is not None and _ITEM_SIGN.match(text, end) is not None


def _is_glued(before: str, text: str, end: int) -> bool:
    if text[end - 1].isalpha():  # an ordinal or a unit
        return False
    return _GLUED_BEFORE.search(before) is not None or _GLUED_AFTER.match(text, end) is not None


def _in_moment(start: int, end: int, text: str, moments: list[Moment], *, longer: bool = False) -> bool:
    index = bisect_right(moments, start, key=lambda one: one.start) - 1
    if index < 0:
        return False
    one = moments[index]
    if longer and (one.start, one.end) == (start, end):
        return False
    return one.start <= start and end <= one.end and _CERTAIN.search(text, one.start, one.end) is not None
