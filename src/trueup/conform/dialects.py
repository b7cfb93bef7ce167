"""The table of what the strict mode of each provider supports of JSON Schema, from its documentation.

A limit that a provider does not support is left out of the schema that is sent, and trueup checks it in the reply. No provider
supports a keyword that is not in this table (`not`, `if`, `contains`, `default` …).
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_LENGTHS = frozenset({"minLength", "maxLength"})
_ITEMS = frozenset({"minItems", "maxItems"})
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


Provider = Literal["anthropic", "azure", "gemini", "groq", "mistral", "ollama", "openai", "xai"]


class SchemaDialect(NamedTuple):
    """The part of JSON Schema that one provider enforces."""

    limits: frozenset[str] = frozenset()  # the keywords for limits that are kept
    formats: frozenset[str] = frozenset()  # the formats that are kept
    root_object: bool = True  # the reply must be an object, and not a union
    type_lists: bool = True  # `"type": ["string", "null"]`; otherwise a union
    const: bool = True  # otherwise a constant is an enum of one
    tuples: bool = False  # lists with a type for each position
    maps: bool = False  # objects with any keys, all of one type
    recursion: Literal["yes", "optional", "no"] = "yes"  # "optional": only in optional fields
    notes_on_refs: bool = True  # a description next to a reference, as a union of one
    integer_bounds_only: bool = False  # minimum and maximum only for integers
    whole_patterns_only: bool = False  # only patterns from ^ to $
    short_lists_only: bool = False  # only minItems of 0 and 1
    most_depth: int | None = None  # nested objects
    most_properties: int | None = None
    most_values: int | None = None  # in all enums
    most_letters: int | None = None  # in all names and values
    most_unions: int | None = None
    most_optional: int | None = None  # optional fields


DIALECTS: Mapping[Provider, SchemaDialect] = {
    "anthropic": SchemaDialect(
        frozenset({"minItems"}), _FORMATS | {"uri"}, root_object=False, type_lists=False, recursion="no",
        notes_on_refs=False, short_lists_only=True, most_unions=16, most_optional=24,
    ),
    "azure": SchemaDialect(most_depth=5, most_properties=100, most_values=500, most_letters=15_000),
    "gemini": SchemaDialect(
        _ITEMS | {"minimum", "maximum"}, frozenset({"date-time", "date", "time"}), root_object=False, const=False,
        tuples=True, maps=True, recursion="optional",
    ),
    "groq": SchemaDialect(),
    "mistral": SchemaDialect(_NUMBERS | _LENGTHS | _ITEMS | {"pattern"}, _FORMATS | {"uri"}, root_object=False),
    "ollama": SchemaDialect(
        _LENGTHS | _ITEMS | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern"},
        frozenset({"date", "time", "date-time", "uuid"}), root_object=False, maps=True, integer_bounds_only=True,
        whole_patterns_only=True,
    ),
    "openai": SchemaDialect(
        _NUMBERS | _ITEMS | {"pattern"}, _FORMATS, most_depth=10, most_properties=5000, most_values=1000,
        most_letters=120_000,
    ),
    "xai": SchemaDialect(
        frozenset(), frozenset({"date", "time", "date-time", "email", "uuid", "ipv4"}), root_object=False, recursion="no",
    ),
}  # fmt: skip
