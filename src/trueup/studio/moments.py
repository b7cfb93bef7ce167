"""Moments: takes a time as a page or a client writes it, and returns seconds since 1970.

It reads a span back from now (`90m`, `24h`, `7d`, `2w`), a date or time in ISO format (UTC by default), or seconds
since 1970.
"""

import re
import time
from datetime import UTC, datetime

from trueup.studio.refusal import RequestRefused

_SPAN = re.compile(r"(\d{1,6})\s*([mhdw])\Z")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_NUMBER = re.compile(r"\d{1,12}(\.\d{1,9})?\Z")


def moment(name: str, given: str, now: float | None = None) -> float | None:
    """The time in a parameter called `name`; None if it is empty.

    >>> moment("since", "2026-01-31"), moment("since", "1d", now=86_400.0), moment("until", "12.5"), moment("until", "")
    (1769817600.0, 0.0, 12.5, None)
    """
    given = given.strip()
    if not given:
        return None
    span = _SPAN.match(given)
    if span is not None:
        return max(0.0, (time.time() if now is None else now) - int(span[1]) * _SECONDS[span[2]])
    if _NUMBER.match(given):
        return float(given)
    try:
        day = datetime.fromisoformat(given)
        return (day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise RequestRefused(
            400,
            f"{name} {given[:50]!r} is not a time.",
            hint="Give 24h, 7d, 2w, a date such as 2026-01-31, or seconds since 1970.",
        ) from None
