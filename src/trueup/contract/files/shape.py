"""The shape of a contract file: every key it may have, the values of each, and a sentence for editors.

Lint and loading check files against it, and the JSON Schema that is shipped for editors (`contract.schema.json`) is
written from it. The keys and their sentences are declared in `contract/options.py`; this module defines the values that
a file may give for each.
"""

from functools import cache
from typing import Any

from trueup.conform.schema import Schema, compile_schema
from trueup.contract.files import parts
from trueup.contract.options import FILE_KEYS, OPTIONS, Option
from trueup.shelf.table import SHELF

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
TEXTS: Shape = {"type": "array", "items": TEXT}

EXAMPLE: Shape = {
    "type": "object",
    "description": "One reply and its expected result; `trueup lint --run` judges it.",
    "properties": {
        "name": {"type": "string", "description": "A name that says what the example shows."},
        "reply": {"description": "The reply: its text, or a provider's message as an object or a list."},
        "state": {"type": "string", "description": "Short for `context: {state: …}`."},
        "context": {"type": "object", "description": "The context in which the reply is judged."},
        "ok": {"type": "boolean", "description": "Whether the reply must pass."},
        "gives": {
            "type": "array",
            "items": {"type": "string", "pattern": r"^[A-Z]{1,3}\d{3}( \$.*)?$"},
            "description": "The findings it must give, no more and no fewer: a code, or a code and a path.",
        },
        "data": {"description": "The value that must be read from it."},
    },
    "required": ["reply"],
    "additionalProperties": False,
}

CHECK: Shape = {
    "anyOf": [
        {"type": "string", "description": "The name of a ready check or of a custom one."},
        {
            "type": "object",
            "description": "The name of a check, with its options.",
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {
                name: {
                    "type": [*(["string", "array"] if row.main else ["boolean"]), "object", "null"],
                    "description": row.about,
                }
                for name, row in SHELF.items()
            },
            "additionalProperties": {"type": ["object", "null"]},
        },
    ]
}


# The values of each key. The keys themselves, their sentences, defaults and limits are declared with the options.
TAKES: dict[str, Shape] = {
    "$schema": TEXT,
    "name": TEXT,
    "version": {"type": ["string", "number"]},
    "language": TEXT,
    "description": TEXT,
    "extends": {"anyOf": [TEXT, TEXTS]},
    "schema": {"anyOf": [TEXT, {"type": "object"}, {"type": "boolean"}]},
    "tools": {"anyOf": [TEXT, {"type": "array"}, {"type": "object"}]},
    "order": {"anyOf": [TEXTS, {"$ref": "#/$defs/Order"}]},
    "calls": {"$ref": "#/$defs/CallOptions"},
    "rules": parts.RULES,
    "input": {"anyOf": [TEXTS, {"type": "boolean"}]},
    "reply": parts.REPLY,
    "states": parts.STATES,
    "fallbacks": {"type": "object", "additionalProperties": TEXT},
    "checks": {"type": "array", "items": CHECK},
    "quality": parts.QUALITY,
    "relevance": parts.RELEVANCE,
    "grounded": parts.GROUNDED,
    "accept": {"enum": [*OPTIONS["accept"].choices]},
    "coerce": {"anyOf": [{"enum": [*OPTIONS["coerce"].choices]}, {"$ref": "#/$defs/Options"}]},
    "strict": {"type": "boolean"},
    "max_size": {"type": "integer"},
    "max_depth": {"type": "integer"},
    "examples": {"type": "array", "items": EXAMPLE},
}


def _key(name: str, option: Option) -> Shape:
    """The shape of a key's values, with everything in its declaration."""
    default = None if option.default == "" else option.default
    limits = {"minimum": option.least, "maximum": option.most, "default": default}
    given = {word: limit for word, limit in limits.items() if limit is not None}
    return {**TAKES[name], "description": option.file_sentence, **given}


def _parts() -> dict[str, Shape]:
    """The shapes of parts that are read into structs, made from those structs."""
    from inspect import cleandoc

    import msgspec

    from trueup.checks.order import Order
    from trueup.conform.options import Options
    from trueup.contract.calls import CallOptions

    _, found = msgspec.json.schema_components([Order, CallOptions, Options])
    found["Options"]["additionalProperties"] = False  # the struct ignores unknown keys, a file does not
    for part in found.values():
        part["description"], _, listed = cleandoc(part["description"]).partition("\n\n- ")
        for item in listed.split("\n- ") if listed else ():
            name, _, sentence = item.partition("`: ")
            flat = " ".join(sentence.split())
            part["properties"][name.lstrip("`")]["description"] = flat[:1].upper() + flat[1:]
    return found


@cache
def file_schema() -> Shape:
    """The JSON Schema of a contract file, for editors and for this package.

    >>> list(file_schema()["properties"])[:3]
    ['$schema', 'name', 'version']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trueup contract",
        "description": "A definition of a valid reply from a language model.",
        "type": "object",
        "properties": {name: _key(name, FILE_KEYS[name]) for name in TAKES},
        "additionalProperties": False,
        "$defs": _parts(),
    }


@cache
def compiled() -> Schema:
    """The same schema, compiled."""
    return compile_schema(file_schema())
