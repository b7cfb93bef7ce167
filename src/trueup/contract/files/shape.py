"""The shape of a contract file: every key it may have, what each takes, and a sentence for editors.

This is the one description: lint and loading judge files by it, and the JSON Schema that ships for editors
(`contract.schema.json`) is written from it.
"""

from functools import cache
from typing import Any

from trueup.conform.schema import Schema, compile_schema
from trueup.contract.files import parts
from trueup.shelf.table import SHELF

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
TEXTS: Shape = {"type": "array", "items": TEXT}

EXAMPLE: Shape = {
    "type": "object",
    "description": "One reply and what must come of it; `trueup lint --run` runs it.",
    "properties": {
        "name": {"type": "string", "description": "What the example shows."},
        "reply": {"description": "The reply: its text, or a provider's message as an object or a list."},
        "state": {"type": "string", "description": "Short for `context: {state: …}`."},
        "context": {"type": "object", "description": "What the conversation knows beside the reply."},
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


def _keys() -> dict[str, Shape]:
    """The keys of a contract file; parts that other rooms read are described by what reads them."""
    return {
        "name": {"type": "string", "description": "The contract's name in logs and reports."},
        "version": {"type": ["string", "number"], "description": "Your own version of it."},
        "language": {"type": "string", "description": "The language of its texts, such as en or es."},
        "description": {"type": "string", "description": "What it is for, in a sentence."},
        "extends": {
            "anyOf": [TEXT, TEXTS],
            "description": "Contract files that this one starts from, relative to this file; later ones win.",
        },
        "schema": {
            "anyOf": [TEXT, {"type": "object"}, {"type": "boolean"}],
            "description": "The JSON Schema of the reply's value: inline, or the path of a file, or true for any value.",
        },
        "tools": {
            "anyOf": [TEXT, {"type": "array"}, {"type": "object"}],
            "description": "The tools that are offered, in any provider's shape: inline, or the path of a file.",
        },
        "order": {
            "anyOf": [TEXTS, {"$ref": "#/$defs/Order"}],
            "description": "The order of calls: a sequence of names, or rules about it.",
        },
        "calls": {"$ref": "#/$defs/CallOptions", "description": "How calls are judged."},
        "rules": parts.RULES,
        "input": {
            "anyOf": [{"type": "array", "items": TEXT}, {"type": "boolean"}],
            "description": "Fields that come with a unit's input, beside the value: rules may use them. True: any field.",
        },
        "reply": parts.REPLY,
        "states": parts.STATES,
        "fallbacks": {
            "type": "object",
            "additionalProperties": TEXT,
            "description": "For each state, the text to send when no reply passes; `default` for all others.",
        },
        "checks": {"type": "array", "items": CHECK, "description": "Checks, by name: ready ones and custom ones."},
        "quality": parts.QUALITY,
        "relevance": parts.RELEVANCE,
        "grounded": parts.GROUNDED,
        "accept": {
            "enum": ["none", "lossless", "guess", "lossy"],
            "description": "The boldest fix a reply may need and still be ok.",
            "default": "guess",
        },
        "coerce": {
            "anyOf": [{"enum": ["off", "standard", "eager"]}, {"$ref": "#/$defs/Options"}],
            "description": "How far values are brought to the schema's types.",
            "default": "standard",
        },
        "strict": {"type": "boolean", "description": "Whether a warning refuses a reply.", "default": False},
        "max_size": {
            "type": "integer",
            "minimum": 1,
            "description": "The longest reply, in characters.",
            "default": 10_000_000,
        },
        "max_depth": {
            "type": "integer",
            "minimum": 1,
            "maximum": 500,
            "description": "The deepest nesting of a reply that is read.",
            "default": 500,
        },
        "examples": {
            "type": "array",
            "items": EXAMPLE,
            "description": "Example replies, and the expected result of each.",
        },
    }


def _parts() -> dict[str, Shape]:
    """The shapes of parts that are read into structs, made from those structs."""
    from inspect import cleandoc

    import msgspec

    from trueup.checks.order import Order
    from trueup.conform.options import Options
    from trueup.contract.calls import CallOptions

    _, found = msgspec.json.schema_components([Order, CallOptions, Options])
    found["Options"]["additionalProperties"] = False  # the struct forgives, a file does not
    for part in found.values():
        part["description"], _, listed = cleandoc(part["description"]).partition("\n\n- ")
        for item in listed.split("\n- ") if listed else ():
            name, _, sentence = item.partition("`: ")
            flat = " ".join(sentence.split())
            part["properties"][name.lstrip("`")]["description"] = flat[:1].upper() + flat[1:]
    return found


@cache
def file_schema() -> Shape:
    """The JSON Schema of a contract file, for editors and for ourselves.

    >>> list(file_schema()["properties"])[:3]
    ['$schema', 'name', 'version']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trueup contract",
        "description": "What a valid reply of a language model is.",
        "type": "object",
        "properties": {"$schema": {"type": "string", "description": "This schema, for editors."}, **_keys()},
        "additionalProperties": False,
        "$defs": _parts(),
    }


@cache
def compiled() -> Schema:
    """The same schema, ready to judge."""
    return compile_schema(file_schema())
