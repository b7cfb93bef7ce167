"""Judge a reply that is not plain, valid JSON: recover, conform and check it, and record every change.

`Contract.check()` calls this module; each entry point takes a reply that was read to some stage and returns its
verdict.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from trueup.checks.fixes import SPEAKING, remarks, too_many
from trueup.conform.coerce import CoercionNote, conform, root_node
from trueup.conform.document import facets
from trueup.conform.names import plain
from trueup.conform.options import Options
from trueup.conform.schema import Schema
from trueup.conform.survey import types_along, types_at
from trueup.contract.judging.incoming import without_surrogates
from trueup.contract.judging.integers import Test
from trueup.contract.judging.limits import depth_over, shown
from trueup.contract.judging.python_types import Raised, TypeFitter, price
from trueup.recover.aims import Aims
from trueup.recover.candidate import Candidate, to_fixes
from trueup.recover.choose import Choice, JudgedCandidate, SchemaFit, choose, choose_only, doubt
from trueup.recover.json.clean import repeats_a_key, unmeant
from trueup.recover.json.frames import Record, TooDeep, TooMany
from trueup.recover.json.lexer import fold
from trueup.recover.quick import may_withdraw, repaired
from trueup.recover.spans import Spans, path_at
from trueup.verdict.catalogue import FIXES, GRADE, GRADES, PRICE
from trueup.verdict.codec import written
from trueup.verdict.facts import NO_FINDINGS, Finding, Findings, Fix, finding, fix, promoted
from trueup.verdict.paths import Parts, parse, render
from trueup.verdict.verdict import Fixes, Verdict

if TYPE_CHECKING:
    from trueup.conform.types import Read

_ASK = "Reply with one JSON value that matches the schema, and nothing else."
_OPEN_WORDS = frozenset(("$ref", "anyOf", "oneOf", "allOf", "patternProperties", "if"))
_GUESS = GRADES["guess"]
_OBJECT = frozenset({"object"})
# with these, more than the value is considered: the text around it, or how it was written
_OPEN_CODES = frozenset({"C006", "C008"})
_MAX_FINDINGS = 20
_SHOWN = 80


class Judge:
    """Judges replies under one schema and one set of options."""

    __slots__ = (
        "_accept",
        "_aims",
        "_allowed",
        "_field",
        "_integral",
        "_is_valid",
        "_item",
        "_item_own",
        "_lenient",
        "_loud",
        "_options",
        "_own",
        "_schema",
        "_strict",
        "_typed",
    )

    def __init__(
        self, schema: Schema, options: Options, accept: str, max_depth: int, integral: Test | None, *, strict: bool
    ) -> None:
        self._schema = schema
        self._integral = integral
        self._options = options
        self._accept = accept
        self._allowed = GRADES[accept]
        # the codes that cause a finding under this contract
        self._loud = SPEAKING | {code for code, grade in GRADE.items() if GRADES[grade] > self._allowed}
        self._lenient = self._allowed >= _GUESS and not schema.is_type
        self._is_valid = schema.is_valid
        self._typed = TypeFitter(schema, options, integral, self._in_vain) if schema.is_type else None
        self._strict = strict
        self._item = schema.item
        self._own = _closed_keys(schema, options)
        self._item_own = _closed_keys(self._item, options) if self._item is not None else None
        eager = options.profile == "eager"
        self._field = _only_field(schema) if eager else None
        item_keys = self._item.root_keys if self._item is not None else frozenset()
        self._aims = Aims(
            schema.keys, schema.root_keys, schema.types, max_depth, eager, schema.source is True,
            item_keys, partial(_wanted, (schema, self._item)), partial(types_along, schema.place),
            types_along(schema.place, (self._field,)) if self._field is not None else frozenset(),
        )  # fmt: skip

    # -- entry points --------------------------------------------------------------------------

    def broken(self, reply: Any, text: str, error: Exception) -> Verdict:
        """A reply that is not valid JSON unchanged; `error` is the fast parser's message."""
        records: list[Record] = []
        if type(error) is UnicodeEncodeError:
            text, records = without_surrogates(text)
        candidate = repaired(text, self._aims, None if records else error)
        if candidate is None:
            return self.recover(reply, text, records)
        if not records and self._quiet(candidate) and not may_withdraw(text, candidate.spans[0][1]):
            return Verdict(shown(reply, text), candidate.value, NO_FINDINGS, partial(self._fixes, text, candidate))
        choice = choose_only(text, candidate, self._fit, self._aims)
        if not choice.reading.fit.ok:
            return self.recover(reply, text, records)
        return self._conclude(reply, text, choice, records)

    def _quiet(self, candidate: Candidate) -> bool:
        """Whether a repaired value is valid without coercion and none of its fixes causes a finding."""
        if not self._lenient or not self._loud.isdisjoint(candidate.codes):
            return False
        value = candidate.value
        return self._is_valid(value) and (self._integral is None or not self._integral(value))

    def _fixes(self, text: str, candidate: Candidate) -> Fixes:
        if candidate.spans == [(0, len(text))]:
            return to_fixes(text, candidate.records)  # there is nothing outside the value
        reading = JudgedCandidate(candidate, SchemaFit(candidate.value, [], 0, ok=True), (), [], [])
        return to_fixes(text, Choice(text, reading, [], []).records())

    def odd(self, reply: Any, text: str, data: Any) -> Verdict:
        """JSON that repeats a key, or that the fast writer cannot write: very long integers, deep nesting."""
        if not repeats_a_key(text):
            return self.misfit(reply, text, data)
        return self.recover(reply, text, [])

    def converted(
        self, reply: Any, text: str, data: Any, built: Any, read: "Read | None", *, located: bool = True
    ) -> Verdict:
        """Plain JSON that the contract's type accepts; `built` is the result, `read` the conversions, if known."""
        assert self._typed is not None
        fit = self._typed.accepted(data, built, (), read)
        start = len(text) - len(text.lstrip(" \t\r\n"))
        choice = choose_only(text, Candidate(data, [(start, len(text))], []), lambda _: fit, self._aims)
        return self._conclude(reply, text, choice, [], located=located)

    def misfit(self, reply: Any, text: str, data: Any, *, located: bool = True, keep_fields: bool = False) -> Verdict:
        """Plain JSON that is not valid under the schema without fixes; if `located`, findings have a place in the text.

        With `keep_fields`, fields next to an envelope stay, together with the value inside it.
        """
        if isinstance(data, str) and "string" not in self._aims.types and _may_hold_a_value(data):
            return self.recover(reply, text, [])
        limit = self._aims.max_depth
        if text.count("{") + text.count("[") > limit and depth_over(data, limit):
            return self._too_deep(reply, text)
        start = len(text) - len(text.lstrip(" \t\r\n"))
        whole = Candidate(data, [(start, len(text))], [])
        fit = self._fit(data)
        if not start and self._is_quietly_coerced(fit):
            reading = JudgedCandidate(whole, fit, (), [], [])
            return Verdict(shown(reply, text), fit.value, NO_FINDINGS, partial(_coerced, text, reading, self._aims))

        def fit_part(value: Any) -> SchemaFit:
            return fit if value is data else self._fit(value)

        choice = choose_only(text, whole, fit_part, self._aims, keep_fields=keep_fields)
        return self._conclude(reply, text, choice, [], located=located)

    def _is_quietly_coerced(self, fit: SchemaFit) -> bool:
        """Whether a value fits after coercions that cause no finding and change nothing else in the verdict."""
        if not (fit.ok and fit.notes and self._lenient):
            return False
        return all(note.code not in _OPEN_CODES and note.code not in self._loud for note in fit.notes)

    # -- the full path -------------------------------------------------------------------------

    def recover(self, reply: Any, text: str, records: list[Record]) -> Verdict:
        """Read a text the slow way; `records` describe earlier replacements in it."""
        if not text.strip():
            found = finding("P002", "$", "The reply is empty", None, {}, _ASK)
            return self._verdict(reply, text, None, None, (), [found])
        try:
            choice = choose(text, self._aims, self._fit, self._fit_item if self._item else None)
        except TooMany as limit:
            return Verdict(shown(reply, text), None, Findings((too_many(limit),)))
        except TooDeep:
            return self._too_deep(reply, text)
        if choice is None:
            found = finding("P001", "$", "The reply contains no JSON value", (0, len(text)), {}, _ASK)
            if not records:
                return self._verdict(reply, text, None, None, (), [found])
            said = islice(remarks(to_fixes(text, records[:_MAX_FINDINGS]), self._accept), _MAX_FINDINGS)
            return self._verdict(reply, text, None, None, partial(to_fixes, text, records), [found, *said])
        return self._conclude(reply, text, choice, records)

    def _conclude(
        self, reply: Any, text: str, choice: Choice, before: list[Record], *, located: bool = True
    ) -> Verdict:
        """Build the verdict from the chosen reading."""
        if any(note.code == "C008" for note in choice.reading.fit.notes):
            from trueup.contract.judging.number_text import numbers_as_written  # loaded when a reply first needs it

            numbers_as_written(text, choice, self._aims, self._is_valid)
            if self._schema.is_type:
                self._rebuild(choice)
        reading, fit = choice.reading, choice.reading.fit
        doubt(text, choice)
        codes = choice.codes
        codes.update(record[0] for record in before)
        codes.update(note.code for note in fit.notes)
        fixes = _Fixes(text, before, choice, self._aims) if codes else None
        findings: list[Finding] = []
        if fixes is not None and (self._allowed < _GUESS or not self._loud.isdisjoint(codes)):
            findings += islice(remarks(fixes.of(self._loud), self._accept), _MAX_FINDINGS)
        if not codes and "\\" in text and (where := unmeant(text, *reading.candidate.spans[0])) is not None:
            findings.append(_unmeant(text, where))
        if self._strict and choice.rivals:
            findings.append(_ambiguous([*choice.rivals, fit.value], reading.candidate.spans[0]))
        value = data = {**fit.beside, **fit.value} if fit.beside else fit.value
        refused: list[Finding] = []
        if isinstance(fit.refused, Raised):
            raise fit.refused.error
        if not fit.ok:
            refused = self._explained(fit)
        elif self._schema.is_type:
            value = fit.built
        findings += _located(refused, text, reading, self._aims) if located else refused
        return self._verdict(reply, text, data, value, fixes or (), findings)

    def _verdict(self, reply: Any, text: str, data: Any, value: Any, fixes: Any, findings: list[Finding]) -> Verdict:
        if self._strict:
            findings = [promoted(f) for f in findings]
        if len(findings) > 1:
            findings.sort(key=lambda f: f.level != "error")
        return Verdict(shown(reply, text), data, Findings(findings), fixes, value)

    def _too_deep(self, reply: Any, text: str) -> Verdict:
        limit = self._aims.max_depth
        message = f"The reply nests deeper than {limit} levels"
        found = finding("L002", "$", message, None, {"limit": limit}, "Give a flatter value.")
        return Verdict(shown(reply, text), None, Findings((found,)))

    def _explained(self, fit: SchemaFit) -> list[Finding]:
        if self._typed is not None and fit.refused:
            return self._typed.explained(fit, _MAX_FINDINGS)
        return self._schema.errors(fit.value, _MAX_FINDINGS) or [_unsaid()]

    def _rebuild(self, choice: Choice) -> None:
        """Let the type build the value again after another change."""
        fit = choice.reading.fit
        built, refused = self._schema.build(fit.value)
        fit = fit._replace(ok=not refused, built=built, refused=refused)
        choice.reading = choice.reading._replace(fit=fit)

    def member_errors(self, slot: str | int, value: Any) -> list[Finding]:
        """The errors of one member of the root, judged alone; empty if only the whole can decide."""
        if (value is None and self._may_leave_out(slot)) or (self._typed is not None and self._typed.needs_whole):
            return []
        if self._typed is not None and self._typed.judges_parts:
            return self._typed.part_errors(slot, value, _MAX_FINDINGS)
        member = self._schema.item if isinstance(slot, int) else self._schema.member(slot)
        if member is None:
            return []
        fit = _fit(value, member, self._options)
        return [] if fit.ok else member.errors(fit.value, _MAX_FINDINGS)

    def _may_leave_out(self, slot: str | int) -> bool:
        """Whether coercion may drop a null member of the root."""
        if self._options.profile == "off":
            return False
        return slot not in root_node(self._schema, self._options).compiled().required

    # -- fitting -------------------------------------------------------------------------------

    def _fit(self, value: Any) -> SchemaFit:
        if self._typed is not None:
            fit = self._typed.fit(value)
            return fit if fit.ok or self._field is None or isinstance(value, dict) else self._as_field(value, fit)
        if self._schema.is_valid(value) and not (self._integral and self._integral(value)):
            return SchemaFit(value, [], 0, ok=True)
        if self._in_vain(value):
            return SchemaFit(value, [], 0, ok=False)
        fit = _fit(value, self._schema, self._options)
        return fit if fit.ok or self._field is None or isinstance(value, dict) else self._as_field(value, fit)

    def _as_field(self, value: Any, fit: SchemaFit) -> SchemaFit:
        """The value as the only field that the schema requires, if it fits there and nowhere else."""
        assert self._field is not None
        part = {self._field: value}
        inside = _fit(part, self._schema, self._options) if self._typed is None else self._typed.fit(part)
        if not inside.ok:
            return fit
        note = CoercionNote("C017", (self._field,), value, value)
        return inside._replace(notes=[note, *inside.notes], cost=inside.cost + PRICE["C017"])

    def _fit_item(self, value: Any) -> SchemaFit:
        assert self._item is not None
        strange = _shares_nothing(value, self._item_own)
        if strange or self._item.is_type:
            valid = self._item.is_valid(value)
            if valid or strange:
                return SchemaFit(value, [], 0, valid)
        return _fit(value, self._item, self._options)

    def _in_vain(self, value: Any) -> bool:
        """Whether coercing a value is pointless, because nothing in it could match a name in the schema."""
        return _shares_nothing(value, self._own) or self._lists_nothing(value)

    def _lists_nothing(self, value: Any) -> bool:
        """Whether a list contains only objects that share no key with the schema of its items."""
        own = self._item_own
        return own is not None and type(value) is list and bool(value) and all(_shares_nothing(v, own) for v in value)


def _only_field(schema: Schema) -> str | None:
    """The one key that an object schema requires; None if it is not an object schema with exactly one."""
    source = schema.source
    required = source.get("required") if isinstance(source, dict) and schema.types == _OBJECT else None
    return required[0] if isinstance(required, list) and len(required) == 1 and isinstance(required[0], str) else None


def _may_hold_a_value(said: str) -> bool:
    """Whether a string may be the text of a value: it opens a container, or has several lines."""
    return said.lstrip()[:1] in ("{", "[", "<", "`", '"') or "\n" in said


def _shares_nothing(value: Any, own: frozenset[str] | None) -> bool:
    """Whether an object has no key that any of these could mean, so that coercing it is pointless."""
    return own is not None and type(value) is dict and bool(value) and own.isdisjoint(map(_loosest, value))


def _loosest(key: str) -> str:
    """A key in the loosest form that coercion compares; accents are ignored too."""
    return fold(key if key.isascii() else plain(key))


def _fit(value: Any, schema: Schema, options: Options) -> SchemaFit:
    """Fit a value to a schema."""
    if options.profile == "off":
        return SchemaFit(value, [], 0, schema.is_valid(value))
    fitted, notes = conform(value, schema, options)
    return SchemaFit(fitted, notes, price(notes), schema.is_valid(fitted))


def _closed_keys(schema: Schema, options: Options) -> frozenset[str] | None:
    """The folded keys of a plain object with required fields; None if other keys could become relevant."""
    source = schema.source
    if not isinstance(source, dict) or options.aliases or not source.get("required"):
        return None
    if not _OPEN_WORDS.isdisjoint(source) or isinstance(source.get("additionalProperties"), dict):
        return None
    return frozenset(map(_loosest, schema.names)) or None


def _wanted(schemas: tuple[Schema | None, ...], key: str) -> frozenset[str]:
    """The types of a field of the root or of its items; empty if the schema does not give any."""
    places = [here for schema in schemas if schema is not None for here in facets((schema.place,))]
    named = [place.child("properties", key) for place in places if key in (place.rules.get("properties") or ())]
    return frozenset().union(*map(types_at, named))


def damaged(reply: Any, text: str, records: list[Record], judge: Judge | None) -> Verdict:
    """The verdict for bytes that are not text: refused under any contract."""
    if judge is not None:
        return judge.recover(reply, text, records)
    said = Findings(remarks(to_fixes(text, records[:_MAX_FINDINGS]), "lossy"))
    return Verdict(shown(reply, text), None, said, partial(to_fixes, text, records))


def _located(findings: list[Finding], text: str, reading: JudgedCandidate, aims: Aims) -> list[Finding]:
    """Findings about parts of a value, each with the span of its part in the text."""
    if not findings:
        return findings
    spans = Spans(text, reading, aims)
    return [
        found if found.span is not None else msgspec.structs.replace(found, span=spans.of(parse(found.path)))
        for found in findings
    ]


def _unsaid() -> Finding:
    return finding("V011", "$", "The value does not fit the schema")


def _unmeant(text: str, span: tuple[int, int]) -> Finding:
    where = render(path_at(text, span[0]))
    written_as = text[slice(*span)].strip('"')
    message = f"{written_as} is read as an escape, but was probably meant as LaTeX or a path"
    return finding("P012", where, message, span, {"text": written_as}, "Double every backslash inside a string.")


def _ambiguous(values: list[Any], span: tuple[int, int]) -> Finding:
    readings = [_short(value) for value in values[-2:]]
    message = f"{len(values)} different values fit: {readings[0]} and {readings[1]}"
    return finding("P008", "$", message, span, {"readings": readings, "count": len(values)}, "Give exactly one value.")


class _Fixes:
    """The fixes of a choice, made only if they are accessed."""

    __slots__ = ("_aims", "_before", "_choice", "_text")

    def __init__(self, text: str, before: list[Record], choice: Choice, aims: Aims) -> None:
        self._text = text
        self._before = before
        self._choice = choice
        self._aims = aims

    def __call__(self) -> Fixes:
        return self.of(FIXES.keys())

    def of(self, codes: AbstractSet[str]) -> Fixes:
        """The fixes with these codes, in text order."""
        reading = self._choice.reading
        records = [record for record in self._before + self._choice.records() if record[0] in codes]
        notes = [note for note in reading.fit.notes if note.code in codes]
        read = to_fixes(self._text, records, reading.base)
        return _ordered((*read, *_coercions(self._text, reading, self._aims, notes))) if notes else read


def _coerced(text: str, reading: JudgedCandidate, aims: Aims) -> Fixes:
    """The fixes of a value that was coerced after it was read unchanged from the text."""
    return _ordered(tuple(_coercions(text, reading, aims, reading.fit.notes)))


def _ordered(fixes: Fixes) -> Fixes:
    return tuple(sorted(fixes, key=lambda f: f.span or (0, 0))) if len(fixes) > 1 else fixes


def _coercions(text: str, reading: JudgedCandidate, aims: Aims, notes: list[CoercionNote]) -> Iterator[Fix]:
    """Coercions as fixes; the span is the span of the member in the text."""
    spans = Spans(text, reading, aims)
    keys = {note.path: note.before for note in reading.fit.notes if note.is_key or note.code == "C010"}
    for note in notes:
        span = spans.of(_as_named(note.path, keys), "C010" if note.is_key else note.code)
        as_written = note.code == "C008" and isinstance(note.before, str)
        before = note.before if as_written else _short(note.before)
        yield fix(note.code, render(note.path), span, before, _short(note.after))


def _as_named(path: Parts, keys: dict[Parts, str]) -> Parts:
    """A path with the keys as they are in the text."""
    return tuple(keys.get(path[: size + 1], part) for size, part in enumerate(path)) if keys else path


def _short(value: Any) -> str:
    text = written(value).decode()
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
