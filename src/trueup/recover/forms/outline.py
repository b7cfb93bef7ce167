"""Reads a text as lines, the way people and models write fields: indentation, bullets, headings, keys, fences, table rows.

Takes a text; returns one `OutlineLine` for each line that is not blank. It does not decide which keys are fields: the schema's
names do, which `KeyFinder` looks up regardless of case, spacing, accents and punctuation.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby, pairwise, takewhile

from trueup.recover.json.lexer import fold
from trueup.verdict.patterns import lazy_regex

_LINE = lazy_regex(r"[^\n]*\n|[^\n]+")
_HEAD = lazy_regex(
    r"(?P<indent>[ \t\u00a0\u3000]*)(?:>[ \t]?){0,3}(?P<heading>#{1,6}(?=[ \t]))?[ \t]*"
    r"(?P<bullet>[-*+•▪◦‣·–—](?=\s|\Z)|\d{1,4}[.)、](?=\s|\Z)|\(\d{1,4}\)(?=\s)|[a-zA-Z]\)(?=\s))?[ \t]*"
    r"(?:[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f]{1,4}[ \t]*)?"
)
_KEY = lazy_regex(
    r"(?P<open>[*_`\"'“‘«\[]{0,4})(?P<key>[^\W_][^:：=*`\"”»|\n\t]{0,60}?)(?P<shut>[*_`\"'”’»\]]{0,4})[ ]{0,4}"
    r"(?P<sep>[:：](?!//)|=>|=(?!=)|->|→|[-–—](?=[ \t])|\t)[ \t]*"
)
_ASIDE = lazy_regex(r"[ \t]*[(（\[][^()（）\[\]]{0,40}[)）\]]\s*\Z")
_RULE = lazy_regex(r"(?:[-=*_][ \t]?){3,200}\s*\Z")
_DIVIDER = lazy_regex(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|){0,100}[ \t]*:?-+:?[ \t]*\|?\s*\Z")
_NEXT_FIELD = lazy_regex(
    r"([,;|，；、][ \t]*)[*_`\"']{0,3}([^\W_][^:：=*`\"|,;\n\t]{0,60}?)[*_`\"']{0,3}[ ]{0,2}[:：=]"
)
_FENCE = lazy_regex(r"(`{3,}|~{3,})([^\n]*)")
# A value after a key without any sign between them: a literal, something in quotes or brackets, a few words.
_SPACED_VALUE = lazy_regex(
    r"[-+]?[0-9][^\s]*\s*\Z|[\"'\[{].*[\"'\]}]\s*\Z|[^\W\d_]\S*\s*\Z|[^\Wa-z_]\S*(?:[ ]\S+){1,3}\s*\Z"
)
_EMPHASIS = "*_`"
_QUOTES = tuple("\"'“”‘’«»")
_MAX_LABEL = 60
_MOST_FOLDED = 4_000  # characters of a text that is folded as a whole
_SIGNS = {code: None for code in range(128) if not chr(code).isalnum()}
_MAX_WORDS = 4
_MAX_SPACED = 200
_BLANK = lazy_regex(r"[ \t]+")

FENCE, RULE, ROW, TEXT = "fence", "rule", "row", "text"


class KeyFinder:
    """Names of a schema, found by similar spellings; the exact spelling distinguishes similar names."""

    __slots__ = ("_exact", "_loose", "_seen")

    def __init__(self, keys: Iterable[str]) -> None:
        self._exact, self._loose, own = _tables(frozenset(keys))
        self._seen: dict[str, str | None] = dict(own)

    def __len__(self) -> int:
        return len(self._exact)

    def get(self, label: str) -> str | None:
        """The name for a label.

        >>> keys = KeyFinder(["título", "unit_price"])
        >>> keys.get("TITULO"), keys.get("Unit price (EUR)"), keys.get("other")
        ('título', 'unit_price', None)
        """
        if label in self._seen:
            return self._seen[label]
        found = self._find(label)
        if found is None and label[-1:] in ")）]":
            found = self._find(_ASIDE.sub("", label))
        self._seen[label] = found
        return found

    def may_occur_in(self, text: str) -> bool:
        """Whether a text may contain one of the names; a quick test that is True in case of doubt.

        >>> (
        ...     KeyFinder(["unit_price"]).may_occur_in("The Unit Price is 5"),
        ...     KeyFinder(["unit_price"]).may_occur_in("I am sorry."),
        ... )
        (True, False)
        """
        if len(text) > _MOST_FOLDED or not text.isascii():
            return True
        folded = text.lower().translate(_SIGNS)
        return any(name in folded for name in self._exact) or any(name in folded for name in self._loose)

    def _find(self, label: str) -> str | None:
        if not label or len(label) > _MAX_LABEL:
            return None
        return self._exact.get(fold(label)) or self._loose.get(_loose(label))


@lru_cache(64)
def _tables(keys: frozenset[str]) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Names by their folded spelling, by their spelling without accents, and by themselves; cached for each schema."""
    ordered = sorted(keys)
    exact = {fold(key): key for key in ordered if fold(key)}
    loose = {_loose(key): key for key in ordered if _loose(key)}
    return exact, loose, {key: key for key in ordered}


def _loose(label: str) -> str:
    if label.isascii():
        return fold(label)
    return fold("".join(c for c in unicodedata.normalize("NFKD", label) if not unicodedata.combining(c)))


class OutlineLine:
    """One line: its place, its indentation, its marks, and its key and value, if it has any.

    `indent` is the column of the first mark, `col` the column of the text after bullets; `gap` counts the blank lines before.
    """

    __slots__ = (
        "alone", "body_at", "bullet", "closes", "col", "end", "gap", "heading", "indent", "kind", "label", "marked", "opaque",
        "quoted", "sep", "start", "stop", "value", "value_at",
    )  # fmt: skip

    def __init__(self, start: int, stop: int, gap: int) -> None:
        self.start = start
        self.stop = stop
        self.end = stop  # without the whitespace at the end
        self.gap = gap
        self.kind = TEXT
        self.indent = self.col = self.heading = 0
        self.bullet = self.label = self.sep = self.value = ""
        self.body_at = self.value_at = start
        self.marked = self.quoted = self.alone = False
        self.opaque = self.closes = False  # whether it is inside a fence; whether it ends one

    @property
    def generic(self) -> bool:
        """Whether the line looks like a field of any name: a short label and a colon."""
        return self.sep in (":", "：", "=") and not self.alone and len(self.label.split()) <= _MAX_WORDS


def lines_of(text: str, start: int, stop: int) -> list[OutlineLine]:
    """The lines of a stretch of text that are not blank; lines inside a fence are opaque."""
    lines: list[OutlineLine] = []
    gap = 0
    fence = ""  # the marks of the open fence
    for found in _LINE.finditer(text, start, stop):
        raw = found[0]
        if raw.isspace():
            gap += 1
            continue
        line = OutlineLine(found.start(), found.end(), gap)
        _read(text, line, raw)
        gap = 0
        mark = _FENCE.match(text, line.body_at) if line.kind == FENCE else None
        if mark and mark[1].startswith(fence):
            # a language right after the marks opens a fence even if the one before was never closed
            line.closes = bool(fence) and not mark[2][:1].isalpha()
            fence = "" if line.closes else mark[1]
        else:
            line.opaque = bool(fence)
        lines.append(line)
    return lines


def _read(text: str, line: OutlineLine, raw: str) -> None:
    line.end = line.start + len(raw.rstrip())
    if raw[0].isalpha() and raw[1:2] != ")":
        _read_key(text, line)
        return
    head = _HEAD.match(raw)
    assert head is not None  # every part of the pattern may be empty
    indent, heading, bullet = head["indent"], head["heading"], head["bullet"]
    at = head.end()
    line.indent = len(indent.expandtabs(4)) if "\t" in indent else len(indent)
    line.col = line.indent + (at - head.end("indent"))
    line.heading = len(heading or "")
    line.bullet = bullet or ""
    line.marked = bool(
        heading or bullet or (at > head.end("bullet" if bullet else "indent") and raw[head.end("indent")] == ">")
    )
    line.body_at = line.value_at = line.start + at
    first = raw[at : at + 1]
    if not first.strip():
        return
    fence = _FENCE.match(raw, at) if first in "`~" else None
    if fence is not None and fence[1] not in fence[2]:
        line.kind = FENCE
    elif (bullet or first in "-=*_") and _RULE.match(raw, len(indent)):
        line.kind, line.bullet = RULE, ""
    elif first == "|":
        line.kind = ROW
    elif first.isalnum() or first in "*_`\"'“‘«[":
        _read_key(text, line)


def _read_key(text: str, line: OutlineLine) -> None:
    """Look for `key: value`, or for a line that is only a label."""
    found = _KEY.match(text, line.body_at, line.end)
    if found is None or _is_quoted(found):
        label = text[line.body_at : line.end]
        if len(label) <= _MAX_LABEL + 8:
            line.alone = True
            line.marked = line.marked or label[0] in _EMPHASIS
            line.label = label.strip(_EMPHASIS + "[] ")
        return
    opened = found["open"].strip("\"'“‘«[")
    line.label, line.sep = found["key"].strip(), found["sep"]
    line.quoted = found["open"][-1:] in ('"', "'") and found["shut"][:1] in ('"', "'")
    line.marked = line.marked or bool(opened)
    at, end = found.end(), line.end
    if opened and not found["shut"]:  # `**Key:** value` and `**Key: value**`
        if text.startswith(opened, at, end):
            at += len(opened)
        elif text.endswith(opened, at, end):
            end -= len(opened)
    while at < end and text[at] in " \t":
        at += 1
    line.value_at = at
    line.value = text[at:end].rstrip()
    line.alone = not line.value and bool(line.heading or opened)


def _is_quoted(found: re.Match[str]) -> bool:
    """Whether a colon is inside quotes that open before the key: `"Title: sub"` is a text."""
    return found["open"][-1:] in _QUOTES and found["shut"][:1] not in _QUOTES


def is_divider(text: str, line: OutlineLine) -> bool:
    """Whether a line is the row of dashes under a table's header."""
    return line.end - line.start <= 2000 and _DIVIDER.match(text, line.start, line.end) is not None


def split_fields(text: str, lines: list[OutlineLine], keys: KeyFinder) -> list[OutlineLine]:
    """The lines with each line of several fields split at the separators, `name: Ada, age: 36`; empty if there is none."""
    out: list[OutlineLine] = []
    for line in lines:
        starts: list[tuple[int, int]] = []
        if line.sep and not line.opaque and keys.get(line.label) is not None:
            found = _NEXT_FIELD.finditer(text, line.value_at, line.end)
            starts = [(f.start(), f.end(1)) for f in found if keys.get(f[2].strip()) is not None]
        if not starts:
            out.append(line)
            continue
        edges = [(line.start, line.start), *starts]
        for (_, start), stop in zip(edges, [*(edge for edge, _ in starts), line.stop], strict=True):
            piece = OutlineLine(start, stop, line.gap if start == line.start else 0)
            _read(text, piece, text[start:stop])
            if start > line.start:
                piece.indent, piece.col, piece.bullet = line.indent, line.col, ""
            else:
                piece.kind, piece.opaque = line.kind, line.opaque
            out.append(piece)
    return out if len(out) > len(lines) else []


def spaced_fields(text: str, lines: list[OutlineLine], keys: KeyFinder) -> list[OutlineLine]:
    """The lines with one paragraph read as keys and values without any sign between them: `name Ada`.

    The result is empty unless every line of the paragraph is such a field.
    """
    starts = [index for index, line in enumerate(lines) if line.gap or not index or line.kind == FENCE]
    for start, stop in pairwise([*starts, len(lines)]):
        first = start + (lines[start].kind == FENCE)
        pieces = list(takewhile(bool, (_spaced(text, line, keys) for line in lines[first:stop])))
        fields = [piece for piece in pieces if piece is not None]
        if len(fields) == stop - first > 1 and len({keys.get(piece.label) for piece in fields}) == len(fields):
            return [*lines[:first], *fields, *lines[stop:]]
    return []


def _spaced(text: str, line: OutlineLine, keys: KeyFinder) -> OutlineLine | None:
    """A line as a key and a value with spaces between them; a value of many words is a sentence, not a field."""
    if line.sep or line.kind != TEXT or line.end - line.start > _MAX_SPACED or text[line.end - 1] in ".!?:":
        return None
    at = line.body_at
    for _ in range(_MAX_WORDS):
        blank = _BLANK.search(text, at, line.end)
        if blank is None:
            return None
        at = blank.end()
        label = text[line.body_at : blank.start()].strip(_EMPHASIS)
        key = keys.get(label)
        if key is None:
            continue
        # a word in lower case may only follow a key with exactly the schema's spelling
        if len(blank[0]) > 1 or ((key == label or not text[at].islower()) and _SPACED_VALUE.match(text, at, line.end)):
            piece = OutlineLine(line.start, line.stop, line.gap)
            piece.end, piece.indent, piece.col, piece.body_at = line.end, line.indent, line.col, line.body_at
            piece.label, piece.sep, piece.marked = label, " ", line.marked
            piece.value_at, piece.value = at, text[at : line.end]
            return piece
    return None


def fenced(lines: list[OutlineLine]) -> list[tuple[int, int]]:
    """The runs of lines inside fences, as indexes."""
    runs = [list(run) for opaque, run in groupby(range(len(lines)), lambda at: lines[at].opaque) if opaque]
    return [(run[0], run[-1] + 1) for run in runs]
