"""Slips in the words of a JSON Schema: a schema enters, each key that is no keyword but looks like one leaves.

JSON Schema lets every unknown key pass, so `requried: [name]` asks for nothing and nobody hears of it. Keys that look
like no keyword are left alone: they are notes of somebody's own. Nothing is judged here but the spelling.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueup.verdict.paths import Parts

if TYPE_CHECKING:
    from trueup.contract.files.extends import Origins
    from trueup.contract.files.faults import Fault

ONE = frozenset({
    "items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames",
    "not", "if", "then", "else", "contentSchema",
})  # fmt: skip
LISTS = frozenset({"prefixItems", "anyOf", "oneOf", "allOf", "items"})
NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_PLAIN = frozenset({
    "$schema", "$id", "id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary",
    "$comment", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties",
    "required", "dependentRequired", "dependencies", "title", "description", "default", "deprecated", "readOnly", "writeOnly",
    "examples", "format", "contentMediaType", "contentEncoding",
    # OpenAPI's, and what SDKs add for their providers
    "nullable", "discriminator", "example", "xml", "externalDocs", "propertyOrdering", "enumNames", "enumDescriptions",
})  # fmt: skip
KEYWORDS = ONE | LISTS | NAMED | _PLAIN
_OURS, _NEAR_OURS = "x-grounded", 2  # the keyword that is trueup's own, and how far a slip may be from it
# Never offered: a word of somebody's own is one letter away from them too easily (`note`, `cost`, `names`).
_NEVER = frozenset({"not", "if", "then", "else", "const", "id", "xml", "example", "definitions"})
_OFFERED = tuple(sorted(word for word in KEYWORDS - _NEVER if word[0] != "$"))


def strange_words(schema: Any) -> Iterator[tuple[Parts, str]]:
    """The path of each key that is no keyword but nearly one, with that one; for a schema without any keyword, with ''.

    >>> list(strange_words({"type": "object", "requried": ["a"], "properties": {"note": {"tpye": "string"}}}))
    [(('properties', 'note', 'tpye'), 'type'), (('requried',), 'required')]
    """
    if (
        isinstance(schema, dict)
        and schema
        and not any(word in KEYWORDS or str(word).startswith("$") for word in schema)
    ):
        yield (), ""
    found = [
        ((*path, word), near)
        for path, here in placed_schemas(schema)
        for word in here
        if word not in KEYWORDS and (near := _near(str(word))) and near not in here
    ]
    yield from sorted(found, key=lambda each: [str(part) for part in each[0]])


def placed_schemas(schema: Any) -> Iterator[tuple[Parts, dict[str, Any]]]:
    """Every schema in a schema with its path, itself first."""
    open_: list[tuple[Parts, Any]] = [((), schema)]
    while open_:
        path, here = open_.pop()
        if not isinstance(here, dict):
            continue
        yield path, here
        for word, value in here.items():
            if word in NAMED and isinstance(value, dict):
                open_ += [((*path, word, name), inner) for name, inner in value.items()]
            elif word in LISTS and isinstance(value, list):
                open_ += [((*path, word, index), inner) for index, inner in enumerate(value)]
            elif word in ONE:
                open_.append(((*path, word), value))


def lint_words(schema: Any, marks: "Origins") -> "Iterator[Fault]":
    """The slips in the schema of a contract file, each at its key."""
    from trueup.contract.files.faults import fault  # what reads files is loaded where files are read

    for path, near in strange_words(schema):
        whole: Parts = ("schema", *path)
        message = f"{path[-1]!r} is no keyword of JSON Schema, so it asks for nothing" if path else _NONE
        yield fault("N023", marks.key(whole), whole, message, f"Did you mean {near!r}?" if near else "")


_NONE = "none of its keys is a keyword of JSON Schema, so any value fits"


def _near(word: str) -> str:
    """The keyword that was meant, or '' where it may well be a word of somebody's own."""
    if word.startswith("$") or len(word) < 3 or word == _OURS:
        return ""
    from rapidfuzz.distance import OSA  # loaded where there is a strange word

    if word.startswith(("x-", "x_")):
        return _OURS if OSA.distance(word.replace("_", "-"), _OURS) <= _NEAR_OURS else ""

    most = 1 if len(word) <= 5 else 2
    best, name = most + 1.0, ""
    for known in _OFFERED:
        if abs(len(known) - len(word)) <= most:
            away = (
                0.5
                if known.lower() == word.lower().replace("_", "").replace("-", "")
                else OSA.distance(word, known, score_cutoff=most)
            )
            if away < best:
                best, name = away, known
    return name
