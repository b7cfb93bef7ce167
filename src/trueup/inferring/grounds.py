"""The fields that can be grounded: takes clean values with their context; returns a proposal with its evidence.

A field is proposed if its values are often in their own source and seldom in the sources of other replies. A text that
is in every source proves nothing; a model's summary or decision is in no source. Without sources, nothing is proposed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from trueup.conform.schema import Schema, compile_schema
from trueup.conform.survey import places_along
from trueup.contract.contract import Contract
from trueup.grounding.sources import BadSource, Sources, sources_in
from trueup.inferring.words import count
from trueup.material.case import Case
from trueup.read.messages import before_reply
from trueup.verdict.evidence import FOUND
from trueup.verdict.paths import folded, parse

MAX_PAIRS = 200  # values to look up, each in two sources
MAX_SOURCE = 200_000  # bytes of a source
MAX_BYTES = 4_000_000  # of all sources
LEAST = 8  # values of a field
_WITH_SOURCE = 0.99  # the least share of replies with a source: a grounded contract refuses the others
_OWN = 0.8  # the least share of values that are in their own source
_OTHER = 0.5  # the largest share of values that are in another reply's source


class GroundingProposal(NamedTuple):
    """The fields to ground, each with a note on its evidence."""

    fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Grounds:
    """The first clean values that have sources."""

    __slots__ = ("_bytes", "_pairs", "_seen", "_with_source")

    def __init__(self) -> None:
        self._pairs: list[tuple[bytes, dict[str, Any], Any]] = []
        self._bytes = 0
        self._seen = 0
        self._with_source = 0

    def add(self, case: Case, value: Any) -> None:
        """Take the value of a reply with the source of that reply."""
        self._seen += 1
        context = _context(case)
        if not context or len(self._pairs) >= MAX_PAIRS or self._bytes >= MAX_BYTES:
            self._with_source += bool(context) and self._with_source > 0  # assume the same as before
            return
        sources = _sources(context)
        if sources is None:
            return
        self._with_source += 1
        size = sum(len(document.text) for document in sources.documents)
        if size > MAX_SOURCE:
            return
        try:
            text = orjson.dumps(value)
        except TypeError:  # a long integer, or a lone surrogate
            return
        self._bytes += size
        self._pairs.append((text, context, tuple(document.text for document in sources.documents)))

    def proposal(self, schema: Any) -> GroundingProposal:
        """The fields with values that are in the sources, under the draft's schema."""
        if len(self._pairs) < LEAST or self._with_source < _WITH_SOURCE * self._seen:
            return GroundingProposal()
        contract = Contract(schema, grounded=True)
        own, others, total = Counter[str](), Counter[str](), Counter[str]()
        for place, (text, context, source) in enumerate(self._pairs):
            other = self._other(place, source)
            if other is None:
                continue
            grades = _grades(contract, text, context)
            shuffled = _grades(contract, text, other)
            for path, grade in grades.items():
                if grade == "not checkable":
                    continue
                name = folded(path)
                total[name] += 1
                own[name] += grade in FOUND
                others[name] += shuffled.get(path) in FOUND
        compiled = compile_schema(schema)
        chosen = [
            name
            for name, values in total.items()
            if values >= LEAST
            and own[name] >= _OWN * values
            and others[name] <= _OTHER * values
            and not _is_listed(compiled, name)
        ]
        names = tuple(name.removeprefix("$").removeprefix(".") for name in chosen)
        notes = (
            f"{field}: {count(own[name])} of {count(total[name])} are in their source, {count(others[name])} in another one"
            for field, name in zip(names, chosen, strict=True)
        )
        return GroundingProposal(names, tuple(notes))

    def _other(self, place: int, source: Any) -> dict[str, Any] | None:
        """The context of another reply that has a different source."""
        pairs = self._pairs
        start = place + max(1, len(pairs) // 3)
        return next(
            (
                pairs[at % len(pairs)][1]
                for at in range(start, start + len(pairs))
                if pairs[at % len(pairs)][2] != source
            ),
            None,
        )


def _context(case: Case) -> dict[str, Any]:
    """The context of a reply. If the whole conversation is stored, the part before the reply belongs to it."""
    context = dict(case.context or {})
    if isinstance(case.reply, list) and "history" not in context:
        context["history"] = before_reply(case.reply).messages
    return context


def _sources(context: Mapping[str, Any]) -> Sources | None:
    try:
        return sources_in(context, "", ("user", "assistant", "tool"), data=True)
    except BadSource:
        return None


def _grades(contract: Contract[Any], text: bytes, context: dict[str, Any]) -> dict[str, str]:
    return {path: one.grade for path, one in contract.check(text, context).evidence.items()}


def _is_listed(schema: Schema, name: str) -> bool:
    """Whether the schema lists a field's values or allows a boolean: such a value is decided, not read."""
    parts = tuple(_parts(name))
    rules = [place.rules for place in places_along(schema.place, parts)]
    return any("enum" in each or "const" in each or "boolean" in each.get("type", ()) for each in rules)


def _parts(name: str) -> Iterator[str | int]:
    yield from parse(name.replace("[]", "[0]"))
