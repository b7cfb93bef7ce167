"""The rules of the tolerant parser: one function for each fault, with its codes and the signs that it may start with.

A rule is tried when the parser is at one of four points: before a member of an object, before an item of a list, where a
key should be, where a value should be. If it does not apply, it returns False. Otherwise it notes its repair, moves the
parser and returns True. Rules are tried in the order in which they are defined. The cost of a repair is the price of its
code in the catalogue. To add a repair, write a function here, a page in `findings/` and a test.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from trueup.recover.json import strings
from trueup.recover.json.bare import Bare
from trueup.recover.json.doubts import elides, is_half_escaped, is_odd_key
from trueup.recover.json.escapes import unescape
from trueup.recover.json.frames import Frame, Node, shown
from trueup.recover.json.lexer import (
    ARGUMENT_AHEAD,
    BARE_KEY,
    CALL,
    CLOSING_TAG,
    ELLIPSIS,
    KEY_AHEAD,
    KEY_AS_VALUE,
    KEYWORD_ARG,
    ODD_COMMA,
    OPENERS,
    QUOTES,
    REST_OF_LIST,
    SCALARS_IN_A_ROW,
    SKIP_BLANK,
    SKIP_PLAIN,
    SPACED_KEY,
    WIDE,
    WORDS,
    joined_key,
)
from trueup.recover.json.tokens import NOTHING, cut_word, iso_date, read_token
from trueup.verdict.patterns import lazy_regex

if TYPE_CHECKING:
    from trueup.recover.json.parser import Parser

R = TypeVar("R", bound=Callable[..., bool | str])


class Point:
    """A point of the grammar, and the rules that are tried there, by the sign at the parser's position."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, Any]] = []  # codes, signs, rule
        self._by_sign: dict[str, tuple[Any, ...]] = {}

    def rule(self, codes: str, signs: str = "") -> Callable[[R], R]:
        """Register a rule; without signs it is tried at every sign."""

        def register(function: R) -> R:
            self.all.append((codes, signs, function))
            return function

        return register

    def rules(self, sign: str) -> tuple[Any, ...]:
        """The rules to try at a sign, in order."""
        found = self._by_sign.get(sign)
        if found is None:
            found = tuple(rule for _, signs, rule in self.all if not signs or sign in signs)
            if len(self._by_sign) < _MOST_SIGNS:
                self._by_sign[sign] = found
        return found


_MOST_SIGNS = 512
MEMBER, ITEM, KEY, VALUE = Point(), Point(), Point(), Point()

_QUOTES = "".join(QUOTES)
_CLOSERS = "}])｝］）】"
_COMMAS = ",;，、；،؛"
_SEPARATORS = ":：="


# -- closing brackets ------------------------------------------------------------------------------

_COMMENTS = lazy_regex(r"(?:[ \t\r\n]*+(?://[^\n]{0,1000}\n|#[^\n]{0,1000}\n|/\*[^*]{0,1000}\*/)){0,20}")
_NEXT = lazy_regex(r"\s*([,}\])]?)")
_RUN = lazy_regex(r"[\s}\])]{0,200}")


@MEMBER.rule("S005 S006 S007 S024", _CLOSERS)
@ITEM.rule("S005 S006 S007 S024", _CLOSERS)
def close(parser: "Parser", frame: Frame, sign: str) -> bool:
    """A closing bracket: the right one, the wrong kind, or one too many."""
    pos, plain = parser.pos, WIDE.get(sign, sign)
    if plain == frame.closer:
        too_soon = len(parser.frames) == 1 and frame.kind == "{" and goes_on(parser.text, pos + 1, parser.end)
        reading = "extra" if too_soon else "right"
    else:
        reading = _mismatch(parser.text, pos, parser.end, [f.closer for f in parser.frames], plain)
    if reading == "missing":
        parser.note("S005", pos, pos, frame.closer, frame.node)
        parser.pop(frame, pos)
        return True
    if reading == "extra":
        parser.note("S007", pos, pos + 1, "", frame.node)
    elif reading == "wrong":
        parser.note("S006", pos, pos + 1, frame.closer, frame.node)
    elif sign != plain:
        parser.note("S024", pos, pos + 1, plain, frame.node)
    parser.pos = pos + 1
    if reading != "extra":
        parser.pop(frame, pos)
    return True


def goes_on(text: str, at: int, end: int) -> bool:
    """Whether a closed object is followed by a comma, a member and, later, a brace: it continues after all."""
    at = SKIP_PLAIN.match(text, at, end).end()  # type: ignore[union-attr]
    if at >= end or text[at] != ",":
        return False
    at = _COMMENTS.match(text, at + 1, end).end()  # type: ignore[union-attr]
    return KEY_AHEAD.match(text, at, end) is not None and text.find("}", at, end) >= 0


def _mismatch(text: str, at: int, end: int, closers: list[str], sign: str) -> str:
    """The meaning of a bracket of the wrong kind: one before it is missing, it is wrong, or it is extra."""
    try:
        depth = len(closers) - 1 - closers[::-1].index(sign)
    except ValueError:
        depth = -1
    parent = closers[-2] if len(closers) > 1 else ""
    if depth < 0:
        return "wrong" if _fits(text, at + 1, end, parent) else "extra"
    beyond = closers[depth - 1] if depth > 0 else ""
    if _fits(text, at + 1, end, parent) and not _fits(text, at + 1, end, beyond):
        return "wrong"
    run = "".join(_RUN.match(text, at, end)[0].split())  # type: ignore[index]
    expected = "".join(closers[::-1][: len(run)])
    if len(run) > 1 and run != expected and sorted(run) == sorted(expected):
        return "wrong"
    if len(run) == len(closers) and run[1:] == "".join(reversed(closers[:-1])):
        return "wrong"
    return "missing"


def _fits(text: str, at: int, end: int, closer: str) -> bool:
    """Whether the text from here on can be inside a container with this closer (empty: after the root)."""
    found = _NEXT.match(text, at, end)
    sign = found[1] if found else ""
    if not closer:
        return sign == ""
    if sign == ",":
        is_member = KEY_AHEAD.match(text, found.end(), end) is not None  # type: ignore[union-attr]
        return is_member == (closer == "}")
    return sign == closer


# -- between two values ----------------------------------------------------------------------------

_ITEM_SIGNS = frozenset("\"'`“„«「‘{[-+0123456789｛［tfnTFNu\\")
# The bullet or number of a written list, before an item in quotes or brackets.
_BULLET = lazy_regex(r"""(?:[-*•–]|[0-9]{1,3}[.)])[ \t]+(?=["'“{\[])""")


@MEMBER.rule("S003 S024 S038", _COMMAS)
@ITEM.rule("S003 S024 S038", _COMMAS)
def separate(parser: "Parser", frame: Frame, sign: str) -> bool:
    """A comma, or a different sign in its place; a second one is extra."""
    pos = parser.pos
    if frame.comma:
        parser.note("S003", pos, pos + 1, "", frame.node)
    elif sign != ",":
        parser.note("S024" if sign in WIDE else "S038", pos, pos + 1, ",", frame.node)
    frame.comma = True
    parser.pos = pos + 1
    return True


@MEMBER.rule("S038", ".|")
def odd_separator(parser: "Parser", frame: Frame, sign: str) -> bool:
    """`"a": 1 | "b": 2`: a different sign in place of a comma, with a quoted key after it."""
    if frame.comma or not ODD_COMMA.match(parser.text, parser.pos, parser.end):
        return False
    return separate(parser, frame, sign)


@MEMBER.rule("S027", ".…")
@ITEM.rule("S027", ".…")
def elide(parser: "Parser", frame: Frame, _: str) -> bool:
    """`...` in place of members or items that were left out."""
    ellipsis = ELLIPSIS.match(parser.text, parser.pos, parser.end)
    if ellipsis is None:
        return False
    stop = ellipsis.end()
    parser.note("S027", parser.pos, stop, "", frame.node)
    frame.comma = False
    frame.last_string = None
    parser.pos = stop
    if SKIP_PLAIN.match(parser.text, stop, parser.end).end() < parser.end:  # type: ignore[union-attr]
        after = parser.skip(frame.node)
        if after < parser.end and parser.text[after] not in ",}])":
            frame.comma = True
    return True


@MEMBER.rule("S005")
def remark(parser: "Parser", frame: Frame, sign: str) -> bool:
    """`Note: …` on a separate line after the root's last member: prose, and the root was never closed."""
    if frame.comma or len(parser.frames) > 1 or frame.kind != "{" or not parser.known:
        return False
    if sign in QUOTES or not sign.isalpha() or not _member_starts(parser, frame):
        return False
    text, pos = parser.text, parser.pos
    word = SPACED_KEY.match(text, pos, parser.end) or BARE_KEY.match(text, pos, parser.end)
    bare = any(record[0] == "S014" and record[4] and record[4][0] is None for record in parser.records)
    if word is None or word[0] in parser.known or bare or text[pos - 1] != "\n":
        return False
    parser.note("S005", pos, pos, frame.closer, frame.node)
    parser.pop(frame, pos)
    return True


@MEMBER.rule("S005", "{")
def next_object(parser: "Parser", frame: Frame, _: str) -> bool:
    """`[{"i": 1 {"i": 2}]`: the next list item starts right after a value, so this one was never closed."""
    return not frame.comma and bool(frame.value) and _close_before_item(parser, frame)


def _close_before_item(parser: "Parser", frame: Frame) -> bool:
    if len(parser.frames) < 2 or parser.frames[-2].kind != "[":
        return False
    frame.comma = False
    parser.note("S005", parser.pos, parser.pos, frame.closer, frame.node)
    parser.pop(frame, parser.pos)
    return True


@MEMBER.rule("S002")
def missing_comma(parser: "Parser", frame: Frame, _: str) -> bool:
    """A member starts in place of a comma."""
    if frame.comma or not _member_starts(parser, frame):
        return False
    parser.note("S002", parser.pos, parser.pos, ",", frame.node)
    frame.comma = True
    _key_and_value(parser, frame)
    return True


def _member_starts(parser: "Parser", frame: Frame) -> bool:
    if frame.equals and ARGUMENT_AHEAD.match(parser.text, parser.pos, parser.end):
        return True
    return strings.starts_member(parser.text, parser.pos, parser.end, parser.known)


@MEMBER.rule("")
def member(parser: "Parser", frame: Frame, _: str) -> bool:
    """A key and its value, where a member may follow."""
    if frame.comma:
        _key_and_value(parser, frame)
        return True
    return False


@MEMBER.rule("", "`")
def fence_ends(parser: "Parser", _: Frame, __: str) -> bool:
    """The fence around the value ends before the value is closed."""
    if not parser.text.startswith("```", parser.pos):
        return False
    parser.end = parser.pos
    return True


@ITEM.rule("", "<")
def tag_ends(parser: "Parser", _: Frame, __: str) -> bool:
    """The tag around the value ends before the value is closed."""
    if not CLOSING_TAG.match(parser.text, parser.pos, parser.end):
        return False
    parser.end = parser.pos
    return True


@ITEM.rule("S038", "-*•–0123456789")
def bullet(parser: "Parser", frame: Frame, _: str) -> bool:
    """`- "a"`: the bullet or number of a written list, before an item."""
    found = _BULLET.match(parser.text, parser.pos, parser.end)
    if found is None:
        return False
    parser.note("S038", parser.pos, found.end(), "", frame.node)
    parser.pos = found.end()
    return True


@MEMBER.rule("S022", "+")
@ITEM.rule("S022", "+")
def joined_pieces(parser: "Parser", frame: Frame, _: str) -> bool:
    """`"a" + "b"`: a string in pieces."""
    last = frame.last_string
    if frame.comma or last is None:
        return False
    pos = parser.pos
    parser.pos = pos + 1
    at = parser.skip(frame.node)
    if at < parser.end and parser.text[at] in QUOTES:
        _join(parser, frame, last, pos)
        return True
    parser.pos = pos
    return False


@MEMBER.rule("S022", _QUOTES)
def next_piece(parser: "Parser", frame: Frame, _: str) -> bool:
    """`"a" "b"` where no member starts: another piece of the string."""
    last = frame.last_string
    if last is None or not isinstance(frame.value[last[0]], str):
        return False
    _join(parser, frame, last, parser.pos)
    return True


@ITEM.rule("S022", _QUOTES)
def next_piece_in_list(parser: "Parser", frame: Frame, sign: str) -> bool:
    """The same in parentheses, or in Python's notation for long strings."""
    last = frame.last_string
    if frame.comma or last is None:
        return False
    before = frame.value[-1] if frame.value else ""
    if not (frame.kind == "(" or (sign == "'" and isinstance(before, str) and before[-1:].isspace())):
        return False
    _join(parser, frame, last, parser.pos)
    return True


def _join(parser: "Parser", frame: Frame, last: tuple[Any, int], start: int) -> None:
    """Join the string at the parser's position to the string before it."""
    slot, text = last[0], parser.text
    piece = strings.read_string(text, parser.pos, parser.end, parser.place(), parser.known, parser.open_closers())
    if any(record[0] == "S012" and record[1] == last[1] for record in parser.records[-3:]):
        parser.note("S042", last[1], piece.after, "", (frame.node, slot))
    frame.value[slot] += piece.value
    parser.note("S022", start, piece.after, "", (frame.node, slot))
    parser.note_string(piece, parser.pos, (frame.node, slot))
    parser.pos = piece.after


@MEMBER.rule("S031 S040")
def stray_word(parser: "Parser", frame: Frame, _: str) -> bool:
    """Meaningless text after a member's value."""
    parser.stray(frame)
    return True


@ITEM.rule("S005 S006 S007 S036 S038", ":：=")
def member_in_list(parser: "Parser", frame: Frame, sign: str) -> bool:
    """`[…, "key": 1]`: its owner depends on the list's content and its parent."""
    text = parser.text
    if frame.comma or (sign == "=" and not text.startswith("=>", parser.pos)):
        return False
    last = frame.last_string
    if last is None or not frame.value or not isinstance(frame.value[-1], str):
        parser.stray(frame)
        return True
    key, start = frame.value.pop(), last[1]
    frame.last_string = None
    arrow = sign == "="
    owner = _become_object(parser, frame) if arrow and not frame.value else _owner(parser, frame, key, start)
    node = (owner.node, key)
    if arrow:
        parser.note("S038", parser.pos, parser.pos + 2, ":", node)
    parser.pos += 1 + arrow
    pos = parser.skip(node)
    owner.comma = False
    if key in owner.value:
        parser.duplicate(owner, key)
    if pos >= parser.end or text[pos] in ",}])":
        owner.value[key] = None
        parser.note("S036", start, pos, "null", node)
    else:
        parser.value(owner.value, key, node)
    owner.members[key] = (start, parser.pos)
    return True


@ITEM.rule("S031 S040")
def stray_after_container(parser: "Parser", frame: Frame, sign: str) -> bool:
    """Words after an object or a list that do not start an item."""
    follows = not frame.comma and frame.value and isinstance(frame.value[-1], dict | list)
    if not follows or sign in _ITEM_SIGNS:
        return False
    parser.stray(frame)
    return True


@ITEM.rule("S002")
def item(parser: "Parser", frame: Frame, sign: str) -> bool:
    """The next item, with or without its comma."""
    if not frame.comma:
        parser.note("S002", parser.pos, parser.pos, ",", frame.node)
    frame.comma = False
    frame.last_string = (len(frame.value), parser.pos) if sign in QUOTES else None
    parser.value(frame.value, len(frame.value), (frame.node, len(frame.value)))
    return True


# Members up to a brace that is followed by the end of the list or another object.
_LIKE_AN_ITEM = lazy_regex(r"""[^{}\[\]]{1,400}+\}\s*(?:\]|,\s*\{)""")


def _become_object(parser: "Parser", frame: Frame) -> Frame:
    """`['a' => 1]`: an object in square brackets."""
    parser.note("S006", frame.start, frame.start + 1, "{", frame.node)
    frame.kind = "{"
    frame.value = {}
    parser.replace(frame, frame.value)
    return frame


def _owner(parser: "Parser", frame: Frame, key: str, start: int) -> Frame:
    """The object that owns a member found in a list: the list's parent, its last item, or a new object."""
    frames = parser.frames
    above = frames[-2] if len(frames) > 1 else None
    objects = [item for item in frame.value[-3:] if isinstance(item, dict)]
    expected = objects and key not in objects[-1] and any(key in item for item in objects)
    if (
        above is not None
        and above.kind in "{="
        and key not in above.value
        and (frame.value or _just_dropped_a_comma(parser, frame))
        and not expected
        and not _starts_alike(parser, frame, key, start)
    ):
        parser.note("S005", start, start, frame.closer, frame.node)
        parser.pop(frame, start)
        return above
    if frame.last_child is None and frame.whole >= 0 and objects and objects[-1] is frame.value[-1]:
        parser.reread(frame)
        objects[-1] = frame.value[-1]
    last = frame.last_child
    if objects and objects[-1] is frame.value[-1] and key not in objects[-1] and last and last.value is objects[-1]:
        parser.note("S007", start, start, "", frame.node)
        frames.append(last)
        return last
    into: dict[str, Any] = {}
    frame.value.append(into)
    parser.note("S005", start, start, "{", frame.node)
    child = Frame("{", into, (frame.node, len(frame.value) - 1), start, frame.value, None)
    frames.append(child)
    return child


def _just_dropped_a_comma(parser: "Parser", frame: Frame) -> bool:
    return bool(parser.records) and parser.records[-1][0] == "S003" and parser.records[-1][4] == frame.node


def _starts_alike(parser: "Parser", frame: Frame, key: str, start: int) -> bool:
    """`[{"a": 1}, "a": 2}]`: a member like the first one of the previous item starts an item without its brace."""
    last = frame.value[-1] if frame.value else None
    if not isinstance(last, dict) or next(iter(last), None) != key:
        return False
    if len(parser.frames) > 2 and parser.frames[-3].kind != "{":
        return False  # the brace and the bracket after it may belong to the objects around
    return _LIKE_AN_ITEM.match(parser.text, start, parser.end) is not None


# -- keys ------------------------------------------------------------------------------------------

_QUOTED_TWICE = lazy_regex(r'""(?=[^"\n:]{1,80}"\s*:)')
_SET_ITEM = lazy_regex(r"[+-]?[0-9][0-9.]*\s*[,}]")
_PLAIN_VALUE = lazy_regex(r"""["'“”„‘’`«「\[{(\-+.0-9]|(?:true|false|null|True|False|None)\b""")
_STRAY_QUOTE = lazy_regex(r'"\s*:')


def _key_and_value(parser: "Parser", frame: Frame) -> None:
    """A key, its colon and its value, each possibly faulty."""
    start = parser.pos
    key = _key(parser, frame)
    if key is None:
        return
    if parser.trace is not None:
        parser.trace.key(start, parser.pos, (frame.node, key))
    pos = parser.skip((frame.node, key))
    sign = parser.text[pos] if pos < parser.end else ""
    if sign and (sign in _SEPARATORS or parser.text.startswith("->", pos)):
        sign = _colon(parser, frame, key, sign)
    elif sign and sign not in ",;}])":
        key = _missing_colon(parser, frame, key, start)
    else:
        _lone_key(parser, frame, key, start, more=bool(sign))
        return
    node = (frame.node, key)
    frame.comma = False
    frame.last_string = None
    frame.key_start = start
    if not sign:
        parser.note("S029", start, parser.end, "", node)
        return
    if key in frame.value:
        parser.duplicate(frame, key)
    if WIDE.get(sign, sign) in ",;}])":
        frame.value[key] = None
        parser.note("S036", start, parser.pos, "null", node)
    else:
        parser.value(frame.value, key, node)
    frame.members[key] = (start, parser.pos)


def _key(parser: "Parser", frame: Frame) -> str | None:
    """The key at the parser's position; None if nothing there can be a key, and a rule dropped it."""
    sign = parser.text[parser.pos]
    if sign in QUOTES:
        return _quoted_key(parser, frame)
    for rule in KEY.rules(sign):
        key = rule(parser, frame, sign)
        if isinstance(key, str):
            return key
        if key:
            return None
    return None


# A colour, or a heading with text below it: not a comment before a value.
_HASHED = lazy_regex(
    r"""[ \t]*(?=\#(?:[0-9a-fA-F]{3,8}\b|[^\n]{0,200}\n\s*(?!["'“\[{(\-+.0-9\s}\]]|(?:true|false|null|True|False|None)\b)))"""
)


def _colon(parser: "Parser", frame: Frame, key: str, sign: str) -> str:
    """Skip the colon, or its substitute; returns the sign after it."""
    node, pos = (frame.node, key), parser.pos
    stop = pos + 1
    if sign in "=-" and parser.text[stop : stop + 1] == ">":
        stop += 1
    frame.equals = frame.equals or sign == "="
    if sign != ":" and not (sign == "=" and frame.kind == "="):
        parser.note("S024" if sign in WIDE else "S038", pos, stop, ":", node)
    parser.pos = stop
    if hashed := _HASHED.match(parser.text, stop, parser.end):
        parser.pos = hashed.end()
        return "#"
    pos = parser.skip(node)
    while pos < parser.end and parser.text[pos] in ":=":
        parser.note("S038", pos, pos + 1, "", node)
        parser.pos = pos + 1
        pos = parser.skip(node)
    return parser.text[pos] if pos < parser.end else ""


def _missing_colon(parser: "Parser", frame: Frame, key: str, start: int) -> str:
    """A value right after a key: the colon is missing, or inside the quotes. Returns the intended key."""
    pos = parser.pos
    frame.loose = frame.kind == "{"
    if key.endswith(":"):
        key = key[:-1].rstrip()
        parser.note("S004", start, pos, shown(key) + ":", (frame.node, key))
        return key
    node = (frame.node, key)
    parser.note("S004", pos, pos, ":", node)
    if is_odd_key(key):
        parser.note("S042", start, pos, "", node)  # `"note = [], "x"`: the key ran on
    if parser.records[-2:-1] and parser.records[-2][0] == "S014" and not _PLAIN_VALUE.match(parser.text, pos):
        parser.note("S042", start, pos, "", node)  # `{not json}`: two words in braces are not a member
    return key


def _lone_key(parser: "Parser", frame: Frame, key: str, start: int, *, more: bool) -> None:
    """A string or word without a value: an element of a set, or a key without its value or cut off."""
    frame.comma = False
    if not more:
        parser.note("S029", start, parser.end, "", frame.node)
    elif frame.kind == "{" and _rest_of_list(parser, frame, start):
        return
    elif frame.kind == "{" and not frame.value:
        bare = parser.records[-1:] != [] and parser.records[-1][:2] == ("S014", start)
        if bare:
            parser.records.pop()
            parser.pos = start
        _become_list(parser, frame)
        if bare:
            frame.comma = True
        else:
            frame.value.append(key)
    else:
        parser.note("S037", start, parser.pos, "", frame.node)


def _quoted_key(parser: "Parser", frame: Frame) -> str:
    text, pos = parser.text, parser.pos
    if _QUOTED_TWICE.match(text, pos, parser.end):
        parser.note("S040", pos, pos + 1, "", frame.node)
        pos += 1
    found = strings.doubled(text, pos, parser.end) or strings.read_key(text, pos, parser.end)
    node = (frame.node, found.value)
    parser.note_string(found, pos, node)
    parser.pos = found.after
    if _STRAY_QUOTE.match(text, parser.pos, parser.end):
        parser.note("S040", parser.pos, parser.pos + 1, "", node)
        parser.pos += 1
    return found.value


@KEY.rule("S025", "\\")
def escaped_key(parser: "Parser", frame: Frame, _: str) -> str | bool:
    """`\\"a"`: a backslash before the quote of a key."""
    pos = parser.pos
    if parser.text[pos + 1 : pos + 2] not in QUOTES:
        return False
    parser.note("S025", pos, pos + 1, "", frame.node)
    parser.pos = pos + 1
    return _quoted_key(parser, frame)


@KEY.rule("S014", ":")
def symbol_key(parser: "Parser", frame: Frame, _: str) -> bool:
    """`:a => 1`: the colon before a Ruby symbol."""
    symbol = BARE_KEY.match(parser.text, parser.pos, parser.end)
    if symbol is not None:
        parser.note("S014", parser.pos, symbol.end(), "", frame.node)
        parser.pos = symbol.end()
    return False


@KEY.rule("S038")
def member_joined(parser: "Parser", frame: Frame, _: str) -> str | bool:
    """`and "b": 2`: a word that joins the next member to the last."""
    joined = joined_key(parser.text, parser.pos, parser.end)
    if joined is None:
        return False
    parser.note("S038", parser.pos, joined.end(1), "", frame.node)
    parser.pos = joined.end()
    return _quoted_key(parser, frame)


@KEY.rule("S012 S013 S014 S015")
def bare_key(parser: "Parser", frame: Frame, _: str) -> str | bool:
    """`a: 1`: a key without quotes, or with only its last quote."""
    text, pos, end = parser.text, parser.pos, parser.end
    word = SPACED_KEY.match(text, pos, end) or BARE_KEY.match(text, pos, end)
    if word is None:
        return False
    key, stop = word[0], word.end()
    node = (frame.node, key)
    if stop < end and text[stop] in "\"'”":
        stop += 1
        parser.note("S013", pos, stop, f'"{key}"', node)
    elif frame.last_string and not frame.loose and key not in parser.known and _reopened(parser, frame, stop):
        return True
    elif frame.kind != "=":
        # `also approved: true`: if the schema does not have the key, a word before it may not belong to it
        guessed = " " in key and key not in parser.known
        parser.note("S015" if guessed else "S014", pos, stop, f'"{key}"', node)
    parser.pos = stop
    return key


def _reopened(parser: "Parser", frame: Frame, word_end: int) -> bool:
    """Words in place of a key, after a string: the string continued past its inner quote."""
    text = parser.text
    after = SKIP_BLANK.match(text, word_end, parser.end).end()  # type: ignore[union-attr]
    if after < parser.end and text[after] in ":：=,}])":
        return False
    last = frame.last_string
    if last is None or frame.value.get(last[0]) is None:
        return False
    start = last[1]
    found = strings.read_string(
        text, parser.pos - 1, parser.end, strings.MEMBER_VALUE, parser.known, parser.open_closers(), quote=text[start]
    )
    if "S028" in found.codes:
        return False
    raw = text[start + 1 : found.stop]
    value, codes = unescape(raw)
    codes = (*codes, "S042") if is_half_escaped(raw) else codes
    frame.value[last[0]] = value
    for code in ("S012", *codes):
        parser.note(code, start, found.after, "", (frame.node, last[0]))
    frame.comma = False
    parser.pos = found.after
    return True


@KEY.rule("S007", "{")
def doubled_brace(parser: "Parser", frame: Frame, _: str) -> bool:
    """`{{"a": 1}`: an extra brace."""
    doubled = parser.pos == frame.start + 1 and frame.kind == "{" and not frame.value
    if not doubled or not KEY_AHEAD.match(parser.text, parser.pos + 1, parser.end):
        return False
    parser.note("S007", parser.pos, parser.pos + 1, "", frame.node)
    parser.pos += 1
    return True


@KEY.rule("S023")
def set_of_values(parser: "Parser", frame: Frame, sign: str) -> bool:
    """`{1, 2}`, `{{…}, {…}}`: a set, read as a list."""
    if frame.kind != "{" or frame.value:
        return False
    if sign not in OPENERS and not _SET_ITEM.match(parser.text, parser.pos, parser.end):
        return False
    _become_list(parser, frame)
    return True


def _become_list(parser: "Parser", frame: Frame) -> None:
    parser.note("S023", frame.start, frame.start + 1, "[", frame.node)
    frame.kind = "["
    frame.value = []
    parser.replace(frame, frame.value)


@KEY.rule("S005", "{")
def next_item(parser: "Parser", frame: Frame, _: str) -> bool:
    """`[{"a": 1, {"a": 2}]`: the next item of the list starts, so this one was never closed."""
    if not _close_before_item(parser, frame):
        return False
    parser.frames[-1].comma = True
    return True


@KEY.rule("S005")
def list_without_bracket(parser: "Parser", frame: Frame, _: str) -> bool:
    """`"tags": 1, 2]`: the scalars belong to a list whose opening bracket is missing."""
    if frame.kind != "{" or not _rest_of_list(parser, frame, parser.pos):
        return False
    frame.comma = False
    return True


def _rest_of_list(parser: "Parser", frame: Frame, start: int) -> bool:
    if not frame.value or frame.no_rest:
        return False
    if not REST_OF_LIST.match(parser.text, start, parser.end):
        frame.no_rest = True  # searched once: the text that follows does not change
        return False
    key = next(reversed(frame.value))
    first = frame.value[key]
    if isinstance(first, dict | list) or len(parser.frames) >= parser.max_depth:
        return False
    while parser.records and parser.records[-1][1] >= start:
        parser.records.pop()
    items = [first]
    frame.value[key] = items
    node = (frame.node, key)
    parser.note("S005", start, start, "[", node)
    parser.frames.append(Frame("[", items, node, start, frame.value, key))
    parser.pos = start
    return True


@KEY.rule("S031 S040")
def stray_key(parser: "Parser", frame: Frame, _: str) -> bool:
    """Text that cannot be a key."""
    parser.stray(frame)
    return True


# -- values ----------------------------------------------------------------------------------------

_DATE = lazy_regex(r"(?:datetime\.)?date(?:time)?\((\d{4}(?:,\s*\d{1,2}){2}(?:(?:,\s*\d{1,2}){2,3})?)\)")
_PREFIXED = lazy_regex(r"""[rbuf](?:"(?:"|[^"\n,}\]\s])|'(?:'|[^'\n,}\]\s]))""")
# Codes of tokens that may have continued if the text ends right after them.
_OPEN_ENDED = frozenset((None, "S015", "S020", "S024"))
_PLACEHOLDER = lazy_regex(r"<[^<>]{1,80} [^<>]{1,80}>")
_BRIEF = 40
_LONGEST_BLOCK = 8192
# The end of a value of several lines.
_BLOCK_END = lazy_regex(r"""[}]|\n\s*"[^"\n]{1,80}"\s*:""")
_LITERAL = lazy_regex(r"-?[0-9][0-9.eE+-]*|true|false|null|True|False|None")


_LINK = lazy_regex(r"\[[^\[\]\n\"']{1,200}\]\([^()\s]{1,400}\)")


@VALUE.rule("S015", "[")
def link(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """`[words](address)`: a Markdown link is text."""
    found = _LINK.match(parser.text, parser.pos, parser.end)
    if found is None or not isinstance(into, dict):
        return False
    parser.put(into, slot, found[0])
    parser.note("S015", parser.pos, found.end(), shown(found[0]), node)
    parser.pos = found.end()
    return True


@VALUE.rule("S024", "{[(｛［（【")
def container(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """An object, a list or a tuple opens."""
    sign = parser.text[parser.pos]
    kind = WIDE.get(sign, sign)
    parser.open(kind, {} if kind == "{" else [], into, slot, node)
    if sign != kind:
        parser.note("S024", parser.pos, parser.pos + 1, kind, node)
    parser.pos += 1
    return True


@VALUE.rule("S011 S029", "`")
def code_block(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """A block of code as a value; otherwise a fence that ends the text before the value."""
    pos = parser.pos
    if not parser.text.startswith("```", pos):
        return False
    if (block := strings.fenced(parser.text, pos, parser.end)) is not None:
        parser.put(into, slot, block.value)
        parser.note_string(block, pos, node)
        parser.pos = block.after
        return True
    if isinstance(into, dict):
        parser.note("S029", parser.frames[-1].key_start, pos, "", node)
    parser.end = pos
    return True


@VALUE.rule("S005", _QUOTES)
def object_without_brace(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """`"a": "b": 1`: a key in place of a value, so the brace of an inner object is missing."""
    text, pos = parser.text, parser.pos
    if not isinstance(into, dict) or text[pos - 1] == "\n" or not KEY_AS_VALUE.match(text, pos, parser.end):
        return False
    parser.open("{", {}, into, slot, node)
    parser.note("S005", pos, pos, "{", node)
    return True


@VALUE.rule("S008 S009 S010 S011 S012 S013 S016 S025 S028 S035 S040 S041 S042", _QUOTES)
def string(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """A string in any kind of quotes."""
    start, text, end = parser.pos, parser.text, parser.end
    found = (
        strings.triple(text, start, end)
        or strings.doubled(text, start, end)
        or strings.read_string(text, start, end, parser.place(), parser.known, parser.open_closers())
    )
    parser.put(into, slot, found.value)
    if parser.frames:
        parser.frames[-1].last_string = (len(into) - 1 if isinstance(into, list) else slot, start)
    parser.note_string(found, start, node)
    parser.pos = found.after
    return True


@VALUE.rule("S025 S042", "\\")
def escaped_string(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """`\\"a"`: a backslash before the quote that opens a string."""
    text, pos = parser.text, parser.pos
    if text[pos + 1 : pos + 2] not in QUOTES:
        return False
    parser.note("S025", pos, pos + 1, "", node)
    parser.pos = pos + 1
    string(parser, into, slot, node)
    if text[parser.pos - 3 : parser.pos] == '\\""':
        parser.note("S042", pos, parser.pos, "", node)  # the first quote belonged to the text
    return True


@VALUE.rule("S008", "rbuf")
def prefixed_string(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """`r"a"`: a string with a Python prefix."""
    if not _PREFIXED.match(parser.text, parser.pos, parser.end):
        return False
    parser.note("S008", parser.pos, parser.pos + 1, "", node)
    parser.pos += 1
    return string(parser, into, slot, node)


# The start of a call's arguments; a bare word is not an argument, so `max(a, b)` is text.
_ARGUMENT = lazy_regex(r"""\s*(?:["'“‘`\[{()*]|[^\W\d]\w*\s*(?:=(?!=)|\Z)|[rbuf]["']|\Z)""")
# Calls that mean the number or literal inside them; `F(3)` and `Psalm(23, 4)` are text.
_CONSTRUCTED = lazy_regex(
    r"(?:new\s+)?(?:[\w.]*\.)?(?:Decimal|Fraction|int|float|complex|bool|str|list|tuple|set|frozenset|dict|array|Integer|Double|Float|Long"
    r"|Number|NumberInt|NumberLong|NumberDecimal|Boolean|Timestamp|Date|ISODate|date|datetime|time|timedelta|UUID|OrderedDict|defaultdict"
    r"|np\.\w+|Some|Just|Ok|Value)\s*\("
)


@VALUE.rule("F003")
def call(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """`Name(a=1)` opens an object; `Name(x)` means its argument; a date becomes its text."""
    text, pos, end = parser.text, parser.pos, parser.end
    found = CALL.match(text, pos, end)
    if found is None or not (_ARGUMENT.match(text, found.end(), end) or _CONSTRUCTED.match(text, pos, end)):
        return False
    if date := _DATE.match(text, pos, end):
        written = iso_date([int(number) for number in date[1].split(",")])
        parser.put(into, slot, written)
        parser.note("F003", pos, date.end(), shown(written), node)
        parser.pos = date.end()
        return True
    keyword = KEYWORD_ARG.match(text, found.end(), end) is not None
    parser.open("=" if keyword else "(", {} if keyword else [], into, slot, node)
    parser.note("F003", pos, found.end(), "{" if keyword else "", node)
    parser.pos = found.end()
    return True


@VALUE.rule("S013 S015 S018 S019 S020 S024 S027 S029 S030 S033 S034 S042 S043")
def bare(parser: "Parser", into: Any, slot: Any, node: Node) -> bool:
    """Words or a number without quotes."""
    start, text = parser.pos, parser.text
    token = _bare_token(parser, in_list=isinstance(into, list))
    stop = parser.pos = start + len(token)
    if not token:
        if parser.frames:
            parser.stray(parser.frames[-1])
        else:
            parser.pos = parser.end
        return True
    if token[-1] in "\"'”" and len(token) > 1 and token[-2] != "\\":
        content, codes = unescape(token[:-1])
        parser.put(into, slot, content)
        for each in ("S013", *codes):
            parser.note(each, start, stop, shown(content), node)
        return True
    value, code = read_token(token)
    if stop >= parser.end and (cut := cut_word(token)) is not None:
        value, code = cut
    if code == "S030" and value is NOTHING:
        parser.note("S030", start, stop, "", node)
        if not isinstance(into, list):
            parser.note("S029", parser.frames[-1].key_start, stop, "", node)
        return True
    parser.put(into, slot, value)
    if code is not None:
        parser.note(code, start, stop, shown(value), node)
    if code == "S015" and ('\\"' in token or _PLACEHOLDER.fullmatch(token)):
        # quotes of a string that was never opened, or a placeholder that was not filled in
        parser.note("S042", start, stop, "", node)
    elif code == "S015" and isinstance(into, list) and len(token) <= _BRIEF and elides(f"# {token}"):
        parser.note("S027", start, stop, "", node)
    elif stop == len(text) and code in _OPEN_ENDED and token not in WORDS:
        parser.note("S043", start, stop, "", node)
    return True


def _has_lines(parser: "Parser", *, in_list: bool) -> bool:
    """Whether words in an object may continue over several lines, because a sign of the structure ends them."""
    if in_list or parser.place() == strings.ARGUMENT or parser.endless:
        return False
    stop = min(parser.end, parser.pos + _LONGEST_BLOCK)
    if _BLOCK_END.search(parser.text, parser.pos, stop) is None:
        parser.endless = True  # searched once: nothing later ends words either
        return False
    return True


def _bare_token(parser: "Parser", *, in_list: bool) -> str:
    """The token without quotes at the parser's position, without an ellipsis, backtick or period after it."""
    start, text, end = parser.pos, parser.text, parser.end
    blank = SCALARS_IN_A_ROW.match(text, start, end) if in_list else None
    words = Bare(text, start, end, parser.place(), parser.known)
    stop = blank.end() if blank else words.stop(parser.open_closers(), lines=_has_lines(parser, in_list=in_list))
    token = text[start:stop].rstrip()
    if len(token) > 3 and token.endswith(("...", "…")):
        token = token.rstrip(".…").rstrip()
    if (token[-1:] == "`" and _LITERAL.fullmatch(token[:-1])) or (token[-1:] == "." and token[:-1] in WORDS):
        token = token[:-1]
    return token
