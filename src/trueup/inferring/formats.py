"""The formats of texts that schemas check: takes a text; returns the names of its formats.

Only formats that a compiled schema enforces are used, and only if an ordinary word is unlikely to match by chance.
"""

from collections.abc import Callable
from functools import cache

from trueup.verdict.patterns import lazy_regex

FORMATS = ("date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6")
_MAX = 400
# The texts that may have a format. This decides about most texts; the schema decides about the rest.
_LIKELY = {
    "date": lazy_regex(r"\d{4}-\d\d-\d\d\Z"),
    "date-time": lazy_regex(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d"),
    "time": lazy_regex(r"\d\d:\d\d:\d\d"),
    "email": lazy_regex(r"[^@\s]+@[^@\s]+\.[^@\s]+\Z"),
    "uri": lazy_regex(r"[A-Za-z][A-Za-z0-9+.-]*://\S+\Z"),
    "uuid": lazy_regex(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-"),
    "ipv4": lazy_regex(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\Z"),
    "ipv6": lazy_regex(r"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*:"),
}


def still_fitting(text: str, formats: frozenset[str] | None = None) -> frozenset[str]:
    """The formats of this text, limited to the given ones; None stands for all of them.

    >>> sorted(still_fitting("2026-02-28")), sorted(still_fitting("2026-02-30")), sorted(still_fitting("a word"))
    (['date'], [], [])
    """
    if not text or len(text) > _MAX:
        return frozenset()
    return frozenset(
        name for name in (FORMATS if formats is None else formats) if _LIKELY[name].match(text) and _check(name)(text)
    )


@cache
def _check(name: str) -> Callable[[str], bool]:
    from trueup.conform.schema import compile_schema  # only needed if a text looks like one

    return compile_schema({"type": "string", "format": name}).is_valid
