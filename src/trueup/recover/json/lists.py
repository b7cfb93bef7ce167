"""Lists: items one after the other, the clean ones by one pattern each, the rest step by step."""

import re
from typing import Any

from trueup.recover.json.clean import WRITABLE_DEPTH
from trueup.recover.json.exact import exact
from trueup.recover.json.frames import Frame, shown
from trueup.recover.json.lexer import CLOSERS, CLOSING_TAG, ELLIPSIS, FOREIGN, ITEM, QUOTES, WIDE, WORDS, json_word
from trueup.recover.json.objects import Objects

_ITEM_SIGNS = frozenset("\"'`“„«「‘{[-+0123456789｛［tfnTFNu\\")
# The mark of a line in a written list, before an item in quotes or brackets.
_BULLET = re.compile(r"""(?:[-*•–]|[0-9]{1,3}[.)])[ \t]+(?=["'“{\[])""")
# Members up to a brace with the end of the list or another object behind it.
_LIKE_AN_ITEM = re.compile(r"""[^{}\[\]]{1,400}+\}\s*(?:\]|,\s*\{)""")
_LEAST = 256  # what a look in vain costs at least


class Lists(Objects):
    """The part of the reader that reads items."""

    __slots__ = ()

    def items(self, frame: Frame) -> None:
        """Take as many clean items as there are, then one step of the slow way."""
        if frame.comma and frame.kind == "[":
            text, end, into = self.text, self.end, frame.value
            match = ITEM.match
            while found := match(text, self.pos, end):
                string, quoted, number, word, _opener = found.groups()
                if string is not None:
                    frame.last_string = (len(into), found.start(1) - 1)
                    into.append(string)
                elif number is not None:
                    into.append(self.number(number, found.start(3), (frame.node, len(into))))
                elif word is not None:
                    if word in FOREIGN:
                        node = (frame.node, len(into))
                        self.note("S018", found.start(4), found.end(4), json_word(word), node)
                    into.append(WORDS[word])
                elif quoted is not None:
                    node = (frame.node, len(into))
                    self.note("S008", found.start(2) - 1, found.end(2) + 1, shown(quoted), node)
                    frame.last_string = (len(into), found.start(2) - 1)
                    into.append(quoted)
                else:
                    self.pos = found.start(5)
                    frame.comma = False
                    if self.spare <= 0 or not self.taken_whole(frame):
                        self.value(into, len(into), (frame.node, len(into)))
                    return
                self.pos = found.end()
                if text[self.pos - 1] != ",":
                    frame.comma = False
                    break
        self.item_step(frame)

    def taken_whole(self, frame: Frame) -> bool:
        """Take the container at the reader's place with the fast parser, if it needs no mending."""
        if len(self.frames) + WRITABLE_DEPTH > self.max_depth:
            return False
        plain, value, end = exact(self.text, self.pos, self.end)
        if not plain:
            self.spare -= end - self.pos + _LEAST
            return False
        frame.value.append(value)
        frame.last_string = frame.last_child = None
        frame.whole = self.pos
        self.pos = end
        return True

    def reread(self, frame: Frame) -> None:
        """Read the last item, which was taken whole, step by step: it goes on after all."""
        pos, depth = self.pos, len(self.frames)
        self.pos, frame.whole = frame.whole, -1
        frame.value.pop()
        self.value(frame.value, len(frame.value), (frame.node, len(frame.value)))
        while len(self.frames) > depth:
            inner = self.frames[-1]
            if inner.kind == "{":
                self.members(inner)
            else:
                self.items(inner)
        self.pos = pos

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
        elif sign == "<" and CLOSING_TAG.match(self.text, pos, self.end):
            self.end = pos
        elif sign in "-*•–0123456789" and (bullet := _BULLET.match(self.text, pos, self.end)):
            self.note("S038", pos, bullet.end(), "", frame.node)
            self.pos = bullet.end()
        elif not frame.comma and (sign in ":：" or self.text.startswith("=>", pos)):
            self.member_in_list(frame)
        elif not frame.comma and sign == "+" and frame.last_string is not None:
            self.rejoin(frame, sign)
        elif not frame.comma and sign in QUOTES and frame.last_string is not None and self.goes_on(frame, sign):
            self.piece(frame, frame.last_string, pos)
        elif not frame.comma and frame.value and isinstance(frame.value[-1], dict | list) and sign not in _ITEM_SIGNS:
            self.stray(frame)
        else:
            if not frame.comma:
                self.note("S002", pos, pos, ",", frame.node)
            frame.comma = False
            frame.last_string = (len(frame.value), pos) if sign in QUOTES else None
            self.value(frame.value, len(frame.value), (frame.node, len(frame.value)))

    def goes_on(self, frame: Frame, sign: str) -> bool:
        """Whether a string behind a string is its next piece: in parentheses, or as Python breaks long strings."""
        last = frame.value[-1] if frame.value else ""
        return frame.kind == "(" or (sign == "'" and isinstance(last, str) and last[-1:].isspace())

    def member_in_list(self, frame: Frame) -> None:
        """`[…, "key": 1]`: whose member it is depends on what the list holds and hangs in."""
        last = frame.last_string
        if last is None or not frame.value or not isinstance(frame.value[-1], str):
            self.stray(frame)
            return
        key, start = frame.value.pop(), last[1]
        frame.last_string = None
        arrow = self.text[self.pos] == "="
        owner = self.become_object(frame) if arrow and not frame.value else self.owner(frame, key, start)
        node = (owner.node, key)
        if arrow:
            self.note("S038", self.pos, self.pos + 2, ":", node)
        self.pos += 1 + arrow
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

    def become_object(self, frame: Frame) -> Frame:
        """`['a' => 1]`: an object in square brackets."""
        self.note("S006", frame.start, frame.start + 1, "{", frame.node)
        frame.kind = "{"
        frame.value = {}
        self.replace(frame, frame.value)
        return frame

    def owner(self, frame: Frame, key: str, start: int) -> Frame:
        """The object a member found in a list belongs to: the list's own holder, its last item, or a new one."""
        above = self.frames[-2] if len(self.frames) > 1 else None
        objects = [item for item in frame.value[-3:] if isinstance(item, dict)]
        expected = objects and key not in objects[-1] and any(key in item for item in objects)
        if (
            above is not None
            and above.kind in "{="
            and key not in above.value
            and (frame.value or self.saw("S003", frame))
            and not expected
            and not self.starts_alike(frame, key, start)
        ):
            self.note("S005", start, start, frame.closer, frame.node)
            self.pop(frame, start)
            return above
        if frame.last_child is None and frame.whole >= 0 and objects and objects[-1] is frame.value[-1]:
            self.reread(frame)
            objects[-1] = frame.value[-1]
        last = frame.last_child
        if objects and objects[-1] is frame.value[-1] and key not in objects[-1] and last and last.value is objects[-1]:
            self.note("S007", start, start, "", frame.node)
            self.frames.append(last)
            return last
        else:
            into: dict[str, Any] = {}
            frame.value.append(into)
            self.note("S005", start, start, "{", frame.node)
        child = Frame("{", into, (frame.node, len(frame.value) - 1), start, frame.value, None)
        self.frames.append(child)
        return child

    def starts_alike(self, frame: Frame, key: str, start: int) -> bool:
        """`[{"a": 1}, "a": 2}]`: a member like the first one of the item before it starts an item that lacks its brace."""
        last = frame.value[-1] if frame.value else None
        if not isinstance(last, dict) or next(iter(last), None) != key:
            return False
        if len(self.frames) > 2 and self.frames[-3].kind != "{":
            return False  # the brace and the bracket behind may be those of the objects around
        return _LIKE_AN_ITEM.match(self.text, start, self.end) is not None

    def saw(self, code: str, frame: Frame) -> bool:
        return bool(self.records) and self.records[-1][0] == code and self.records[-1][4] == frame.node
