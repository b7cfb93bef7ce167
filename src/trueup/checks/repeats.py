"""Exact repetition at the end of a text: a text enters, what its end repeats and for how many characters leaves. The cost is linear."""

PROBE = 48  # characters at the end that are looked for before it


def repeated(text: str) -> tuple[str, int]:
    """What the end of a text repeats, and how many characters of the text do; nothing where it does not repeat.

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
    """For how many characters at its end a text has a period; halving finds where it begins."""
    low, high = 0, len(text) - period  # so many characters are known to repeat, and at most so many
    if text.endswith(text[:high]):
        return len(text)
    while low < high - 1:
        middle = (low + high) // 2
        if text[-middle:] == text[-middle - period : -period]:
            low = middle
        else:
            high = middle
    return low + period
