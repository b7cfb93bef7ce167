"""Reads the value of a field that is written in lines: on its line, or below it as a map, a list, a table or text.

Takes lines and the schema's names; returns plain values, with their places and records of tolerant readings. It reads the
part of YAML and Markdown that models write, by indentation, and takes every line once. A scalar stays text unless it is
written as in JSON: the coercions bring it to the schema.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.forms import tables
from trueup.recover.forms.outline import FENCE, ROW, RULE, TEXT, KeyFinder, OutlineLine
from trueup.recover.forms.values import LIST_ONLY, PAIRS, TEXT_ONLY, common_end, inline, parts_of_list
from trueup.recover.json.parser import Node, Parser, Record, parts_of
from trueup.verdict.catalogue import GRADE
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

_BLOCK_MARK = lazy_regex(r"([|>])([+-]?)[1-9]?([+-]?)(?:[ \t]+#.*)?\Z")
_COMMENT = lazy_regex(r"(?:\A|[ \t])#[ \t]")
_ASIDE = lazy_regex(r"[ \t]*(?:[(#]|//|[-–—][ \t])")
_MAP_ONLY = frozenset({"object", "null"})
_CLOSER = {"[": "]", "{": "}"}
_AFTER_FLOW = " ,;\t\r"

Span = tuple[int, int]
Place = tuple[Node, int, int]
Wants = Callable[[str], frozenset[str]]


def any_type(_: str) -> frozenset[str]:
    """The types of a field if the schema is not used."""
    return frozenset()


class NotFields(Exception):
    """These lines are not fields: a bracket stays open, or they nest too deep."""


class BlockReader:
    """Reads the values of fields from a stretch of lines; `at` is the next line to take."""

    __slots__ = (
        "at", "choices", "ends", "free", "keys", "known", "lines", "max_depth", "places", "records", "stop", "text",
    )  # fmt: skip

    def __init__(
        self, text: str, lines: list[OutlineLine], keys: KeyFinder, known: frozenset[str], max_depth: int, *, free: bool
    ) -> None:
        self.text = text
        self.lines = lines
        self.at = 0
        self.stop = len(lines)
        self.keys = keys
        self.known = known
        self.max_depth = max_depth
        self.free = free  # names that the schema does not have also make a map
        self.choices = False  # whether `free` would have made a difference
        self.ends = ""  # the sign that every line ends with, as in a list of members
        self.records: list[Record] = []
        self.places: list[Place] = []

    def begin(self, records: list[Record]) -> None:
        """Start a separate value, with these records."""
        self.records = records
        self.places = []

    def candidate(self, value: Any, spans: list[Span]) -> Candidate:
        """A value that was read since `begin`, as a candidate."""
        self.places.append((None, min(start for start, _ in spans), max(stop for _, stop in spans)))
        return Candidate(value, sorted(spans), self.records, "lines", None, partial(by_path, self.places))

    # -- fields --------------------------------------------------------------------------------

    def field(self, line: OutlineLine, node: Node, want: frozenset[str], depth: int, *, loose: bool) -> Any:
        """The value of the field on a line; with `loose`, text below it does not have to be indented."""
        if depth > self.max_depth:
            raise NotFields
        first = self.at
        if line.value:
            value = self.beside(line, node, want, depth)
        else:
            value = self.below(line, node, want, depth, loose=loose)
        start, stop = line.value_at, line.value_at + len(line.value)
        if self.at > first:
            start, stop = start if line.value else self.lines[first].body_at, self.lines[self.at - 1].end
        self.places.append((node, start, stop))
        return value

    def beside(self, line: OutlineLine, node: Node, want: frozenset[str], depth: int) -> Any:
        """The value that starts on the line of its key."""
        below = self.lines[self.at] if self.at < self.stop else None
        mark = _BLOCK_MARK.match(line.value)
        if mark and below and below.indent > line.indent:
            return self.literal(line, mark)
        if line.value[0] in "[{" and (line.quoted or want != {"string"}):
            flow = self.flow(line, node, depth)
            if flow is not None:
                return flow[0]
        first = self.at
        while self.at < self.stop and self.continues(line, self.lines[self.at], want):
            self.at += 1
        if self.at == first:
            return self.scalar(line.value_at, line.value_at + len(line.value), node, want, depth)
        text = folded(self.text[line.value_at : self.lines[self.at - 1].end])
        return (want and want <= LIST_ONLY and items_of(text)) or text

    def continues(self, line: OutlineLine, below: OutlineLine, want: frozenset[str]) -> bool:
        """Whether a line below a scalar is part of it: it is indented, or it continues a list after a comma."""
        if below.gap or below.bullet or below.kind != TEXT or self.keys.get(below.label) is not None:
            return False
        before = self.lines[self.at - 1]
        listed = bool(want) and want <= LIST_ONLY and self.text.startswith(",", before.end - 1)
        return below.indent > line.indent or (listed and below.indent == line.indent)

    def below(self, line: OutlineLine, node: Node, want: frozenset[str], depth: int, *, loose: bool) -> Any:
        """The value under a line with only a key or a bullet."""
        if self.at >= self.stop:
            return None
        first = self.lines[self.at]
        inside = self.inside(line, first)
        if not inside and not (loose and first.kind != RULE and not first.heading):
            return None
        if first.kind == FENCE:
            return self.fence()
        if want and want <= TEXT_ONLY:
            text = self.paragraphs(line, inside=inside)
            return text if "\n" in text else inline(text, want, self.ends)
        if first.kind == ROW:
            table = tables.table_at(self.text, self.lines, self.at, self.stop, self.keys)
            if table is not None:
                self.at = table.stop
                return [self.row(table, cells, (node, i), depth) for i, cells in enumerate(table.rows)]
        if first.bullet:
            items = self.sequence(first.indent, node, depth + 1)
            return _merged(items) if want and want <= _MAP_ONLY else items
        if inside and self.names(first):
            return self.mapping(line.indent if not line.heading else -1, None, node, depth + 1)
        text = self.paragraphs(line, inside=inside)
        listed = bool(want) and want <= LIST_ONLY
        if "\n" not in text:
            return (listed and items_of(text)) or inline(text, want, self.ends)
        return [item.rstrip(",") for item in text.split("\n")] if listed and "\n\n" not in text else text

    def inside(self, line: OutlineLine, below: OutlineLine) -> bool:
        """Whether a line belongs to the line above it by its indentation."""
        if line.alone and not line.bullet:
            return True
        return below.indent > line.indent or (bool(below.bullet) and not line.bullet and below.indent == line.indent)

    def names(self, line: OutlineLine) -> bool:
        """Whether a line is a field of a map."""
        if line.opaque or not line.sep:
            return False
        if self.keys.get(line.label) is not None:
            return True
        self.choices = self.choices or line.generic
        return self.free and line.generic

    def row(
        self, table: "tables.TextTable", cells: list[Span], node: Node, depth: int, wants: Wants = any_type
    ) -> dict[str, Any]:
        """One row of a table as an object; an empty cell is null."""
        out: dict[str, Any] = {}
        for key, (start, stop) in zip(table.keys, cells, strict=True):
            if key is not None:
                value = self.scalar(start, stop, (node, key), wants(key), depth) if start < stop else None
                out[key] = value.replace("\\|", "|") if isinstance(value, str) else value
                self.places.append(((node, key), start, stop))
        return out

    # -- maps and lists ------------------------------------------------------------------------

    def mapping(self, floor: int, first: OutlineLine | None, node: Node, depth: int) -> dict[str, Any]:
        """The fields that are indented more than `floor`; `first` is a field on the same line as a bullet."""
        if depth > self.max_depth:
            raise NotFields
        out: dict[str, Any] = {}
        line = first
        while True:
            if line is None:
                if self.at >= self.stop:
                    return out
                line = self.lines[self.at]
                known = self.keys.get(line.label) is not None and bool(line.sep)
                if line.indent <= floor or not (known or (line.generic and not line.bullet and (out or self.free))):
                    return out
                self.at += 1
            key = self.keys.get(line.label) or line.label
            if key in out:
                self.records.append(("S032", line.start, line.end, "", (node, key)))
            out[key] = self.field(line, (node, key), frozenset(), depth, loose=False)
            line = None

    def sequence(self, indent: int, node: Node, depth: int, first: OutlineLine | None = None) -> list[Any]:
        """The bullets at one indentation; `first` is an item on the same line as an outer bullet."""
        if depth > self.max_depth:
            raise NotFields
        out: list[Any] = []
        if first is not None:
            out.append(self.scalar(first.body_at + 2, first.end, (node, 0), frozenset(), depth))
            if self.at >= self.stop or self.lines[self.at].indent <= first.indent:
                return out
        self.ends = common_end(list(self.bullets(indent)), self.text)
        while self.at < self.stop:
            line = self.lines[self.at]
            numbered = line.bullet[:1].isdigit()
            if not line.bullet or (line.indent != indent and not (numbered and abs(line.indent - indent) == 1)):
                break
            self.at += 1
            place = (node, len(out))
            out.append(self.item(line, place, depth))
            self.places.append((place, line.body_at, self.lines[self.at - 1].end))
        return out

    def bullets(self, indent: int) -> Iterator[OutlineLine]:
        """The lines of the next bullets at one indentation."""
        for at in range(self.at, self.stop):
            line = self.lines[at]
            if line.indent < indent or (line.indent == indent and not line.bullet):
                return
            if line.indent == indent:
                yield line

    def item(self, line: OutlineLine, node: Node, depth: int) -> Any:
        """The item after a bullet."""
        if line.body_at >= line.end:
            return self.below(line, node, frozenset(), depth, loose=False)
        if self.names(line):
            return self.mapping(line.indent, line, node, depth)
        first = self.at
        if self.text.startswith("- ", line.body_at, line.end):
            below = self.lines[first] if first < self.stop else line
            return self.sequence(max(below.indent, line.indent + 1), node, depth + 1, line)
        while self.at < self.stop and self.lines[self.at].indent > line.indent and self.lines[self.at].kind == TEXT:
            self.at += 1
        if self.at == first:
            return self.scalar(line.body_at, line.end, node, frozenset(), depth)
        nested = any(below.bullet or below.gap for below in self.lines[first : self.at])
        text = self.text[line.body_at : self.lines[self.at - 1].end]
        return "\n".join(row.strip() for row in text.split("\n")) if nested else folded(text)

    # -- text ----------------------------------------------------------------------------------

    def paragraphs(self, line: OutlineLine, *, inside: bool) -> str:
        """Text under a key: all of it if it is indented, under a heading or before another key, otherwise one paragraph."""
        first = self.at
        # under the last key, the next paragraph may be a closing remark
        whole = self.stop < len(self.lines) or (inside and (line.heading > 0 or not line.alone))
        while self.at < self.stop:
            below = self.lines[self.at]
            if self.at > first and (below.kind == RULE or (below.gap and not whole)):
                break
            if below.heading and below.heading <= (line.heading or 6) and not below.opaque:
                break
            if inside and not self.inside(line, below):
                break
            self.at += 1
        last = next((i for i in range(self.at - 1, first, -1) if self.lines[i].gap), self.at)
        if self.at == self.stop == len(self.lines) and self.is_remark(last, self.at):
            self.at = last
        if self.at == first:
            return ""
        if inside and not line.alone and not line.marked:
            return folded(self.text[self.lines[first].start : self.lines[self.at - 1].end])
        return self.rows(first, self.at)

    def is_remark(self, first: int, stop: int) -> bool:
        """Whether the last paragraph of a reply addresses the reader: one line that ends with `?` or `!`."""
        return stop - first == 1 and self.text.startswith(("!", "?", "！", "？"), self.lines[first].end - 1)

    def rows(self, first: int, stop: int) -> str:
        """Lines as text, without their common margin and without whitespace at their ends."""
        rows = self.text[self.lines[first].start : self.lines[stop - 1].end].split("\n")
        margin = min((len(row) - len(row.lstrip()) for row in rows if row.strip()), default=0)
        return "\n".join(row[margin:].rstrip() for row in rows)

    def fence_end(self, at: int, stop: int) -> int:
        """The line that closes the fence opened on a line; 0 if there is none."""
        end = at + 1
        while end < stop and self.lines[end].opaque:
            end += 1
        return end if end < stop and self.lines[end].kind == FENCE else 0

    def fence(self) -> str:
        """The unchanged content of a fence."""
        end = self.fence_end(self.at, self.stop)
        start, stop = self.lines[self.at].stop, self.lines[end].start if end else self.lines[self.stop - 1].end
        if not end:
            self.records.append(("S005", stop, stop, "```", None))
        self.at = end + 1 if end else self.stop
        return self.text[start : max(start, stop)].removesuffix("\n")

    def literal(self, line: OutlineLine, mark: re.Match[str]) -> str:
        """A block scalar: `|` keeps its line breaks, `>` folds them."""
        first = self.lines[self.at]
        while self.at < self.stop and self.lines[self.at].indent > line.indent:
            self.at += 1
        raw = self.text[first.start : self.lines[self.at - 1].stop]
        margin = len(raw) - len(raw.lstrip(" \t"))
        rows = [row[min(margin, len(row) - len(row.lstrip(" \t"))) :].rstrip("\r") for row in raw.rstrip().split("\n")]
        body = folded("\n".join(rows)) if mark[1] == ">" else "\n".join(rows)
        return body if "-" in (mark[2], mark[3]) else body + "\n"

    # -- scalars -------------------------------------------------------------------------------

    def flow(self, line: OutlineLine, node: Node, depth: int) -> tuple[Any] | None:
        """A list or an object in brackets, on one or several lines; None if it is text that starts like one."""
        start = line.value_at
        value = line.value.rstrip(_AFTER_FLOW)
        if value[-1] in "]}":
            return self.bracketed(start, start + len(value), node, depth)
        if not line.quoted and _CLOSER[value[0]] in value:
            return None
        if line.quoted or self.at >= self.stop:
            raise NotFields
        outcome = Parser(self.text, start, self.lines[self.stop - 1].end, self.known, self.max_depth - depth).read()
        if outcome.cut or any(GRADE[record[0]] == "lossy" for record in outcome.records):
            raise NotFields
        while self.at < self.stop and self.lines[self.at].start < outcome.end:
            self.at += 1
        line_end = self.lines[self.at - 1].end
        if self.text[outcome.end : line_end].strip(_AFTER_FLOW):
            if _ASIDE.match(self.text, outcome.end, line_end) is None:
                raise NotFields
            self.records.append(("F009", outcome.end, line_end, "", node))
        self.adopt(outcome.records, node)
        return (outcome.value,)

    def bracketed(self, start: int, stop: int, node: Node, depth: int) -> tuple[Any] | None:
        """The value in the brackets around a whole stretch; None if the brackets do not match."""
        if depth >= self.max_depth:
            raise NotFields
        outcome = Parser(self.text, start, stop, self.known, self.max_depth - depth).read()
        if outcome.end != stop or outcome.cut:
            return None
        self.adopt(outcome.records, node)
        return (outcome.value,)

    def adopt(self, records: list[Record], node: Node) -> None:
        """Add the records of an inner reading, with their places moved under a node."""
        for code, start, stop, after, inner in records:
            place = node
            for part in parts_of(inner):
                place = (place, part)
            self.records.append((code, start, stop, after, place))

    def scalar(self, start: int, stop: int, node: Node, want: frozenset[str], depth: int) -> Any:
        """The scalar in a stretch of one line."""
        raw = self.text[start:stop]
        start += len(raw) - len(raw.lstrip())
        raw = raw.strip()
        if raw[:1] in ("[", "{") and want != {"string"}:
            flow = self.bracketed(start, start + len(raw), node, depth) if raw[-1] in "]}" else None
            if flow is not None:
                return flow[0]
        comment = _COMMENT.search(raw) if "#" in raw and raw[0] not in PAIRS else None
        if comment:
            self.records.append(("S017", start + comment.start(), start + len(raw), "", node))
            raw = raw[: comment.start()].rstrip()
        return (want and want <= LIST_ONLY and items_of(raw)) or inline(raw, want, self.ends)


def is_open(line: OutlineLine) -> bool:
    """Whether the value of a field is below its line."""
    return not line.value or _BLOCK_MARK.match(line.value) is not None


def items_of(raw: str) -> list[Any]:
    """The items that a text lists between commas; empty if it is not a list.

    >>> items_of("fast, 3, 'x'"), items_of("fast")
    (['fast', 3, 'x'], [])
    """
    return [inline(part) for part in parts_of_list(raw) or ()]


def folded(text: str) -> str:
    r"""The text with lines joined by a space and paragraphs by a line break.

    >>> folded("Nice\n  one.\n\nAnd more.")
    'Nice one.\nAnd more.'
    """
    out: list[str] = []
    glue = ""
    for row in text.split("\n"):
        words = row.strip()
        if words:
            out += (glue, words)
            glue = " "
        elif out:
            glue = "\n" if glue == " " else glue + "\n"
    return "".join(out)


def by_path(places: list[Place]) -> dict[Parts, Span]:
    """The place of each value, by its path."""
    return {parts_of(node): (start, stop) for node, start, stop in places}


def listing(code: str, span: Span, items: list[Any], spans: list[Span], form: str) -> Candidate:
    """A list of plain values, each with its span, as a candidate."""
    places: dict[Parts, Span] = {(): span, **{(index,): where for index, where in enumerate(spans)}}
    return Candidate(items, [span], [(code, *span, "", None)], form, None, places)


def _merged(items: list[Any]) -> Any:
    """The object made of bullets with one field each; the bullets themselves if they do not make one."""
    out: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, dict) or not out.keys().isdisjoint(item):
            return items
        out.update(item)
    return out
