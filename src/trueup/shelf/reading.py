"""A text as its reader sees it: without invisible characters, in plain letters and digits, and with references decoded.

Takes a text; returns the plain text, and a way back to positions in the original. Full-width and mathematical letters,
digits of other scripts, special spaces and dashes become their ASCII forms; `&#64;` and, in JSON, `\\u0040` become `@`.
Letters that only look alike are not changed.
"""

import html
import json
import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache

from trueup.checks.folding import UNSEEN
from trueup.verdict.patterns import lazy_regex

_REFERENCE = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos|nbsp|shy|commat|period|colon|sol|bsol|hyphen|dash|plus|equals|num|lowbar);"
_ESCAPE = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[\"\\/bfnrt]"
_UNLIKE = lazy_regex(lambda: f"{UNSEEN.pattern}+|{_REFERENCE}")
_UNLIKE_IN_JSON = lazy_regex(lambda: f"{UNSEEN.pattern}+|{_REFERENCE}|{_ESCAPE}")
_SIGNS = {**dict.fromkeys("‐‑‒–—―−⁃﹘", "-"), "․": ".", "∕": "/", "⁄": "/", "∶": ":", "ː": ":"}
_LAST_KEPT = 0x3FFFF  # characters after it are not stored, so that no text can fill the table


_OTHER = lazy_regex("[^\x00-\x7f]+")
# Anything that is neither ASCII nor a common letter or sign of a script: a text without these is not changed.
_ODD = lazy_regex("[^\x00-\x7f¡«»¿À-žƀ-ɏΆ-ϏЀ-ҁא-תؠ-ً٪-ەऄ-हกะ-๎‘-‟…€、-〟ぁ-ヿ一-鿿가-힣]")


class _Plain(dict[int, str]):
    """A table for `str.translate`, one character for one, that is filled as characters are met."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        if point > _LAST_KEPT:
            return char
        number = unicodedata.decimal(char, None)
        plain = _SIGNS.get(char) or (str(number) if number is not None else unicodedata.normalize("NFKC", char))
        self[point] = plain = plain if len(plain) == 1 and plain.isascii() else char
        return plain


_plain = _Plain()


def _is_odd(run: str) -> bool:
    """Whether anything must be changed in a run of non-ASCII characters."""
    return _is_odd_run(run) if len(run) < 12 else _ODD.search(run) is not None


@lru_cache(maxsize=4096)
def _is_odd_run(run: str) -> bool:
    return _ODD.search(run) is not None


class ReadText:
    """A text as people read it, and the position of each part of it in the original.

    >>> reading = ReadText("Mail ada＠exam\\u200bple.org, or bob&#64;example.org")
    >>> reading.text
    'Mail ada@example.org, or bob@example.org'
    >>> reading.span(25, 40)
    (26, 45)
    """

    __slots__ = ("_places", "_shifts", "text")

    def __init__(self, original: str, *, is_json: bool = False) -> None:
        self._places: list[int] = []  # positions in the plain text; from each one on,
        self._shifts: list[int] = []  # this many characters of the original were left out
        self.text = original
        is_odd = not original.isascii() and any(map(_is_odd, set(_OTHER.findall(original))))
        if is_odd or "&" in original or (is_json and "\\" in original):
            text = original.translate(_plain) if is_odd else original
            self.text = self._decoded(text, _UNLIKE_IN_JSON if is_json else _UNLIKE)

    def _decoded(self, text: str, unlike: re.Pattern[str]) -> str:
        pieces: list[str] = []
        at = size = 0
        for found in unlike.finditer(text):
            said = _said(found[0])
            if said == found[0]:
                continue
            pieces += (text[at : found.start()], said)
            size += found.start() - at + len(said)
            at = found.end()
            self._places.append(size)
            self._shifts.append(at - size)
        return "".join((*pieces, text[at:])) if pieces else text

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """The position in the original of a stretch of the plain text."""
        if not self._places:
            return start, stop
        last = max(start, stop - 1)
        return self._original(start), max(self._original(last) + 1, self._original(stop, before=True))

    def _original(self, place: int, *, before: bool = False) -> int:
        """The position of a character in the original; with `before`, the end of the previous character."""
        index = bisect_right(self._places, place - 1 if before else place) - 1
        if before and index + 1 < len(self._places) and self._places[index + 1] == place:
            return place + self._shifts[index + 1]
        return place + (self._shifts[index] if index >= 0 else 0)


def _said(run: str) -> str:
    """The visible form of a run: invisible characters disappear, and a reference becomes its character."""
    if run[0] == "&":
        char = html.unescape(run)
    elif run[0] == "\\":
        char = str(json.loads(f'"{run}"'))
    else:
        return ""
    if len(char) != 1:
        return char if run[0] == "\\" else run
    return "" if UNSEEN.match(char) else char.translate(_plain)
