"""Misspelled keywords in a JSON Schema: takes a schema and returns each unknown key that looks like a keyword.

JSON Schema ignores unknown keys, so `requried: [name]` silently requires nothing. Keys that do not look like a keyword
are treated as the author's notes. Only the spelling is judged here.
"""

from collections.abc import Container, Iterable, Iterator
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
    # OpenAPI's, and additions of SDKs for their providers
    "nullable", "discriminator", "example", "xml", "externalDocs", "propertyOrdering", "enumNames", "enumDescriptions",
})  # fmt: skip
KEYWORDS = ONE | LISTS | NAMED | _PLAIN
_OURS, _NEAR_OURS = "x-grounded", 2  # trueup's own keyword, and the largest distance of a misspelling
# Never suggested: they are too often one letter away from an author's own word (`note`, `cost`, `names`).
_NEVER = frozenset({"not", "if", "then", "else", "const", "id", "xml", "example", "definitions"})
_OFFERED = tuple(sorted(word for word in KEYWORDS - _NEVER if word[0] != "$"))


def strange_words(schema: Any) -> Iterator[tuple[Parts, str]]:
    """The path of each key that is not a keyword but nearly one, with that keyword; for a schema without any keyword,
    ''.

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
        if word not in KEYWORDS and (near := _keyword(str(word))) and near not in here
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


def lint_words(schema: Any, marks: "Origins", at: Parts = ("schema",), known: Container[Any] = ()) -> "Iterator[Fault]":
    """The misspelled keywords in a schema at a path of a contract file, each at its key. Words in `known` are correct there."""
    from trueup.contract.files.faults import fault  # the file readers are loaded only if a file is read

    for path, near in strange_words(schema):
        if path and path[-1] in known:
            continue
        whole: Parts = (*at, *path)
        message = f"{path[-1]!r} is not a JSON Schema keyword, so it has no effect" if path else _NONE
        yield fault("N023", marks.key(whole), whole, message, f"Did you mean {near!r}?" if near else "")


_NONE = "none of its keys is a JSON Schema keyword, so any value fits"


def _keyword(word: str) -> str:
    """The keyword that was meant, or '' if the key may be the author's own word."""
    if word == _OURS:
        return ""
    if word.startswith(("x-", "x_")):
        from rapidfuzz.distance import OSA  # loaded only if there is an unknown key

        return _OURS if OSA.distance(word.replace("_", "-"), _OURS) <= _NEAR_OURS else ""
    return near_word(word, _OFFERED)


def near_word(word: str, known: Iterable[str]) -> str:
    """The known word that was meant, with one or two letters wrong, or '' if the word may be the author's own.

    >>> near_word("paramters", ["description", "parameters"]), near_word("owner", ["description", "parameters"])
    ('parameters', '')
    """
    if word.startswith("$") or len(word) < 3:
        return ""
    from rapidfuzz.distance import OSA  # as above

    most = 1 if len(word) <= 5 else 2
    best, name = most + 1.0, ""
    for each in known:
        if abs(len(each) - len(word)) <= most:
            away = (
                0.5
                if each.lower() == word.lower().replace("_", "").replace("-", "")
                else OSA.distance(word, each, score_cutoff=most)
            )
            if away < best:
                best, name = away, each
    return name
