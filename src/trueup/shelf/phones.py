"""`no_phone`: telephone numbers in a reply. Takes a reply; returns the position of each number and its country. It
needs `phonenumbers`.

This module finds runs of digits in one pass, and the package judges each one, since it has the numbers of every
country. Without a `region`, only numbers with their country code (`+34 …`) count: ten digits alone may be anything.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding
from trueup.verdict.extras import install
from trueup.verdict.likeness import nearest
from trueup.verdict.patterns import lazy_regex

_RUN = lazy_regex(
    r"[+(\d](?:(?<=\+)(?<![\w+].)|(?<=[(\d])(?<![\w.,/=#%&$€£@+\-].)(?<!\d:.))[\d ().\-/]{6,41}", re.ASCII
)
_ABROAD = lazy_regex(r"00[1-9]\d{0,2}[ (.\-/]")  # the way to dial `+`
_DATED = lazy_regex(r"(?:19|20)\d\d[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.](?:19|20)\d\d|\d{1,3}(?:\.\d{1,3}){3}\Z")
_DECIMAL = lazy_regex(r"\+?\d{5,}\.\d{1,4}\Z")
_FEWEST, _MOST = 7, 15  # digits
_HINT = "Leave out every telephone number."


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check; `region` names countries whose numbers may be written without their country code, such as `ES`.

    >>> look = compile_check({"region": "ES"})
    >>> [(told.span, told.data) for told in look(CheckedText("Call 912 345 678 or +44 20 7946 0958."))]
    [((5, 16), {'region': 'ES'}), ((20, 36), {'region': 'GB'})]
    """
    options = OptionReader("no_phone", given, ("region",))
    regions = tuple(region.upper() for region in options.texts("region"))
    try:
        from phonenumbers import SUPPORTED_REGIONS
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"no_phone needs phonenumbers: {install('shelf')}", name="phonenumbers") from None
    for region in regions:
        if region not in SUPPORTED_REGIONS:
            near = nearest(region, SUPPORTED_REGIONS)
            raise options.bad("region", f"{region!r} is not a country" + (f"; did you mean {near!r}?" if near else ""))
    return lambda seen: _look(seen, regions)


def _look(seen: CheckedText, regions: tuple[str, ...]) -> Iterator[ReadyFinding]:
    text = seen.text
    for run in _RUN.finditer(text):
        written = run[0].rstrip(" ().-/")
        if sum(sign.isdigit() for sign in written) < _FEWEST or _is_other(text, run.start() + len(written)):
            continue
        if _DECIMAL.match(written):
            continue
        ahead = 1 if _ABROAD.match(written) else 0
        if ahead:
            written = f"+{written[2:]}"
        elif written[0] != "+" and (not regions or _DATED.match(written)):
            continue
        found = _number(written, regions)
        if found is not None:
            start = run.start() + found[0] + (ahead if found[0] else 0)
            span = (start, run.start() + ahead + found[1])
            yield ReadyFinding("The reply contains a telephone number", _HINT, span, {"region": found[2]})


def _is_other(text: str, end: int) -> bool:
    """Whether a run of digits continues as something else: a word, a percentage, an amount, an address."""
    rest = text[end : end + 2]
    return bool(rest) and (rest[0].isalnum() or rest[0] in "_%$€£@=")


def _number(written: str, regions: tuple[str, ...]) -> tuple[int, int, str] | None:
    """The first number in a run of digits: its position and its country."""
    from phonenumbers import Leniency, PhoneNumberMatcher, region_code_for_number

    if written[0] == "+":
        ways: list[tuple[str | None, int]] = [(None, Leniency.VALID)]
    else:
        ways = [(region, Leniency.STRICT_GROUPING) for region in regions]
    for region, leniency in ways:
        for match in PhoneNumberMatcher(written, region, leniency=leniency, max_tries=4):
            begins = match.start == 0 or written[match.start - 1].isspace()
            if begins and sum(sign.isdigit() for sign in match.raw_string) <= _MOST + 3:
                return match.start, match.end, region_code_for_number(match.number) or ""
    return None
