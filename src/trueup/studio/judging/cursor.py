"""Cursor: takes the text of a contract while it is typed and a place in it, and returns the path and the word at that
place.

The text is rarely complete while somebody types, so it is not parsed. In YAML the indentation of the previous lines
gives the path, inside brackets (and in JSON) the previous brackets and colons, in TOML the last table. Uncertain parts
are left out.
"""

import re
from typing import Literal, NamedTuple

from trueup.verdict.paths import Parts

# These take linear time for any text: while one of them runs, the whole process waits.
_KEY = re.compile(r"""(?:("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*|([^\s#{}\[\],&*!|>'"%@`:-][^:#\n]*)):(?:\s+|$)""")
_DASH = re.compile(r"-(?:[ ]+|$)")
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?$")
_FLOW = re.compile(r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(?P<open>[{\[])|(?P<close>[}\]])|(?P<sign>[,:=])|(?P<comment>(?<!\S)#[^\n]*)|(?P<half>["'].*\Z)|(?P<word>[^\s{}\[\],:="'#]+(?:[ ]+[^\s{}\[\],:="'#]+)*)""", re.DOTALL)  # fmt: skip
_TABLE = re.compile(r"\s*(\[\[?)([^\]]*)\]\]?\s*(?:#.*)?$")
_PAIR = re.compile(r"\s*([\w.\"'-]+)\s*=\s*")
_WORD = re.compile(r"[\w$./-]*")
_CLOSES = {'"': re.compile(r'(?:[^"\\]|\\.)*"'), "'": re.compile(r"(?:[^']|'')*'(?!')")}

_OPENS = ("{", "[", '"', "'")  # the start of a value that is not a plain word
_LONGEST = 10_000  # characters of a text over several lines

Role = Literal["key", "value"]


class Cursor(NamedTuple):
    """Where a cursor is: in a `key` of the mapping at the path, or in the `value` at the path.

    `either` is the path of the value that it may also be in: a word alone on a line can become a key or a value. `text`
    is the part of the key or value before the cursor, `word` the name at its end, which starts at column `start`, from
    0.
    """

    path: Parts
    role: Role
    text: str
    word: str
    start: int
    either: Parts | None = None
    flow: bool = False
    column: int = 0
    """The column of the sibling keys, if lines are indented."""
    quoted: bool = False
    """Whether it is after an opening quote."""
    beside: frozenset[str] = frozenset()
    """Keys before it inside the same brackets."""
    closers: str = ""
    """The characters that close the open brackets and quotes on its line."""

    @property
    def in_head(self) -> bool:
        """Whether it is in the name of a TOML table: only there, a key is inside square brackets."""
        return self.role == "key" and self.closers[:1] == "]"


class _Level:
    """An open mapping or list: the column of its keys or dashes, and the key or the number of its last member."""

    __slots__ = ("column", "is_list", "last")

    def __init__(self, column: int, last: str | int, *, is_list: bool) -> None:
        self.column = column
        self.last = last
        self.is_list = is_list


def locate(text: str, kind: str, line: int, column: int) -> Cursor:
    """The cursor at a line and a column, both from 0, in code points.

    >>> locate("rules:\\n  - name: a\\n    le", ".yaml", 2, 6)[:4]
    (('rules', 0), 'key', 'le', 'le')
    >>> locate('{"order": {"level": "wa', ".json", 0, 23)[:4]
    (('order', 'level'), 'value', 'wa', 'wa')
    """
    lines = text.split("\n")
    line = min(max(line, 0), len(lines) - 1)
    before = lines[line][: max(column, 0)]
    if kind == ".json":
        return _in_flow((), "\n".join([*lines[:line], before]), len(before), rooted=True)
    if kind == ".toml":
        return _in_toml(lines[:line], before)
    return _Block().read(lines[:line], before)


def word_at(line: str, column: int) -> tuple[int, int]:
    """The start and end of the word around a column."""
    start = len(line[:column]) - len(_last_word(line[:column]))
    end = column + len(_WORD.match(line, column)[0])  # type: ignore[index]
    return start, end


def last_of(pattern: "re.Pattern[str]", text: str) -> str:
    """The longest end of a text that matches a pattern such as `[a-z]*`.

    >>> last_of(re.compile("[a-z]*"), "ab 1cd")
    'cd'
    """
    return pattern.match(text[::-1])[0][::-1]  # type: ignore[index]


def _last_word(text: str) -> str:
    return last_of(_WORD, text)


class _Block:
    """Reads lines of YAML by their indentation."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []
        self._scalar = -1  # the column of the key whose multi-line text is being skipped
        self._flow = _Brackets()  # brackets that are open over several lines

    def read(self, lines: list[str], before: str) -> Cursor:
        for line in lines:
            self._take(line)
        if self._flow.is_open:
            return _in_flow(self._path(), "\n".join([*self._flow.lines, before]), len(before))
        indent = len(before) - len(before.lstrip(" "))
        if indent > self._scalar >= 0:
            return Cursor(
                self._path(), "value", before.strip(), _last_word(before), len(before) - len(_last_word(before))
            )
        return self._at(before)

    def _path(self) -> Parts:
        return tuple(level.last for level in self._levels)

    def _take(self, line: str) -> None:
        """Follow a line before the cursor."""
        if self._flow.is_open:
            self._flow.take(line)
            return
        bare = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if self._scalar >= 0:
            if not bare or indent > self._scalar:
                return
            self._scalar = -1
        if not bare or bare.startswith("#"):
            return
        at, key = self._enter(line)
        rest = line[at:]
        if _BLOCK.match(rest):
            self._scalar = self._levels[-1].column if key is not None else indent
        elif rest[:1] in ("{", "["):
            self._flow = _Brackets()
            self._flow.take(rest)

    def _enter(self, line: str) -> tuple[int, str | None]:
        """Follow the dashes and the key of a line; returns the start of the value, and the key."""
        at = len(line) - len(line.lstrip(" "))
        while (dash := _DASH.match(line, at)) is not None:
            self._close(at, at)
            if self._levels and self._levels[-1].is_list and self._levels[-1].column == at:
                self._levels[-1].last = int(self._levels[-1].last) + 1
            else:
                self._levels.append(_Level(at, 0, is_list=True))
            at = dash.end()
        key = _KEY.match(line, at)
        if key is None:
            return at, None
        name = _plain((key[1] or key[2]).rstrip())
        self._close(at, at - 1)
        if self._levels and not self._levels[-1].is_list and self._levels[-1].column == at:
            self._levels[-1].last = name
        else:
            self._levels.append(_Level(at, name, is_list=False))
        return key.end(), name

    def _close(self, column: int, lists: int) -> None:
        """Close everything to the right of a column, and lists to the right of `lists`."""
        while self._levels:
            last = self._levels[-1]
            if last.column > column or (last.is_list and last.column > lists):
                self._levels.pop()
            else:
                return

    def _at(self, before: str) -> Cursor:
        at, key = self._enter(before)
        rest = before[at:]
        word = _last_word(before)
        if key is not None:
            if rest[:1] in _OPENS:
                return _in_flow(self._path(), rest, len(before))
            return Cursor(self._path(), "value", rest, word, len(before) - len(word))
        self._close(at, at - 1)
        inside = self._path()
        beside = bool(self._levels) and not self._levels[-1].is_list and self._levels[-1].column == at
        path = inside[:-1] if beside else inside
        if rest[:1] in _OPENS and not beside:
            return _in_flow(path, rest, len(before))._replace(column=at)
        quoted = rest[:1] in ("'", '"')
        return Cursor(
            path,
            "key",
            _opened(rest),
            word,
            len(before) - len(word),
            None if beside else inside,
            column=at,
            quoted=quoted,
        )


class _Frame:
    """Open brackets and their contents so far."""

    __slots__ = ("bracket", "member", "names")

    def __init__(self, bracket: str) -> None:
        self.bracket = bracket
        self.member: str | int | None = None if bracket == "{" else 0
        self.names: list[str] = []

    def name(self, key: str) -> None:
        self.member = key
        self.names.append(key)

    def go_on(self) -> None:
        """After a comma: another key, or the next item."""
        self.member = self.member + 1 if isinstance(self.member, int) else None


class _Brackets:
    """Follows brackets and quotes over several lines; each line is read once."""

    __slots__ = ("_depth", "_half", "_length", "is_open", "lines")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_open = False
        self._depth = 0
        self._half = ""  # the opening quote of an unclosed text
        self._length = 0  # the characters of that text so far

    def take(self, line: str) -> None:
        self.lines.append(line)
        start = 0
        if self._half:
            closed = _CLOSES[self._half].match(line)
            self._length += len(line)
            if closed is None and self._length < _LONGEST:
                return
            self._half, start = "", closed.end() if closed is not None else len(line)
        for token in _FLOW.finditer(line, start):
            if token.lastgroup == "half":
                self._length = len(token[0])
                self._half = token[0][0] if self._length < _LONGEST else ""
            elif token.lastgroup in ("open", "close"):
                self._depth += 1 if token.lastgroup == "open" else -1
                if self._depth <= 0:
                    break
        self.is_open = self._depth > 0 or bool(self._half)


def _open_frames(text: str) -> tuple[list[_Frame], str]:
    """The open brackets at the end of a text, and the text of the current key or value."""
    frames: list[_Frame] = []
    last = held = ""  # the word or text that may become a key; the text of the current key or value
    for token in _FLOW.finditer(text):
        kind, found = token.lastgroup, token[0]
        if kind == "open":
            frames.append(_Frame(found))
            last = held = ""
        elif kind == "close":
            del frames[-1:]
            last = held = ""
        elif kind == "sign" and found in ":=" and frames and frames[-1].member is None:
            frames[-1].name(_plain(last))
            held = ""
        elif kind == "sign" and found == "," and frames:
            frames[-1].go_on()
            held = ""
        elif kind in ("word", "text", "half"):
            last = held = found
    return frames, held


def _in_flow(base: Parts, text: str, column: int, *, rooted: bool = False) -> Cursor:
    """The cursor at the end of a value: inside its brackets, or in a scalar."""
    frames, held = _open_frames(text)
    if held and text[-1:].isspace() and held[:1] not in "\"'":
        held += " "
    path = (*base, *(frame.member for frame in frames if frame.member is not None))
    in_key = bool(frames) and frames[-1].member is None
    word = _last_word(text)
    role: Role = "key" if in_key or (rooted and not frames) else "value"
    quoted = held[:1] in ("'", '"') and (len(held) == 1 or held[-1] != held[0])
    closers = (held[0] if quoted else "") + "".join("}" if frame.bracket == "{" else "]" for frame in reversed(frames))
    beside = frozenset(frames[-1].names) if in_key else frozenset()
    return Cursor(
        path, role, _opened(held), word, column - len(word), flow=bool(frames) or rooted, quoted=quoted, beside=beside, closers=closers,
    )  # fmt: skip


def _in_toml(lines: list[str], before: str) -> Cursor:
    table: Parts = ()
    counts: dict[tuple[str, ...], int] = {}
    flow = _Brackets()
    path: Parts = ()
    for line in lines:
        if flow.is_open:
            flow.take(line)
            continue
        head = _TABLE.match(line)
        if head is not None:
            names = tuple(_plain(part.strip()) for part in head[2].split("."))
            if head[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
                table = (*names, counts[names])
            else:
                table = names
            continue
        pair = _PAIR.match(line)
        if pair is not None:
            path, flow = (*table, *_dotted(pair[1])), _Brackets()
            flow.take(line[pair.end() :])
    if flow.is_open:
        return _in_flow(path, "\n".join([*flow.lines, before]), len(before))
    pair = _PAIR.match(before)
    if pair is not None:
        return _in_flow((*table, *_dotted(pair[1])), before[pair.end() :], len(before))
    word = _last_word(before)
    bare = before.lstrip()
    return _in_head(before, bare) if bare[:1] == "[" else Cursor(table, "key", bare, word, len(before) - len(word))


def _in_head(before: str, bare: str) -> Cursor:
    """The cursor in the name of a table; its last part is a key of the table that the previous parts name."""
    *outer, last = bare.lstrip("[").split(".")
    word = _last_word(last)
    path = tuple(_plain(part.strip()) for part in outer)
    return Cursor(path, "key", last.strip(), word, len(before) - len(word), closers="]]" if bare[:2] == "[[" else "]")


def _dotted(name: str) -> Parts:
    return tuple(_plain(part) for part in name.split("."))


def _plain(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0] else word


def _opened(held: str) -> str:
    """The content of a quoted text that may still be unclosed."""
    return _plain(held) if len(held) > 1 and held[-1] == held[0] else held.lstrip("\"'")
