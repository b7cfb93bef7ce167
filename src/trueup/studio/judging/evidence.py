"""Evidence for the page: takes a verdict with its evidence and the sources, and returns rows and the shown parts of the
sources as data for JSON.

A row is one value: its grade, its place in the reply, and its places in the sources. All offsets are UTF-16 units, as
JavaScript counts them. A short source is shown in full, a long one only around the places.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from trueup.contract.contract import Contract
from trueup.contract.meaning.meaning import record
from trueup.grounding.check import Grounding
from trueup.grounding.documents import SourceDocument
from trueup.grounding.sources import BadSource, sources_in
from trueup.studio.judging.spelling import spell
from trueup.studio.judging.units import OffsetUnits
from trueup.verdict.evidence import Evidence, Evident, Place
from trueup.verdict.facts import Span
from trueup.verdict.locate import Spots
from trueup.verdict.paths import Parts, parse
from trueup.verdict.verdict import Verdict

MOST_ROWS = 1_000  # more than anybody scrolls through
_MOST_DOCUMENTS = 200
_MOST_LOCATED = 200_000  # characters of a reply that is searched for places of values
_WHOLE = 40_000  # characters of all sources together, up to which they are shown in full
_SHOWN = 200_000  # characters around places, approximately
_LEAST_AROUND, _AROUND = 40, 400  # characters on each side of a place
_MOST_VALUE = 200
_CODES = "E"  # the family of findings about evidence


class EvidenceRow(msgspec.Struct, frozen=True):
    """One value and its evidence in the sources."""

    path: str
    """The path of the value; for a claim in prose, its place in the text."""
    value: str
    """The value as JSON, text without quotes; cut if it is long."""
    grade: Evident
    level: str
    """`error` or `warning` if a finding reports that the evidence is not sufficient; otherwise empty."""
    fact: int | None
    """The index of that finding among the facts."""
    span: tuple[int, int] | None
    """The place of the value in the reply, in UTF-16 units."""
    places: list[tuple[int, int, int]]
    """Its places in the sources, the best one first: the index of the document, start and end in UTF-16 units."""
    nearest: tuple[int, int, int] | None
    """The closest text in the sources, if the value is not there."""


class SourceText(msgspec.Struct, frozen=True):
    """One document that values were looked up in."""

    name: str
    size: int
    """Its length in UTF-16 units."""
    pieces: list[tuple[int, str]]
    """The shown pieces: the start of each, and its text. A short document is one piece."""


class EvidenceShown(msgspec.Struct, frozen=True):
    """The evidence of a verdict."""

    rows: list[EvidenceRow]
    """The values in order; if there are too many, those without evidence are kept first."""
    omitted: int
    """The number of values that are not listed."""
    grades: dict[Evident, int]
    """How many of all values have each grade."""
    sources: list[SourceText]


def grounding_of(contract: Contract[Any]) -> Grounding | None:
    """How a contract looks values up; None if it does not."""
    found = None if contract.meaning is None else contract.meaning.grounding
    return found if isinstance(found, Grounding) else None


def evidence_of(
    contract: Contract[Any],
    verdict: Verdict,
    context: Mapping[str, Any],
    facts: Sequence[Mapping[str, Any]],
    *,
    again: bool = False,
) -> EvidenceShown | None:
    """The evidence of a verdict as data for the page.

    None if the contract is not grounded, or the context has no source.

    `facts` are the facts of the verdict in list order. With `again`, the values are looked up once more: a stored
    verdict has no evidence, and its source may have been redacted.
    """
    grounding = grounding_of(contract)
    if grounding is None:
        return None
    settings = grounding.settings
    try:
        sources = sources_in(context, settings.source, settings.roles, data=contract.schema is not None)
    except BadSource:  # which judging reports
        return None
    if sources is None:
        return None
    evidence = verdict.evidence
    if again:
        evidence = grounding.judge(verdict, context, record(verdict.data, context)).evidence
    return _shown(verdict, evidence, sources.documents, facts)


def _shown(
    verdict: Verdict,
    evidence: Mapping[str, Evidence],
    given: Sequence[SourceDocument],
    facts: Sequence[Mapping[str, Any]],
) -> EvidenceShown:
    documents = _Documents(given[:_MOST_DOCUMENTS])
    about = _Reply(verdict, facts)
    rows = []
    for path in _chosen(evidence, about):
        one, fact = evidence[path], about.fact(path)
        rows.append(
            EvidenceRow(
                path, about.value(path), one.grade, "" if fact is None else str(facts[fact]["level"]), fact, about.span(path),
                [at for at in map(documents.place, one.places) if at is not None],
                None if one.nearest is None else documents.place(one.nearest),
            )
        )  # fmt: skip
    grades = dict(Counter(one.grade for one in evidence.values()))
    return EvidenceShown(rows, len(evidence) - len(rows), grades, documents.shown())


def _chosen(evidence: Mapping[str, Evidence], about: "_Reply") -> list[str]:
    """The paths to list, in order; if there are too many, those with problems are kept first."""
    if len(evidence) <= MOST_ROWS:
        return list(evidence)
    wrong = [path for path, one in evidence.items() if one.grade == "none" or about.fact(path) is not None][:MOST_ROWS]
    kept = {*wrong}
    for path in evidence:
        if len(kept) >= MOST_ROWS:
            break
        kept.add(path)
    return [path for path in evidence if path in kept]


class _Documents:
    """The shown documents, and the requested places in them."""

    def __init__(self, documents: Sequence[SourceDocument]) -> None:
        self._texts = [document.text for document in documents]
        self._names = [document.name for document in documents]
        self._units = [OffsetUnits(text) for text in self._texts]
        self._spans: list[list[Span]] = [[] for _ in documents]
        self._named: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(self._names):
            self._named[name].append(number)

    def place(self, place: Place) -> tuple[int, int, int] | None:
        """The document of a place, with start and end in UTF-16 units.

        If several have the same name, the one that has the text there.
        """
        start, end = place.span
        for number in self._named.get(place.document, ()):
            text = self._texts[number]
            if 0 <= start <= end <= len(text) and text.startswith(place.text.removesuffix("…"), start):
                self._spans[number].append((start, end))
                units = self._units[number]
                return number, units.of(start), units.of(end)
        return None

    def shown(self) -> list[SourceText]:
        """The shown parts of the documents."""
        is_short = sum(map(len, self._texts)) <= _WHOLE
        places = sum(map(len, self._spans)) + len(self._texts)
        around = max(_LEAST_AROUND, min(_AROUND, _SHOWN // 2 // max(places, 1)))
        return [
            SourceText(
                name, units.of(len(text)),
                [(units.of(start), text[start:end]) for start, end in ([(0, len(text))] if is_short else _stretches(spans, len(text), around))],
            )
            for name, text, units, spans in zip(self._names, self._texts, self._units, self._spans, strict=True)
        ]  # fmt: skip


class _Reply:
    """The values of a reply: as text, with their places in it and their problems."""

    def __init__(self, verdict: Verdict, facts: Sequence[Mapping[str, Any]]) -> None:
        self._verdict = verdict
        self._text = verdict.reply.text
        self._units = OffsetUnits(self._text)
        self._spots = Spots(self._text) if verdict.data is not None and len(self._text) <= _MOST_LOCATED else None
        self._calls: dict[Any, Any] = {call.index: call.args for call in verdict.calls}
        self._facts: dict[Any, int] = {}
        for number, fact in enumerate(facts):
            if fact["kind"] == "finding" and fact["code"].startswith(_CODES):
                is_claim = fact["path"] == "$" and verdict.data is None
                key = tuple(fact["span"] or (0, len(self._text))) if is_claim else fact["path"]
                self._facts.setdefault(key, number)

    def fact(self, path: str) -> int | None:
        claim = _claim(path)
        return self._facts.get(path if claim is None else claim)

    def value(self, path: str) -> str:
        claim = _claim(path)
        value = self._text[slice(*claim)] if claim is not None else self._at(parse(path))
        said = value if isinstance(value, str) else spell(value, _MOST_VALUE).text
        return said if len(said) <= _MOST_VALUE else f"{said[: _MOST_VALUE - 1]}…"

    def span(self, path: str) -> tuple[int, int] | None:
        """In UTF-16 units."""
        found = _claim(path)
        if found is None and self._spots is not None:
            spot = self._spots.find(parse(path))
            found = None if spot is None else spot.value
        return None if found is None else (self._units.of(found[0]), self._units.of(found[1]))

    def _at(self, parts: Parts) -> Any:
        here: Any = self._verdict.data
        if parts[:1] == ("calls",) and len(parts) > 2 and not (isinstance(here, dict) and "calls" in here):
            here, parts = self._calls.get(parts[1]), parts[3:]
        for part in parts:
            if not isinstance(here, dict | list):
                return None
            try:
                here = here[part]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                return None
        return here


def _claim(path: str) -> Span | None:
    """The place of a claim in prose: its path is `text[start:end]`."""
    if not path.startswith("text["):
        return None
    start, _, end = path[5:-1].partition(":")
    return int(start), int(end)


def _stretches(spans: Iterable[Span], size: int, around: int) -> list[Span]:
    """The beginning of a text, and the text around its places; adjacent pieces are joined.

    >>> _stretches([(500, 510), (525, 530)], 1000, 10)
    [(0, 20), (490, 540)]
    """
    found: list[Span] = []
    for start, end in [(0, around), *sorted(spans)]:
        first, last = max(0, start - around), min(size, end + around)
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
