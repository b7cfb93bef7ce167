"""Fields written as lines: `key: value`, bold keys, headings, two-column tables; one object for each run of keys.

Lines and the schema's names enter; candidates leave, in several ways to take lines whose belonging is unclear: only when
the first way does not fit is the next one read. A text goes on to the next key; behind the last key, a single paragraph is
taken for a remark. Without known names nothing is read: prose is not a value.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from trueup.recover.candidate import Candidate
from trueup.recover.forms.blocks import Block, Span, Unreadable, Wants, is_open
from trueup.recover.forms.outline import FENCE, ROW, RULE, Keys, Line, is_divider
from trueup.recover.forms.tables import fields_in_rows
from trueup.recover.forms.values import PAIRS, common_end
from trueup.recover.json.parser import Node
from trueup.recover.marks import SPECIAL_TOKEN
from trueup.verdict.patterns import lazy_regex

# An object is asked for, and the reply holds so many: none of them is the answer.
MAX_GROUPS = 50
_MANY_LINES = 20_000
_BOLD = 7
_MAX_BEFORE = 120
_LONE_TAG = lazy_regex(rf"(?:</?[A-Za-z_][^<>\n]{{0,200}}>|{SPECIAL_TOKEN})\s*\Z")
# A bare key at the start of a line, right before a value.
_LABEL = lazy_regex(
    r"(?:\A|\n)[ \t]*(?:[-*+•][ \t]+)?[*_`]{0,3}([^\W_][^:：=*`\"'\n{\[]{0,60})[*_`]{0,3}[ \t]?[:：=][*_`]{0,3}[ \t]*\Z"
)


def labelled(text: str, start: int, keys: frozenset[str]) -> bool:
    r"""Whether a bare key of the schema stands on the line right before an offset: the value there is only its own.

    >>> labelled("name: Ada\ntags: []", 16, frozenset({"tags"})), labelled("Tags as JSON: []", 14, frozenset({"tags"}))
    (True, False)
    """
    before = _LABEL.search(text, max(0, start - _MAX_BEFORE), start) if keys and start else None
    return before is not None and Keys(keys).get(before[1].strip()) is not None


class Way(NamedTuple):
    """One way to take what is unclear."""

    join: bool = True  # lines below a text are a part of it
    free: bool = False  # names the schema does not know make a map as well
    flat: bool = False  # a field under a heading that is one itself is no part of it
    bare: bool = False  # a key may stand alone on its line without any mark


_WAYS = (Way(), Way(free=True), Way(join=False), Way(flat=True), Way(bare=True))


class Field(NamedTuple):
    """A field: its key, the line it starts on, and the line after its last."""

    key: str
    at: int
    stop: int


def readings(top: Keys, block: Block, wants: Wants, items: bool) -> Iterator[list[Candidate]]:
    """The objects, or the one list of them, that lines hold: one list of candidates for each way."""
    sheet = Sheet(top, block, wants, items)
    last: Any = None
    enough = min(2, len(top))
    for way in _WAYS:
        if not sheet.differs(way) or (way != _WAYS[0] and len(sheet.lines) > _MANY_LINES):
            continue
        sheet.way, block.free = way, way.free
        groups = sheet.groups() if items else sheet.with_repeats(sheet.groups(), enough)
        if not groups or (len(groups) > MAX_GROUPS and not items) or sum(map(len, groups)) < enough:
            continue
        try:
            found = [sheet.listed(groups)] if items else [sheet.alone(group) for group in groups]
        except Unreadable:
            continue
        if (said := [candidate.value for candidate in found]) != last:
            last = said
            yield found


class Sheet:
    """The lines of one document, read in one way; `value`, `spans` and `node` are those of the object being read."""

    def __init__(self, top: Keys, block: Block, wants: Wants, items: bool) -> None:
        self.block = block
        self.text = block.text
        self.lines = block.lines
        self.top = top
        self.wants = lru_cache(maxsize=1000)(wants)
        self.items = items  # whether the fields are those of a list's items
        self.final = len(self.text.rstrip())
        self.first = -1  # the line of the first field
        self.rows = fields_in_rows(self.text, self.lines, block.keys)  # those of tables: they are no fields themselves
        self.way = _WAYS[0]
        # whether another way would make a difference
        self.unclear = self.headed = self.lonely = False
        self.value: dict[str, Any] = {}
        self.spans: list[Span] = []
        self.node: Node = None

    def differs(self, way: Way) -> bool:
        """Whether a way may read other than the first one did."""
        if way == _WAYS[0]:
            return True
        if way.free:
            return self.block.choices
        return (self.headed and way.flat) or (self.lonely and way.bare) or (self.unclear and not way.join)

    # -- which lines are fields ----------------------------------------------------------------

    def fields(self) -> list[Field]:
        """Every line that holds a field of the object that is asked for."""
        starts: list[tuple[str, int]] = []
        before: Line | None = None
        for index, line in enumerate(self.lines):
            key = self.key_of(line, before) if not line.opaque and index not in self.rows else None
            if key is not None:
                starts.append((key, index))
                before = line
        self.first = starts[0][1] if starts else -1
        edges = [index for _, index in starts] + [len(self.lines)]
        return [Field(key, index, edges[place]) for place, (key, index) in enumerate(starts, 1)]

    def key_of(self, line: Line, before: Line | None) -> str | None:
        """The key of a line that is a field of its own, not a part of the field before it."""
        key = self.top.get(line.label) if line.label else None
        if key is None:
            return None
        if not line.sep:
            named = bool(line.heading) or (line.marked and not line.bullet)
            self.lonely = self.lonely or not (named or line.bullet)
            if not (named or (self.way.bare and not line.bullet)):
                return None
        if before is None or not is_open(before) or line.kind == ROW:
            return key
        if before.alone and not before.bullet:
            level = line.heading or (_BOLD if line.alone else _BOLD + 1)
            if level <= (before.heading or _BOLD) or (self.way.flat and line.value):
                return key
            self.headed = True
            return None
        outside = line.indent <= before.indent if line.bullet and before.bullet else line.col <= before.col
        return key if outside else None

    # -- which fields are one object -----------------------------------------------------------

    def groups(self) -> list[list[Field]]:
        """Runs of fields without a repeated key; for items of a list also what bullets, rules and headings set apart."""
        fields = self.fields()
        first = self.lines[fields[0].at] if fields else None
        # each bullet starts an object whose further fields have none
        bulleted = self.items and first and first.bullet and any(not self.lines[f.at].bullet for f in fields)
        out: list[list[Field]] = []
        keys: set[str] = set()
        for field in fields:
            line = self.lines[field.at]
            starts = bulleted and bool(line.bullet) and first is not None and line.indent <= first.indent
            if not out or starts or field.key in keys:
                tail = self.tail(out[-1], field) if out and self.items and not starts else []
                out.append(tail)
                keys = {other.key for other in tail}
            out[-1].append(field)
            keys.add(field.key)
        return out

    def with_repeats(self, groups: list[list[Field]], enough: int) -> list[list[Field]]:
        """The runs that are objects; a few fields right below one, given again, are its own."""
        out: list[list[Field]] = []
        for group in groups:
            if len(group) >= enough:
                out.append(group)
            elif out and not any(self.lines[at].gap for at in range(out[-1][-1].at + 1, group[0].at + 1)):
                out[-1] += group
        return out

    def tail(self, group: list[Field], field: Field) -> list[Field]:
        """The fields right before this one that stand in its paragraph: they belong to the next object."""
        keep = len(group)
        following = field
        while keep > 0 and not self.lines[following.at].gap and following.at == group[keep - 1].at + 1:
            keep -= 1
            following = group[keep]
        if keep == 0 or not self.lines[following.at].gap or any(f.key == field.key for f in group[keep:]):
            return []
        tail = group[keep:]
        del group[keep:]
        return tail

    # -- what a group says ---------------------------------------------------------------------

    def alone(self, group: list[Field]) -> Candidate:
        """A group as a value of its own."""
        self.block.begin([])
        self.read(group, None)
        return self.block.candidate(self.value, self.spans)

    def listed(self, groups: list[list[Field]]) -> Candidate:
        """Groups as the items of one list."""
        self.block.begin([])
        values: list[Any] = []
        spans: list[Span] = []
        for group in groups:
            node = (None, len(values))
            self.read(group, node)
            self.block.places.append((node, self.spans[0][0], self.spans[-1][1]))
            values.append(self.value)
            spans += self.spans
        return self.block.candidate(values, spans)

    def read(self, group: list[Field], node: Node) -> None:
        """Read a group as an object."""
        self.value, self.spans, self.node = {}, [], node
        self.block.ends = common_end([self.lines[field.at] for field in group], self.text)
        if group[0].at == self.first:
            self.lead(self.first)
        for place, field in enumerate(group):
            self.member(field.key, field.at, field.stop)
            self.rest(field, between=place + 1 < len(group))

    def member(self, key: str, at: int, stop: int) -> None:
        """Read one field into the object."""
        line, block, node = self.lines[at], self.block, (self.node, key)
        block.at, block.stop = at + 1, stop
        where = len(block.records)
        if key in self.value:
            block.records.append(("S032", line.start, line.end, "", node))
        value = block.field(line, node, self.wants(key), 1, loose=True)
        self.value[key] = value.replace("\\|", "|") if line.kind == ROW and isinstance(value, str) else value
        end = self.lines[block.at - 1].stop
        if value is None and not line.value and end >= self.final:
            block.records.append(("S036", line.end, line.end, "null", node))
        after = "null" if value is None else ""
        block.records.insert(where, ("F002" if line.marked else "F001", line.start, end, after, node))
        self.spans.append((line.start, end))

    def lead(self, at: int) -> None:
        """A field with an unknown name right before the first: it may be one of its members."""
        line, first = self.lines[at - 1], self.lines[at]
        if at == 0 or first.gap or (line.kind, line.indent) != (first.kind, first.indent):
            return
        if line.generic and line.value and self.top.get(line.label) is None and len(line.label.split()) < 3:
            self.note("F009", at - 1, at, "", None)

    # -- lines behind a value ------------------------------------------------------------------

    def rest(self, field: Field, between: bool) -> None:
        """Place the lines up to the next field: more of a text, fields of unknown names, comments, remarks."""
        key, own, at = field.key, self.lines[field.at], self.block.at
        near, over = True, False  # whether no blank line sets the line apart; whether the text has ended
        while at < field.stop:
            line = self.lines[at]
            near = near and not line.gap
            if self.items and line.bullet and line.indent <= own.indent:
                raise Unreadable  # an item that is not read, and none is ever dropped
            if between and self.is_sibling(line, own) and line.label not in self.value:
                key, over = line.label, False
                self.member(key, at, field.stop)
                at = self.block.at
                continue
            end = self.text_end(at, key, own, field.stop, between) if not over else at
            if end > at:
                self.join(key, at, end)
            elif self.text.startswith("#", line.start + line.indent) and not (own.marked or line.opaque):
                self.note("S017", at, at + 1, "", None)
            else:
                over = True
                below = isinstance(self.value[key], str) and not own.value
                if not self.is_noise(line, between) and (between or below or (near and line.kind != FENCE)):
                    self.note("F009", at, at + 1, "", (self.node, key))
            at = max(end, at + 1)

    def is_sibling(self, line: Line, own: Line) -> bool:
        """Whether a line between two fields is a field itself, of a name that the schema does not know."""
        if line.kind == ROW and own.kind == ROW:
            return line.sep == "|" and bool(line.label)
        alike = line.marked == own.marked and bool(line.bullet) == bool(own.bullet) and line.indent <= own.indent
        return line.generic and alike and not line.opaque and (bool(line.value) or " " not in line.label)

    def is_noise(self, line: Line, between: bool) -> bool:
        """Whether a line says nothing: a rule, a part of a table, a tag alone."""
        if line.kind == RULE or (line.kind == ROW and (not between or is_divider(self.text, line))):
            return True
        return not line.opaque and _LONE_TAG.match(self.text, line.body_at, line.end) is not None

    def text_end(self, at: int, key: str, own: Line, stop: int, between: bool) -> int:
        """The line after the last that is a part of the text above it; `at` when none is."""
        said = self.value[key]
        quoted = own.value[:1] in PAIRS and own.value and said != own.value
        if not isinstance(said, str) or own.kind == ROW or quoted:
            return at
        end, gaps = at, []
        while end < stop and not self.ends_text(end, own, stop, between):
            gaps += [end] if self.lines[end].gap else []
            if gaps and not between and stop < len(self.lines):
                break  # what stands between two objects says what the next one is
            end += 1
        if not between and end > at:
            end = self.without_remark(at, end, gaps, said.rstrip().endswith((",", ":")))
        while between and end > at and (self.is_noise(self.lines[end - 1], between) or self.lines[end - 1].heading):
            end -= 1
        self.unclear = self.unclear or end > at
        return end if self.way.join else at

    def ends_text(self, at: int, own: Line, stop: int, between: bool) -> bool:
        """Whether a line is no part of the text above it."""
        line = self.lines[at]
        if line.opaque or line.kind == FENCE:
            return line.kind == FENCE and not line.closes and self.block.fence_end(at, stop) == 0
        if line.heading and not (between and own.marked and not own.heading):
            return not 0 < own.heading < line.heading
        if (not between and self.is_noise(line, between)) or (self.items and line.bullet and line.indent <= own.indent):
            return True
        if self.is_sibling(line, own):
            return True
        # behind the last field, a bold line is the heading of something else; before another object it names that
        heads = line.alone and line.marked and own.marked and not line.bullet
        return not between and (heads or (at + 1 == stop < len(self.lines) and bool(line.sep) and not line.value))

    def without_remark(self, at: int, end: int, gaps: list[int], goes_on: bool) -> int:
        """Where the last text of a reply ends: one paragraph more may be a remark, several are a part of it."""
        from trueup.recover.said import is_withdrawn  # its many patterns are compiled when a reply first needs them

        if is_withdrawn(self.text, self.lines[at - 1].end):
            return at
        if gaps and (len(gaps) == 1 > goes_on or self.block.is_remark(gaps[-1], end)):
            return gaps[-1]
        return end

    def join(self, key: str, at: int, end: int) -> None:
        """Make lines a part of the text above them."""
        body, node, said = self.block.rows(at, end), (self.node, key), self.value[key]
        self.value[key] = said + "\n" * (self.lines[at].gap + 1) + body if said else body
        start = next(start for where, start, _ in reversed(self.block.places) if where == node)
        self.block.places.append((node, start, self.lines[end - 1].end))
        self.note("F009", at, end, body, node)

    def note(self, code: str, at: int, end: int, after: str, node: Node) -> None:
        """Note lines that are no fields: joined to one, or left out."""
        span = (self.lines[at].start, self.lines[end - 1].stop)
        self.block.records.append((code, *span, after, node))
        self.spans.append(span)
