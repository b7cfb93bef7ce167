"""Reads fields written as lines: `key: value`, bold keys, headings, two-column tables; one object for each run of keys.

Takes lines and the schema's names; yields candidates for several ways to assign unclear lines. The next way is only read if
the one before does not fit. A text continues up to the next key; after the last key, a single paragraph counts as a remark.
Without known names nothing is read, because prose is not a value.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from trueup.recover.candidate import Candidate
from trueup.recover.forms.blocks import BlockReader, NotFields, Span, Wants, is_open
from trueup.recover.forms.outline import FENCE, ROW, RULE, KeyFinder, OutlineLine, is_divider
from trueup.recover.forms.tables import fields_in_rows
from trueup.recover.forms.values import PAIRS, common_end
from trueup.recover.json.parser import Node
from trueup.recover.marks import SPECIAL_TOKEN
from trueup.verdict.patterns import lazy_regex

# If the schema wants one object and the reply has this many, none of them is the answer.
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
    r"""Whether a bare key of the schema is on the line right before an offset, so that the value there belongs to the key.

    >>> labelled("name: Ada\ntags: []", 16, frozenset({"tags"})), labelled("Tags as JSON: []", 14, frozenset({"tags"}))
    (True, False)
    """
    before = _LABEL.search(text, max(0, start - _MAX_BEFORE), start) if keys and start else None
    return before is not None and KeyFinder(keys).get(before[1].strip()) is not None


class Way(NamedTuple):
    """One way to read unclear lines."""

    join: bool = True  # lines below a text are part of it
    free: bool = False  # names that the schema does not have also make a map
    flat: bool = False  # a field under a heading that is a field itself is not part of it
    bare: bool = False  # a key may be alone on its line without any mark


_WAYS = (Way(), Way(free=True), Way(join=False), Way(flat=True), Way(bare=True))


class LineField(NamedTuple):
    """A field: its key, its first line, and the line after its last."""

    key: str
    at: int
    stop: int


def readings(top: KeyFinder, block: BlockReader, wants: Wants, *, items: bool) -> Iterator[list[Candidate]]:
    """The objects, or the one list of them, in some lines: one list of candidates for each way."""
    sheet = LineSheet(top, block, wants, items=items)
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
            candidates = [sheet.listed(groups)] if items else [sheet.alone(group) for group in groups]
        except NotFields:
            continue
        if (values := [candidate.value for candidate in candidates]) != last:
            last = values
            yield candidates


class LineSheet:
    """The lines of one document, read in one way; `value`, `spans` and `node` belong to the current object."""

    def __init__(self, top: KeyFinder, block: BlockReader, wants: Wants, *, items: bool) -> None:
        self.block = block
        self.text = block.text
        self.lines = block.lines
        self.top = top
        self.wants = lru_cache(maxsize=1000)(wants)
        self.items = items  # whether the fields belong to the items of a list
        self.final = len(self.text.rstrip())
        self.first = -1  # the line of the first field
        self.rows = fields_in_rows(self.text, self.lines, block.keys)  # rows of tables, which are not fields
        self.way = _WAYS[0]
        # whether another way would make a difference
        self.unclear = self.headed = self.lonely = False
        self.value: dict[str, Any] = {}
        self.spans: list[Span] = []
        self.node: Node = None

    def differs(self, way: Way) -> bool:
        """Whether a way may give a different reading than the first one."""
        if way == _WAYS[0]:
            return True
        if way.free:
            return self.block.choices
        return (self.headed and way.flat) or (self.lonely and way.bare) or (self.unclear and not way.join)

    # -- which lines are fields ----------------------------------------------------------------

    def fields(self) -> list[LineField]:
        """Every line with a field of the object that the schema wants."""
        starts: list[tuple[str, int]] = []
        before: OutlineLine | None = None
        for index, line in enumerate(self.lines):
            key = self.key_of(line, before) if not line.opaque and index not in self.rows else None
            if key is not None:
                starts.append((key, index))
                before = line
        self.first = starts[0][1] if starts else -1
        edges = [index for _, index in starts] + [len(self.lines)]
        return [LineField(key, index, edges[place]) for place, (key, index) in enumerate(starts, 1)]

    def key_of(self, line: OutlineLine, before: OutlineLine | None) -> str | None:
        """The key of a line that is a separate field, rather than part of the field before it."""
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

    # -- grouping fields into objects ----------------------------------------------------------

    def groups(self) -> list[list[LineField]]:
        """Runs of fields without a repeated key; items of a list are also separated by bullets, rules and headings."""
        fields = self.fields()
        first = self.lines[fields[0].at] if fields else None
        # each bullet starts an object, whose other fields have no bullets
        bulleted = self.items and first and first.bullet and any(not self.lines[f.at].bullet for f in fields)
        out: list[list[LineField]] = []
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

    def with_repeats(self, groups: list[list[LineField]], enough: int) -> list[list[LineField]]:
        """The runs that are objects; a few repeated fields right below an object belong to it."""
        out: list[list[LineField]] = []
        for group in groups:
            if len(group) >= enough:
                out.append(group)
            elif out and not any(self.lines[at].gap for at in range(out[-1][-1].at + 1, group[0].at + 1)):
                out[-1] += group
        return out

    def tail(self, group: list[LineField], field: LineField) -> list[LineField]:
        """The fields right before this one in the same paragraph, which belong to the next object."""
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

    # -- reading a group -----------------------------------------------------------------------

    def alone(self, group: list[LineField]) -> Candidate:
        """A group as a separate value."""
        self.block.begin([])
        self.read(group, None)
        return self.block.candidate(self.value, self.spans)

    def listed(self, groups: list[list[LineField]]) -> Candidate:
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

    def read(self, group: list[LineField], node: Node) -> None:
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
        """Note a field with an unknown name right before the first field: it may be another member."""
        line, first = self.lines[at - 1], self.lines[at]
        if at == 0 or first.gap or (line.kind, line.indent) != (first.kind, first.indent):
            return
        if line.generic and line.value and self.top.get(line.label) is None and len(line.label.split()) < 3:
            self.note("F009", at - 1, at, "", None)

    # -- lines after a value -------------------------------------------------------------------

    def rest(self, field: LineField, *, between: bool) -> None:
        """Assign the lines up to the next field: more of a text, fields with unknown names, comments, remarks."""
        key, own, at = field.key, self.lines[field.at], self.block.at
        near, over = True, False  # whether there was no blank line before the line; whether the text has ended
        while at < field.stop:
            line = self.lines[at]
            near = near and not line.gap
            if self.items and line.bullet and line.indent <= own.indent:
                raise NotFields  # an item that cannot be read, and items are never dropped
            if between and self.is_sibling(line, own) and line.label not in self.value:
                key, over = line.label, False
                self.member(key, at, field.stop)
                at = self.block.at
                continue
            end = self.text_end(at, key, own, field.stop, between=between) if not over else at
            if end > at:
                self.join(key, at, end)
            elif self.text.startswith("#", line.start + line.indent) and not (own.marked or line.opaque):
                self.note("S017", at, at + 1, "", None)
            else:
                over = True
                below = isinstance(self.value[key], str) and not own.value
                if not self.is_noise(line, between=between) and (between or below or (near and line.kind != FENCE)):
                    self.note("F009", at, at + 1, "", (self.node, key))
            at = max(end, at + 1)

    def is_sibling(self, line: OutlineLine, own: OutlineLine) -> bool:
        """Whether a line between two fields is a field itself, with a name that the schema does not have."""
        if line.kind == ROW and own.kind == ROW:
            return line.sep == "|" and bool(line.label)
        alike = line.marked == own.marked and bool(line.bullet) == bool(own.bullet) and line.indent <= own.indent
        return line.generic and alike and not line.opaque and (bool(line.value) or " " not in line.label)

    def is_noise(self, line: OutlineLine, *, between: bool) -> bool:
        """Whether a line has no content: a rule, part of a table, a single tag."""
        if line.kind == RULE or (line.kind == ROW and (not between or is_divider(self.text, line))):
            return True
        return not line.opaque and _LONE_TAG.match(self.text, line.body_at, line.end) is not None

    def text_end(self, at: int, key: str, own: OutlineLine, stop: int, *, between: bool) -> int:
        """The line after the last one that is part of the text above it; `at` if there is none."""
        text = self.value[key]
        quoted = own.value[:1] in PAIRS and own.value and text != own.value
        if not isinstance(text, str) or own.kind == ROW or quoted:
            return at
        end, gaps = at, []
        while end < stop and not self.ends_text(end, own, stop, between=between):
            gaps += [end] if self.lines[end].gap else []
            if gaps and not between and stop < len(self.lines):
                break  # a paragraph between two objects introduces the next one
            end += 1
        if not between and end > at:
            end = self.without_remark(at, end, gaps, unfinished=text.rstrip().endswith((",", ":")))
        while (
            between and end > at and (self.is_noise(self.lines[end - 1], between=True) or self.lines[end - 1].heading)
        ):
            end -= 1
        self.unclear = self.unclear or end > at
        return end if self.way.join else at

    def ends_text(self, at: int, own: OutlineLine, stop: int, *, between: bool) -> bool:
        """Whether a line is not part of the text above it."""
        line = self.lines[at]
        if line.opaque or line.kind == FENCE:
            return line.kind == FENCE and not line.closes and self.block.fence_end(at, stop) == 0
        if line.heading and not (between and own.marked and not own.heading):
            return not 0 < own.heading < line.heading
        if (not between and self.is_noise(line, between=False)) or (
            self.items and line.bullet and line.indent <= own.indent
        ):
            return True
        if self.is_sibling(line, own):
            return True
        # after the last field, a bold line is the heading of something else; before another object it is that object's name
        heads = line.alone and line.marked and own.marked and not line.bullet
        return not between and (heads or (at + 1 == stop < len(self.lines) and bool(line.sep) and not line.value))

    def without_remark(self, at: int, end: int, gaps: list[int], *, unfinished: bool) -> int:
        """Where the last text of a reply ends: one more paragraph may be a remark, several are part of the text."""
        from trueup.recover.remarks import is_withdrawn  # loaded when a reply first needs it, for its many patterns

        if is_withdrawn(self.text, self.lines[at - 1].end):
            return at
        if gaps and ((len(gaps) == 1 and not unfinished) or self.block.is_remark(gaps[-1], end)):
            return gaps[-1]
        return end

    def join(self, key: str, at: int, end: int) -> None:
        """Add lines to the text above them."""
        body, node, text = self.block.rows(at, end), (self.node, key), self.value[key]
        self.value[key] = text + "\n" * (self.lines[at].gap + 1) + body if text else body
        start = next(start for where, start, _ in reversed(self.block.places) if where == node)
        self.block.places.append((node, start, self.lines[end - 1].end))
        self.note("F009", at, end, body, node)

    def note(self, code: str, at: int, end: int, after: str, node: Node) -> None:
        """Note lines that are not fields: they were added to one, or left out."""
        span = (self.lines[at].start, self.lines[end - 1].stop)
        self.block.records.append((code, *span, after, node))
        self.spans.append(span)
