"""Prepares the evidence of a record for a page: its values with grades and places, and the source text around those places.

A record does not say which of its fields was the source, so the documents that the places fit are used. A long source is cut to
windows around the places.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from trueup.batch.counting.grounding_rates import TITLES, kinds_by_path
from trueup.grounding.sources import ROLES, SOURCE, sources_in

_WHOLE = 6_000  # characters of a source that is shown whole
_AROUND = 300  # characters around a place in a longer one
_ROOM = 24_000  # characters of all sources of a unit
_VALUES = 200  # values of a unit
_CANDIDATES = 50  # fields of a unit that may be the source
_TEXT = 300

Row = dict[str, Any]
Span = tuple[int, int]


class _Place(msgspec.Struct):
    document: str
    span: Span
    text: str


class _Evidence(msgspec.Struct):
    grade: str
    value: Any = None
    places: tuple[_Place, ...] = ()
    nearest: _Place | None = None


class _Fit(NamedTuple):
    """Documents by name, and how many places each contains."""

    texts: dict[str, str]
    places: int


def shown_evidence(row: Mapping[str, Any]) -> Row:
    """The evidence of a record for a page; empty if it has none, or none that can be read."""
    try:
        evidence = msgspec.convert(row.get("evidence") or {}, dict[str, _Evidence])
    except msgspec.ValidationError:
        return {}
    if not evidence:
        return {}
    places = [place for one in evidence.values() for place in _places(one)]
    texts = _texts(row, places)
    kinds = kinds_by_path(row)
    values = [_value(path, one, kinds.get(path, "none"), texts) for path, one in list(evidence.items())[:_VALUES]]
    spans: dict[str, list[Span]] = {}
    for value in values:
        for document, start, end in value.get("places") or ():
            spans.setdefault(document, []).append((start, end))
    found: Row = {"evidence": values, "sources": list(_sources(texts, spans))}
    if len(evidence) > _VALUES:
        found["evidence_more"] = len(evidence) - _VALUES
    return found


def _places(one: _Evidence) -> Iterator[_Place]:
    yield from one.places
    if one.nearest is not None:
        yield one.nearest


def _value(path: str, one: _Evidence, kind: str, texts: dict[str, str]) -> Row:
    value: Row = {
        "path": path,
        "kind": kind,
        "title": TITLES[kind],
        "value": _cut(json.dumps(one.value, ensure_ascii=False)),
    }
    said = one.places[:3] or ((one.nearest,) if one.nearest else ())
    if said:
        value["says"] = _cut(said[0].text)
        value["document"] = said[0].document
    places = [[place.document, *place.span] for place in said if _fits(place, texts)]
    if places:
        value["places"] = places
    return value


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


def _texts(row: Mapping[str, Any], places: list[_Place]) -> dict[str, str]:
    """The documents that contain the most places, by name."""
    best = _Fit({}, 0)
    for context, field in _candidates(row):
        try:
            sources = sources_in(context, field, ROLES, data=True)
        except (TypeError, ValueError):
            continue
        texts = {} if sources is None else {document.name: document.text for document in sources.documents}
        fit = _Fit(texts, sum(_fits(place, texts) for place in places))
        if fit.places == len(places):
            return texts
        best = fit if fit.places > best.places else best
    return best.texts


def _candidates(row: Mapping[str, Any]) -> Iterator[tuple[Row, str]]:
    """The possible sources of a record, as the context of a check, with the name of a field."""
    # A unit that passed a step is its own data.
    given, response = row.get("input", row.get("data")), row.get("response")
    if isinstance(response, list):
        yield {"history": response}, ""
    fields = given if isinstance(given, dict) else {} if given is None else {"input": given}
    yield {"input": fields}, ""
    for name in list(fields)[:_CANDIDATES]:
        if name != SOURCE:
            yield {"input": fields}, name


def _fits(place: _Place, texts: Mapping[str, str]) -> bool:
    """Whether the source has the text at this place that the evidence says."""
    text = texts.get(place.document)
    start, end = place.span
    if text is None or not 0 <= start < end <= len(text):
        return False
    return text[start:end].startswith(place.text.removesuffix("…")) or text[start:end] == place.text


def _sources(texts: Mapping[str, str], spans: Mapping[str, list[Span]]) -> Iterator[Row]:
    """The documents that have a place, whole or in pieces; each piece with its start."""
    room = _ROOM
    for name, text in texts.items():
        wanted = spans.get(name)
        if not wanted:
            continue
        windows = [(0, len(text))] if len(text) <= _WHOLE else _windows(wanted, len(text))
        pieces: list[list[Any]] = []
        for start, end in windows:
            if end - start > room:
                break
            room -= end - start
            pieces.append([start, text[start:end]])
        yield {"name": name, "size": len(text), "pieces": pieces}


def _windows(spans: Iterable[Span], size: int) -> list[Span]:
    """Windows around some places, with overlapping ones joined.

    >>> _windows([(10_000, 10_005), (10_100, 10_104)], 50_000)
    [(9700, 10404)]
    """
    windows: list[Span] = []
    for start, end in sorted(spans):
        first, last = max(0, start - _AROUND), min(size, min(end, start + _AROUND) + _AROUND)
        if windows and first <= windows[-1][1]:
            windows[-1] = (windows[-1][0], max(windows[-1][1], last))
        else:
            windows.append((first, last))
    return windows
