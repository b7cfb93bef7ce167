"""Objects: members one after the other, the clean ones by one pattern each, the rest step by step."""

import re

from trueup.recover.json import quoted, strings
from trueup.recover.json.between import Between
from trueup.recover.json.doubts import is_half_escaped, is_odd_key
from trueup.recover.json.escapes import unescape
from trueup.recover.json.frames import Frame, shown
from trueup.recover.json.lexer import (
    BARE_KEY,
    CLOSERS,
    ELLIPSIS,
    FOREIGN,
    JOINED_KEY,
    KEY_AHEAD,
    MEMBER,
    ODD_COMMA,
    OPENERS,
    QUOTES,
    REST_OF_LIST,
    SKIP_BLANK,
    SPACED_KEY,
    WIDE,
    WORDS,
    json_word,
)

_SEPARATORS = ":：="
_QUOTED_TWICE = re.compile(r'""(?=[^"\n:]{1,80}"\s*:)')
_SET_ITEM = re.compile(r"[+-]?[0-9][0-9.]*\s*[,}]")
_PLAIN_VALUE = re.compile(r"""["'“”„‘’`«「\[{(\-+.0-9]|(?:true|false|null|True|False|None)\b""")
_STRAY_QUOTE = re.compile(r'"\s*:')


class Objects(Between):
    """The part of the reader that reads members."""

    __slots__ = ()

    def members(self, frame: Frame) -> None:
        """Take as many clean members as there are, then one step of the slow way."""
        if frame.comma and frame.kind == "{":
            text, end, into, members = self.text, self.end, frame.value, frame.members
            match = MEMBER.match
            while found := match(text, self.pos, end):
                double, single, bare, string, quoted, number, word, _opener = found.groups()
                if double is not None:
                    key = double
                elif single is not None:
                    key = single
                    self.note("S008", found.start(2) - 1, found.end(2) + 1, shown(key), (frame.node, key))
                else:
                    key = bare
                    self.note("S014", found.start(3), found.end(3), shown(key), (frame.node, key))
                if key in into:
                    self.duplicate(frame, key)
                members[key] = found.span()
                if string is not None:
                    into[key] = string
                    frame.last_string = (key, found.start(4) - 1)
                elif number is not None:
                    frame.last_string = None
                    into[key] = self.number(number, found.start(6), (frame.node, key))
                elif word is not None:
                    frame.last_string = None
                    into[key] = WORDS[word]
                    if word in FOREIGN:
                        self.note("S018", found.start(7), found.end(7), json_word(word), (frame.node, key))
                elif quoted is not None:
                    into[key] = quoted
                    frame.last_string = (key, found.start(5) - 1)
                    self.note("S008", found.start(5) - 1, found.end(5) + 1, shown(quoted), (frame.node, key))
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
        elif plain in ",;" or (sign in ".|" and not frame.comma and ODD_COMMA.match(self.text, pos, self.end)):
            self.separator(frame, sign)
        elif ellipsis := ELLIPSIS.match(self.text, pos, self.end):
            self.elide(frame, ellipsis.end())
        elif not frame.comma and not self.comma_missing(frame, sign):
            return
        else:
            self.key_and_value(frame)

    def key_and_value(self, frame: Frame) -> None:
        """A key, its colon and its value, each possibly faulty."""
        start = self.pos
        key = self.key(frame)
        if key is None:
            return
        node = (frame.node, key)
        pos = self.skip(node)
        sign = self.text[pos] if pos < self.end else ""
        if sign and (sign in _SEPARATORS or self.text.startswith("->", pos)):
            stop = pos + 1
            if sign in "=-" and self.text[stop : stop + 1] == ">":
                stop += 1
            frame.equals = frame.equals or sign == "="
            if sign != ":" and not (sign == "=" and frame.kind == "="):
                self.note("S024" if sign in WIDE else "S038", pos, stop, ":", node)
            self.pos = stop
            pos = self.skip(node)
            while pos < self.end and self.text[pos] in ":=":
                self.note("S038", pos, pos + 1, "", node)
                self.pos = pos + 1
                pos = self.skip(node)
            sign = self.text[pos] if pos < self.end else ""
        elif sign and sign not in ",;}])":
            if key.endswith(":"):
                key = key[:-1].rstrip()
                node = (frame.node, key)
                self.note("S004", start, pos, shown(key) + ":", node)
            else:
                self.note("S004", pos, pos, ":", node)
                if is_odd_key(key):
                    self.note("S042", start, pos, "", node)  # `"note = [], "x"`: the key ran on
                if self.records[-2:-1] and self.records[-2][0] == "S014" and not _PLAIN_VALUE.match(self.text, pos):
                    self.note("S042", start, pos, "", node)  # `{not json}`: two words in braces are no member
            frame.loose = frame.kind == "{"
        else:
            self.lone_key(frame, key, start, bool(sign))
            return
        frame.comma = False
        frame.last_string = None
        frame.key_start = start
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
        elif frame.kind == "{" and self.rest_of_list(frame, start):
            return
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

    def rest_of_list(self, frame: Frame, start: int) -> bool:
        """`"tags": "a", "b"]`: the scalars belong to a list whose opening bracket is missing."""
        if not frame.value or frame.no_rest:
            return False
        if not REST_OF_LIST.match(self.text, start, self.end):
            frame.no_rest = True  # looked for once: what follows does not change
            return False
        key = next(reversed(frame.value))
        first = frame.value[key]
        if isinstance(first, dict | list) or len(self.frames) >= self.max_depth:
            return False
        while self.records and self.records[-1][1] >= start:
            self.records.pop()
        items = [first]
        frame.value[key] = items
        node = (frame.node, key)
        self.note("S005", start, start, "[", node)
        child = Frame("[", items, node, start, frame.value, key)
        self.frames.append(child)
        self.pos = start
        return True

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
        if sign == ":" and (symbol := BARE_KEY.match(text, pos, end)):
            self.note("S014", pos, symbol.end(), "", frame.node)
            self.pos = pos = symbol.end()
        if joined := JOINED_KEY.match(text, pos, end):
            self.note("S038", pos, joined.end(1), "", frame.node)
            self.pos = joined.end()
            return self.quoted_key(frame)
        word = SPACED_KEY.match(text, pos, end) or BARE_KEY.match(text, pos, end)
        if word is None:
            self.no_key(frame, sign)
            return None
        key, stop = word[0], word.end()
        node = (frame.node, key)
        if stop < end and text[stop] in "\"'”":
            stop += 1
            self.note("S013", pos, stop, f'"{key}"', node)
        elif frame.last_string is not None and self.reopen(frame, stop):
            return None
        elif frame.kind != "=":
            # `also approved: true`: a word before a key that the schema does not know may be none of it
            guessed = " " in key and key not in self.known
            self.note("S015" if guessed else "S014", pos, stop, f'"{key}"', node)
        self.pos = stop
        return key

    def no_key(self, frame: Frame, sign: str) -> None:
        """What stands where a key should be and can't be one: a doubled brace, the first of a set, or a stray."""
        doubled = sign == "{" and self.pos == frame.start + 1
        if frame.kind == "{" and not frame.value and doubled and KEY_AHEAD.match(self.text, self.pos + 1, self.end):
            self.note("S007", self.pos, self.pos + 1, "", frame.node)
            self.pos += 1
        elif (
            frame.kind == "{"
            and not frame.value
            and (sign in OPENERS or _SET_ITEM.match(self.text, self.pos, self.end))
        ):
            self.become_list(frame)
        elif sign == "{" and len(self.frames) > 1 and self.frames[-2].kind == "[":
            self.next_item(frame)
        elif frame.kind == "{" and self.rest_of_list(frame, self.pos):
            frame.comma = False
        else:
            self.stray(frame)

    def next_item(self, frame: Frame) -> None:
        """`[{"a": 1, {"a": 2}]`: the next item of the list starts, so this one was never closed."""
        frame.comma = False
        self.note("S005", self.pos, self.pos, frame.closer, frame.node)
        self.pop(frame, self.pos)
        self.frames[-1].comma = True

    def become_list(self, frame: Frame) -> None:
        """`{1, 2}`, `{{…}, {…}}`: a set, read as a list."""
        self.note("S023", frame.start, frame.start + 1, "[", frame.node)
        frame.kind = "["
        frame.value = []
        self.replace(frame, frame.value)

    def quoted_key(self, frame: Frame) -> str:
        pos = self.pos
        if _QUOTED_TWICE.match(self.text, pos, self.end):
            self.note("S040", pos, pos + 1, "", frame.node)
            pos += 1
        found = quoted.doubled(self.text, pos, self.end) or strings.read_key(self.text, pos, self.end)
        node = (frame.node, found.value)
        self.note_codes(found, pos, node)
        self.pos = found.after
        if _STRAY_QUOTE.match(self.text, self.pos, self.end):
            self.note("S040", self.pos, self.pos + 1, "", node)
            self.pos += 1
        return found.value

    def reopen(self, frame: Frame, word_end: int) -> bool:
        """Words where a key should be, after a string: the string went on past its inner quote."""
        after = SKIP_BLANK.match(self.text, word_end, self.end).end()  # type: ignore[union-attr]
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
        raw = self.text[start + 1 : found.stop]
        value, codes = unescape(raw)
        codes = (*codes, "S042") if is_half_escaped(raw) else codes
        frame.value[last[0]] = value
        self.note("S012", start, found.after, "", (frame.node, last[0]))
        for code in codes:
            self.note(code, start, found.after, "", (frame.node, last[0]))
        frame.comma = False
        self.pos = found.after
        return True
