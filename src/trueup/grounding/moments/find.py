"""Find the dates and times of a text, in order, each with its place and every plausible reading.

Takes any text in one or several of the languages; returns moments. A date next to a time gives two moments, unless they
are written as one (`2024-03-05T17:45`). Ambiguous text, such as a bare number or `1/2`, is a moment only after a cue.
"""

from datetime import date

from trueup.grounding.moments.folding import fold
from trueup.grounding.moments.grammar import parse
from trueup.grounding.moments.han import STRETCH, WRITTEN, moments_of
from trueup.grounding.moments.lexing import tokens_of
from trueup.grounding.moments.values import Day as Day
from trueup.grounding.moments.values import Moment as Moment
from trueup.grounding.moments.values import TimeOfDay as TimeOfDay


def moments(text: str, today: date | None = None) -> list[Moment]:
    """The dates and times in a text. With `today`, relative ones get their dates.

    >>> [m.dates[0] for m in moments("Due on the 5th of March, 2024.")]
    [Day(year=2024, month=3, day=5, weekday=None)]
    """
    folded, places = fold(text)
    plain = text if places is None else "".join(text[at] for at in places[:-1])
    if WRITTEN.search(folded) is None:
        found = parse(tokens_of(plain, folded), plain, today)
    else:
        signed = list(moments_of(folded, today))
        rest = STRETCH.sub(lambda match: "|" * len(match[0]), _without(signed, folded))
        found = sorted(signed + parse(tokens_of(plain, rest), plain, today))
    if places is None:
        return found
    return [moment._replace(start=places[moment.start], end=places[moment.end - 1] + 1) for moment in found]


def _without(signed: list[Moment], folded: str) -> str:
    """The text with these moments blanked out, because their numbers have already been read with their signs."""
    pieces: list[str] = []
    at = 0
    for moment in signed:
        pieces += folded[at : moment.start], "|" * (moment.end - moment.start)
        at = moment.end
    return "".join(pieces) + folded[at:]
