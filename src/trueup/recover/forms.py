"""Shapes that are not JSON but carry the schema's fields: lines, lists, calls, members without braces, scalars.

A text and the root's keys enter; candidates leave. Without known keys nothing here is tried: prose is not a value.
"""

import re
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.grammar import fold
from trueup.recover.reader import Frame, Reader, Record
from trueup.recover.scalars import read_token

_LINE = re.compile(r"[^\n]*\n?")
_FIELD = re.compile(
    r"[ \t]*(?P<bullet>[-*+•▪]\s+|\d{1,3}[.)]\s+|#{1,6}\s+|>\s+)?(?P<mark>[*_`\"']{0,3})(?P<key>[^\W_][^:=：|*\n`\"]{0,60}?)"
    r"[*_`\"']{0,3}[ \t]{0,4}(?:[:：=]|[-–—][ \t]|->)[ \t]*(?P<close>[*_`]{0,3})(?P<value>[^\n]*)"
)
_ROW = re.compile(r"[ \t]*\|\s*[*_`]{0,3}([^|\n]{1,60}?)[*_`]{0,3}\s*\|\s*([^|\n]*?)\s*\|[ \t]*\n?")
_BULLET = re.compile(r"[ \t]*(?:[-*+•▪]|\d{1,3}[.)])\s+([^\n]+)")
_CALL_START = re.compile(r"(?<![\w.])[^\W\d][\w.]*\(\s*[^\W\d]\w*\s*=(?!=)")
_MEMBER_START = re.compile(r"""[\s,]*(["'“])([^"'”\n]{1,80})["'”]\s*[:：]""")
_FENCED_SCALAR = re.compile(
    r"```(?:json|JSON)?[ \t]*\n?[ \t]*(-?[0-9.eE+-]{1,40}|true|false|null|\"[^\"\\\n]*\")[ \t]*\n?```"
)
_DECORATION = " \t\r\n*_`~\"'“”"
_NUMBER_IN_PROSE = re.compile(r"(?<![\w.,/:-])[-+]?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?![\w/:-]|[.,][0-9])")


def calls(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """`Name(a=1, b='x')`, anywhere in the text."""
    out = []
    at = 0
    while found := _CALL_START.search(text, at):
        outcome = Reader(text, found.start(), len(text), known, max_depth).read()
        out.append(Candidate(outcome.value, [(found.start(), outcome.end)], outcome.records, "call"))
        at = max(outcome.end, found.end())
    return out


def members(text: str, known: frozenset[str], max_depth: int) -> list[Candidate]:
    """Members without their braces, from the start of the text."""
    found = _MEMBER_START.match(text)
    if found is None or (known and found[2] not in known and fold(found[2]) not in {fold(k) for k in known}):
        return []
    reader = Reader(text, found.start(1), len(text), known, max_depth)
    value: dict[str, Any] = {}
    reader.root.append(value)
    reader.frames.append(Frame("{", value, None, found.start(1), reader.root, 0))
    outcome = reader.resume()
    records = [r for r in outcome.records if not (r[0] == "S005" and r[4] is None)]
    start = found.start(1)
    records.insert(0, ("F007", start, start, "{", None))
    return [Candidate(value, [(start, outcome.end)], records, "members")] if value else []


class _Field:
    __slots__ = ("key", "lines", "marked", "start", "stop", "value")

    def __init__(self, key: str, value: str, start: int, stop: int, marked: bool) -> None:
        self.key = key
        self.value = value
        self.start = start
        self.stop = stop
        self.marked = marked
        self.lines: list[tuple[str, int]] = []


def lines(text: str, root_keys: frozenset[str], known: frozenset[str], max_depth: int) -> list[Candidate]:
    """Lines of `key: value`, Markdown fields and two-column tables, as one object for each run of keys."""
    if not root_keys:
        return []
    folded = {fold(key): key for key in root_keys}
    groups: list[list[_Field]] = [[]]
    for field in _fields(text, folded):
        if any(field.key == other.key for other in groups[-1]):
            groups.append([])
        groups[-1].append(field)
    if any(field.value[:1] in ("{", "[") and not _closed(field.value) for group in groups for field in group):
        return []
    enough = min(2, len(root_keys))
    return [_as_candidate(group, known, max_depth) for group in groups if len(group) >= enough]


def _closed(value: str) -> bool:
    """Whether a value that opens a bracket on this line also closes it: else these are lines of JSON, not fields."""
    return value.rstrip(" ,;\t\r")[-1:] in ("}", "]")


def _fields(text: str, folded: dict[str, str]) -> list[_Field]:
    found: list[_Field] = []
    for line in _LINE.finditer(text):
        raw = line[0]
        if not raw.strip():
            continue
        field = _field(raw, line.start(), folded)
        if field is not None:
            found.append(field)
        elif found and (raw[0] in " \t" or _BULLET.match(raw)) and not found[-1].value:
            found[-1].lines.append((raw, line.start()))
            found[-1].stop = line.end()
    return found


def _field(raw: str, start: int, folded: dict[str, str]) -> _Field | None:
    row = _ROW.match(raw)
    if row and fold(row[1]) in folded:
        return _Field(folded[fold(row[1])], row[2], start, start + len(raw), True)
    match = _FIELD.match(raw)
    if match is None or fold(match["key"]) not in folded:
        return None
    marked = bool(match["bullet"] or match["mark"])
    return _Field(folded[fold(match["key"])], match["value"].strip(), start, start + len(raw), marked)


def _as_candidate(group: list[_Field], known: frozenset[str], max_depth: int) -> Candidate:
    records: list[Record] = []
    value: dict[str, Any] = {}
    for field in group:
        code = "F002" if field.marked else "F001"
        records.append((code, field.start, field.stop, "", (None, field.key)))
        value[field.key] = _field_value(field, known, max_depth)
    return Candidate(value, [(field.start, field.stop) for field in group], records, "lines")


def _field_value(field: _Field, known: frozenset[str], max_depth: int) -> Any:
    if field.lines:
        return _block([raw for raw, _ in field.lines], known)
    return inline(field.value, known, max_depth)


def _block(raw_lines: list[str], known: frozenset[str]) -> Any:
    """The lines under a key: a list when they are bullets, an object when they are known fields, else text."""
    bullets = [_BULLET.match(raw) for raw in raw_lines]
    folded = {fold(key): key for key in known}
    fields = [_field(raw, 0, folded) for raw in raw_lines]
    if all(fields):
        return {field.key: inline(field.value, known, 1) for field in fields if field}
    if all(bullets):
        return [inline(bullet[1], known, 1) for bullet in bullets if bullet]
    return "\n".join(raw.strip() for raw in raw_lines)


def inline(raw: str, known: frozenset[str], max_depth: int) -> Any:
    """A value on one line: JSON-like when it opens like it, a scalar when written plainly, else its text.

    >>> inline("36", frozenset(), 9), inline("1.50", frozenset(), 9), inline("[a, b]", frozenset(), 9)
    (36, '1.50', ['a', 'b'])
    """
    raw = raw.strip().rstrip(",;") if raw.strip()[-1:] in (",", ";") else raw.strip()
    if raw[:1] in ("{", "[") and max_depth > 0:
        outcome = Reader(raw, 0, len(raw), known, max_depth).read()
        if outcome.end == len(raw) and not outcome.cut:
            return outcome.value
    quoted = raw[:1] in ('"', "'", "“", "`") and len(raw) > 1 and raw[-1] in "\"'”`"
    text = raw[1:-1] if quoted else raw.strip("*_`") if raw[:1] in "*_`" else raw
    value, code = read_token(text)
    plain = code in (None, "S018") and not quoted and (isinstance(value, bool | None) or str(value) == text)
    return value if plain else text


def fenced_scalar(text: str) -> list[Candidate]:
    """A JSON scalar alone in a code fence that says json, or alone in the reply's only fence."""
    fences = list(_FENCED_SCALAR.finditer(text)) if "```" in text else []
    if len(fences) != 1:
        return []
    value, code = read_token(fences[0][1])
    if fences[0][1][:1] == '"':
        value, code = inline(fences[0][1], frozenset(), 0), None
    return [Candidate(value, [fences[0].span(1)], [], "scalar")] if code is None else []


def scalar(text: str, eager: bool) -> list[Candidate]:
    """The whole text as one scalar; eagerly also the one number inside a sentence."""
    stripped = text.strip()
    if not stripped:
        return []
    start = text.index(stripped)
    span = (start, start + len(stripped))
    out = []
    core = stripped.strip(_DECORATION).rstrip(".!,;").strip(_DECORATION)
    value, _ = read_token(core) if core else (stripped, None)
    if not isinstance(value, str):
        out.append(Candidate(value, [span], [("F008", *span, core, None)], "scalar"))
    out.append(Candidate(stripped, [span], [("F008", *span, "", None)], "scalar"))
    numbers = list(_NUMBER_IN_PROSE.finditer(text)) if eager and len(text) < 100_000 else []
    if len({n[0] for n in numbers}) == 1 and len(core) > len(numbers[0][0]):
        value, _ = read_token(numbers[0][0].replace(",", ""))
        if not isinstance(value, str):
            out.append(Candidate(value, [numbers[0].span()], [("F006", *numbers[0].span(), "", None)], "scalar"))
    return out
