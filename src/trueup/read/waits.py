"""How long a provider asks to wait, according to its error: `RetryInfo` of Google's errors, or words such as "try again in
20s".

Returns seconds from the body of an error, or None if it gives none. Headers are read where requests are sent.
"""

from collections.abc import Mapping
from typing import Any

from trueup.read.objects import Row, record, rows
from trueup.verdict.patterns import lazy_regex

_SAID = lazy_regex(
    r"(?i)(?:try again|retry|retrying|wait|available)(?:\s+\w+)?\s+(?:in|after|for)\s+(?:about\s+|at least\s+)?"
    r"(\d[\d.]*\s*[a-z]+(?:\d[\d.]*[a-z]+)*)"
)
_PART = lazy_regex(r"(?i)(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)")
_UNITS = {
    0.001: "ms msec msecs millisecond milliseconds", 1.0: " s sec secs second seconds", 60.0: "m min mins minute minutes",
    3600.0: "h hr hrs hour hours", 86400.0: "d day days",
}  # fmt: skip
_SIZES = {unit: size for size, units in _UNITS.items() for unit in units.split(" ")}
_MOST = 1e9  # seconds; a longer wait is a mistake


def wait_in(body: Any, said: str = "") -> float | None:
    """The wait that the body of an error requests; `said` is its message.

    >>> wait_in({"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]})
    37.0
    >>> wait_in({}, "Rate limit reached. Please try again in 6m0.5s."), wait_in({}, "Please retry after 6 seconds.")
    (360.5, 6.0)
    """
    for item in rows(body.get("details")) if isinstance(body, Mapping) else ():
        delay = record(item).get("retryDelay", record(item).get("retry_delay"))
        found = _delay(delay)
        if found is not None:
            return found
    if isinstance(body, Mapping):
        for name in ("retry_after", "retryAfter", "retry_after_seconds", "estimated_time"):
            value = body.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST:
                return float(value)
    match = _SAID.search(said[:2000])
    return None if match is None else duration(match.group(1))


def _delay(delay: Any) -> float | None:
    if isinstance(delay, str):
        return duration(delay)
    parts: Row = record(delay)
    seconds, nanos = parts.get("seconds", 0), parts.get("nanos", 0)
    if not parts or type(nanos) is not int:
        return None
    try:
        total = float(seconds) + nanos / 1e9
    except (TypeError, ValueError):
        return None
    return total if 0 <= total < _MOST else None


def duration(text: str) -> float | None:
    """A length of time as providers write it, in seconds.

    >>> duration("37s"), duration("6m0s"), duration("20ms"), duration("1.5"), duration("soon"), duration("10 messages")
    (37.0, 360.0, 0.02, 1.5, None, None)
    """
    found = [(float(number), _SIZES.get(unit.lower())) for number, unit in _PART.findall(text[:40])]
    if not found or text.lstrip().startswith("-"):
        return None
    total = 0.0
    for number, size in found:
        if size is None:
            return None
        total += number * size
    return total if total < _MOST else None
