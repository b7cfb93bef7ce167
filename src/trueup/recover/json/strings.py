"""Reads strings whose quotes cannot be trusted: where they end, and what their characters mean.

Takes a text and the offset of an opening quote; returns the content, the offset after it and the codes of the fixes.
The decision at each quote looks a bounded distance ahead, so the time is proportional to the length of the string.
"""

import re
from typing import NamedTuple

from trueup.recover.json.doubts import (
    InnerObject,
    QuoteTracker,
    doubt_of,
    is_half_escaped,
    is_half_quoted,
    is_odd_key,
    opens_object,
    swallows,
    without_stray,
)
from trueup.recover.json.escapes import unescape
from trueup.recover.json.lexer import (
    ARGUMENT_AHEAD,
    BARE_NO_COLON,
    BLANK,
    COMMAS,
    CONTROL,
    KEY_AHEAD,
    KEY_AT_QUOTE,
    KEY_NO_COLON,
    LONE_KEY,
    ODD_COMMA,
    ODD_KEY_AHEAD,
    QUOTE_CODE,
    QUOTES,
    REST_OF_LIST,
    SKIP_BLANK,
    SPACED_KEY,
    WIDE,
    joined_key,
)
from trueup.verdict.patterns import lazy_regex

KEY, MEMBER_VALUE, LIST_ITEM, ARGUMENT = "key", "member", "item", "argument"
# The value of a key that has no colon: the next key may have none either.
LOOSE_VALUE = "loose"

# From here to the next unescaped sign that could close a string opened by this quote.
_UP_TO = {q: lazy_regex(rf"[^{re.escape(c)}\\]*(?:\\[\s\S][^{re.escape(c)}\\]*)*") for q, c in QUOTES.items()}
# In a path such as C:\\x\\ the backslash before a quote does not escape it.
_RAW_UP_TO = {q: lazy_regex(rf"[^{re.escape(c)}]*") for q, c in QUOTES.items()}
_DRIVE = lazy_regex(r"[A-Za-z]:\\(?!\\)")
_VALUE_AHEAD = lazy_regex(
    rf"""[{BLANK},]*(?:["'`“”‘’„«「{{\[(\-+.…\]}})]|\d|true|false|null|True|False|None|NaN|undefined|//|/\*|#|\Z"""
    r"""|[rbuf]["']|[^\W\d][\w.]{0,40}\([\w"'\[{(])"""
)
CLOSING_AHEAD = lazy_regex(rf"""[{BLANK},]*(?:[}}\])]|\.\.\.|…|//|/\*|\#|["'][^"'\n]{{0,80}}["']?\s*\Z|\Z)""")
_PIECE_AHEAD = lazy_regex(
    r"""(?:"[^"\n]{0,400}"(?:\s+"[^"\n]{0,400}"){0,12}|'[^'\n]{0,400}'(?:\s+'[^'\n]{0,400}'){0,12})\s*[,}\])]"""
)
_ITEM_AHEAD = lazy_regex(r"""(["'])(?:[^"'\n\\]|\\.){0,400}\1\s*(?:,\s*["'{\[\d\-]|,?\s*\])""")
# Closing brackets after words, a comma, and perhaps a bracket that opens the next row.
_ROW_ENDS = lazy_regex(r"((?:[\])}]\s*)+),\s*([\[(])?\s*\Z")
_ITEM_START = lazy_regex(r"[{\[\-0-9]|(?:true|false|null|True|False|None|NaN)\b")
# A container after a string: an object with a key, or a list; not a bracket inside a quotation.
OBJECT_AHEAD = lazy_regex(r"""\{\s*(?:"[^"\n]{1,80}"|'[^'\n]{1,80}')\s*:""")
_CONTAINER_AHEAD = lazy_regex(
    rf"""{OBJECT_AHEAD.pattern}|\[\s*(?:["'\[{{]|-?[0-9]|true\b|false\b|null\b)[^\[\]\n]{{0,400}}\]\s*(?:[,\]}}]|\Z|(?=\s)\s*["'\[{{])"""
)
# Numbers and literals after a string, up to the next sign of the structure.
_SCALARS_AHEAD = lazy_regex(
    r"""(?:(?:-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|True|False|None)(?=[\s,}\]])\s*){1,9}+(?:[,}\]]|["'{\[])"""
)
_PLUS_AHEAD = lazy_regex(r"""\+\s*["'`“]""")
_BRACKET_INSIDE = lazy_regex(r"""[}\])]\s*["'”’`]\s*[,}\]]""")
_CUT_ESCAPE = lazy_regex(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_TAIL = lazy_regex(r"[\s}\])]*\Z")
_COLON_IN_QUOTES = lazy_regex(r"""["']\s+["'\[{\d]""")
_COLON_INSIDE = lazy_regex(r"([\w$.\-]{1,80}(?: [\w$.\-]{1,40}){0,4})\s*:")
_FENCE_CLOSES = lazy_regex(r"```+[ \t]*(?:\n|\Z)")
# From a curved quote to the next one, on one line.
_CURVED = lazy_regex(r"[^“”\n\\]*(?:\\.[^“”\n\\]*)*[“”]")
# A comma and a comment at the end of a line.
_REMARK = lazy_regex(r",[ \t]*(?:(?://|\#)[^\n\"]*|/\*[^*\"]*\*/\s*)\Z")
_BARE_WORD = lazy_regex(r"\s*([^\W\d]\w{0,79})[ \u00a0\u202f]?:")
_MAX_COMMENT = 1000
# How far to look back from a quote.
_NEAR = 300
_MAX_QUOTED = 400
_NONE: frozenset[str] = frozenset()


class StringToken(NamedTuple):
    """A string that was read: its value, the offset after it, the end of its content, the codes of its fixes."""

    value: str
    after: int
    stop: int
    codes: tuple[str, ...]


def starts_member(text: str, at: int, end: int, known: frozenset[str]) -> bool:
    """Whether a new member of an object starts here: a key and its colon, or a key that is credible without a colon."""
    if KEY_AHEAD.match(text, at, end):
        return True
    if ODD_KEY_AHEAD.match(text, at, end):
        return True
    lone = KEY_NO_COLON.match(text, at, end)
    if lone is not None and (lone[2] is None or lone[1] in known):
        return True
    if not known:
        return False
    spaced = SPACED_KEY.match(text, past(text, at), end)
    bare = BARE_NO_COLON.match(text, at, end)
    return (spaced is not None and spaced[0] in known) or (bare is not None and bare[1] in known)


def closes(text: str, at: int, end: int, place: str, known: frozenset[str], stack: str, *, first: bool) -> bool:
    """Whether the quote right before `at` can be the end of a string in this place.

    `stack` has the closers of the open brackets, innermost first. After the first quote that did not close the
    string, the test is stricter: the brackets after the quote have to be the right ones.
    """
    here = SKIP_BLANK.match(text, at).end()  # type: ignore[union-attr]
    if here >= end:
        return True
    sign = text[here]
    if place is KEY:
        return sign in ":：="
    if sign in COMMAS:
        return comma_closes(text, here, end, place, known, first=first)
    if sign in "}])｝］】）":
        return (first and not _BRACKET_INSIDE.match(text, here, end)) or _brackets_fit(text, here, end, stack)
    if sign in "/#" and (stop := _comment_end(text, here, end)) > 0:
        return _comment_closes(text, stop, end, known, place)
    if sign == "`" and _FENCE_CLOSES.match(text, here, end):
        return True
    if sign == ":" or text.startswith("=>", here):
        return place is LIST_ITEM and first
    if _PLUS_AHEAD.match(text, here, end) or (first and place is MEMBER_VALUE and ODD_COMMA.match(text, here, end)):
        return True
    if first and _value_follows(text, here, end, place, apart=here > at):
        return True
    if here == at:
        return False
    return _starts_next(text, at, here, end, place, known)


def _value_follows(text: str, at: int, end: int, place: str, *, apart: bool) -> bool:
    """Whether a value or a key follows a quote without a comma, so that the string ended there."""
    sign = text[at]
    if sign in "{[":
        return (OBJECT_AHEAD if place is not LIST_ITEM else _CONTAINER_AHEAD).match(text, at, end) is not None
    if sign == '"' and not apart:
        if place is LIST_ITEM:
            return _ITEM_AHEAD.match(text, at, end) is not None
        return KEY_AT_QUOTE.match(text, at, end) is not None
    return apart and _SCALARS_AHEAD.match(text, at, end) is not None


def _comment_end(text: str, at: int, end: int) -> int:
    """Where the comment that starts here ends, within a bounded distance; 0 if there is none."""
    limit = min(end, at + _MAX_COMMENT)
    if text.startswith("/*", at):
        return text.find("*/", at + 2, limit) + 2 if text.find("*/", at + 2, limit) > 0 else 0
    if text[at] == "#" or text.startswith("//", at):
        stop = text.find("\n", at, limit)
        return stop if stop > 0 else end if limit == end else 0
    return 0


def _comment_closes(text: str, at: int, end: int, known: frozenset[str], place: str) -> bool:
    """Whether a string may end before a comment: a sign of the structure has to follow the comment."""
    here = past(text, at)
    if here >= end:
        return False
    item = place is LIST_ITEM and (text[here] in QUOTES or _ITEM_START.match(text, here, end) is not None)
    return item or text[here] in ",，;}])" or starts_member(text, here, end, known)


def comma_closes(text: str, comma: int, end: int, place: str, known: frozenset[str], *, first: bool) -> bool:
    """Whether the text after a comma shows that the string before it has ended."""
    behind = comma + 1
    if place is LIST_ITEM:
        return bool(_VALUE_AHEAD.match(text, behind, end))
    if place is ARGUMENT and ARGUMENT_AHEAD.match(text, behind, end):
        return True
    if starts_member(text, behind, end, known) and (first or not is_prose(text, behind, end, known)):
        return True
    loose = place is LOOSE_VALUE and (KEY_NO_COLON.match(text, behind, end) or BARE_NO_COLON.match(text, behind, end))
    if loose or (first and LONE_KEY.match(text, behind, end)):
        return True
    if first and joined_key(text, behind, end):
        return True
    if not first and text[comma] in ";；؛":
        return False
    if CLOSING_AHEAD.match(text, behind, end):
        return True
    return first and REST_OF_LIST.match(text, past(text, behind), end) is not None


def is_prose(text: str, at: int, end: int, known: frozenset[str]) -> bool:
    """Whether the word and colon after a comma are prose: the word is bare, and not one of the schema's keys."""
    bare = _BARE_WORD.match(text, at, end) if known else None
    return bare is not None and bare[1] not in known


def past(text: str, at: int) -> int:
    return SKIP_BLANK.match(text, at).end()  # type: ignore[union-attr]


def _brackets_fit(text: str, at: int, end: int, stack: str) -> bool:
    """Whether the closing brackets from here on match the open ones, and plausible text follows them."""
    depth = 0
    while at < end:
        sign = WIDE.get(text[at], text[at])
        if sign in "}])":
            if depth >= len(stack) or stack[depth] != sign:
                return depth >= len(stack)
            depth += 1
        elif sign not in " \t\r\n":
            return depth >= len(stack) or sign == ","
        at += 1
    return True


def _starts_next(text: str, at: int, here: int, end: int, place: str, known: frozenset[str]) -> bool:
    """Whether the next member or item starts here although there is no comma."""
    newline = "\n" in text[at:here]
    if place is LOOSE_VALUE and BARE_NO_COLON.match(text, here, end):
        return True
    if place is ARGUMENT and ARGUMENT_AHEAD.match(text, here, end):
        return True
    if place is not LIST_ITEM:
        if text[here] in QUOTES:
            return starts_member(text, here, end, known) or bool(_PIECE_AHEAD.match(text, here, end))
        bare = _BARE_WORD.match(text, here, end) if known and not newline else None
        return (newline and bool(KEY_AHEAD.match(text, here, end))) or (bare is not None and bare[1] in known)
    return text[here] in QUOTES or (newline and _ITEM_START.match(text, here, end) is not None)


def read_string(
    text: str, start: int, end: int, place: str, known: frozenset[str], open_closers: str, *, quote: str = ""
) -> StringToken:
    """Read the string whose opening quote is at `start`.

    `known` are the schema's keys: they decide whether `, "age":` inside is a new member or part of the text.
    `open_closers` are the brackets that have to follow at the end of the text.
    """
    quote = quote or text[start]
    style: tuple[str, ...] = (QUOTE_CODE[quote],) if quote in QUOTE_CODE else ()
    body = start + 1
    up_to = _UP_TO[quote]
    if _DRIVE.match(text, body, end):
        up_to, style = _RAW_UP_TO[quote], (*style, "S041")
    elif quote in "“„‟" and (curved := _CURVED.match(text, body, end)) is not None:
        stop = curved.end() - 1
        if closes(text, stop + 1, end, place, known, open_closers, first=True):
            return _finish(text, body, stop, stop + 1, style)
    at = body
    first = True
    odd = False
    inner: InnerObject | None = None
    quoted: QuoteTracker | None = None
    ended = -1  # the first quote that could have ended an item, but closed a quotation inside it
    while True:
        at = up_to.match(text, at, end).end()  # type: ignore[union-attr]
        if ended >= 0 and (at >= min(end, ended + _MAX_QUOTED) or text[at] == "\\" or (quoted and quoted.astray)):
            return _finish(text, body, ended, ended + 1, (*style, "S012", "S042"))
        if at >= end or text[at] == "\\":
            return _unclosed(text, body, end, (*style, *doubt_of(inner)), open_closers)
        if closes(text, at + 1, end, place, known, open_closers, first=first) and not (
            inner and inner.owns(at, end, known)
        ):
            if quoted is None or not quoted.opened:
                codes = () if first else ("S012", *doubt_of(inner))
                if odd and not codes[1:] and past(text, at + 1) >= end:
                    codes = ("S012", "S042")  # the text ends here, and the last quote inside may lack its partner
                return _finish(text, body, at, at + 1, (*style, *codes))
            ended = at if ended < 0 else ended
        cut = _next_member(text, body, at, known if place is not LIST_ITEM else _NONE, open_closers, first=first)
        if cut is None and place is LIST_ITEM and first:
            cut = _next_item(text, body, at, end, open_closers)
            quoted = QuoteTracker(text)
        if cut is not None:
            return _finish(text, body, cut, cut, (*style, "S013", *doubt_of(inner)))
        if quoted is not None:
            quoted.passed(at)
        if inner is not None:
            inner.passed(at)
        elif (text[at - 1] in "{\n" or text[at - 2 : at] in ("{ ", "  ")) and opens_object(text, body, at):
            inner = InnerObject(text, at)
        first, odd = False, not odd
        at += 1


def _next_member(text: str, body: int, at: int, known: frozenset[str], stack: str, *, first: bool) -> int | None:
    """Where the string actually ended, if the quote at `at` opens the next member's key."""
    key = KEY_AT_QUOTE.match(text, at)
    if key is None or at == body:
        return None
    stop = at
    while stop > body and text[stop - 1] in " \t\r\n{[":
        stop -= 1
    opened = any(sign in "{[" for sign in text[stop:at])
    comma = stop > body and text[stop - 1] == ","
    while comma and stop - 1 > body and text[stop - 2] == ",":
        stop -= 1
    if not comma and (remark := _REMARK.search(text, max(body, stop - _NEAR), stop)):
        stop, comma = remark.start() + 1, True
    separated = comma or "\n" in text[stop:at]
    sure = key[2].strip() in known
    if not (sure or (first and separated)):
        return None
    stop -= comma
    closed = stop
    while closed > body and text[closed - 1] in " \t\r\n}])":
        closed -= 1
    if comma and closed < stop:
        own = past(text, closed) + 1 if _opens_more(text[max(body, closed - _NEAR) : closed]) else closed
        behind = "".join(text[own:stop].split())
        if (own > closed or behind) and stack.startswith(behind):
            return own
    if opened:
        return None
    return stop if stop > body or sure else None


def _next_item(text: str, body: int, at: int, end: int, stack: str) -> int | None:
    """Where the string actually ended, if the quote at `at` opens the next item, the next row, or a key after the list."""
    near = max(body, at - _NEAR)
    closed = _ROW_ENDS.search(text, near, at)
    if closed is not None:
        if closed[2] and _ITEM_AHEAD.match(text, at, end):
            return closed.start(1)
        run = "".join(closed[1].split())
        own = next((size for size in range(len(run), 0, -1) if stack.startswith(run[-size:])), 0)
        if own and not closed[2] and KEY_AT_QUOTE.match(text, at):
            return _before_closers(text, closed.end(1), own)
    stop = at
    while stop > body and text[stop - 1] in " \t\r\n":
        stop -= 1
    if stop - 1 <= body or text[stop - 1] != "," or not _ITEM_AHEAD.match(text, at, end):
        return None
    return stop - 1


def _before_closers(text: str, at: int, count: int) -> int:
    """The offset before the last `count` closing brackets."""
    while count:
        at -= 1
        count -= text[at] in "}])"
    return at


def _unclosed(text: str, body: int, end: int, style: tuple[str, ...], open_closers: str) -> StringToken:
    """The text ended inside the string: if only the open brackets follow, the quote is missing; otherwise it was cut off."""
    tail = _TAIL.search(text, max(body, end - 2 * len(open_closers) - 64), end)
    if tail and open_closers:
        at = tail.start()
        if text[at : at + 1] in "}])" and _opens_more(text[max(body, at - _NEAR) : at]):
            at += 1
        if "".join(text[at:end].split()) == open_closers:
            at -= text[at - 1] == "," and "\n" in text[at:end]
            return _finish(text, body, at, at, (*style, "S013"))
    stop = end
    while stop > body and text[stop - 1] in "\r\n":
        stop -= 1
    cut = _CUT_ESCAPE.search(text, max(body, stop - 64), stop)
    return _finish(text, body, cut.start(1) if cut else stop, end, (*style, "S028"))


def _opens_more(raw: str) -> bool:
    """Whether a text opens one bracket more than it closes, so that the next closing bracket belongs to it."""
    return raw.count("{") + raw.count("[") - raw.count("}") - raw.count("]") == 1


def _finish(text: str, body: int, stop: int, after: int, codes: tuple[str, ...]) -> StringToken:
    raw = text[body:stop]
    if codes == ("S012",) and (plain := without_stray(raw)) is not None:
        raw, codes = plain, ("S040",)
    elif codes == ("S013",) and raw.endswith('\\"') and raw.count('\\"') % 2 and raw[-3:-2].isalpha():
        raw = raw[:-2]  # the closing quote was escaped
    repaired = ("S012" in codes or "S013" in codes) and "S042" not in codes
    if repaired and (swallows(raw) or ("S013" in codes and is_half_quoted(raw)) or is_half_escaped(raw)):
        codes = (*codes, "S042")
    if "S013" in codes and raw.endswith(("”", "’")) and "“" not in raw and "‘" not in raw:
        raw, codes = raw[:-1], (*codes[:-1], "S009")
    value, more = unescape(raw) if "S041" not in codes else (raw, ("S016",) if CONTROL.search(raw) else ())
    return StringToken(value, after, stop, (*codes, *more))


def finish(text: str, start: int, stop: int, after: int, codes: tuple[str, ...]) -> StringToken:
    """The string that opens at `start`, with its content up to `stop`."""
    quote = text[start]
    style: tuple[str, ...] = (QUOTE_CODE[quote],) if quote in QUOTE_CODE else ()
    if _DRIVE.match(text, start + 1, stop):
        style = (*style, "S041")
    return _finish(text, start + 1, stop, after, (*style, *codes))


def read_key(text: str, start: int, end: int) -> StringToken:
    """Read a quoted key: it ends at the first quote with a colon after it, otherwise at its first quote."""
    quote = text[start]
    style: tuple[str, ...] = (QUOTE_CODE[quote],) if quote in QUOTE_CODE else ()
    up_to = _UP_TO[quote]
    first = at = min(up_to.match(text, start + 1, end).end(), end)  # type: ignore[union-attr]
    colon = _COLON_INSIDE.match(text, start + 1, first)
    if colon and colon.end() == first and _COLON_IN_QUOTES.match(text, first, end):
        return _finish(text, start + 1, at, at + 1, style)
    if at >= end:
        cut = colon.end(1) if colon else end
        return _finish(text, start + 1, cut, cut, (*style, "S013") if colon else style)
    if colon and not closes(text, at + 1, end, KEY, _NONE, "", first=True):
        return _finish(text, start + 1, colon.end(1), colon.end(1), (*style, "S013"))
    limit = min(end, start + 120)
    inner: tuple[str, ...] = ()
    while not closes(text, at + 1, end, KEY, _NONE, "", first=True):
        at = up_to.match(text, at + 1, end).end()  # type: ignore[union-attr]
        between = text[first + 1 : at]
        if at >= limit or not between or between[0] in " \t\n,:{}[]" or "\n" in between:
            at, inner = first, ()
            break
        inner = ("S012",)
    if inner and is_odd_key(text[start + 1 : at]):
        inner = ("S012", "S042")
    return _finish(text, start + 1, at, at + 1, (*style, *inner))


# -- marks other than plain quotes ------------------------------------------------------------------

_DOUBLED = lazy_regex(r"""(["'`])\1((?!\1)[^,:}\]\s\\](?:(?!\1)[^\\]|\\[\s\S])*)\1\1(?=\s*(?:[,:}\]]|\Z))""")
_BLOCK = lazy_regex(r"```[\w+.-]{0,20}[ \t]*\n((?:(?!```)[\s\S])*?)\n?[ \t]*```(?=\s*[,}\]])")


def fenced(text: str, start: int, end: int) -> StringToken | None:
    """Read a code block in place of a value, on the line of its key; None if there is none here."""
    line = text.rfind("\n", 0, start) + 1
    found = _BLOCK.match(text, start, end) if text[line:start].strip() else None
    if found is None:
        return None
    return StringToken(found[1], found.end(), found.end(1), ("S011",))


def triple(text: str, start: int, end: int) -> StringToken | None:
    """Read a string in triple quotes; None if there is none here."""
    mark = text[start] * 3
    if text[start] not in "\"'`" or not text.startswith(mark, start):
        return None
    stop = text.find(mark, start + 3, end)
    if stop < 0:
        return None
    while text.startswith(text[start], stop + 3) and stop + 3 < end:
        stop += 1
    value, codes = unescape(text[start + 3 : stop])
    return StringToken(value, stop + 3, stop, ("S011", *(c for c in codes if c != "S016")))


def doubled(text: str, start: int, end: int) -> StringToken | None:
    """Read a string in doubled quotes, `""x""`; None if there is none here."""
    found = _DOUBLED.match(text, start, end)
    if found is None:
        return None
    value, codes = unescape(found[2])
    return StringToken(value, found.end(), found.end(2), ("S040", *codes))
