r"""Folding: the form in which text is matched, without case, accents, invisible characters and look-alike letters.

Takes text; returns ASCII bytes, with a way back to the positions in the original. In these bytes, the letters of all
scripts are word characters (a letter outside ASCII becomes a code of five capitals; `ñ` becomes `N`) and other signs
are not, so that `\b` and `\w` of an ASCII-only engine work as they should. Nothing is refused: any text can be folded.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache

from trueup.verdict.patterns import lazy_regex

# Small letters that look like Latin ones; NFKD and character names take care of the rest.
_TWINS = dict(
    zip(
        "авекмнорстухіѕԁӏԛԝһјѵαβγεικνορτυχωηıɡɩɑօսհոցʃꞵꬲ",
        "abekmhopctyxisdlqwhjvabyeikvoptuxwnigiaouhngsbe",
        strict=True,
    )
)
_SIGNS = {
    **dict.fromkeys("‘’‚‛′ʹʼʻ‹›`´＇", "'"),
    **dict.fromkeys("“”„‟″«»〝〞", '"'),
    **dict.fromkeys("‐‑‒–—―−⁃﹘", "-"),
    **dict.fromkeys("∶꞉ː˸", ":"),
    **dict.fromkeys("∕⁄╱", "/"),
    **dict.fromkeys("。｡", "."),
    **dict.fromkeys("؟⸮", "?"),
    "、": ",", "،": ",", "؛": ";", "∙": ".", "•": "*", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "p", "ð": "d", "µ": "u",
    "μ": "u", "·": ".", "¿": "\x0e", "¡": "\x0f", "£": "\x10", "§": "\x11", "©": "\x12", "®": "\x13", "°": "\x14",
    "±": "\x15", "¢": "\x16", "¥": "\x17", "×": "\x18", "÷": "\x19", "¶": "\x1b", "¬": "\x1c", "¦": "\x1d", "¤": "\x1e",
}  # fmt: skip
_LATIN = lazy_regex(r"(?:NEGATIVE )?(?:SQUARED |CIRCLED )?LATIN (?:SMALL |CAPITAL )?LETTER (?:SMALL CAPITAL |OPEN |DOTLESS )?([A-Z])\b(?! [A-Z]+ DIGRAPH)")  # fmt: skip
_MAYBE_LATIN = lazy_regex(
    "[\u0080-\u02ff\u1d00-\u1eff\u2c60-\u2c7f\ua720-\uab6f\U0001df00-\U0001dfff\U0001f100-\U0001f1ff]"
)
# Marks over letters that may be left out: accents, Hebrew points, Arabic vowels. Then the invisible characters.
MARKS = lazy_regex("[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")  # fmt: skip
UNSEEN = lazy_regex("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")  # fmt: skip
_SPECIAL = lazy_regex(f"{_MAYBE_LATIN.pattern}|{MARKS.pattern}")
# Scripts that do not put spaces between words: next to these letters, no word edge is required.
UNSPACED = lazy_regex(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)

LEADS, TAILS = "ABCDEFGHIJKLM", "OPQRSTUVWXYZ"  # `N` is ñ
SIGN_LEAD, SIGN_TAILS = "\x01", "\x02\x03\x04\x05\x06\x07"
_STAND_INS = {letter: chr(0x80 + i) for i, letter in enumerate(LEADS + TAILS + SIGN_LEAD + SIGN_TAILS)}
_KEPT_CONTROLS = b"\t\n\r"
_DROPPED = bytes(c for c in range(0x20) if c not in _KEPT_CONTROLS) + b"\x7f\xad"
_C1 = bytes(range(0x80, 0xA0))
# Everything that is not one byte per character: other scripts and signs, three Latin letters, and a decomposed ñ.
_IRREGULAR = lazy_regex("[ßæÆ]|[^\x00-\x7f\xa0-\xff]{1,256}")
_SHIFTING = lazy_regex("[nN]\u0303|" + _IRREGULAR.pattern + "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\xad]+")
_LAST_CODED = 0x3FFFF
_PLAINEST = frozenset({"Lo", "Co", "Cn"})  # most of Unicode: no case, no accents and usually no twin


_PAIRS = [a + b for a in TAILS for b in TAILS]
_TRIPLES = [a + b + c for a in SIGN_TAILS for b in SIGN_TAILS for c in SIGN_TAILS]


def _coded(char: str) -> str:
    """The code of a sign outside ASCII; the letters of the code show whether it is a word character."""
    category = unicodedata.category(char)
    point = ord(char) if ord(char) <= _LAST_CODED and category != "Cs" else 0xFFFD
    if category[0] in "LNM":
        rest, last = divmod(point, len(_PAIRS))
        lead, first = divmod(rest, len(_PAIRS))
        return LEADS[lead] + _PAIRS[first] + _PAIRS[last]
    rest, last = divmod(point, len(_TRIPLES))
    head, first = divmod(rest, len(_TRIPLES))
    return SIGN_LEAD + SIGN_TAILS[head] + _TRIPLES[first] + _TRIPLES[last]


def _folded(char: str) -> str:
    """One character in the form in which it is matched."""
    if char in "ñÑ":
        return "N"
    if char in "\t\n\r":
        return char
    category = unicodedata.category(char)
    if UNSEEN.match(char) or category in ("Cc", "Cf"):
        return ""
    if category in _PLAINEST and unicodedata.is_normalized("NFKD", char) and not _SPECIAL.match(char):
        return _coded(char)
    if char.isspace():
        return "\n" if char in "\u2028\u2029" else " "
    out = []
    for piece in unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold()):
        if piece.isascii():
            out.append(piece.lower())
        elif not MARKS.match(piece):
            out.append(_sign(piece))
    return "".join(out)


def _sign(piece: str) -> str:
    plain = _SIGNS.get(piece) or _TWINS.get(piece)
    if plain is not None:
        return plain
    number = unicodedata.decimal(piece, None)
    if number is not None:
        return str(int(number))
    latin = _LATIN.match(unicodedata.name(piece, "")) if _MAYBE_LATIN.match(piece) else None
    return latin[1].lower() if latin else _coded(piece)


class _Table(dict[int, str]):
    """A table for `str.translate` that is filled as characters are met.

    Regular characters are not changed. The few characters after the last code all become the same sign. They are not
    stored, so that a text cannot fill the table with characters that other texts never use. All the rest of Unicode
    makes the table 40 MB large.
    """

    def __missing__(self, point: int) -> str:
        if point > _LAST_CODED and not 0xE0000 <= point <= 0xE0FFF:
            return _UNKNOWN
        char = chr(point)
        folded = _folded(char).translate(_TO_STAND_INS) if _IRREGULAR.match(char) else char
        self[point] = folded
        return folded


_TO_STAND_INS = str.maketrans(_STAND_INS)
_UNKNOWN = _coded("\U00040000").translate(_TO_STAND_INS)
_table = _Table()


def _plain_bytes(*, stand_ins: bool) -> bytes:
    """The table of the 256 bytes; it can also turn the substitute characters into the letters that they represent."""
    table = bytearray(range(256))
    for byte in range(256):
        folded = _folded(chr(byte))
        table[byte] = ord(folded) if len(folded) == 1 else 0x1A
    if stand_ins:
        for letter, stand_in in _STAND_INS.items():
            table[ord(stand_in)] = ord(letter)
    return bytes(table)


_PLAIN, _CODED = _plain_bytes(stand_ins=False), _plain_bytes(stand_ins=True)
_DROPPED_PLAIN = _DROPPED + _C1


def _run(found: re.Match[str]) -> str:
    """A run of irregular characters, as substitutes. One more pass turns these into their final form."""
    return _translated(found[0])


@lru_cache(maxsize=4096)
def _translated(run: str) -> str:
    return run.translate(_table)


_LONG = 20_000


class Folded:
    """A text, and the bytes that are searched.

    >>> Folded("Perfecto, MARÍA").data
    b'perfecto, maria'
    """

    __slots__ = ("__dict__", "_regular", "data", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            data = text.encode("latin-1")
        except UnicodeEncodeError:
            regular = False
        else:
            regular = not (b"\xdf" in data or b"\xe6" in data or b"\xc6" in data)
            self.data = data.translate(_PLAIN, _DROPPED_PLAIN)
        if not regular:
            if "\u0303" in text:
                text = text.replace("n\u0303", "ñ").replace("N\u0303", "ñ")
            made = _IRREGULAR.sub(_run, text) if len(text) <= _LONG else text.translate(_table)
            self.data = made.encode("latin-1").translate(_CODED, _DROPPED)
        self._regular = regular and len(self.data) == len(text)

    @cached_property
    def _places(self) -> "_Places":
        return _Places(self.text)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The position in the original of a stretch of the folded bytes."""
        if self._regular:
            return start, end
        first = self._original(start)
        last = max(first, self._original(max(start, end - 1))) + 1 if end > start else first
        text = self.text
        while last < len(text) and (MARKS.match(text, last) or UNSEEN.match(text, last)):
            last += 1
        return first, last

    def _original(self, place: int) -> int:
        run, original, rest = self._places.at(place)
        if not run:
            return original + rest
        if run in ("n\u0303", "N\u0303"):
            return original
        for offset, char in enumerate(run):
            rest -= _length(char)
            if rest < 0:
                return original + offset
        return original + len(run)


class _Places:
    """The places where the folded text shifts against the original, computed as far as they are needed."""

    __slots__ = ("_folded", "_original", "_rest", "_runs", "_shift")

    def __init__(self, text: str) -> None:
        self._folded, self._original, self._runs = [0], [0], [""]
        self._rest = _SHIFTING.finditer(text)
        self._shift = 0

    def at(self, place: int) -> tuple[str, int, int]:
        """The run at a folded position (empty where text is folded one to one), its beginning, and the offset in it."""
        while self._folded[-1] <= place:
            found = next(self._rest, None)
            if found is None:
                break
            at = found.start() + self._shift
            length = _length(found[0])
            self._folded += (at, at + length)
            self._original += (found.start(), found.end())
            self._runs += (found[0], "")
            self._shift += length - len(found[0])
        index = bisect_right(self._folded, place) - 1
        return self._runs[index], self._original[index], place - self._folded[index]


@lru_cache(maxsize=4096)
def _length(run: str) -> int:
    return len(Folded(run).data)


def fold(text: str) -> str:
    """A text in the form in which it is matched.

    >>> fold("Mañana, “MARI\u0301A”"), fold("А\u200bnа")
    ('maNana, "maria"', 'ana')
    """
    return Folded(text).data.decode("ascii")


def words(text: str) -> Iterator[str]:
    """The words of a text, folded."""
    return iter(re.findall(r"\w+", fold(text), re.ASCII))


def apart(text: str) -> str:
    """A text with spaces around each letter of a script without word spaces, so that each letter is a word.

    >>> apart("東京 Tokyo")
    ' 東  京  Tokyo'
    """
    return text if text.isascii() else UNSPACED.sub(r" \g<0> ", text)


def is_spaced(char: str) -> bool:
    """Whether a word that begins or ends with this letter has spaces around it.

    >>> is_spaced("a"), is_spaced("時"), is_spaced("!")
    (True, False, False)
    """
    return (char.isalnum() or char == "_") and not UNSPACED.match(char)
