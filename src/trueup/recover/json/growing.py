"""A value that grows while its text arrives: the same parser, fed in chunks.

Takes chunks of any size; the value so far can be read after each. Clean members are taken as soon as they arrive. At a fault
the parser looks ahead, so it waits until enough text has arrived. If that is not enough, or something would be lost, growing
stops and the whole text is judged at the end. A member that was reported as closed never changes.
"""

import json
import re
from itertools import islice
from typing import Any

from trueup.recover.json import repairs, strings
from trueup.recover.json.bare import Bare
from trueup.recover.json.escapes import unescape
from trueup.recover.json.frames import Frame, TooDeep
from trueup.recover.json.lexer import COMMENT, KEY_AHEAD, QUOTES, SKIP_BLANK, SKIP_PLAIN, SURROGATE
from trueup.recover.json.parser import Parser
from trueup.recover.layers.reasoning import Visible
from trueup.verdict.catalogue import GRADE
from trueup.verdict.patterns import lazy_regex

_OPENER = lazy_regex(r"[{\[]")
_OBJECT_FOLLOWS = lazy_regex(r"""[{]\s*(?:["'}]|[A-Za-z_$][\w$]*\s*:)""")
_LIST_FOLLOWS = lazy_regex(r"""[\[]\s*(?:["'{\[\]]|-?\d|true|false|null)""")
_STRING = r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
# A member or item whose strings have escapes or line breaks.
_SCALAR = rf"({_STRING}|-?[0-9][0-9.eE+-]*+|true|false|null)\s*+(?:,|(?=[}}\]]))"
_MEMBER = lazy_regex(rf"\s*+{_STRING}\s*+:\s*+(?:{_SCALAR}|(?=[{{\[]))", re.DOTALL)
_ITEM = lazy_regex(rf"\s*+()(?:{_SCALAR})", re.DOTALL)
# The beginning of a member or an item that is clean so far.
_DOUBLE, _SINGLE = r'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?', r"'[^'\\]*+(?:\\.[^'\\]*+)*+\\?"
_OPEN_ITEM = rf"(?:{_DOUBLE}\"?|{_SINGLE}'?|[\w.+-]*+)\s*+,?\s*+"
_OPEN = {
    "{": lazy_regex(rf"\s*+(?:{_DOUBLE}\"?|{_SINGLE}'?|[A-Za-z_$][\w$]*+)?\s*+(?::\s*+{_OPEN_ITEM})?\Z", re.DOTALL),
    "[": lazy_regex(rf"\s*+{_OPEN_ITEM}\Z", re.DOTALL),
}
# A string that is open at the end: in an object after its key, in a list alone.
_OPEN_STRING = {
    "{": lazy_regex(rf"""\s*+(?:{_STRING}|'([^'\\]*+)'|([A-Za-z_$][\w$]*+))\s*+:\s*+(["'])""", re.DOTALL),
    "[": lazy_regex(r"""\s*+()()()(["'])"""),
}
_CLOSES = {
    '"': lazy_regex(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL),
    "'": lazy_regex(r"[^'\\]*+(?:\\.[^'\\]*+)*+", re.DOTALL),
}
_CUT_ESCAPE = lazy_regex(
    r"(?<!\\)(?:\\\\)*(\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?|u[0-9a-fA-F]{0,3})?)\Z"
)
# Codes of repairs that change an earlier value, or may.
_CHANGES = frozenset({"S007", "S012", "S022", "S032", "S042"})
# Without one of these, nothing that has arrived is complete.
_ENDS = lazy_regex(r"[,}\]{\[/#<;)\n]")
_LONG = 1024
_NEAR = 80  # an opener followed by this many characters that do not start a value is not one
_AHEAD = 480  # the furthest that the rules look ahead
_MAX_TAIL = 16_384  # what has not ended after this many characters is read at the end of the stream
_KEPT = 4096  # from this length on, text that was read is dropped


class GrowingValue:
    """The value so far of a text that is still arriving; `known` are the schema's keys."""

    __slots__ = (
        "_buffer", "_escapes", "_grown", "_need", "_open", "_parser", "_parts", "_quote", "_reported", "_shown", "_slash", "_visible",
        "closed", "known", "lost", "max_depth", "restarts", "root", "turn",
    )  # fmt: skip

    def __init__(self, max_depth: int, known: frozenset[str] = frozenset()) -> None:
        self.max_depth = max_depth
        self.known = known
        self.lost = False
        self.turn = 0  # changes whenever a container may have opened or something may have closed
        self.restarts = 0  # how often everything so far turned out to be reasoning
        self._visible = Visible()
        self.closed: list[tuple[str | int, Any]] = []  # members of the root that closed since this was last read
        self._begin("")

    def _begin(self, text: str) -> None:
        """Look for a value in the text that follows."""
        self.turn += 1
        self.root: Any = None
        self.closed.clear()
        self._buffer = text
        self._parser: Parser | None = None
        self._reported = 0
        self._need = 0  # how much text it is waiting for
        self._open: tuple[Any, Any] | None = None  # where the value shows the open string
        self._quote = ""  # the quote that closes it
        self._slash = False  # whether its text ends in a backslash that escapes the next character
        self._escapes = False  # whether it has escapes
        self._parts: list[str] = []  # its text since it was last shown
        self._grown = self._shown = 0

    def feed(self, chunk: str) -> None:
        """Take the next characters."""
        if self.lost:
            return
        retracted = self._visible.retracted
        text = self._visible.feed(chunk)
        if self._visible.retracted > retracted:
            self.restarts += 1
            self._begin("")  # all of it was reasoning that the prompt opened
        if not text or (self._parser is not None and not self._parser.frames):
            return
        self._grown += len(text)
        if self._quote and not self._closes(text):
            self._parts.append(text)
            return
        if self._need > len(self._buffer) + self._grown:
            self._parts.append(text)  # a fault needs more text
            return
        self._buffer += "".join(self._parts) + text if self._parts else text
        self._parts = []
        self._grown = self._need = 0
        if self._parser is None or _ENDS.search(text) is not None or len(self._buffer) > _MAX_TAIL:
            self._advance()
        elif '"' in text or "'" in text:
            self._show()

    def _closes(self, text: str) -> bool:
        """Whether the new text contains a quote that may close the open string."""
        if "\\" not in text:
            if not self._slash:
                return self._quote in text
            self._slash = False
            return self._quote in text[1:]
        at = int(self._slash)
        stop = _CLOSES[self._quote].match(text, at).end()  # type: ignore[union-attr]
        self._slash = stop < len(text) and text[stop] == "\\"
        return stop < len(text) and text[stop] == self._quote

    @property
    def value(self) -> Any:
        """The value so far, with the part of an open string that has arrived. It is the live value, not a copy."""
        if self._parts and self._quote and self._open is not None:
            text = "".join(self._parts)
            self._buffer += text
            self._parts = []
            if self._escapes or "\\" in text:
                self._show()
            else:
                into, key = self._open
                into[-1 if key is None else key] += text
                self._shown += len(text)
                self._grown = 0
        return self.root

    def glance(self) -> Any:
        """The value so far; a long open string is only updated once it has grown enough, so that feeding stays linear."""
        return self.root if self._shown > _LONG and self._grown < self._shown // 8 else self.value

    @property
    def open_string(self) -> Any:
        """An object that represents the open string, and differs for each one shown; None if no string is open."""
        return self._open if self._quote else None

    @property
    def string_size(self) -> int:
        """An upper bound for the length of the open string; text that it was not updated with counts as written."""
        return self._shown + self._grown

    def first_line(self) -> str:
        """The open string up to the first unescaped line break."""
        self.value  # noqa: B018 - it updates the open string
        parser = self._parser
        assert parser is not None
        opened = _OPEN_STRING[parser.frames[-1].kind].match(self._buffer, parser.pos)
        return "" if opened is None else _decoded(self._buffer[opened.end() :].partition("\n")[0])

    @property
    def containers(self) -> list[Any]:
        """The open containers, from the root inwards."""
        return [] if self._parser is None else [frame.value for frame in self._parser.frames]

    @property
    def opened(self) -> list[tuple[Any, int]]:
        """The open containers, from the root inwards, each with the number of its closed members."""
        frames = [] if self._parser is None else self._parser.frames
        return [(frame.value, self._count(frame, innermost=frame is frames[-1])) for frame in frames]

    @property
    def innermost(self) -> tuple[int, Any, int]:
        """How many containers are open, the innermost one, and the number of its closed members."""
        frames = [] if self._parser is None else self._parser.frames
        return (len(frames), frames[-1].value, self._count(frames[-1], innermost=True)) if frames else (0, None, 0)

    def _count(self, frame: Frame, *, innermost: bool) -> int:
        """How many members of an open container have closed: all but the last, and perhaps that one too."""
        size = len(frame.value)
        if not innermost or self._open is not None:
            return max(0, size - 1)
        parser = self._parser
        assert parser is not None
        if parser.pos == len(parser.text) and self._goes_on(parser, parser.text):
            return max(0, size - 1)
        return size if frame.comma or frame.last_child is not None else max(0, size - 1)

    def _goes_on(self, parser: Parser, text: str) -> bool:
        """Whether the last number of an object may continue after its comma: 12,500. In a list that would be a new item."""
        pos = parser.pos
        if pos < 2 or text[pos - 1] != "," or not text[pos - 2].isdigit():
            return False
        return bool(parser.frames) and parser.frames[-1].kind != "["

    # -- taking what has arrived ---------------------------------------------------------------

    def _advance(self) -> None:
        self.turn += 1
        if self._open is not None:
            self._hide()
        if self._parser is None and not self._start():
            return
        parser = self._parser
        assert parser is not None
        parser.text = self._buffer
        if self._goes_on(parser, self._buffer) and self._buffer[parser.pos : parser.pos + 1].isdigit():
            self.lost = True  # a number with commas in it: only the whole text decides
            return
        try:
            while parser.frames and not self.lost and self._step(parser, parser.frames[-1]):
                pass
        except TooDeep:
            self.lost = True
        self._report(parser)
        self._show()
        if not self._quote and len(self._buffer) - parser.pos > _MAX_TAIL:
            self.lost = True  # a token without an end
        if parser.pos > _KEPT and parser.pos > len(self._buffer) // 2:
            self._let_go(parser)

    def _start(self) -> bool:
        """Skip prose and look for the opener of the value."""
        text, at = self._buffer, 0
        while found := _OPENER.search(text, at):
            begin = found.start()
            follows = (_OBJECT_FOLLOWS if text[begin] == "{" else _LIST_FOLLOWS).match(text, begin)
            if follows is not None:
                self._buffer = text[begin:]
                self._parser = Parser(self._buffer, 0, len(self._buffer), self.known, self.max_depth)
                self._parser.value(self._parser.root, 0, None)
                self.root = self._parser.root[0]
                return True
            if len(text) - begin <= _NEAR:
                self._buffer = text[begin:]
                return False
            at = begin + 1
        self._buffer = ""
        return False

    def _step(self, parser: Parser, frame: Frame) -> bool:
        """Take the next piece; False if it has not arrived yet."""
        text = parser.text
        size = parser.end = len(text)
        if frame.comma and frame.kind in "{[":
            opened = parser.clean_members(frame) if frame.kind == "{" else parser.clean_items(frame)
            if parser.records and not self._noted(parser):
                return False
            if opened:
                return True
            if frame.comma:
                if _OPEN[frame.kind].match(text, parser.pos) is not None:
                    return False
                if self._escaped(parser, frame):
                    return True
        at = SKIP_PLAIN.match(text, parser.pos).end()  # type: ignore[union-attr]
        if at >= size:
            return False
        sign = text[at]
        if sign == frame.closer:
            parser.pos = at + 1
            parser.pop(frame, at)
            return True
        if sign == "," and not frame.comma:
            parser.pos = at + 1
            frame.comma = True
            return True
        if sign in "/#<" and (comment := COMMENT.match(text, at)) is not None:
            parser.pos = comment.end() if comment.end() < size else parser.pos
            return comment.end() < size
        return sign != "/" and self._faulty(parser, frame, at)

    def _escaped(self, parser: Parser, frame: Frame) -> bool:
        """Take a member or an item whose strings are JSON apart from raw line breaks."""
        found = (_MEMBER if frame.kind == "{" else _ITEM).match(parser.text, parser.pos)
        if found is None:
            return False
        try:
            key = json.loads(f'"{found[1]}"', strict=False) if frame.kind == "{" else len(frame.value)
            value = json.loads(found[2], strict=False) if found[2] is not None else None
        except ValueError:
            return False
        if frame.kind == "{" and key in frame.value:
            self.lost = True
        if any(isinstance(said, str) and SURROGATE.search(said) for said in (key, value)):
            self.lost = True  # half of a surrogate pair
            return False
        parser.pos = found.end()
        frame.comma = found[2] is not None and parser.text[parser.pos - 1] == ","
        if found[2] is None:
            parser.value(frame.value, key, (frame.node, key))
        else:
            parser.put(frame.value, key, value)
        return True

    def _faulty(self, parser: Parser, frame: Frame, at: int) -> bool:
        """Let a rule repair what comes next, once enough has arrived for it to decide as it would at the end."""
        size = len(parser.text)
        if size - at < _AHEAD or self._reach(parser, frame, at) > size - _AHEAD:
            self._need = size + max(_AHEAD - (size - at), (size - at) // 8)
            return False
        before = (parser.pos, len(parser.frames), frame.comma)
        parser.dispatch(repairs.MEMBER if frame.kind in "{=" else repairs.ITEM, frame)
        self.lost = self.lost or before == (parser.pos, len(parser.frames), frame.comma)
        return self._noted(parser)

    def _reach(self, parser: Parser, frame: Frame, at: int) -> int:
        """The end of the string or the words that come next."""
        text, size = parser.text, len(parser.text)
        key = KEY_AHEAD.match(text, at) if frame.kind in "{=" else None
        here = SKIP_BLANK.match(text, key.end() if key else at).end()  # type: ignore[union-attr]
        if here >= size or text[here] in "{[":
            return here
        place, closers = parser.place(), parser.open_closers()
        if text[here] in QUOTES:
            return strings.read_string(text, here, size, place, self.known, closers).after
        return Bare(text, here, size, place, self.known).stop(closers, lines=True)

    def _noted(self, parser: Parser) -> bool:
        """Whether what was just read agrees with what was shown: nothing lost, and no earlier value changed."""
        if any(code in _CHANGES or GRADE[code] == "lossy" for code, *_ in parser.records):
            self.lost = True
        parser.records.clear()
        return not self.lost

    def _let_go(self, parser: Parser) -> None:
        """Forget the text that was read."""
        gone = parser.pos
        self._buffer = parser.text = self._buffer[gone:]
        parser.pos = 0
        for frame in parser.frames:
            frame.start -= gone
            frame.key_start -= gone
            frame.last_string = None
            frame.members.clear()

    # -- showing -------------------------------------------------------------------------------

    def _report(self, parser: Parser) -> None:
        """Report members of the root that have closed: containers, and scalars before a comma or the end of the root."""
        root, frames = self.root, parser.frames
        count = self._count(frames[0], innermost=len(frames) == 1) if frames else len(root)
        if count > self._reported and not self.lost:
            self.closed += members(root, self._reported, count)
            self._reported = count

    def _show(self) -> None:
        """Put the string that is open at the end into the value; after its closing quote it counts as open until that is certain."""
        if self._open is not None:
            self._hide()
        parser = self._parser
        frame = parser.frames[-1] if parser is not None and parser.frames and not self.lost else None
        if parser is None or frame is None or not frame.comma or frame.kind not in "{[":
            return
        if self._buffer.find('"', parser.pos) < 0 and self._buffer.find("'", parser.pos) < 0:
            return
        opened = _OPEN_STRING[frame.kind].match(self._buffer, parser.pos)
        if opened is None:
            return
        raw = self._buffer[opened.end() :]
        stop = _CLOSES[opened[4]].match(raw).end()  # type: ignore[union-attr]
        if stop < len(raw) and raw[stop] != "\\":
            raw = raw[:stop]
        else:
            self._quote, self._slash, self._escapes = opened[4], stop < len(raw), "\\" in raw
        said = _decoded(raw)
        if frame.kind == "{":
            key = next((_decoded(part) for part in opened.groups()[:3] if part is not None), "")
            if key in frame.value:
                return
            frame.value[key] = said
            self._open = (frame.value, key)
        else:
            frame.value.append(said)
            self._open = (frame.value, None)
        self._shown, self._grown = len(said), 0

    def _hide(self) -> None:
        if self._open is not None:
            into, key = self._open
            into.pop() if key is None else into.pop(key)
        self._open, self._quote, self._slash = None, "", False


def members(container: Any, start: int, stop: int) -> list[tuple[Any, Any]]:
    """The members of a container from one position to another; the cost depends on what follows the first position.

    >>> members({"a": 1, "b": 2, "c": 3}, 1, 2), members([4, 5], 1, 2)
    ([('b', 2)], [(1, 5)])
    """
    if isinstance(container, list):
        return list(enumerate(container[start:stop], start))
    keys = list(islice(reversed(container), len(container) - stop, len(container) - start))
    return [(key, container[key]) for key in reversed(keys)]


def _decoded(raw: str) -> str:
    """The meaning of the characters of a string, as far as they have arrived."""
    if "\\" not in raw:
        return raw
    cut = _CUT_ESCAPE.search(raw, max(0, len(raw) - 64))
    raw = raw[: cut.start(1)] if cut else raw
    try:
        return SURROGATE.sub("\ufffd", str(json.loads(f'"{raw}"', strict=False)))
    except ValueError:
        return unescape(raw)[0]
