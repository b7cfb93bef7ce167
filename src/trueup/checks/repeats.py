"""Exact repetition at the end of a text: which part is repeated, and over how many characters. Takes linear time."""

PROBE = 48  # characters at the end to look for earlier in the text


def repeated(text: str) -> tuple[str, int]:
    """The part that the end of a text repeats, and how many characters the repetition covers; empty if there is none.

    >>> repeated("Well: " + "no, " * 40)
    ('no, ', 161)
    """
    probe = text[-PROBE:]
    before = text.rfind(probe, 0, len(text) - 1)
    if before < 0 or len(probe) < PROBE:
        return "", 0
    period = len(text) - PROBE - before
    size = _periodic(text, period)
    return (text[-period:], size) if size >= 2 * period else ("", 0)


def _periodic(text: str, period: int) -> int:
    """How many characters at its end a text has this period for; a binary search finds the beginning."""
    low, high = 0, len(text) - period  # this many characters are known to repeat, and no more than this many can
    if text.endswith(text[:high]):
        return len(text)
    while low < high - 1:
        middle = (low + high) // 2
        if text[-middle:] == text[-middle - period : -period]:
            low = middle
        else:
            high = middle
    return low + period
