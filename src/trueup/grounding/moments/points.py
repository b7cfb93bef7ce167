"""Times with a point: `21.30 h`, as in Spanish and Italian.

In other texts a point makes a fraction, and `7.20 h` may be a duration. These times are therefore searched for only if
a field requires a time and no other form of it was found.
"""

from collections.abc import Iterator

from trueup.grounding.moments.values import Moment
from trueup.verdict.facts import Span
from trueup.verdict.patterns import lazy_regex

_POINTED = lazy_regex(r"(?<![\d.,])(\d{1,2})\.([0-5]\d)[ \u00a0]?h(?:rs?|s)?(?![^\W\d_])")


def pointed(value: Moment, text: str) -> Iterator[Span]:
    """The places where a text has a value's time with a point.

    >>> from trueup.grounding.moments.read import read_moment
    >>> list(pointed(read_moment("21:30"), "Salida: 21.30 h"))
    [(8, 15)]
    """
    wanted = {(time.hour, time.minute) for time in value.times}
    for found in _POINTED.finditer(text):
        hour, minute = int(found[1]), int(found[2])
        if (hour, minute) in wanted:
            yield found.span()
