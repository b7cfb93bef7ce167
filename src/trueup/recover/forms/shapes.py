"""Shapes that are not JSON but carry the schema's fields: lines, tables, lists, calls, members without braces.

A text and what is looked for enter; candidates leave, likeliest shape first. Without known keys no field is read, and an
error report is never one: prose is not a value.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Protocol

from trueup.recover.candidate import Candidate
from trueup.recover.forms import lines as fields
from trueup.recover.forms import scalars as prose
from trueup.recover.forms import tables
from trueup.recover.forms.blocks import Block, Wants
from trueup.recover.forms.outline import ROW, TEXT, Keys, Line, fenced, lines_of, split_fields
from trueup.recover.json.lexer import fold
from trueup.recover.json.parser import MOST_PLACES, Frame, Node, Reader, Record, TooMany

_CALL_START = re.compile(
    r"""(?<![\w.])(?:[^\W\d][\w.]*\(\s*[^\W\d]\w*\s*=(?!=)|array\(\s*(?:"[^"\n]{1,80}"|'[^'\n]{1,80}')\s*=>)"""
)
# What stands behind the name; a search for it leaps from bracket to bracket.
_ARGUMENTS = re.compile(r"""\(\s*(?:[^\W\d]\w*\s*=(?!=)|"[^"\n]{1,80}"\s*=>|'[^'\n]{1,80}'\s*=>)""")
# Fields as Python prints a model: `name='Ada' age=36`.
_PRINTED = re.compile(r"""\s*([^\W\d]\w*)=(?=["'\[{(\w-])""")
_MEMBER_START = re.compile(r"""[\s,]*(["'“])([^"'”\n]{1,80})["'”]\s*[:：]""")
# The first brace, and perhaps the first quote, stood in the prompt: the reply goes on from there, and closes the brace.
_OPENED_BEFORE = re.compile(r"""\s*()([^\W\d][\w$.\-]{0,60})(?:["'”]\s*[:：]|:\s*(?=["'\[{\d\-]|true|false|null))""")
_REPORT = re.compile(
    r"^[ \t]*(?:Traceback \(most recent call last\):|File \"[^\"\n]{1,300}\", line \d|at [\w.$<>/]{1,200}\([^()\n]{0,200}\)[ \t]*$)"
    r"|<!doctype html|<html[\s>]",
    re.MULTILINE | re.IGNORECASE,
)
_REPORTING = ("traceback (most recent call last):", 'file "', "<!doctype html", "<html")
_AT_PLACE = re.compile(r"at [\w.$<>/]{1,200}\(")
# A bare key at the start of a line, right before a value.
_LABEL = re.compile(
    r"(?:\A|\n)[ \t]*(?:[-*+•][ \t]+)?[*_`]{0,3}([^\W_][^:：=*`\"'\n{\[]{0,60})[*_`]{0,3}[ \t]?[:：=][*_`]{0,3}[ \t]*\Z"
)
_TUPLE = re.compile(r"""\(\s*["'\d-]""")
_MAX_BEFORE = 120
_ALL_TYPES = 7
_MAX_NESTING = 40


class Aims(Protocol):
    """What the forms need to know of what is looked for."""

    @property
    def known(self) -> frozenset[str]: ...
    @property
    def root_keys(self) -> frozenset[str]: ...
    @property
    def item_keys(self) -> frozenset[str]: ...
    @property
    def types(self) -> frozenset[str]: ...
    @property
    def max_depth(self) -> int: ...
    def wants(self, key: str, /) -> frozenset[str]: ...


def calls(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """`Name(a=1, b='x')`, anywhere in the text."""
    out: list[Candidate] = []
    at = 0
    while found := _next_call(text, at):
        outcome = Reader(text, found.start(), len(text), known, max_depth).read()
        span = (found.start(), outcome.end)
        # the name, the brackets and every equals sign are what was taken off
        records: list[Record] = [("F003", *span, "", None)]
        records += [record for record in outcome.records if record[0] != "F003" or record[4] is not None]
        if len(out) == MOST_PLACES:
            raise TooMany("values", MOST_PLACES)
        out.append(Candidate(outcome.value, [span], records, "call"))
        at = max(outcome.end, found.end())
    return out


def _next_call(text: str, at: int) -> re.Match[str] | None:
    """The first call at an offset or behind it."""
    behind = at
    while given := _ARGUMENTS.search(text, behind):
        behind = given.start() + 1
        start = given.start()
        while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_."):
            start -= 1
        if start >= at and (found := _CALL_START.match(text, start)):
            return found
    return None


def printed(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """Fields with equals signs and blanks between them, from the start of the text."""
    found = _PRINTED.match(text)
    if found is None or found[1] not in known or "\n" in text.strip():
        return []
    reader = Reader(text, found.start(1), len(text), known, max_depth)
    value: dict[str, Any] = {}
    reader.root.append(value)
    frame = Frame("=", value, None, found.start(1), reader.root, 0)
    frame.equals = True
    reader.frames.append(frame)
    outcome = reader.resume()
    records = [r for r in outcome.records if not (r[0] == "S005" and r[4] is None) and r[0] != "S002"]
    records.insert(0, ("F003", found.start(1), outcome.end, "", None))
    return [Candidate(value, [(found.start(1), outcome.end)], records, "call")] if len(value) > 1 else []


def members(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """Members without their braces, from the start of the text."""
    found = _MEMBER_START.match(text) or _OPENED_BEFORE.match(text)
    if found is None or (known and found[2] not in known and fold(found[2]) not in {fold(k) for k in known}):
        return []
    if not found[1] and text.count("}") <= text.count("{"):
        return []
    start = found.start(1) if found[1] else found.start(2)
    reader = Reader(text, start, len(text), known, max_depth)
    value: dict[str, Any] = {}
    reader.root.append(value)
    reader.frames.append(Frame("{", value, None, start, reader.root, 0))
    outcome = reader.resume()
    records = [r for r in outcome.records if not (r[0] == "S005" and r[4] is None)]
    records.insert(0, ("F007", start, start, "{", None))
    return [Candidate(value, [(start, outcome.end)], records, "members")] if value else []


def in_parentheses(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """`("a", "b")`: a tuple of Python that is all of the text."""
    start = len(text) - len(text.lstrip())
    if not _TUPLE.match(text, start):
        return []
    outcome = Reader(text, start, len(text), known, max_depth).read()
    if outcome.cut or not isinstance(outcome.value, list) or len(outcome.value) < 2 or text[outcome.end :].strip():
        return []
    return [Candidate(outcome.value, [(start, outcome.end)], outcome.records)]


def labelled(text: str, start: int, keys: frozenset[str]) -> bool:
    r"""Whether a bare key of the schema stands on the line right before an offset: the value there is only its own.

    >>> labelled("name: Ada\ntags: []", 16, frozenset({"tags"})), labelled("Tags as JSON: []", 14, frozenset({"tags"}))
    (True, False)
    """
    before = _LABEL.search(text, max(0, start - _MAX_BEFORE), start) if keys and start else None
    return before is not None and Keys(keys).get(before[1].strip()) is not None


def without_parts(text: str, found: list[Candidate], aims: Aims) -> tuple[list[Candidate], list[Candidate]]:
    """JSON that stands alone, and JSON that is the value of a field in a line: `tags: []` is no answer by itself."""
    keys = aims.root_keys | aims.item_keys
    parts = [c for c in found if not _shares(c.value, keys) and labelled(text, c.spans[0][0], keys)]
    return [candidate for candidate in found if candidate not in parts], parts


def _shares(value: Any, keys: frozenset[str]) -> bool:
    return isinstance(value, dict) and not keys.isdisjoint(value)


def is_report(text: str) -> bool:
    """Whether a text is a web page or the trace of an error: neither answers anything."""
    if text.isascii():  # a look for the words costs less than one for the lines
        small = text.lower()
        if not any(word in small for word in _REPORTING) and _AT_PLACE.search(small) is None:
            return False
    return _REPORT.search(text) is not None


def written_out(text: str, aims: Aims) -> Iterator[list[Candidate]]:
    """Fields in lines, tables and lists: what stands in a fence first, then all of the text."""
    as_items = "array" in aims.types and bool(aims.item_keys)
    plain_list = "array" in aims.types and not aims.item_keys and len(aims.types) < _ALL_TYPES
    if not (aims.root_keys or as_items or plain_list) or is_report(text):
        return
    if text.count("\n") > MOST_PLACES:
        raise TooMany("lines", MOST_PLACES)
    lines = lines_of(text, 0, len(text))
    documents = [lines_of(text, lines[start].start, lines[stop - 1].stop) for start, stop in fenced(lines)]
    known = [Keys(aims.known), Keys(aims.item_keys if as_items else ()), Keys(aims.root_keys)]
    readings = [_document(text, document, aims, known, plain_list) for document in [*documents, lines]]
    for found in zip_longest(*readings, fillvalue=[]):
        together = [candidate for candidates in found for candidate in candidates]
        yield together if len(together) <= fields.MAX_GROUPS else []


def _document(
    text: str, lines: list[Line], aims: Aims, keys: list[Keys], plain_list: bool
) -> Iterator[list[Candidate]]:
    """The readings of one document: a list when it is asked for, an object when that is."""
    depth = min(aims.max_depth, _MAX_NESTING)
    nested, item, root = keys
    if len(item):
        yield from _fields(text, lines, item, nested, depth, aims, items=True)
    if plain_list:
        yield prose.bullets(text, lines, depth)
    if len(root):
        yield from _fields(text, lines, root, nested, depth, aims, items=False)


def _fields(
    text: str, lines: list[Line], top: Keys, nested: Keys, depth: int, aims: Aims, items: bool
) -> Iterator[list[Candidate]]:
    """Tables, fields in lines, and several fields in one line."""
    block = Block(text, lines, nested, aims.known, depth, free=False)
    found = _rows(block, _tables(text, lines, top), items, aims.wants)
    if items:
        yield found
    yield from fields.readings(fields.Sheet(text, lines, top, block, aims.wants), items)
    if not items:
        yield found
    pieces = split_fields(text, lines, top)
    if len(pieces) > len(lines):
        block = Block(text, pieces, nested, aims.known, depth, free=False)
        yield from fields.readings(fields.Sheet(text, pieces, top, block, aims.wants), items)


def _tables(text: str, lines: list[Line], top: Keys) -> list[tables.Table]:
    found: list[tables.Table] = []
    at = 0
    while at < len(lines):
        is_row = lines[at].kind == ROW and not lines[at].opaque
        table = tables.table_at(text, lines, at, len(lines), top) if is_row else None
        if table is not None:
            found.append(table)
        start = at
        at = table.stop if table is not None else at + 1
        while table is None and at < len(lines) and lines[start].kind == lines[at].kind == ROW and not lines[at].gap:
            at += 1
    return found or tables.separated(text, lines, top)


def _rows(block: Block, found: list[tables.Table], listed: bool, wants: Wants) -> list[Candidate]:
    """Tables as lists of objects; where one object is asked for, a table of one row."""
    out: list[Candidate] = []
    for table in found:
        if not listed and len(table.rows) != 1:
            continue
        last = block.lines[table.stop - 1]
        span = (block.lines[table.start].start, last.stop)
        records: list[Record] = []
        block.records = records
        values = []
        for index, cells in enumerate(table.rows):
            node: Node = (None, index) if listed else None
            values.append(block.row(table, cells, node, 1, wants))
        head: list[Record] = [("F011", *span, "", None)]
        spans = [span]
        below = block.lines[table.stop] if table.stop < len(block.lines) else last
        if below is not last and not below.gap and below.kind == TEXT:
            head.append(("F009", below.start, below.stop, "", None))
            spans.append((below.start, below.stop))
        out.append(Candidate(values if listed else values[0], spans, head + records, "lines"))
    return out
