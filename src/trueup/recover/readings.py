"""All readings of a text, stage by stage: JSON first, then other forms, then reasoning, then bare scalars.

The stages are lazy: a later one is only read when nothing before it fits what the caller wants.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from trueup.recover.candidate import Candidate
from trueup.recover.json.lone import lone
from trueup.recover.json.scan import Scan, stretches_outside
from trueup.recover.layers.escaping import ESCAPED_START, unbreak, undouble, unfold
from trueup.recover.layers.markup import unentity, unmark
from trueup.recover.layers.quoting import unlined, unquote
from trueup.recover.layers.reasoning import reasoning_spans
from trueup.recover.layers.view import refold
from trueup.recover.layers.whole import unwrapped
from trueup.verdict.paths import Parts

# A quote that is not escaped: more than one string.
_INNER_QUOTE = {quote: re.compile(rf"(?<!\\)(?:\\\\)*{quote}") for quote in "\"'"}
_INVISIBLE = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u180e]+")
_CDATA_OPENS = "<![CDATA["
_CDATA = re.compile(r"<!\[CDATA\[\s*([{\[][\s\S]*?)(?:\]\]>|\Z)")
_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})
_STRING = frozenset({"string"})
_TEXT = frozenset({"string", "null"})
_MAX_UNFOLD = 3
_BRIEF = 60


class Aims(NamedTuple):
    """What is looked for: the schema's keys, the root's keys and types, the depth limit, the coercion profile.

    `item_keys` are those of the items when the root is an array, `wants` the types of a field by its key and
    `wants_at` those at a path (none: any).
    """

    known: frozenset[str]
    root_keys: frozenset[str]
    types: frozenset[str]
    max_depth: int
    eager: bool
    any_value: bool
    item_keys: frozenset[str] = frozenset()
    wants: Callable[[str], frozenset[str]] = lambda _: frozenset()
    wants_at: Callable[[Parts], frozenset[str]] = lambda _: frozenset()
    field: frozenset[str] = frozenset()  # the types of the one field that a value may be instead of its object


def stages(text: str, aims: Aims, level: int = 0) -> Iterator[list[Candidate]]:
    """Lists of candidates, likeliest kind first."""
    # their many patterns are compiled when a reply first needs them
    from trueup.recover.forms import scalars as prose
    from trueup.recover.forms import shapes as forms
    from trueup.recover.forms import tags as markup
    from trueup.recover.forms import toml as tomlish

    if text and not (text[0].isprintable() or text[0].isspace()) and (lead := _INVISIBLE.match(text)):
        for behind in stages(text[lead.end() :], aims, level):
            yield [_shifted(candidate, lead.end()) for candidate in behind]
        return
    quoted = (unquote(text) or unlined(text)) if level < _MAX_UNFOLD else None
    if quoted is not None:
        yield [refold(c, quoted, "W016") for c in _scanner(quoted.text, aims).candidates([(0, len(quoted.text))])]
    reasoning = reasoning_spans(text)
    visible = stretches_outside(len(text), reasoning)
    shown = _blanked(text, visible) if reasoning else text
    inside = unwrapped(shown)
    scalar = lone(shown, *inside)
    is_string = scalar is not None and isinstance(scalar.value, str)
    first = is_string and bool(aims.types & _STRING) and not aims.any_value
    if scalar is not None and first:
        yield [scalar]
        if aims.types <= _TEXT:
            return
    yield _encoded(text, aims, level)
    if scalar is not None and not first and (aims.any_value or not is_string):
        yield [scalar]
    yield _in_cdata(text, aims)
    for unescaped, code in ((unentity, "W009"), (unmark, "S025"), (unbreak, "W009"), (undouble, "W009")):
        plain = unescaped(text) if level < _MAX_UNFOLD else None
        if plain is not None:
            yield [refold(c, plain, code) for c in _scanner(plain.text, aims).candidates([(0, len(plain.text))])]
    scan = _scanner(text, aims)
    found, parts = forms.without_parts(text, _scan(scan, aims, visible, level), aims)
    yield found
    # broken JSON is not read again as lines of fields
    own = aims.root_keys | aims.item_keys
    is_json = any(isinstance(candidate.value, dict) and not own.isdisjoint(candidate.value) for candidate in found)
    yield markup.parameters(shown)
    yield forms.calls(shown, aims.known, aims.max_depth) if aims.known else []
    yield forms.printed(shown, aims.known, aims.max_depth)
    yield forms.members(shown, aims.known, aims.max_depth)
    yield from markup.elements(shown, aims.known, aims.wants)
    yield forms.in_parentheses(shown, aims.known, aims.max_depth) if "array" in aims.types else []
    if "array" in aims.types and not aims.any_value and not aims.item_keys:
        yield markup.listed(shown) or prose.strings(shown, aims.types)
    if not is_json:
        yield tomlish.documents(shown, aims.max_depth) if aims.known else []
        yield from forms.written_out(shown, aims)
    yield parts
    yield prose.fenced_scalar(shown)
    if scalar is not None and is_string and not first and not aims.any_value:
        yield [scalar]
    yield scan.inner()
    hidden = _scanner(text, aims).candidates(reasoning) if reasoning else []
    for candidate in hidden:
        candidate.form = "reasoning"
        candidate.records.append(("W013", *candidate.spans[0], "", None))
    yield hidden
    covered = any(c.form == "json" and c.spans[0][0] <= inside[0] and c.end >= inside[1] for c in found)
    if not aims.any_value and aims.types & _SCALARS and not is_string and not covered:
        yield prose.scalar(shown, aims.types, aims.eager)
    elif aims.field & _SCALARS and not is_string and not covered and _is_brief(shown[slice(*inside)]):
        yield prose.scalar(shown, aims.field, aims.eager)


def _is_brief(said: str) -> bool:
    """Whether a text may be the value of a field, and no sentence about it."""
    return len(said) <= _BRIEF and "\n" not in said and not said.endswith((".", "!", "?", ":"))


def _shifted(candidate: Candidate, by: int) -> Candidate:
    """A candidate of the text behind an offset as one of the whole text."""
    spans = [(start + by, stop + by) for start, stop in candidate.spans]
    records = [(code, start + by, stop + by, after, node) for code, start, stop, after, node in candidate.records]
    return Candidate(candidate.value, spans, records, candidate.form)


def _in_cdata(text: str, aims: Aims) -> list[Candidate]:
    """Values inside CDATA sections: their signs are no brackets of JSON."""
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
    """The text with everything outside the visible stretches made blank, so that offsets stay."""
    pieces: list[str] = []
    at = 0
    for start, stop in [*visible, (len(text), len(text))]:
        pieces += (" " * (start - at), text[start:stop])
        at = stop
    return "".join(pieces)


def _scanner(text: str, aims: Aims) -> Scan:
    return Scan(text, aims.known, aims.max_depth, "array" in aims.types)


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
    """A value with its quotes escaped; where it stands between quotes it was encoded twice."""
    found = _unfolded(text, start, stop, aims, level, "W009")
    quote = text[start - 1 : start]
    if len(found) == 1 and quote in ('"', "'") and text.startswith(quote, found[0].end):
        found[0].spans = [(start - 1, found[0].end + 1)]
        found[0].records[-1] = ("W008", *found[0].records[-1][1:])
    elif len(found) == 1 and quote == '"' and "S005" in found[0].codes and '"' not in text[found[0].end - 1 :]:
        found[0].records.append(("S028", stop, stop, "", None))  # the string around it was cut off
    return found


def _encoded(text: str, aims: Aims, level: int) -> list[Candidate]:
    """The whole text is one JSON string: what it says may itself be a value."""
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
    first = next(filter(None, stages(inner.text, aims, level + 1)), [])
    found = [refold(candidate, inner, code) for candidate in first]
    if code == "W008" and len(found) == 1:
        found[0].spans = [(start - 1, stop + 1)]
    return found
