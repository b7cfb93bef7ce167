"""Names the text around a value: fences, prose, reasoning, tags, special tokens.

Takes the text and the stretches that were used; returns records that cover everything else.
Every character outside the used stretches is named, except for whitespace.
"""

from functools import lru_cache

from trueup.recover.json.frames import Record
from trueup.recover.marks import INVISIBLE, SPECIAL_TOKEN
from trueup.verdict.patterns import lazy_regex

_PIECE = lazy_regex(
    r"(?P<fence>(?:```+|~~~+)[^\n`{\[]{0,60}(?:\n|\Z)|(?:```+|~~~+)[\w+.-]{0,20})"
    rf"|(?P<token>{SPECIAL_TOKEN})"
    r"|(?P<tag></?[A-Za-z_][\w:.-]{0,60}(?:[ =][^<>\n]{0,200})?/?>|<!\[CDATA\[|\]\]>)"
    rf"|(?P<invisible>{INVISIBLE}+)"
)
_JSON_BLANK = " \t\r\n"
_OF_VALUES = frozenset("{}[])\"'“")  # a text without these is neither the rest of a value nor the start of one
_SHORT = 200
Named = tuple[str, int, int]  # a code, and the span that it names
_CODES = {"fence": "W001", "token": "W005", "tag": "W004", "invisible": "W006"}
_CLOSERS_ONLY = lazy_regex(r"[\s,;]*[}\])][\s}\]),;.]*+(?=```|~~~|\Z)")
_COMMENT_ONLY = lazy_regex(r"\s*(?://[^\n]*|/\*[\s\S]*?\*/|#[^\n]*)\s*\Z")
_EDGE = lazy_regex(r"\n[ \t]*\n|```|~~~|</|<\|")
_LEADING_CLOSERS = lazy_regex(r"[\s}\]),;]*")
_KEY_BEFORE = lazy_regex(r"""(?:^|[\n,{])\s*["'][^"'\n]{1,60}["']\s*:[^\n]*\Z""")
_STRUCTURE = lazy_regex(r'[{}\[\]"]')
# Further members or items after a value, which therefore ended too early.
_DEBRIS = lazy_regex(
    r"""(?:[\s,}\])]++|//[^\n]*\n|(?<=, )\#[^\n]*\n|/\*[^*]*\*/)*+["'][^"'\n]{0,80}["']\s*[:：,\]}=]"""
    r"""|\s*[,，](?:\s++|//[^\n]*\n|\#[^\n]*\n|/\*[^*]*\*/)*+[\["'{“]"""
)


def is_debris(text: str, start: int, stop: int) -> bool:
    """Whether the text after a value is the rest of it: further members, or quotes and closing brackets."""
    if _DEBRIS.match(text, start, stop):
        return True
    edge = _EDGE.search(text, start, stop)
    stop = edge.start() if edge else stop
    depth = 0
    quotes = False
    for sign in _STRUCTURE.finditer(text, _LEADING_CLOSERS.match(text, start, stop).end(), stop):  # type: ignore[union-attr]
        quotes = quotes or sign[0] == '"'
        depth += sign[0] in "{["
        depth -= sign[0] in "}]"
        if depth < 0 and quotes:
            return True
    return False


def leads_in(text: str, start: int, stop: int) -> bool:
    """Whether the text before a value is the start of a larger one: open brackets, or the value's own key."""
    if text.endswith("<![CDATA[", start, stop):
        stop -= 9
    edge = stop
    for found in _EDGE.finditer(text, start, stop):
        start = found.end()
    depth = 0
    for sign in _STRUCTURE.finditer(text, start, stop):
        depth += sign[0] in "{["
        depth = max(0, depth - (sign[0] in "}]"))
    return depth > 0 or _KEY_BEFORE.search(text, max(start, edge - 400), edge) is not None


def gap_records(text: str, used: list[tuple[int, int]], apart: list[tuple[int, int, str]]) -> list[Record]:
    """Records for everything outside the used stretches, each with the code that names it.

    `apart` are stretches, in order, that are independent of their neighbours, each with its code.
    """
    records: list[Record] = []
    at = 0
    first = 0
    for start, stop in [*sorted(used), (len(text), len(text))]:
        if start > at:
            while first < len(apart) and apart[first][1] <= at:
                first += 1
            _name_gap(text, (at, start), apart, first, records, follows=at > 0)
        at = max(at, stop)
    return records


def _name_gap(
    text: str,
    gap: tuple[int, int],
    apart: list[tuple[int, int, str]],
    first: int,
    records: list[Record],
    *,
    follows: bool,
) -> None:
    """Name one gap, which `follows` a value or not: first stretches set apart, then fences, tags and tokens, then prose."""
    at, stop = gap
    while first < len(apart) and apart[first][0] < stop:
        opened, closed, code = apart[first]
        opened = max(at, opened)
        _name_piece(text, at, opened, records, follows=follows)
        at = min(closed, stop)
        if text[opened:at].strip():
            records.append((code, opened, at, "", None))
        first += 1
    _name_piece(text, at, stop, records, follows=follows)


def _name_piece(text: str, start: int, stop: int, records: list[Record], *, follows: bool) -> None:
    piece = text[start:stop]
    # a piece before the first value, or without the signs of a value, is named without looking at its neighbours
    if len(piece) <= _SHORT and (start == 0 or _OF_VALUES.isdisjoint(piece)):
        named = _named(piece, follows=follows, precedes=stop < len(text))
        records += [(code, start + a, start + b, "", None) for code, a, b in named]
    else:
        named = _naming(text, start, stop, follows=follows, precedes=stop < len(text))
        records += [(code, a, b, "", None) for code, a, b in named]


@lru_cache(512)
def _named(piece: str, *, follows: bool, precedes: bool) -> list[Named]:
    """The names in a short text, cached because a model usually writes the same words around its values."""
    return _naming(piece, 0, len(piece), follows=follows, precedes=precedes)


def _naming(text: str, start: int, stop: int, *, follows: bool, precedes: bool) -> list[Named]:
    """The names in a stretch that `follows` a value, `precedes` one, or both."""
    if not text[start:stop].strip(_JSON_BLANK):
        return []
    if not text[start:stop].strip():
        return [("W006", start, stop)]
    if follows and (closers := _CLOSERS_ONLY.match(text, start, stop)):
        rest = _naming(text, closers.end(), stop, follows=False, precedes=precedes)
        return [("S007", start, closers.end()), *rest]
    if (follows and is_debris(text, start, stop)) or (precedes and leads_in(text, start, stop)):
        return [("S031", start, stop)]
    return _parted(text, start, stop)


def _parted(text: str, start: int, stop: int) -> list[Named]:
    """Names for fences, tags and tokens; the rest is prose."""
    named: list[Named] = []
    at = start
    for piece in _PIECE.finditer(text, start, stop):
        _name_prose(text, at, piece.start(), named)
        named.append((_CODES[piece.lastgroup or "tag"], piece.start(), piece.end()))
        at = piece.end()
    _name_prose(text, at, stop, named)
    return named


def _name_prose(text: str, start: int, stop: int, named: list[Named]) -> None:
    words = text[start:stop]
    if not words.strip(_JSON_BLANK):
        return
    if _COMMENT_ONLY.match(words):
        named.append(("S017", start, stop))
    elif words.strip() in (",", ";", ".", "，"):
        named.append(("S038", start, stop))
    else:
        named.append(("W002", start, stop))
