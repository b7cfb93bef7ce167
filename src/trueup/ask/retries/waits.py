"""How long a provider asks to wait, according to the headers of its answer.

Takes headers; returns seconds, or None if the headers do not say. `Retry-After` and similar headers have priority. Without
them, the rate limit headers show when an exhausted limit is reset.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from trueup.read.waits import duration

_EPOCH = 1_000_000_000.0  # a number beyond this is a date, in seconds since 1970; beyond a thousand times this, in milliseconds
_LIMITS = (  # the remaining amount, and the time of the reset
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
)


def retry_after(headers: Any, now: datetime | None = None) -> float | None:
    """The seconds that a provider asks to wait: `retry-after-ms`, `Retry-After` as seconds or as a date, or the reset of a limit.

    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after-ms": "500"}), retry_after({})
    (2.0, 0.5, None)
    >>> retry_after({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"})
    360.0
    """
    given = _lowered(headers)
    if not given:
        return None
    now = now or datetime.now(UTC)
    for name, unit in (("retry-after-ms", 1000.0), ("x-ms-retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _seconds(given.get(name, ""), unit, now)
        if seconds is not None:
            return seconds
    resets = [_reset(given.get(reset, ""), now) for left, reset in _LIMITS if given.get(left, "").strip() == "0"]
    known = [seconds for seconds in resets if seconds is not None]
    return max(known) if known else None


def _lowered(headers: Any) -> dict[str, str]:
    """Headers by their lowercase names; empty for anything else."""
    items = getattr(headers, "items", None)
    try:
        found = list(items()) if items is not None else list(headers or ())
        pairs = [(_text(name).lower(), _text(value)) for name, value in found]
    except (TypeError, ValueError):
        return {}
    return dict(pairs)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _seconds(said: str, unit: float, now: datetime) -> float | None:
    if not said.strip():
        return None
    try:
        seconds = float(said) / unit
    except ValueError:
        seconds = _until(said, now)
    return seconds if 0 <= seconds < float("inf") else None


def _until(date: str, now: datetime) -> float:
    try:
        when = parsedate_to_datetime(date)
    except (ValueError, OverflowError):  # OverflowError: a number that is not a date
        return -1.0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


def _reset(said: str, now: datetime) -> float | None:
    """The seconds until a limit is reset, from a duration, or from a date as a number or in ISO format."""
    said = said.strip()
    try:
        number = float(said)
    except ValueError:
        number = -1.0
    if number == float("inf"):
        return None
    if number >= _EPOCH:
        return max(0.0, (number / 1000 if number >= _EPOCH * 1000 else number) - now.timestamp())
    if number >= 0:
        return number
    try:
        when = datetime.fromisoformat(said)
    except ValueError:
        return duration(said)
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())
