"""Yields all readings of a text, kind by kind: JSON first, then other forms, then reasoning, then bare scalars.

Takes a text and the aims of the reader; yields lists of candidates. A later kind is only read if nothing before it fits.
"""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from trueup.recover.aims import Aims
from trueup.recover.candidate import Candidate
from trueup.recover.fragments import is_fragment
from trueup.recover.json.lexer import fold
from trueup.recover.json.scan import Scan, stretches_outside
from trueup.recover.json.single_scalar import lone
from trueup.recover.layers.boxed import unboxed
from trueup.recover.layers.escaping import ESCAPED_START, unbreak, undouble, unfold
from trueup.recover.layers.markup import unentity, unmark
from trueup.recover.layers.quoting import unlined, unquote
from trueup.recover.layers.reasoning import reasoning_spans
from trueup.recover.layers.view import LayerView, refold
from trueup.recover.layers.whole import unwrapped
from trueup.verdict.patterns import lazy_regex

if TYPE_CHECKING:
    from types import ModuleType

# An unescaped quote: there is more than one string.
_INNER_QUOTE = {quote: lazy_regex(rf"(?<!\\)(?:\\\\)*{quote}") for quote in "\"'"}
_INVISIBLE = lazy_regex("[\u200b-\u200f\u2060-\u2064\ufeff\u180e]+")
_CDATA_OPENS = "<![CDATA["
_CDATA = lazy_regex(r"<!\[CDATA\[\s*([{\[][\s\S]*?)(?:\]\]>|\Z)")
_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})
_STRING = frozenset({"string"})
_TEXT = frozenset({"string", "null"})
_MAX_UNFOLD = 3
_BRIEF = 60
_TAG_NAME = lazy_regex(r"<\s*([\w:.-]{1,40})")
# Two or more words, without any sign that a value is written with.
_SENTENCES = lazy_regex(r"[A-Za-z][A-Za-z']*[,.]? [A-Za-z][A-Za-z ,.!?'\n]*")
_OBJECT = frozenset({"object"})


def readings(text: str, aims: Aims, level: int = 0) -> Iterator[list[Candidate]]:
    """Lists of candidates, the likeliest kind first; `level` counts the encodings that were already removed."""
    return iter(()) if is_mere_prose(text, aims) else every_reading(text, aims, level)


def is_mere_prose(text: str, aims: Aims) -> bool:
    """Whether the schema wants an object and the text is plain sentences without its fields, such as an apology."""
    if aims.types != _OBJECT or aims.field or not _SENTENCES.fullmatch(text):
        return False
    return not _forms().outline.KeyFinder(aims.root_keys).may_occur_in(text)


def every_reading(text: str, aims: Aims, level: int = 0) -> Iterator[list[Candidate]]:
    """The same for any text, even mere prose."""
    if text and not (text[0].isprintable() or text[0].isspace()) and (lead := _INVISIBLE.match(text)):
        for candidates in readings(text[lead.end() :], aims, level):
            yield [_shifted(candidate, lead.end()) for candidate in candidates]
        return
    page = _Page(text, aims, level)
    if level < _MAX_UNFOLD:
        yield page.under(unquote(text) or unlined(text), "W016")
    if page.is_lone_string and aims.types & _STRING and not aims.any_value:
        yield [page.scalar] if page.scalar is not None else []
        if aims.types <= _TEXT:
            return
    yield from page.layered()
    yield page.json
    yield from page.forms()
    yield from page.rest()


class _Page:
    """One text and its regions; each kind of reading is a method."""

    __slots__ = ("_scan", "aims", "inside", "json", "level", "parts", "reasoning", "scalar", "shown", "text", "visible")

    def __init__(self, text: str, aims: Aims, level: int) -> None:
        self.text = text
        self.aims = aims
        self.level = level
        self.reasoning = [span for span in reasoning_spans(text) if not _is_field(text, span, aims.known)]
        self.visible = stretches_outside(len(text), self.reasoning)
        self.shown = (
            _blanked(text, self.visible) if self.reasoning else text
        )  # with reasoning blanked out, so that offsets stay the same
        self.inside = unwrapped(self.shown)
        self.scalar = lone(self.shown, *self.inside)
        self.json: list[Candidate] = []
        self.parts: list[Candidate] = []  # JSON that is a field's value in a line
        self._scan = _scanner(text, aims)

    @property
    def is_lone_string(self) -> bool:
        """Whether the whole text is one quoted string."""
        return self.scalar is not None and isinstance(self.scalar.value, str)

    def under(self, view: LayerView | None, code: str) -> list[Candidate]:
        """The JSON in a view of the text; nothing if there is no such view."""
        if view is None:
            return []
        found = _scanner(view.text, self.aims).candidates([(0, len(view.text))])
        return [refold(candidate, view, code) for candidate in found]

    def layered(self) -> Iterator[list[Candidate]]:
        """Values under a layer: an encoding, CDATA, a box, escapes."""
        text, aims = self.text, self.aims
        yield _encoded(text, aims, self.level)
        if self.scalar is not None and (aims.any_value or not self.is_lone_string):
            yield [self.scalar]
        yield _in_cdata(text, aims)
        if self.level < _MAX_UNFOLD:
            yield from self.boxed()
            for view_of, code in ((unentity, "W009"), (unmark, "S025"), (unbreak, "W009"), (undouble, "W009")):
                yield self.under(view_of(text), code)
        found = _scan(self._scan, aims, self.visible, self.level)
        found = [c for c in found if not is_fragment(text, c, self.inside, any_value=aims.any_value)]
        if found:
            self.json, self.parts = _forms().shapes.without_parts(text, found, aims)

    def boxed(self) -> Iterator[list[Candidate]]:
        """Values in the last LaTeX box."""
        box = unboxed(self.shown)
        if box is not None and (box.alone or not self.aims.types <= _TEXT):
            for found in readings(box.view.text, self.aims, self.level + 1):
                yield [box.candidate(candidate) for candidate in found]

    def forms(self) -> Iterator[list[Candidate]]:
        """Text with the fields in a form other than JSON; broken JSON is not read again as lines of fields."""
        forms = _forms()
        own = self.aims.root_keys | self.aims.item_keys
        has_json = any(isinstance(found.value, dict) and not own.isdisjoint(found.value) for found in self.json)
        yield from forms.shapes.readings(self.shown, self.aims, has_json=has_json)
        yield self.parts
        yield forms.scalars.fenced_scalar(self.shown)

    def rest(self) -> Iterator[list[Candidate]]:
        """The remaining readings: a string for another type, values inside broken ones, reasoning, the text as a scalar."""
        aims = self.aims
        scalar = _forms().scalars.scalar
        if self.scalar is not None and self.is_lone_string and not aims.any_value and not aims.types & _STRING:
            yield [self.scalar]
        yield self._scan.inner()
        hidden = _scanner(self.text, aims).candidates(self.reasoning) if self.reasoning else []
        for candidate in hidden:
            candidate.form = "reasoning"
            candidate.records.append(("W013", *candidate.spans[0], "", None))
        yield hidden
        start, stop = self.inside
        covered = any(c.form == "json" and c.spans[0][0] <= start and c.end >= stop for c in self.json)
        if aims.any_value or self.is_lone_string or covered:
            return
        if aims.types & _SCALARS:
            yield scalar(self.shown, aims.types, eager=aims.eager)
        elif aims.field & _SCALARS and _is_brief(self.shown[start:stop]):
            yield scalar(self.shown, aims.field, eager=aims.eager)


class _Forms(NamedTuple):
    """The modules for texts that are not JSON."""

    outline: "ModuleType"
    scalars: "ModuleType"
    shapes: "ModuleType"


@cache
def _forms() -> _Forms:
    # loaded by the first reply that is not plain JSON: their many patterns take a while to compile
    from trueup.recover.forms import outline, scalars, shapes

    return _Forms(outline, scalars, shapes)


def _is_field(text: str, span: tuple[int, int], known: frozenset[str]) -> bool:
    """Whether a tag that looks like reasoning is named after a field of the schema."""
    tag = _TAG_NAME.match(text, span[0]) if known else None
    return tag is not None and any(fold(tag[1]) == fold(key) for key in known)


def _is_brief(text: str) -> bool:
    """Whether a text may be the value of a field, rather than a sentence about it."""
    return len(text) <= _BRIEF and "\n" not in text and not text.endswith((".", "!", "?", ":"))


def _shifted(candidate: Candidate, by: int) -> Candidate:
    """A candidate of the text after an offset, as a candidate of the whole text."""
    spans = [(start + by, stop + by) for start, stop in candidate.spans]
    records = [(code, start + by, stop + by, after, node) for code, start, stop, after, node in candidate.records]
    places = candidate.places
    moved = None if places is None else {at: (start + by, stop + by) for at, (start, stop) in places.items()}
    return Candidate(candidate.value, spans, records, candidate.form, places=moved)


def _in_cdata(text: str, aims: Aims) -> list[Candidate]:
    """Values inside CDATA sections, whose signs are not JSON brackets."""
    if _CDATA_OPENS not in text:
        return []
    found: list[Candidate] = []
    for section in _CDATA.finditer(text):
        for candidate in _scanner(text, aims).candidates([section.span(1)]):
            if not text[candidate.end : section.end(1)].strip():
                candidate.spans = [section.span()]
                candidate.records.append(("W004", *section.span(), "", None))
                found.append(candidate)
    return found if len(found) == 1 else []


def _blanked(text: str, visible: list[tuple[int, int]]) -> str:
    """The text with everything outside the visible stretches replaced by spaces, so that offsets stay the same."""
    pieces: list[str] = []
    at = 0
    for start, stop in [*visible, (len(text), len(text))]:
        pieces += (" " * (start - at), text[start:stop])
        at = stop
    return "".join(pieces)


def _scanner(text: str, aims: Aims) -> Scan:
    return Scan(text, aims.known, aims.max_depth, words="array" in aims.types)


def _scan(scan: Scan, aims: Aims, where: list[tuple[int, int]], level: int) -> list[Candidate]:
    text = scan.text
    found = scan.candidates(where)
    if level < _MAX_UNFOLD and "\\" in text:
        for start, stop in where:
            opened = ESCAPED_START.search(text, start, stop)
            if opened and not any(
                a < opened.start() < b or (c.lossy and a < opened.start()) for c in found for a, b in c.spans
            ):
                found = [c for c in found if c.spans[0][0] < opened.start()]
                found += _escaped(text, opened.start(), stop, aims, level)
    return found


def _escaped(text: str, start: int, stop: int, aims: Aims, level: int) -> list[Candidate]:
    """A value with its quotes escaped; between quotes, it was encoded twice."""
    found = _unfolded(text, start, stop, aims, level, "W009")
    quote = text[start - 1 : start]
    if len(found) == 1 and quote in ('"', "'") and text.startswith(quote, found[0].end):
        found[0].spans = [(start - 1, found[0].end + 1)]
        found[0].records[-1] = ("W008", *found[0].records[-1][1:])
    elif len(found) == 1 and quote == '"' and "S005" in found[0].codes and '"' not in text[found[0].end - 1 :]:
        found[0].records.append(("S028", stop, stop, "", None))  # the string around it was cut off
    return found


def _encoded(text: str, aims: Aims, level: int) -> list[Candidate]:
    """The value in a text that is one JSON string: its content may itself be a value."""
    stripped = text.strip()
    if level >= _MAX_UNFOLD or len(stripped) < 4 or stripped[0] not in "\"'" or stripped[-1] != stripped[0]:
        return []
    start = text.index(stripped)
    several = _INNER_QUOTE[stripped[0]].search(stripped, 1, len(stripped) - 1) is not None
    if stripped[1:2] not in ("{", "[") and ("\\" not in stripped or several):
        return []
    return _unfolded(text, start + 1, start + len(stripped) - 1, aims, level, "W008")


def _unfolded(text: str, start: int, stop: int, aims: Aims, level: int, code: str) -> list[Candidate]:
    inner = unfold(text, start, stop)
    first = next(filter(None, readings(inner.text, aims, level + 1)), [])
    found = [refold(candidate, inner, code) for candidate in first]
    if code == "W008" and len(found) == 1:
        found[0].spans = [(start - 1, stop + 1)]
    return found
