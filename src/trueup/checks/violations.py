"""Violations: the places in a text that break the rules of one state, without those that are excused.

Takes rules and a folded text; returns the first places of each broken rule. A place is excused by another word of its
sentence, by a longer phrase, question, denial, condition or quotation that it is part of, or because it is the
customer's name.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from trueup.checks.dialogue import BadStates, DialogueRule, Excuses, SoughtPhrase, Timed
from trueup.checks.folding import Folded, fold
from trueup.checks.matching import Matcher
from trueup.checks.sentences import Addressed, Around, Form, around, asks, is_quoted, names_in
from trueup.verdict.patterns import lazy_regex

_SHOWN = 5
# After folding, "sí" (yes) is "si" (if), and "nº" is "no": "tu cita sí está hecha", "tu reserva nº 7 está hecha".
_UNMEANT = lazy_regex("\\b(?:[sS](?:[íÍ]|[iI]\u0301)|[nN]º)(?!\\w)")
_MAX_TIMED = 200
_MARKS = " \t\r\n.,:;!?¡¿"


class Hit(NamedTuple):
    """A place in the original text, and the text there."""

    text: str
    span: tuple[int, int]
    timed_out: bool = False


class _Watched(NamedTuple):
    """One part of a rule; `number` is the position of the rule in its state."""

    rule: DialogueRule
    number: int
    excuses: Excuses
    exceptions: Matcher | None
    within: Matcher | None
    first: int  # the index of its first source in the common matcher
    terms: bool  # whether that first source is its terms
    timed: tuple[tuple[Any, Timed], ...]


class Lookout:
    """The rules of one state, searched for together."""

    __slots__ = ("_always", "_by_source", "_forms", "_matcher", "_names", "_rules", "_watched")

    def __init__(
        self, rules: Sequence[DialogueRule], allow: Excuses, forms: Mapping[str, Form | Addressed], names: Sequence[str]
    ) -> None:
        self._forms = forms
        self._rules = tuple(rules)
        self._watched: list[_Watched] = []
        self._by_source: list[int] = []
        sources: list[str] = []
        for number, rule, (content, own) in _parts(rules):
            excuses = own + allow
            made, longer = excuses.content.sources, excuses.within
            timed = tuple((_timed(one, rule), one) for one in content.timed)
            first = len(sources)
            sources += content.sources
            self._by_source += [len(self._watched)] * (len(sources) - first)
            exceptions, within = Matcher(made) if made else None, Matcher(longer) if longer else None
            has_terms = bool(content.terms)
            self._watched.append(_Watched(rule, number, excuses, exceptions, within, first, has_terms, timed))
        self._matcher = Matcher(sources)
        self._always = [watched for watched in self._watched if watched.timed]
        self._names = tuple(names)

    def hits(self, folded: Folded, data: Mapping[str, Any]) -> Iterator[tuple[DialogueRule, list[Hit]]]:
        """The broken rules, in their order, each with the first places that are not excused."""
        which = self._matcher.which(folded.data)
        if not which and not self._always:
            return
        text = folded.data.decode("ascii")
        meant = Folded(_UNMEANT.sub("xx", folded.text)).data.decode("ascii") if _UNMEANT.search(folded.text) else text
        found: dict[int, list[Hit]] = {}
        for source in which:
            watched = self._watched[self._by_source[source]]
            if not _is_off(watched.rule, data) and len(found.get(watched.number, ())) < _SHOWN:
                found.setdefault(watched.number, []).extend(self._places(watched, source, folded, (text, meant), data))
        for watched in self._always:
            if not _is_off(watched.rule, data):
                found.setdefault(watched.number, []).extend(_late(watched, folded.text))
        for number in sorted(found):
            if found[number]:
                yield self._rules[number], _joined(found[number], folded.text)[:_SHOWN]

    def _places(
        self, watched: _Watched, source: int, folded: Folded, texts: tuple[str, str], data: Mapping[str, Any]
    ) -> Iterator[Hit]:
        text, meant = texts
        is_term = watched.terms and source == watched.first
        names = names_in([data.get(key) for key in (*self._names, *watched.excuses.names)]) if is_term and data else ()
        # a name other than the customer's does not address the customer
        forms = watched.excuses.forms - {"addressed"} if names else watched.excuses.forms
        count = 0
        last = (0, 0)
        for place in self._matcher.places(source, folded.data):
            if place is None:  # too many places: those that were not examined are not excused
                yield Hit(folded.text[slice(*folded.span(*last))], folded.span(*last))
                return
            last = place
            if is_term and text[place[0] : place[1]].strip("_") in names:
                continue
            if "quoted" in forms and is_quoted(text, *place):
                continue
            here = around(text, *place)
            if self._is_excused(watched, forms, here, here if meant is text else around(meant, *place)):
                continue
            span = folded.span(*place)
            yield Hit(folded.text[span[0] : span[1]], span)
            count += 1
            if count == _SHOWN:
                return

    def _is_excused(self, watched: _Watched, forms: AbstractSet[str], place: Around, meant: Around) -> bool:
        """Whether a place is excused; `meant` is the same text without words that only look like a condition."""
        if "question" in forms and asks(place):
            return True
        if any(kind in forms and form.holds(meant) for kind, form in self._forms.items()):
            return True
        if watched.exceptions is not None and watched.exceptions.occurs(meant.remark.encode("ascii")):
            return True
        sentence = meant.sentence.encode("ascii")
        return watched.within is not None and watched.within.covers(sentence, meant.start, meant.end)


def _joined(hits: Sequence[Hit], text: str) -> list[Hit]:
    """The places in their order; overlapping ones are merged, without the punctuation around them.

    >>> [hit.text for hit in _joined([Hit("", (2, 5)), Hit("", (0, 3)), Hit("", (6, 7))], "a 10. b")]
    ['a 10', 'b']
    """
    late = [hit for hit in hits if hit.timed_out]
    spans: list[tuple[int, int]] = []
    for start, end in sorted(hit.span for hit in hits if not hit.timed_out):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    trimmed = [_trimmed(text, *span) for span in spans]
    return late + [Hit(text[start:end], (start, end)) for start, end in trimmed]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the spaces and marks at its ends; a span of only such characters stays."""
    said = text[start:end]
    if not said.strip(_MARKS):
        return start, end
    return end - len(said.lstrip(_MARKS)), start + len(said.rstrip(_MARKS))


def _parts(rules: Sequence[DialogueRule]) -> Iterator[tuple[int, DialogueRule, SoughtPhrase]]:
    return ((number, rule, part) for number, rule in enumerate(rules) for part in rule.parts)


def _is_off(rule: DialogueRule, data: Mapping[str, Any]) -> bool:
    """Whether everything that a rule waits for has been collected."""
    return bool(rule.unless) and all(_collected(data.get(key)) for key in rule.unless)


def _collected(value: Any) -> bool:
    return value is not None and value is not False and (not isinstance(value, str) or bool(value.strip()))


def _timed(one: Timed, rule: DialogueRule) -> Any:
    try:
        import regex  # type: ignore[import-untyped]  # only contracts that allow timed patterns need it
    except ImportError:
        raise BadStates(rule.path, "a timed pattern needs the regex package: pip install regex") from None
    try:
        return regex.compile(one.pattern, regex.IGNORECASE)
    except regex.error as error:
        raise BadStates(rule.path, f"{one.pattern!r} cannot be used: {error}") from None


def _late(watched: _Watched, text: str) -> Iterator[Hit]:
    """The matches of timed patterns in the original text; a pattern that runs out of time is reported."""
    for pattern, one in watched.timed:
        try:
            found = list(zip(range(_MAX_TIMED), pattern.finditer(text, timeout=one.seconds), strict=False))
        except TimeoutError:
            yield Hit("", (0, 0), timed_out=True)
            continue
        for _, match in found[:_SHOWN]:
            if fold(match[0]):
                yield Hit(match[0], match.span())
