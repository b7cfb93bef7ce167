"""Values: strings, bare words and numbers, calls, and the openers of containers.

The cursor stands at the first sign of a value; afterwards it stands behind it, or inside what it opened.
"""

import re
from typing import Any

from trueup.recover.json import quoted, strings
from trueup.recover.json.escapes import unescape
from trueup.recover.json.frames import Cursor, Frame, Node, TooDeep, shown
from trueup.recover.json.lexer import CALL, KEY_AS_VALUE, KEYWORD_ARG, NUMBERS_IN_A_ROW, QUOTES, WIDE, WORDS
from trueup.recover.json.tokens import NOTHING, cut_word, iso_date, read_token

_DATE = re.compile(r"(?:datetime\.)?date(?:time)?\((\d{4}(?:,\s*\d{1,2}){2}(?:(?:,\s*\d{1,2}){2,3})?)\)")
_PREFIXED = re.compile(r"""[rbuf](?:"(?:"|[^"\n,}\]\s])|'(?:'|[^'\n,}\]\s]))""")
# What can go on where the text ends right behind it.
_OPEN_ENDED = frozenset((None, "S015", "S020", "S021", "S024"))
_LITERAL = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null|True|False|None")


class Values(Cursor):
    """The part of the reader that reads one value."""

    __slots__ = ()

    def value(self, into: Any, slot: Any, node: Node) -> None:
        """Read the value at the reader's place, or open the container that starts there."""
        text, pos = self.text, self.pos
        sign = text[pos]
        if sign in "{[(｛［（【":
            self.open(WIDE.get(sign, sign), into, slot, node)
        elif sign == "`" and text.startswith("```", pos):
            if (block := quoted.fenced(text, pos, self.end)) is not None:
                self.put(into, slot, block.value)
                self.note_codes(block, pos, node)
                self.pos = block.after
                return
            if isinstance(into, dict):
                self.note("S029", self.frames[-1].key_start, pos, "", node)
            self.end = pos
        elif sign in QUOTES:
            if isinstance(into, dict) and text[pos - 1] != "\n" and KEY_AS_VALUE.match(text, pos, self.end):
                self.implicit_object(into, slot, node)
            else:
                self.string(into, slot, node)
        elif sign == "\\" and text[pos + 1 : pos + 2] in QUOTES:
            self.note("S025", pos, pos + 1, "", node)
            self.pos = pos + 1
            self.string(into, slot, node)
            if text[self.pos - 3 : self.pos] == '\\""':
                self.note("S042", pos, self.pos, "", node)  # the first quote was the text's own
        elif sign in "rbuf" and _PREFIXED.match(text, pos, self.end):
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

    def implicit_object(self, into: Any, slot: Any, node: Node) -> None:
        """`"a": "b": 1`: a key where a value should be, so the brace of an inner object is missing."""
        if len(self.frames) >= self.max_depth:
            raise TooDeep(self.pos)
        value: dict[str, Any] = {}
        self.put(into, slot, value)
        self.note("S005", self.pos, self.pos, "{", node)
        self.frames.append(Frame("{", value, node, self.pos, into, slot))

    def call(self, inside: int, into: Any, slot: Any, node: Node) -> None:
        """`Name(a=1)` opens an object; `Name(x)` stands for its argument."""
        if len(self.frames) >= self.max_depth:
            raise TooDeep(self.pos)
        if date := _DATE.match(self.text, self.pos, self.end):
            said = iso_date([int(number) for number in date[1].split(",")])
            self.put(into, slot, said)
            self.note("F003", self.pos, date.end(), shown(said), node)
            self.pos = date.end()
            return
        keyword = KEYWORD_ARG.match(self.text, inside, self.end) is not None
        value: Any = {} if keyword else []
        self.put(into, slot, value)
        self.note("F003", self.pos, inside, "{" if keyword else "", node)
        self.frames.append(Frame("=" if keyword else "(", value, node, self.pos, into, slot))
        self.pos = inside

    def string(self, into: Any, slot: Any, node: Node) -> None:
        start = self.pos
        place = self.place(self.top())
        found = (
            quoted.triple(self.text, start, self.end)
            or quoted.doubled(self.text, start, self.end)
            or strings.read_string(self.text, start, self.end, place, self.known, self.open_closers())
        )
        self.put(into, slot, found.value)
        if self.frames:
            self.frames[-1].last_string = (len(into) - 1 if isinstance(into, list) else slot, start)
        self.note_codes(found, start, node)
        self.pos = found.after

    def bare(self, into: Any, slot: Any, node: Node) -> None:
        """Words or a number without quotes, up to where they must end."""
        start, text = self.pos, self.text
        in_list = isinstance(into, list)
        blank = NUMBERS_IN_A_ROW.match(self.text, start, self.end) if in_list else None
        stop = (
            blank.end() if blank else strings.bare_end(self.text, start, self.end, self.place(self.top()), self.known)
        )
        token = self.text[start:stop].rstrip()
        if len(token) > 3 and token.endswith(("...", "…")):
            token = token.rstrip(".…").rstrip()
        if (token[-1:] == "`" and _LITERAL.fullmatch(token[:-1])) or (token[-1:] == "." and token[:-1] in WORDS):
            token = token[:-1]
        stop = start + len(token)
        self.pos = stop
        if not token:
            if self.frames:
                self.stray(self.frames[-1])
            else:
                self.pos = self.end
            return
        if token[-1] in "\"'”" and len(token) > 1 and token[-2] != "\\":
            said, codes = unescape(token[:-1])
            self.put(into, slot, said)
            for each in ("S013", *codes):
                self.note(each, start, stop, shown(said), node)
            return
        value, code = read_token(token)
        if stop >= self.end and (cut := cut_word(token)) is not None:
            value, code = cut
        if code == "S030" and value is NOTHING:
            self.note("S030", start, stop, "", node)
            if not in_list:
                self.note("S029", self.frames[-1].key_start, stop, "", node)
            return
        self.put(into, slot, value)
        if code is not None:
            self.note(code, start, stop, shown(value), node)
        if code == "S015" and '\\"' in token:
            self.note("S042", start, stop, "", node)  # quotes of a string that nobody opened
        elif stop == len(text) and code in _OPEN_ENDED and token not in WORDS:
            self.note("S043", start, stop, "", node)
