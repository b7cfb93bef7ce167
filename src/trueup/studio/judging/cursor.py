"""Cursor: the text of a contract that is being typed and a place in it enter; the path at that place leaves, and the word there.

The text is rarely whole while somebody types, so it is not parsed: in YAML the indentation of the lines before says where the cursor
is, inside brackets (and in JSON) the brackets and colons before it do, in TOML the last table. What cannot be told is left out.
"""

import re
from typing import Literal, NamedTuple

from trueup.verdict.paths import Parts

# Whatever is typed, each of these takes time in proportion to its length: while one looks, nothing else in the process happens.
_KEY = re.compile(r"""(?:("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*|([^\s#{}\[\],&*!|>'"%@`:-][^:#\n]*)):(?:\s+|$)""")
_DASH = re.compile(r"-(?:[ ]+|$)")
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?$")
_FLOW = re.compile(r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(?P<open>[{\[])|(?P<close>[}\]])|(?P<sign>[,:=])|(?P<comment>(?<!\S)#[^\n]*)|(?P<half>["'].*\Z)|(?P<word>[^\s{}\[\],:="'#]+(?:[ ]+[^\s{}\[\],:="'#]+)*)""", re.DOTALL)  # fmt: skip
_TABLE = re.compile(r"\s*(\[\[?)([^\]]*)\]\]?\s*(?:#.*)?$")
_PAIR = re.compile(r"\s*([\w.\"'-]+)\s*=\s*")
_WORD = re.compile(r"[\w$./-]*")
_CLOSES = {'"': re.compile(r'(?:[^"\\]|\\.)*"'), "'": re.compile(r"(?:[^']|'')*'(?!')")}

_OPENS = ("{", "[", '"', "'")  # what a value starts with that is not a plain word
_LONGEST = 10_000  # characters of a text over several lines

Role = Literal["key", "value"]


class Cursor(NamedTuple):
    """Where a cursor is: in a `key` of the mapping at the path, or in the `value` at the path.

    `either` is the path of the value that it may be in as well: a word on a line of its own can become both. `text` is what stands
    of the key or the value before the cursor, `word` the name at its end, which starts at the column `start`, from 0.
    """

    path: Parts
    role: Role
    text: str
    word: str
    start: int
    either: Parts | None = None
    flow: bool = False
    column: int = 0
    """The column at which keys beside it start, where lines are indented."""
    quoted: bool = False
    """Whether it is behind an opening quote."""
    beside: frozenset[str] = frozenset()
    """Keys that stand before it inside of the same brackets."""
    closers: str = ""
    """What closes the brackets and quotes that are open on its line."""

    @property
    def in_head(self) -> bool:
        """Whether it is in the name of a table of TOML: only there, a key is inside square brackets."""
        return self.role == "key" and self.closers[:1] == "]"


class _Level:
    """A mapping or a list that is open: the column of its keys or dashes, and the key or the number of its last member."""

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
    """Where the word around a column starts and ends."""
    start = len(line[:column]) - len(_last_word(line[:column]))
    end = column + len(_WORD.match(line, column)[0])  # type: ignore[index]
    return start, end


def last_of(pattern: "re.Pattern[str]", text: str) -> str:
    """The end of a text, as far as it consists of characters of a pattern such as `[a-z]*`.

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
        self._scalar = -1  # the column of the key whose text of several lines is being passed
        self._flow = _Brackets()  # those that are open over several lines

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
        """Follow a line that stands before the cursor."""
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
        """Follow the dashes and the key of a line; where its value starts, and the key."""
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
        """Close what stands further to the right than a column; of lists, also what stands further than `lists`."""
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
    """Brackets that are open: what stands in them so far."""

    __slots__ = ("bracket", "member", "names")

    def __init__(self, bracket: str) -> None:
        self.bracket = bracket
        self.member: str | int | None = None if bracket == "{" else 0
        self.names: list[str] = []

    def name(self, key: str) -> None:
        self.member = key
        self.names.append(key)

    def go_on(self) -> None:
        """Behind a comma: another key, or the next item."""
        self.member = self.member + 1 if isinstance(self.member, int) else None


class _Brackets:
    """Follows brackets and quotes over several lines; each line is looked at once."""

    __slots__ = ("_depth", "_half", "_length", "is_open", "lines")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_open = False
        self._depth = 0
        self._half = ""  # the quote that a text began with whose closing quote has not come
        self._length = 0  # of that text so far

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
    """The brackets that are open at the end of a text, and what stands there of the present key or value."""
    frames: list[_Frame] = []
    last = held = ""  # the word or text that may become a key; what stands of the present key or value
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
    """The cursor at the end of a value: inside of its brackets, or in a scalar."""
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
    """The cursor in the name of a table; its last part is a key of what the parts before it name."""
    *outer, last = bare.lstrip("[").split(".")
    word = _last_word(last)
    path = tuple(_plain(part.strip()) for part in outer)
    return Cursor(path, "key", last.strip(), word, len(before) - len(word), closers="]]" if bare[:2] == "[[" else "]")


def _dotted(name: str) -> Parts:
    return tuple(_plain(part) for part in name.split("."))


def _plain(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] in "\"'" and word[-1] == word[0] else word


def _opened(held: str) -> str:
    """What has been written of a text whose closing quote may not have come."""
    return _plain(held) if len(held) > 1 and held[-1] == held[0] else held.lstrip("\"'")
