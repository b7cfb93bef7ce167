"""The settings of `grounded`: takes the contract's option; returns compiled settings; raises `BadGrounding` for errors.

`True` grounds every value. A mapping sets `fields`, fields to skip, quotations, evidence patterns, the level, and the
source. In a schema, `x-grounded` sets the same for one place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import re2

from trueup.conform.schema import Schema
from trueup.conform.survey import places_along, subschemas
from trueup.grounding.documents import IndexedText
from trueup.grounding.phrases import Phrase, look_up
from trueup.grounding.sources import ROLES
from trueup.verdict.catalogue import Level
from trueup.verdict.evidence import Evident
from trueup.verdict.facts import Span
from trueup.verdict.likeness import nearest
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

KEYWORD = "x-grounded"
KEYS = ("fields", "except", "quotations", "patterns", "level", "least", "source", "roles", "kinds", "calls")
_LEAST = ("exact", "normalized", "fuzzy")
_SCHEMA_KEYS = ("quotation", "patterns", "level")
_LEVELS = get_args(Level)
_STEP = lazy_regex(r"""\.?([^\W\d][\w-]*|\*)|\[(\*|\d*)\]|\[("(?:[^"\\]|\\.)*")\]""")
_MOST_PROMPT = 20_000  # the most characters of a schema's examples


class BadGrounding(ValueError):
    """The `grounded:` of a contract is invalid; the message begins with the place."""


FieldPattern = tuple[str, ...]


class ValuePattern(NamedTuple):
    """One pattern that shows a value: a phrase, or an expression between slashes."""

    phrase: Phrase | None
    expression: Any

    def spans(self, document: IndexedText) -> list[Span]:
        """The matches in a document."""
        if self.phrase is not None:
            match = look_up(self.phrase, document, only_strict=True)
            return [] if match is None else match.spans
        return [found.span() for found in self.expression.finditer(document.text)][:64]


Patterns = Mapping[str, tuple[ValuePattern, ...]]  # keys are values in JSON notation, without quotes


class LookupRule(NamedTuple):
    """How to look up the values of one field."""

    wanted: bool
    quotation: bool = False
    is_enum: bool = False
    level: Level = "error"
    patterns: Patterns | None = None


class GroundingSettings(NamedTuple):
    """The compiled `grounded:` of a contract."""

    fields: tuple[FieldPattern, ...] | None = None
    skipped: tuple[FieldPattern, ...] = ()
    quotations: tuple[FieldPattern, ...] = ()
    patterns: tuple[tuple[FieldPattern, Patterns], ...] = ()
    level: Level = "error"
    least: Evident = "fuzzy"
    source: str = ""  # a field of the unit; if empty: `source`, or else all fields
    roles: tuple[str, ...] = ROLES
    kinds: tuple[tuple[str, Any], ...] = ()
    calls: bool = False


def compile_settings(spec: Any) -> GroundingSettings:
    """The settings from a contract's `grounded:`.

    >>> compile_settings({"fields": ["name", "lines[].price"]}).fields
    (('name',), ('lines', '[]', 'price'))
    >>> compile_settings({"field": ["name"]})
    Traceback (most recent call last):
    trueup.grounding.settings.BadGrounding: grounded.field: there is no such option; did you mean 'fields'?
    """
    if isinstance(spec, GroundingSettings):
        return spec
    if spec is True:
        return GroundingSettings()
    if isinstance(spec, list | tuple):
        spec = {"fields": spec}
    if not isinstance(spec, Mapping):
        raise BadGrounding(
            f"grounded: takes true, a list of fields, or a mapping of {', '.join(KEYS)}; not {spec!r}"[:300]
        )
    _refuse_unknown(spec, KEYS, "grounded")
    fields = spec.get("fields")
    return GroundingSettings(
        None if fields is None else _field_list(fields, "grounded.fields"),
        _field_list(spec.get("except") or (), "grounded.except"),
        _field_list(spec.get("quotations") or (), "grounded.quotations"),
        tuple(_read_patterns(spec.get("patterns") or {}, "grounded.patterns")),
        _one_of(spec.get("level", "error"), _LEVELS, "grounded.level"),
        _one_of(spec.get("least", "fuzzy"), _LEAST, "grounded.least"),
        _text(spec["source"], "grounded.source") if "source" in spec else "",
        tuple(_one_of(role, ROLES, "grounded.roles") for role in _texts(spec.get("roles", ROLES), "grounded.roles")),
        tuple((str(name), _expression(source, f"grounded.kinds.{name}")) for name, source in _mapping(spec.get("kinds") or {}, "grounded.kinds").items()),
        _switch(spec.get("calls", False), "grounded.calls"),
    )  # fmt: skip


def _refuse_unknown(spec: Mapping[Any, Any], keys: Sequence[str], place: str) -> None:
    for key in spec:
        if key not in keys:
            near = nearest(str(key), keys)
            hint = f"did you mean {near!r}?" if near else f"it takes {', '.join(keys)}"
            raise BadGrounding(f"{place}.{key}: there is no such option; {hint}")


def _switch(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise BadGrounding(f"{place}: takes true or false, not {value!r}"[:300])
    return value


def _one_of(value: Any, allowed: Sequence[str], place: str) -> Any:
    if value not in allowed:
        raise BadGrounding(f"{place}: takes {', '.join(allowed)}; not {value!r}"[:300])
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadGrounding(f"{place}: takes text, not {value!r}"[:300])
    return value


def _texts(value: Any, place: str) -> list[str]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        raise BadGrounding(f"{place}: takes a list of texts, not {value!r}"[:300])
    return [_text(one, place) for one in given]


def _mapping(value: Any, place: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise BadGrounding(f"{place}: takes a mapping, not {value!r}"[:300])
    return value


def _field_list(value: Any, place: str) -> tuple[FieldPattern, ...]:
    return tuple(read_field(one, place) for one in _texts(value, place))


def read_field(source: str, place: str = "fields") -> FieldPattern:
    """The steps of a path such as `lines[].price`. `[]` matches every item, `*` every key.

    >>> read_field("$.lines[].price"), read_field("*.name")
    (('lines', '[]', 'price'), ('*', 'name'))
    """
    text = source.strip()
    at = 1 if text[:1] == "$" else 0
    steps: list[str] = []
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise BadGrounding(f"{place}: {source!r} is not a field; write it like lines[].price (character {at + 1})")
        word, _, quoted = found.groups()
        steps.append(word or (quoted[1:-1] if quoted else "[]"))
        at = found.end()
    return tuple(steps)


def covers(pattern: FieldPattern, parts: Parts) -> bool:
    """Whether a pattern matches a path or one of its ancestors.

    >>> covers(("lines", "[]"), ("lines", 3, "price")), covers(("lines", "[]", "price"), ("lines", 3, "name"))
    (True, False)
    """
    if len(pattern) > len(parts):
        return False
    return all(
        step == "*" or (step == "[]" if isinstance(part, int) else step == part)
        for step, part in zip(pattern, parts, strict=False)
    )


def _read_patterns(source: Any, place: str) -> Iterator[tuple[FieldPattern, Patterns]]:
    for field, values in _mapping(source, place).items():
        here = f"{place}.{field}"
        yield read_field(str(field), here), read_values(values, here)


def read_values(values: Any, place: str) -> Patterns:
    """The patterns of each value of a field."""
    return {
        as_written(value): tuple(_shown(one, f"{place}.{as_written(value)}") for one in _texts(shown, f"{place}.{as_written(value)}"))
        for value, shown in _mapping(values, place).items()
    }  # fmt: skip


def as_written(value: Any) -> str:
    """A value in JSON notation, text without quotes.

    >>> as_written(True), as_written("high"), as_written(None)
    ('true', 'high', 'null')
    """
    return (
        {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else str(value)
    )


def _shown(source: str, place: str) -> ValuePattern:
    if len(source) > 2 and source[0] == source[-1] == "/":
        return ValuePattern(None, _expression(source[1:-1], place))
    return ValuePattern(Phrase(source), None)


def _expression(source: Any, place: str) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    try:
        return re2.compile(_text(source, place), options)
    except re2.error as error:
        said = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise BadGrounding(f"{place}: not a valid expression: {said}") from None


class LookupRules:
    """How to look up each field of a schema. The schema's own settings are read once per field."""

    def __init__(self, settings: GroundingSettings, schema: Schema | None, *, named: bool) -> None:
        self._settings = settings
        self._schema = schema
        self._named = named  # look up only the fields that the schema marks with `x-grounded`
        self._known: dict[FieldPattern, LookupRule] = {}
        source = None if schema is None else schema.source
        named_places = (here.get("prefixItems") for here in subschemas(source)) if isinstance(source, dict) else ()
        self._places = max((len(items) for items in named_places if isinstance(items, list)), default=0)

    def of(self, parts: Parts) -> LookupRule:
        """The rule of the value at a path."""
        key = tuple("[]" if isinstance(part, int) and part >= self._places else str(part) for part in parts)
        rule = self._known.get(key)
        if rule is None:
            rule = self._make(parts)
            if len(self._known) < 10_000:  # a model can invent keys
                self._known[key] = rule
        return rule

    def _make(self, parts: Parts) -> LookupRule:
        settings = self._settings
        said = list(self._said(parts))
        wanted = not self._named if settings.fields is None else any(covers(field, parts) for field in settings.fields)
        quotation = any(covers(field, parts) for field in settings.quotations)
        level = settings.level
        patterns = next((values for field, values in settings.patterns if covers(field, parts)), None)
        for spec in said:
            wanted = spec is not False
            if spec == "quotation" or (isinstance(spec, Mapping) and spec.get("quotation")):
                quotation = True
            if isinstance(spec, Mapping):
                level = spec.get("level", level)
                patterns = read_values(spec["patterns"], KEYWORD) if spec.get("patterns") else patterns
        wanted = wanted and not any(covers(field, parts) for field in settings.skipped)
        return LookupRule(wanted or quotation or patterns is not None, quotation, self._is_enum(parts), level, patterns)

    def _said(self, parts: Parts) -> Iterator[Any]:
        """The `x-grounded` settings along a path, from the outside in."""
        if self._schema is None:
            return
        for size in range(len(parts) + 1):
            for place in places_along(self._schema.place, parts[:size], conditions=True):
                if KEYWORD in place.rules:
                    yield place.rules[KEYWORD]

    def _is_enum(self, parts: Parts) -> bool:
        if self._schema is None:
            return False
        return any("enum" in place.rules or "const" in place.rules for place in places_along(self._schema.place, parts))


def named_in(schema: Schema | None) -> bool:
    """Whether a schema uses `x-grounded`. Its settings are validated."""
    if schema is None or not isinstance(schema.source, dict):
        return False
    found = [here[KEYWORD] for here in subschemas(schema.source) if KEYWORD in here]
    for spec in found:
        check_named(spec)
    return any(spec is not False for spec in found)


def check_named(spec: Any) -> None:
    """Raise `BadGrounding` for an invalid `x-grounded`."""
    if isinstance(spec, Mapping):
        _refuse_unknown(spec, _SCHEMA_KEYS, KEYWORD)
        _one_of(spec.get("level", "error"), _LEVELS, f"{KEYWORD}.level")
        read_values(spec.get("patterns") or {}, f"{KEYWORD}.patterns")
        _switch(spec.get("quotation", False), f"{KEYWORD}.quotation")
    elif not isinstance(spec, bool) and spec != "quotation":
        raise BadGrounding(
            f"{KEYWORD}: takes true, false, 'quotation' or a mapping of {', '.join(_SCHEMA_KEYS)}; not {spec!r}"[:300]
        )


def examples_in(schema: Schema | None) -> str:
    """The text that a schema shows to a model: its examples, defaults and descriptions."""
    if schema is None or not isinstance(schema.source, dict):
        return ""
    told: list[str] = []
    for here in subschemas(schema.source):
        shown = here.get("examples")
        told += [
            str(one)
            for one in (
                *(shown if isinstance(shown, list) else ()),
                here.get("example"),
                here.get("default"),
                here.get("description"),
            )
            if one is not None
        ]
    return "\n".join(told)[:_MOST_PROMPT]
