"""How a value is introduced: as a correction of the one before it, or as a mere example.

A text and the stretch before a value enter; what the words there say of the value leaves.
"""

import re

_CORRECTED = re.compile(
    r"\b(?:oops|correct(?:ed|ion)?|instead|revised|updated?|fixed|sorry|apolog\w+|mistakes?|wait|actually|final|korrigiert\w*"
    r"|corregid[oa]s?|corrig[ée]\w*|perdón|entschuldig\w+)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|e\.g\.|examples?(?: of| output| reply)?|such as|instead of|unlike|rather than|zum beispiel|z\.B\."
    r"|por ejemplo|par exemple)[\s:,`*(]*(?:json)?\s*\Z",
    re.IGNORECASE,
)
_NEAR = 60


def corrects(text: str, start: int, stop: int) -> bool:
    """Whether the words between two values say that the second takes the place of the first.

    >>> corrects("{} Oops, corrected: {}", 2, 20), corrects("{} and {}", 2, 7)
    (True, False)
    """
    return _CORRECTED.search(text, start, stop) is not None


def is_example(text: str, start: int) -> bool:
    """Whether the words right before a value call it an example.

    >>> is_example("For example: {}", 13), is_example("The answer: {}", 12)
    (True, False)
    """
    return _EXAMPLE.search(text, max(0, start - _NEAR), start) is not None
