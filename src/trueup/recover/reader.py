"""The tolerant reader: JSON-like text from an opening bracket on, whatever its faults.

A text and the offset of an opener enter; a value, the offset after it and the records of the fixes leave.
It never recurses and never goes back further than the string it is in: time grows with length alone.
Clean stretches are taken by one compiled pattern per member; only what that can't take goes the slow way.
"""

import math
from typing import Any, NamedTuple

from trueup.recover import strings
from trueup.recover.grammar import (
    BARE_KEY,
    CALL,
    CLOSER_OF,
    CLOSERS,
    COMMENT,
    ELLIPSIS,
    FOREIGN,
    ITEM,
    KEY_AHEAD,
    KEYWORD_ARG,
    LITERALS,
    MEMBER,
    NUMBERS_IN_A_ROW,
    OPENERS,
    QUOTES,
    SKIP_ODD,
    SKIP_PLAIN,
    SPACED_KEY,
    WIDE,
)
from trueup.recover.mismatch import Mismatch, settle
from trueup.recover.scalars import MAX_DIGITS, read_token
from trueup.verdict.paths import Parts

# A place in the value: None for the root, else (place of the container, key or index).
Node = tuple[Any, str | int] | None
# code, start, end, what stands there instead, place
Record = tuple[str, int, int, str, Node]

_WORDS: dict[str, Any] = {**LITERALS, **FOREIGN}
_SEPARATORS = ":：="
# After so many pieces that mean nothing, the rest is not a value; it is dropped in one piece.
_MAX_STRAYS = 64


class TooDeep(Exception):
    """The text nests deeper than the limit; carries the offset."""


class Frame:
    """An open container: what it is, where it hangs, and whether a separator was just read."""

    __slots__ = ("closer", "comma", "holder", "kind", "last_string", "members", "node", "slot", "start", "value")

    def __init__(self, kind: str, value: Any, node: Node, start: int, holder: Any, slot: Any) -> None:
        self.kind = kind  # one of { [ ( and = for the arguments of a call
        self.closer = CLOSER_OF.get(kind, ")")
        self.value = value
        self.node = node
        self.start = start
        self.holder = holder
        self.slot = slot
        self.comma = True  # true at the start and after a separator: a member may follow
        self.last_string: tuple[Any, int] | None = None  # slot and start of a string just read
        self.members: dict[str, tuple[int, int]] = {}  # where each member of an object stands


class Outcome(NamedTuple):
    """What a reading gave: the value, where it ended, its records, and whether the text ended first."""

    value: Any
    end: int
    records: list[Record]
    cut: bool


class Reader:
    """One reading of one stretch of text."""

    __slots__ = ("end", "frames", "known", "max_depth", "pos", "records", "root", "strays", "text")

    def __init__(self, text: str, start: int, end: int, known: frozenset[str], max_depth: int) -> None:
        self.text = text
        self.pos = start
        self.end = end
        self.known = known
        self.max_depth = max_depth
        self.frames: list[Frame] = []
        self.records: list[Record] = []
        self.root: list[Any] = []
        self.strays = 0

    # -- the loop ------------------------------------------------------------------------------

    def read(self) -> Outcome:
        """Read one container; the text at the start must open one."""
        self.value(self.root, 0, None)
        return self.resume()

    def resume(self) -> Outcome:
        """Go on until everything that is open is closed, or the text ends."""
        frames = self.frames
        while frames:
            if self.pos >= self.end:
                break
            self.step(frames[-1])
        cut = bool(frames)
        if cut:
            self.close_all()
        return Outcome(self.root[0] if self.root else None, self.pos, self.records, cut)

    def step(self, frame: Frame) -> None:
        if frame.kind == "{" or frame.kind == "=":
            self.members(frame)
        else:
            self.items(frame)

    def note(self, code: str, start: int, end: int, after: str, node: Node) -> None:
        self.records.append((code, start, end, after, node))

    def skip(self, node: Node) -> int:
        """Go past white space, comments and invisible characters; the offset of the next token."""
        text, end = self.text, self.end
        pos = SKIP_PLAIN.match(text, self.pos, end).end()  # type: ignore[union-attr]
        while pos < end:
            sign = text[pos]
            if sign in "/#<" and (comment := COMMENT.match(text, pos, end)):
                stop = comment.end()
                self.note("S017", pos, stop, "", node)
            elif (sign > "\x7f" or sign < " ") and (odd := SKIP_ODD.match(text, pos, end)):
                stop = odd.end()
                self.note("S026", pos, stop, "", node)
            else:
                break
            pos = SKIP_PLAIN.match(text, stop, end).end()  # type: ignore[union-attr]
        self.pos = pos
        return pos

    # -- objects -------------------------------------------------------------------------------

    def members(self, frame: Frame) -> None:
        """Take as many clean members as there are, then one step of the slow way."""
        if frame.comma and frame.kind == "{":
            text, end, into, members = self.text, self.end, frame.value, frame.members
            match = MEMBER.match
            while found := match(text, self.pos, end):
                double, single, bare, string, quoted, number, word, opener = found.groups()
                if double is not None:
                    key = double
                elif single is not None:
                    key = single
                    self.note("S008", found.start(2) - 1, found.end(2) + 1, f'"{key}"', (frame.node, key))
                else:
                    key = bare
                    self.note("S014", found.start(3), found.end(3), f'"{key}"', (frame.node, key))
                if key in into:
                    self.duplicate(frame, key)
                members[key] = found.span()
                if string is not None:
                    into[key] = string
                    frame.last_string = (key, found.start(4) - 1)
                elif number is not None:
                    into[key] = self.number(number, found.start(6), (frame.node, key))
                elif word is not None:
                    into[key] = _WORDS[word]
                    if word in FOREIGN:
                        self.note("S018", found.start(7), found.end(7), _json_word(word), (frame.node, key))
                elif quoted is not None:
                    into[key] = quoted
                    frame.last_string = (key, found.start(5) - 1)
                    self.note("S008", found.start(5) - 1, found.end(5) + 1, f'"{quoted}"', (frame.node, key))
                else:
                    self.pos = found.start(8)
                    frame.comma = False
                    self.value(into, key, (frame.node, key))
                    return
                self.pos = found.end()
                if text[self.pos - 1] != ",":
                    frame.comma = False
                    break
        self.member_step(frame)

    def number(self, token: str, start: int, node: Node) -> Any:
        """A clean number; one that cannot be held becomes null, with a record."""
        if "." in token or "e" in token or "E" in token:
            real = float(token)
            if not math.isinf(real):
                return real
        elif len(token) <= MAX_DIGITS:
            return int(token)
        self.note("S034", start, start + len(token), "null", node)
        return None

    def duplicate(self, frame: Frame, key: str) -> None:
        """A key given again: the member that it replaces is left out."""
        start, stop = frame.members.get(key, (self.pos, self.pos))
        self.note("S032", start, stop, "", (frame.node, key))

    def member_step(self, frame: Frame) -> None:
        """One separator, closer or member of an object that is not plainly written."""
        pos = self.skip(frame.node)
        if pos >= self.end:
            return
        sign = self.text[pos]
        plain = WIDE.get(sign, sign)
        if plain in CLOSERS:
            self.closer(frame, plain)
        elif plain in ",;":
            self.separator(frame, sign)
        elif ellipsis := ELLIPSIS.match(self.text, pos, self.end):
            self.elide(frame, ellipsis.end())
        elif not frame.comma and not self.comma_missing(frame, sign):
            return
        else:
            self.key_and_value(frame)

    def separator(self, frame: Frame, sign: str) -> None:
        pos = self.pos
        if frame.comma:
            self.note("S003", pos, pos + 1, "", frame.node)
        elif sign != ",":
            self.note("S024" if sign in WIDE else "S038", pos, pos + 1, ",", frame.node)
        frame.comma = True
        self.pos = pos + 1

    def elide(self, frame: Frame, stop: int) -> None:
        self.note("S027", self.pos, stop, "", frame.node)
        frame.comma = False
        frame.last_string = None
        self.pos = stop
        if SKIP_PLAIN.match(self.text, stop, self.end).end() < self.end:  # type: ignore[union-attr]
            after = self.skip(frame.node)
            if after < self.end and self.text[after] not in ",}])":
                frame.comma = True

    def comma_missing(self, frame: Frame, sign: str) -> bool:
        """A member or item starts where a comma should be: note it, unless a string must be joined or reopened."""
        if frame.kind in "{=" and not strings.starts_member(self.text, self.pos, self.end, self.known):
            return self.rejoin(frame, sign)
        if self.is_remark(frame, sign):
            self.note("S005", self.pos, self.pos, frame.closer, frame.node)
            self.pop(frame, self.pos)
            return False
        self.note("S002", self.pos, self.pos, ",", frame.node)
        frame.comma = True
        return True

    def is_remark(self, frame: Frame, sign: str) -> bool:
        """`Note: …` on a line of its own behind the root's last member: prose, and the root was never closed."""
        if len(self.frames) > 1 or frame.kind != "{" or not self.known or sign in QUOTES or not sign.isalpha():
            return False
        word = SPACED_KEY.match(self.text, self.pos, self.end) or BARE_KEY.match(self.text, self.pos, self.end)
        bare = any(record[0] == "S014" and record[4] and record[4][0] is None for record in self.records)
        return word is not None and word[0] not in self.known and not bare and self.text[self.pos - 1] == "\n"

    def rejoin(self, frame: Frame, sign: str) -> bool:
        """Text after a member's value that starts no member: a further piece of its string, or a stray."""
        last = frame.last_string
        text, pos = self.text, self.pos
        if last is not None and sign == "+":
            self.pos = pos + 1
            at = self.skip(frame.node)
            if at < self.end and text[at] in QUOTES:
                self.piece(frame, last, pos)
                return False
            self.pos = pos
        elif last is not None and sign in QUOTES and isinstance(frame.value[last[0]], str):
            self.piece(frame, last, pos)
            return False
        self.stray(frame)
        return False

    def piece(self, frame: Frame, last: tuple[Any, int], start: int) -> None:
        """Join the string at the reader's place to the string before it."""
        slot = last[0]
        piece = strings.read_string(self.text, self.pos, self.end, self.place(frame), self.known, self.open_closers())
        frame.value[slot] += piece.value
        self.note("S022", start, piece.after, "", (frame.node, slot))
        self.note_codes(piece, self.pos, (frame.node, slot))
        self.pos = piece.after

    def stray(self, frame: Frame) -> None:
        """Drop what means nothing here, up to the next sign that does."""
        text, pos, end = self.text, self.pos, self.end
        stop = pos + 1
        if text[pos] in QUOTES:
            code = "S040"
        else:
            code = "S031"
            while stop < end and text[stop] not in ",;}])\n\"":
                stop += 1
        self.strays += 1
        if self.strays > _MAX_STRAYS:
            code, stop = "S031", end
        self.note(code, pos, stop, "", frame.node)
        self.pos = stop

    def key_and_value(self, frame: Frame) -> None:
        """A key, its colon and its value, each possibly faulty."""
        start = self.pos
        key = self.key(frame)
        if key is None:
            return
        node = (frame.node, key)
        pos = self.skip(node)
        sign = self.text[pos] if pos < self.end else ""
        if sign and sign in _SEPARATORS:
            stop = pos + 1
            if sign == "=" and self.text[stop : stop + 1] == ">":
                stop += 1
            if sign != ":" and not (sign == "=" and frame.kind == "="):
                self.note("S024" if sign in WIDE else "S038", pos, stop, ":", node)
            self.pos = stop
            pos = self.skip(node)
            sign = self.text[pos] if pos < self.end else ""
        elif sign and sign not in ",;}])":
            self.note("S004", pos, pos, ":", node)
        else:
            self.lone_key(frame, key, start, bool(sign))
            return
        frame.comma = False
        if not sign:
            self.note("S029", start, self.end, "", node)
            return
        if key in frame.value:
            self.duplicate(frame, key)
        if WIDE.get(sign, sign) in ",;}])":
            frame.value[key] = None
            self.note("S036", start, pos, "null", node)
        else:
            self.value(frame.value, key, node)
        frame.members[key] = (start, self.pos)

    def lone_key(self, frame: Frame, key: str, start: int, more: bool) -> None:
        """A string or word with no value: an element of a set, or a key that was left alone or cut off."""
        frame.comma = False
        if not more:
            self.note("S029", start, self.end, "", frame.node)
        elif frame.kind == "{" and not frame.value:
            bare = self.records[-1:] != [] and self.records[-1][:2] == ("S014", start)
            if bare:
                self.records.pop()
                self.pos = start
            self.become_list(frame)
            if bare:
                frame.comma = True
            else:
                frame.value.append(key)
        else:
            self.note("S037", start, self.pos, "", frame.node)

    def key(self, frame: Frame) -> str | None:
        """The key at the reader's place; None when nothing there can be one (and it was dropped)."""
        text, pos, end = self.text, self.pos, self.end
        sign = text[pos]
        if sign in QUOTES:
            return self.quoted_key(frame)
        if sign == "\\" and text[pos + 1 : pos + 2] in QUOTES:
            self.note("S025", pos, pos + 1, "", frame.node)
            self.pos = pos + 1
            return self.quoted_key(frame)
        word = SPACED_KEY.match(text, pos, end) or BARE_KEY.match(text, pos, end)
        if word is None:
            if sign in OPENERS and frame.kind == "{" and not frame.value:
                self.become_list(frame)
            else:
                self.stray(frame)
            return None
        key, stop = word[0], word.end()
        node = (frame.node, key)
        if stop < end and text[stop] in "\"'”":
            stop += 1
            self.note("S013", pos, stop, f'"{key}"', node)
        elif frame.last_string is not None and self.reopen(frame, stop):
            return None
        elif frame.kind != "=":
            self.note("S014", pos, stop, f'"{key}"', node)
        self.pos = stop
        return key

    def become_list(self, frame: Frame) -> None:
        """`{1, 2}`, `{{…}, {…}}`: a set, read as a list."""
        self.note("S023", frame.start, frame.start + 1, "[", frame.node)
        frame.kind = "["
        frame.value = []
        if isinstance(frame.holder, list):
            frame.holder[-1] = frame.value
        else:
            frame.holder[frame.slot] = frame.value

    def quoted_key(self, frame: Frame) -> str:
        pos = self.pos
        found = strings.doubled(self.text, pos, self.end) or strings.read_key(self.text, pos, self.end)
        self.note_codes(found, pos, (frame.node, found.value))
        self.pos = found.after
        return found.value

    def reopen(self, frame: Frame, word_end: int) -> bool:
        """Words where a key should be, after a string: the string went on past its inner quote."""
        after = SKIP_PLAIN.match(self.text, word_end, self.end).end()  # type: ignore[union-attr]
        if after < self.end and self.text[after] in ":：=,}])":
            return False
        last = frame.last_string
        if last is None or frame.value.get(last[0]) is None:
            return False
        found = strings.read_string(
            self.text, self.pos - 1, self.end, strings.MEMBER_VALUE, self.known, self.open_closers(), self.text[last[1]]
        )
        if "S028" in found.codes:
            return False
        start = last[1]
        value, codes = strings.unescape(self.text[start + 1 : found.stop])
        frame.value[last[0]] = value
        self.note("S012", start, found.after, "", (frame.node, last[0]))
        for code in codes:
            self.note(code, start, found.after, "", (frame.node, last[0]))
        frame.comma = False
        self.pos = found.after
        return True

    # -- lists ---------------------------------------------------------------------------------

    def items(self, frame: Frame) -> None:
        """Take as many clean items as there are, then one step of the slow way."""
        if frame.comma and frame.kind == "[":
            text, end, into = self.text, self.end, frame.value
            match = ITEM.match
            while found := match(text, self.pos, end):
                string, quoted, number, word, opener = found.groups()
                if string is not None:
                    frame.last_string = (len(into), found.start(1) - 1)
                    into.append(string)
                elif number is not None:
                    into.append(self.number(number, found.start(3), (frame.node, len(into))))
                elif word is not None:
                    if word in FOREIGN:
                        node = (frame.node, len(into))
                        self.note("S018", found.start(4), found.end(4), _json_word(word), node)
                    into.append(_WORDS[word])
                elif quoted is not None:
                    node = (frame.node, len(into))
                    self.note("S008", found.start(2) - 1, found.end(2) + 1, f'"{quoted}"', node)
                    frame.last_string = (len(into), found.start(2) - 1)
                    into.append(quoted)
                else:
                    self.pos = found.start(5)
                    frame.comma = False
                    self.value(into, len(into), (frame.node, len(into)))
                    return
                self.pos = found.end()
                if text[self.pos - 1] != ",":
                    frame.comma = False
                    break
        self.item_step(frame)

    def item_step(self, frame: Frame) -> None:
        """One separator, closer or item of a list that is not plainly written."""
        pos = self.skip(frame.node)
        if pos >= self.end:
            return
        sign = self.text[pos]
        plain = WIDE.get(sign, sign)
        if plain in CLOSERS:
            self.closer(frame, plain)
        elif plain in ",;":
            self.separator(frame, sign)
        elif ellipsis := ELLIPSIS.match(self.text, pos, self.end):
            self.elide(frame, ellipsis.end())
        elif not frame.comma and sign in ":：":
            self.member_in_list(frame)
        elif not frame.comma and sign == "+" and frame.last_string is not None:
            self.rejoin(frame, sign)
        elif not frame.comma and frame.kind == "(" and sign in QUOTES and frame.last_string is not None:
            self.piece(frame, frame.last_string, pos)
        else:
            if not frame.comma:
                self.note("S002", pos, pos, ",", frame.node)
            frame.comma = False
            frame.last_string = (len(frame.value), pos) if sign in QUOTES else None
            self.value(frame.value, len(frame.value), (frame.node, len(frame.value)))

    def member_in_list(self, frame: Frame) -> None:
        """`[…, "key": 1]`: whose member it is depends on what the list holds and hangs in."""
        last = frame.last_string
        if last is None or not frame.value or not isinstance(frame.value[-1], str):
            self.stray(frame)
            return
        key, start = frame.value.pop(), last[1]
        frame.last_string = None
        owner = self.owner(frame, key, start)
        node = (owner.node, key)
        self.pos += 1
        pos = self.skip(node)
        owner.comma = False
        if key in owner.value:
            self.duplicate(owner, key)
        if pos >= self.end or self.text[pos] in ",}])":
            owner.value[key] = None
            self.note("S036", start, pos, "null", node)
        else:
            self.value(owner.value, key, node)
        owner.members[key] = (start, self.pos)

    def owner(self, frame: Frame, key: str, start: int) -> Frame:
        """The object a member found in a list belongs to: the list's own holder, its last item, or a new one."""
        above = self.frames[-2] if len(self.frames) > 1 else None
        objects = [item for item in frame.value[-3:] if isinstance(item, dict)]
        expected = objects and key not in objects[-1] and any(key in item for item in objects)
        if above is not None and above.kind in "{=" and (frame.value or self.saw("S003", frame)) and not expected:
            self.note("S005", start, start, frame.closer, frame.node)
            self.pop(frame, start)
            return above
        if objects and objects[-1] is frame.value[-1]:
            into = objects[-1]
            self.note("S007", start, start, "", frame.node)
        else:
            into = {}
            frame.value.append(into)
            self.note("S005", start, start, "{", frame.node)
        child = Frame("{", into, (frame.node, len(frame.value) - 1), start, frame.value, None)
        self.frames.append(child)
        return child

    def saw(self, code: str, frame: Frame) -> bool:
        return bool(self.records) and self.records[-1][0] == code and self.records[-1][4] == frame.node

    # -- values --------------------------------------------------------------------------------

    def put(self, into: Any, slot: Any, value: Any) -> None:
        if isinstance(into, list):
            into.append(value)
        else:
            into[slot] = value

    def value(self, into: Any, slot: Any, node: Node) -> None:
        """Read the value at the reader's place, or open the container that starts there."""
        text, pos = self.text, self.pos
        sign = text[pos]
        if sign in "{[(｛［（【":
            self.open(WIDE.get(sign, sign), into, slot, node)
        elif sign in QUOTES:
            self.string(into, slot, node)
        elif sign == "\\" and text[pos + 1 : pos + 2] in QUOTES:
            self.note("S025", pos, pos + 1, "", node)
            self.pos = pos + 1
            self.string(into, slot, node)
        elif sign in "rbuf" and text[pos + 1 : pos + 2] in ("'", '"') and pos + 1 < self.end:
            self.note("S008", pos, pos + 1, "", node)
            self.pos = pos + 1
            self.string(into, slot, node)
        elif (call := CALL.match(text, pos, self.end)) is not None:
            self.call(call.end(), into, slot, node)
        else:
            self.bare(into, slot, node)

    def open(self, kind: str, into: Any, slot: Any, node: Node) -> None:
        if len(self.frames) >= self.max_depth:
            raise TooDeep(self.pos)
        if self.text[self.pos] != kind:
            self.note("S024", self.pos, self.pos + 1, kind, node)
        value: Any = {} if kind == "{" else []
        self.put(into, slot, value)
        self.frames.append(Frame(kind, value, node, self.pos, into, slot))
        self.pos += 1

    def call(self, inside: int, into: Any, slot: Any, node: Node) -> None:
        """`Name(a=1)` opens an object; `Name(x)` stands for its argument."""
        if len(self.frames) >= self.max_depth:
            raise TooDeep(self.pos)
        keyword = KEYWORD_ARG.match(self.text, inside, self.end) is not None
        value: Any = {} if keyword else []
        self.put(into, slot, value)
        self.note("F003", self.pos, inside, "{" if keyword else "", node)
        self.frames.append(Frame("=" if keyword else "(", value, node, self.pos, into, slot))
        self.pos = inside

    def string(self, into: Any, slot: Any, node: Node) -> None:
        start = self.pos
        place = strings.LIST_ITEM if isinstance(into, list) else strings.MEMBER_VALUE
        found = (
            strings.triple(self.text, start, self.end)
            or strings.doubled(self.text, start, self.end)
            or strings.read_string(self.text, start, self.end, place, self.known, self.open_closers())
        )
        self.put(into, slot, found.value)
        if self.frames:
            self.frames[-1].last_string = (len(into) - 1 if isinstance(into, list) else slot, start)
        self.note_codes(found, start, node)
        self.pos = found.after

    def note_codes(self, found: strings.Read, start: int, node: Node) -> None:
        for code in found.codes:
            at = found.stop if code in ("S013", "S028") else start
            self.note(code, at, found.after, '"' if code == "S013" else "", node)

    def place(self, frame: Frame) -> str:
        return strings.MEMBER_VALUE if frame.kind in "{=" else strings.LIST_ITEM

    def open_closers(self) -> str:
        return "".join(frame.closer for frame in reversed(self.frames[-64:]))

    def bare(self, into: Any, slot: Any, node: Node) -> None:
        """Words or a number without quotes, up to where they must end."""
        start = self.pos
        in_list = isinstance(into, list)
        blank = NUMBERS_IN_A_ROW.match(self.text, start, self.end) if in_list else None
        stop = blank.end() if blank else strings.bare_end(self.text, start, self.end, in_list, self.known)
        token = self.text[start:stop].rstrip()
        if len(token) > 3 and token.endswith(("...", "…")):
            token = token.rstrip(".…").rstrip()
        stop = start + len(token)
        self.pos = stop
        if not token:
            self.stray(self.frames[-1])
            return
        if token[-1] in "\"'”" and len(token) > 1:
            self.put(into, slot, token[:-1])
            self.note("S013", start, stop, f'"{token[:-1]}"', node)
            return
        value, code = read_token(token)
        if stop >= self.end and (cut := strings.cut_word(token)) is not None:
            value, code = cut
        if code == "S030" and value is strings.NOTHING:
            self.note("S030", start, stop, "", node)
            if not in_list:
                self.note("S029", start, stop, "", node)
            return
        self.put(into, slot, value)
        if code is not None:
            self.note(code, start, stop, _shown(value), node)

    # -- closing -------------------------------------------------------------------------------

    def closer(self, frame: Frame, sign: str) -> None:
        """A closing bracket: the right one, one of another kind, or one too many."""
        pos = self.pos
        if sign == frame.closer and not self.closed_too_soon(frame):
            if self.text[pos] != sign:
                self.note("S024", pos, pos + 1, sign, frame.node)
            self.pos = pos + 1
            self.pop(frame, pos)
            return
        if sign == frame.closer:
            self.note("S007", pos, pos + 1, "", frame.node)
            self.pos = pos + 1
            return
        choice = settle(self.text, pos, self.end, [f.closer for f in self.frames], sign)
        if choice is Mismatch.EXTRA:
            self.note("S007", pos, pos + 1, "", frame.node)
            self.pos = pos + 1
        elif choice is Mismatch.WRONG:
            self.note("S006", pos, pos + 1, frame.closer, frame.node)
            self.pos = pos + 1
            self.pop(frame, pos)
        else:
            self.note("S005", pos, pos, frame.closer, frame.node)
            self.pop(frame, pos)

    def closed_too_soon(self, frame: Frame) -> bool:
        """`{"a": 1}, "b": 2}`: the root closes, yet a member follows."""
        if len(self.frames) > 1 or frame.kind != "{":
            return False
        text, pos = self.text, self.pos + 1
        at = SKIP_PLAIN.match(text, pos, self.end).end()  # type: ignore[union-attr]
        if at >= self.end or text[at] != ",":
            return False
        return KEY_AHEAD.match(text, at + 1, self.end) is not None and "}" in text[at : self.end]

    def pop(self, frame: Frame, at: int) -> None:
        self.frames.pop()
        if frame.comma and frame.value:
            comma = self.text.rfind(",", frame.start, at)
            if comma >= 0:
                self.note("S001", comma, comma + 1, "", frame.node)
        if frame.kind == "(":
            self.pop_tuple(frame)
        if self.frames:
            above = self.frames[-1]
            above.last_string = None
            if frame.slot in above.members:
                above.members[frame.slot] = (above.members[frame.slot][0], self.pos)

    def pop_tuple(self, frame: Frame) -> None:
        """A tuple is a list; parentheses around one value alone are only parentheses."""
        called = self.text[frame.start] != "("
        if len(frame.value) == 1 and not frame.comma:
            if isinstance(frame.holder, list):
                frame.holder[-1] = frame.value[0]
            else:
                frame.holder[frame.slot] = frame.value[0]
        if not called:
            self.note("S023", frame.start, frame.start + 1, "[", frame.node)

    def close_all(self) -> None:
        """The text ended: close what is open."""
        top = self.frames[-1]
        at = self.end
        closers = self.open_closers()
        codes = {r[0] for r in self.records[-3:]}
        if top.comma and top.value and not codes & {"S029", "S030"}:
            self.note("S029", at, at, "", top.node)
        self.note("S005", at, at, closers, top.node)
        while self.frames:
            frame = self.frames.pop()
            if frame.kind == "(":
                self.pop_tuple(frame)
        self.pos = self.end


def parts_of(node: Node) -> Parts:
    """The path a node stands for."""
    parts: list[str | int] = []
    while node is not None:
        node, part = node
        parts.append(part)
    return tuple(reversed(parts))


def _json_word(word: str) -> str:
    value = _WORDS[word]
    return "null" if value is None else "true" if value else "false"


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f'"{value}"' if isinstance(value, str) else str(value)
