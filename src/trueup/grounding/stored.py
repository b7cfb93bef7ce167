"""Stored evidence: takes a verdict; returns it without any text of its sources. The texts can be restored later.

Grades, spans and document names stay. The texts belong to the context; with the context, they can be read again.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from trueup.grounding.report import OF_SOURCE, without_source
from trueup.grounding.sources import ROLES, BadSource, sources_in
from trueup.verdict.evidence import Evidence, Place, shortened
from trueup.verdict.facts import Finding, Findings
from trueup.verdict.verdict import AS_DATA, Refusal, Verdict

T = TypeVar("T")


def without_texts(verdict: Verdict[T]) -> Verdict[T]:
    """A verdict on data that does not quote its sources. A verdict without quotes is returned unchanged.

    >>> from trueup import Contract
    >>> verdict = Contract({"type": "object"}, grounded=True).check('{"a": "Ana", "b": 3}', {"source": "Ana is 4."})
    >>> kept = without_texts(verdict)
    >>> kept.evidence["$.a"].to_dict(), kept.findings[0].message
    ({'grade': 'exact', 'places': [{'document': 'source', 'span': [0, 3], 'text': ''}]}, 'Field "b": 3 is not in the source')
    """
    if not verdict.evidence and not any(_quotes(found) for found in verdict.findings):
        return verdict
    return Verdict(
        verdict.reply, verdict.data, Findings(map(without_source, verdict.findings)), verdict.fixes, AS_DATA, verdict.calls,
        metrics=verdict.metrics, refused=tuple(Refusal(one.call, tuple(map(without_source, one.findings))) for one in verdict.refused),
        passed=verdict.reason if verdict.ok else "", evidence={path: _bare(one) for path, one in verdict.evidence.items()},
    )  # fmt: skip


def with_texts(evidence: Mapping[str, Evidence], context: Mapping[str, Any]) -> dict[str, Evidence]:
    """Stored evidence with its texts, as far as the context has them."""
    try:
        sources = sources_in(context, "", ROLES, data=True)
    except BadSource:
        sources = None
    if sources is None:
        return dict(evidence)
    texts = {document.name: document.text for document in (*sources.prompts, *sources.documents)}
    return {path: _filled(one, texts) for path, one in evidence.items()}


def _quotes(found: Finding) -> bool:
    return not OF_SOURCE.isdisjoint(found.data)


def _bare(one: Evidence) -> Evidence:
    nearest = None if one.nearest is None else replace(one.nearest, text="")
    return Evidence(one.grade, tuple(replace(place, text="") for place in one.places), nearest)


def _filled(one: Evidence, texts: Mapping[str, str]) -> Evidence:
    nearest = None if one.nearest is None else _read(one.nearest, texts)
    return Evidence(one.grade, tuple(_read(place, texts) for place in one.places), nearest)


def _read(place: Place, texts: Mapping[str, str]) -> Place:
    return place if place.text else replace(place, text=shortened(texts.get(place.document, "")[slice(*place.span)]))
