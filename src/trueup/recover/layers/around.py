"""What stands around a value: fences, prose, reasoning, tags, special tokens.

The text and the stretches that were used enter; the records that cover everything else leave.
No character outside the used stretches goes unnamed, white space alone excepted.
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
_OF_VALUES = frozenset("{}[])\"'“")  # without these nothing is the rest of a value, or the start of one
_SHORT = 200
Named = tuple[str, int, int]  # a code, and where what it names starts and ends
_CODES = {"fence": "W001", "token": "W005", "tag": "W004", "invisible": "W006"}
_CLOSERS_ONLY = lazy_regex(r"[\s,;]*[}\])][\s}\]),;.]*+(?=```|~~~|\Z)")
_COMMENT_ONLY = lazy_regex(r"\s*(?://[^\n]*|/\*[\s\S]*?\*/|#[^\n]*)\s*\Z")
_EDGE = lazy_regex(r"\n[ \t]*\n|```|~~~|</|<\|")
_LEADING_CLOSERS = lazy_regex(r"[\s}\]),;]*")
_KEY_BEFORE = lazy_regex(r"""(?:^|[\n,{])\s*["'][^"'\n]{1,60}["']\s*:[^\n]*\Z""")
_STRUCTURE = lazy_regex(r'[{}\[\]"]')
# After a value: further members or items, so the value ended too soon.
_DEBRIS = lazy_regex(
    r"""(?:[\s,}\])]++|//[^\n]*\n|(?<=, )\#[^\n]*\n|/\*[^*]*\*/)*+["'][^"'\n]{0,80}["']\s*[:：,\]}=]"""
    r"""|\s*[,，](?:\s++|//[^\n]*\n|\#[^\n]*\n|/\*[^*]*\*/)*+[\["'{“]"""
)


def is_debris(text: str, start: int, stop: int) -> bool:
    """Whether what stands behind a value is the rest of it: members go on, or quotes and closing brackets do."""
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
    """Whether what stands before a value is the start of a larger one: open brackets, or a key of its own."""
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
    """Records for everything outside the used stretches, each under the name of what it is.

    `apart` are stretches, in order, that have nothing to do with what stands beside them, each with its name.
    """
    records: list[Record] = []
    at = 0
    first = 0
    for start, stop in [*sorted(used), (len(text), len(text))]:
        if start > at:
            while first < len(apart) and apart[first][1] <= at:
                first += 1
            _name_gap(text, at, start, at > 0, apart, first, records)
        at = max(at, stop)
    return records


def _name_gap(
    text: str, start: int, stop: int, behind: bool, apart: list[tuple[int, int, str]], first: int, records: list[Record]
) -> None:
    """Name one gap: what is set apart first, then fences, tags and tokens, the rest as prose."""
    at = start
    while first < len(apart) and apart[first][0] < stop:
        opened, closed, code = apart[first]
        opened = max(at, opened)
        _name_piece(text, at, opened, behind, records)
        at = min(closed, stop)
        if text[opened:at].strip():
            records.append((code, opened, at, "", None))
        first += 1
    _name_piece(text, at, stop, behind, records)


def _name_piece(text: str, start: int, stop: int, behind: bool, records: list[Record]) -> None:
    piece = text[start:stop]
    # what is no part of a value, or all that stands before one, is named by itself
    if len(piece) <= _SHORT and (start == 0 or _OF_VALUES.isdisjoint(piece)):
        named = _named(piece, behind, stop < len(text))
        records += [(code, start + a, start + b, "", None) for code, a, b in named]
    else:
        records += [(code, a, b, "", None) for code, a, b in _naming(text, start, stop, behind, stop < len(text))]


@lru_cache(512)
def _named(piece: str, behind: bool, before: bool) -> list[Named]:
    """The names in a short text: a model mostly puts the same words around its values."""
    return _naming(piece, 0, len(piece), behind, before)


def _naming(text: str, start: int, stop: int, behind: bool, before: bool) -> list[Named]:
    """The names of a stretch; it stands `behind` a value, `before` one, or both."""
    if not text[start:stop].strip(_JSON_BLANK):
        return []
    if not text[start:stop].strip():
        return [("W006", start, stop)]
    if behind and (closers := _CLOSERS_ONLY.match(text, start, stop)):
        return [("S007", start, closers.end()), *_naming(text, closers.end(), stop, False, before)]
    if (behind and is_debris(text, start, stop)) or (before and leads_in(text, start, stop)):
        return [("S031", start, stop)]
    return _parted(text, start, stop)


def _parted(text: str, start: int, stop: int) -> list[Named]:
    """Fences, tags and tokens, and the rest as prose."""
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
