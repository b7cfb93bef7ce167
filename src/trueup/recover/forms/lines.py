"""Fields written as lines: `key: value`, bold keys, headings, two-column tables; one object for each run of keys.

Lines and the schema's names enter; candidates leave, in several ways to take lines whose belonging is unclear: only when
the first way does not fit is the next one read. Without known names nothing is read: prose is not a value.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from trueup.recover.candidate import Candidate
from trueup.recover.forms.blocks import Block, Unreadable, Wants, is_open
from trueup.recover.forms.inline import common_end
from trueup.recover.forms.outline import FENCE, ROW, RULE, Keys, Line, is_divider
from trueup.recover.forms.tables import cells_of, table_at
from trueup.recover.json.parser import Node, Record

# An object is asked for, and the reply holds so many: none of them is the answer.
MAX_GROUPS = 50
_MANY_LINES = 20_000
_BOLD = 7

_LONE_TAG = re.compile(r"</?[A-Za-z_][^<>\n]{0,200}>\s*\Z|<[|｜][^<>\n]{1,60}[|｜]>\s*\Z")

Span = tuple[int, int]


class Way(NamedTuple):
    """One way to take what is unclear."""

    between: bool = True  # lines between two fields are joined to the first
    behind: bool = False  # lines directly behind the last field are joined to it
    free: bool = False  # names the schema does not know make a map as well
    flat: bool = False  # a field under a heading that is one itself is no part of it
    bare: bool = False  # a key may stand alone on its line without any mark


_WAYS = (Way(), Way(free=True), Way(between=False), Way(flat=True), Way(behind=True), Way(bare=True))


class Field(NamedTuple):
    """A field: its key, the line it starts on, and the line after its last."""

    key: str
    at: int
    stop: int


class Sheet:
    """The lines of one document, read in one way."""

    __slots__ = (
        "block", "final", "first", "headed", "items", "joined", "lines", "lonely", "tables", "text", "top", "unclear", "wants", "way",
    )  # fmt: skip

    def __init__(self, text: str, lines: list[Line], top: Keys, block: Block, wants: Wants) -> None:
        self.text = text
        self.lines = lines
        self.top = top
        self.block = block
        self.wants = lru_cache(maxsize=1000)(wants)
        self.final = len(text.rstrip())
        self.first = -1  # the line of the first field
        self.joined: list[str] = []  # lines that are joined to the field that is being read
        self.tables: set[int] = set()  # lines of tables whose head names the fields: they are no fields themselves
        # whether another way would make a difference
        self.unclear = self.headed = self.lonely = False
        self.way = _WAYS[0]
        self.items = False  # whether the fields are those of a list's items

    def differs(self, way: Way) -> bool:
        """Whether a way may read other than the first one did."""
        if way == _WAYS[0]:
            return True
        if way.free:
            return self.block.choices
        return (self.headed and way.flat) or (self.lonely and way.bare) or (self.unclear and not (way.flat or way.bare))

    # -- which lines are fields ----------------------------------------------------------------

    def fields(self) -> list[Field]:
        """Every line that holds a field of the object that is asked for."""
        starts: list[tuple[str, int]] = []
        before: Line | None = None
        table = -1
        for index, line in enumerate(self.lines):
            if line.opaque:
                continue
            if line.kind == ROW and index > table:
                table = self.row(index)
            key = self.key_of(line, before) if index not in self.tables else None
            if key is not None:
                starts.append((key, index))
                before = line
        self.first = starts[0][1] if starts else -1
        edges = [index for _, index in starts] + [len(self.lines)]
        return [Field(key, index, edges[place]) for place, (key, index) in enumerate(starts, 1)]

    def row(self, index: int) -> int:
        """Read the rows of the table that starts here: those of two cells as fields; the last row's index."""
        found = table_at(self.text, self.lines, index, len(self.lines), self.block.keys)
        end = index
        while end < len(self.lines) and self.lines[end].kind == ROW and (end == index or not self.lines[end].gap):
            line = self.lines[end]
            if found is not None:
                self.tables.add(end)
            elif len(cells := cells_of(self.text, line)) == 2:
                line.label = self.text[slice(*cells[0])].strip("*_`: ")
                line.value_at, line.value = cells[1][0], self.text[slice(*cells[1])]
                line.sep, line.marked = "|", True
            end += 1
        return end - 1

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
        if line.bullet and before.bullet:
            return key if line.indent <= before.indent else None
        return key if line.col <= before.col else None

    # -- which fields are one object -----------------------------------------------------------

    def groups(self, items: bool) -> list[list[Field]]:
        """Runs of fields without a repeated key; for items of a list also what bullets, rules and headings set apart."""
        self.items = items
        fields = self.fields()
        bulleted = items and self.bullets_start_items(fields)
        out: list[list[Field]] = []
        keys: set[str] = set()
        for field in fields:
            line = self.lines[field.at]
            starts = bulleted and bool(line.bullet) and line.indent <= self.lines[fields[0].at].indent
            if not out or starts or field.key in keys:
                tail = self.tail(out[-1], field) if out and items and not starts else []
                out.append(tail)
                keys = {other.key for other in tail}
            out[-1].append(field)
            keys.add(field.key)
        return out

    def bullets_start_items(self, fields: list[Field]) -> bool:
        """Whether each bullet starts an object whose further fields have none."""
        return (
            bool(fields) and bool(self.lines[fields[0].at].bullet) and any(not self.lines[f.at].bullet for f in fields)
        )

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

    def read(self, group: list[Field], node: Node) -> tuple[dict[str, Any], list[Span], list[Record]]:
        """The object of a group, the stretches it took, and its records."""
        value: dict[str, Any] = {}
        spans: list[Span] = []
        records: list[Record] = []
        self.block.records = records
        self.block.ends = common_end([self.lines[field.at] for field in group], self.text)
        if self.goes_on(group):
            raise Unreadable
        if group[0].at == self.first:
            self.lead(self.first, spans, records)
        for place, field in enumerate(group):
            at = self.member(field.key, field.at, field.stop, node, value, spans)
            near = True
            self.joined = []
            while at < field.stop:
                near = near and not self.lines[at].gap
                at = self.left(at, field, place + 1 < len(group), near, node, value, spans)
            if self.joined:
                value[field.key] = "\n".join([value[field.key], *self.joined])
        return value, spans, list(records)

    def goes_on(self, group: list[Field]) -> bool:
        """Whether the text of the last field ends in the middle of a sentence, and more stands below a blank line."""
        *others, last = (self.lines[field.at] for field in group)
        said = last.value.rstrip()
        if not said.endswith((",", ":")) or "string" not in self.wants(group[-1].key):
            return False
        behind = group[-1].at + 1
        more = behind < len(self.lines) and self.lines[behind].gap and self.lines[behind].kind not in (FENCE, RULE)
        return bool(more) and behind < group[-1].stop and not any(line.value.rstrip().endswith(",") for line in others)

    def member(self, key: str, at: int, stop: int, node: Node, value: dict[str, Any], spans: list[Span]) -> int:
        """Read one field into the object; the line after it."""
        line, block = self.lines[at], self.block
        block.at, block.stop = at + 1, stop
        where = len(block.records)
        if key in value:
            block.records.append(("S032", line.start, line.end, "", (node, key)))
        said = block.field(line, (node, key), self.wants(key), 1, loose=True)
        value[key] = said.replace("\\|", "|") if line.kind == ROW and isinstance(said, str) else said
        end = self.lines[block.at - 1].stop
        if value[key] is None and not line.value and end >= self.final:
            block.records.append(("S036", line.end, line.end, "null", (node, key)))
        after = "null" if value[key] is None else ""
        block.records.insert(where, ("F002" if line.marked else "F001", line.start, end, after, (node, key)))
        spans.append((line.start, end))
        return block.at

    def lead(self, at: int, spans: list[Span], records: list[Record]) -> None:
        """A field with an unknown name right before the first: it may be one of its members."""
        line = self.lines[at - 1] if at else None
        if line is None or self.lines[at].gap or line.kind != self.lines[at].kind or not (line.generic and line.value):
            return
        if line.indent == self.lines[at].indent and self.top.get(line.label) is None and len(line.label.split()) < 3:
            self.doubt(line, "", None, spans, records)

    def left(
        self, at: int, field: Field, between: bool, near: bool, node: Node, value: dict[str, Any], spans: list[Span]
    ) -> int:
        """Place one line that stands behind a field's value; the line after it."""
        line, records, own = self.lines[at], self.block.records, self.lines[field.at]
        said = value[field.key]
        if line.kind == RULE or (line.kind == ROW and (not between or is_divider(self.text, line))):
            return at + 1
        if _LONE_TAG.match(self.text, line.body_at, line.end):
            return at + 1
        if self.items and line.bullet and line.indent <= own.indent:
            raise Unreadable  # an item that is not read, and none is ever dropped
        if self.text.startswith("#", line.start + line.indent) and not (own.marked or line.opaque):
            records.append(("S017", line.start, line.stop, "", None))
            spans.append((line.start, line.stop))
        elif between and self.is_sibling(line, own) and line.label not in value:
            return self.member(line.label, at, field.stop, node, value, spans)
        elif between or (near and line.kind != FENCE) or (isinstance(said, str) and not own.value):
            joins = near and (self.way.between if between else self.way.behind) and isinstance(said, str)
            body = self.text[line.body_at : line.end]
            if joins:
                self.joined.append(body)
            self.doubt(line, body if joins else "", (node, field.key), spans, records)
        return at + 1

    def is_sibling(self, line: Line, own: Line) -> bool:
        """Whether a line between two fields is a field itself, of a name that the schema does not know."""
        return line.generic and not line.opaque and line.indent <= own.indent and bool(line.bullet) == bool(own.bullet)

    def doubt(self, line: Line, after: str, node: Node, spans: list[Span], records: list[Record]) -> None:
        """Note a line whose belonging is unclear: joined to a field, or left out."""
        self.unclear = True
        records.append(("F009", line.start, line.stop, after, node))
        spans.append((line.start, line.stop))


def readings(sheet: Sheet, items: bool) -> Iterator[list[Candidate]]:
    """The objects, or the one list of them, that the lines of a sheet hold: one list of candidates for each way."""
    last: Any = None
    for way in _WAYS:
        if not sheet.differs(way) or (way != _WAYS[0] and len(sheet.lines) > _MANY_LINES):
            continue
        sheet.way, sheet.block.free = way, way.free
        groups = sheet.groups(items)
        enough = min(2, len(sheet.top))
        groups = groups if items else sheet.with_repeats(groups, enough)
        if not groups or (len(groups) > MAX_GROUPS and not items) or sum(map(len, groups)) < enough:
            continue
        try:
            found = _as_list(sheet, groups) if items else [_as_object(sheet, group) for group in groups]
        except Unreadable:
            continue
        if (said := [c.value for c in found]) != last:
            last = said
            yield found


def _as_object(sheet: Sheet, group: list[Field]) -> Candidate:
    value, spans, records = sheet.read(group, None)
    return Candidate(value, sorted(spans), records, "lines")


def _as_list(sheet: Sheet, groups: list[list[Field]]) -> list[Candidate]:
    values: list[Any] = []
    spans: list[Span] = []
    records: list[Record] = []
    for group in groups:
        value, where, said = sheet.read(group, (None, len(values)))
        values.append(value)
        spans += where
        records += said
    return [Candidate(values, sorted(spans), records, "lines")]
