"""`no_repetition`: a reply that repeats itself. Takes a reply; returns stretches in which the same sentences are
repeated.

Sentences and lines are compared by their words. Only consecutive copies count: there must be `times` of them, with
enough words that lists, tables and refrains are not reported. Code is left out. Words that repeat within one sentence
are found in the same way as endless streams.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from trueup.checks.folding import fold
from trueup.checks.repeats import repeated
from trueup.shelf.fences import without_code
from trueup.shelf.options import OptionReader
from trueup.shelf.subject import CheckedText, Look, ReadyFinding
from trueup.verdict.patterns import lazy_regex

TIMES, LEAST = 3, 24
_LONGEST = 12  # sentences that repeat together, at most
_BREAK = lazy_regex(r"\n+|(?<=[.!?…])[\"'”’)\]*_]{0,3}\s+|(?<=[。！？])")
_WORD = re.compile(r"[a-zN0-9]+|[A-M][O-Z]{4}", re.ASCII)
_TABLE = lazy_regex(r"\s*(?:\||[-+=|:_*#~.\s]{3,}$)")
_NUMBERED = lazy_regex(r"\s*(?:\d{1,4}[.)]|[-*+•–])\s+")
_LETTER = lazy_regex(r"[^\W\d_]{2}")
_TAIL = 6_000  # characters at the end of a reply that are searched for a loop inside a sentence
_LOOP, _LOOP_TIMES = 160, 4  # the least characters and copies of a loop
_HINT = "Say everything once."


class Sentence(NamedTuple):
    """A sentence or a line: its words in the form that is compared, their number, and its position."""

    key: str
    words: int
    start: int
    stop: int


def compile_check(given: Mapping[str, Any]) -> Look:
    """The check: `times` copies in a row with `least` words in all are a repetition.

    >>> look = compile_check({})
    >>> [told.data for told in look(CheckedText("I can help you with your booking today. " * 4))]
    [{'times': 4, 'sentences': 1, 'words': 32}]
    """
    options = OptionReader("no_repetition", given, ("times", "least"))
    times, least = options.number("times", TIMES, 2), options.number("least", LEAST)
    return lambda seen: _look(seen, times, least)


def _look(seen: CheckedText, times: int, least: int) -> Iterator[ReadyFinding]:
    if seen.data is not None:
        return  # rows of data may be similar
    text = without_code(seen.text)
    found = sentences(text)
    at = end = 0
    for start, stop, period in _runs(found, times, least):
        copies = (stop - start) // period
        if start < at:
            continue
        at, end = stop, found[stop - 1].stop
        data = {"times": copies, "sentences": period, "words": sum(one.words for one in found[start:stop])}
        what = "a sentence" if period == 1 else f"{period} sentences"
        yield ReadyFinding(f"The reply repeats {what} {copies} times in a row", _HINT, (found[start].start, end), data)
    told = _loop(text, end)
    if told is not None:
        yield told


def sentences(text: str) -> list[Sentence]:
    """The sentences and lines of a text that have words, without table rows, rules and the numbers of list items."""
    cuts = [0, *(found.end() for found in _BREAK.finditer(text)), len(text)]
    out: list[Sentence] = []
    for start, stop in pairwise(cuts):
        part = text[start:stop]
        numbered = _NUMBERED.match(part)
        first = numbered.end() if numbered else 0
        if _TABLE.match(part, first) or not _LETTER.search(part):
            continue
        words = _WORD.findall(fold(part[first:]))
        if words:
            blank = len(part) - len(part.lstrip())
            out.append(Sentence(" ".join(words), len(words), start + blank, start + len(part.rstrip())))
    return out


def _runs(found: list[Sentence], times: int, least: int) -> Iterator[tuple[int, int, int]]:
    """Stretches of repeated sentences: the first, the one after the last, and the period; short periods first."""
    runs: list[tuple[int, int, int]] = []
    for period in range(1, min(_LONGEST, len(found) // times) + 1):
        start = 0
        for index in range(period, len(found) + 1):
            if index < len(found) and found[index].key == found[index - period].key:
                continue
            stop = index - (index - start) % period
            if (stop - start) >= times * period and sum(one.words for one in found[start:stop]) >= least:
                runs.append((start, stop, period))
            start = index - period + 1
    return iter(sorted(runs, key=lambda run: (run[0], run[2])))


def _loop(text: str, after: int) -> ReadyFinding | None:
    """A loop of words at the end of a text, within a sentence."""
    tail = text.rstrip()[-_TAIL:]
    unit, size = repeated(tail)
    if not unit or size < _LOOP or size < _LOOP_TIMES * len(unit) or not _LETTER.search(unit + unit) or "|" in unit:
        return None
    stop = len(text.rstrip())
    if stop <= after + len(unit):
        return None
    data = {"times": size // len(unit), "characters": len(unit)}
    return ReadyFinding(
        f"The reply repeats the same words {size // len(unit)} times at its end", _HINT, (stop - size, stop), data
    )
