"""Converts struct classes to JSON Schemas with a sentence and a default for each key.

The sentences are the texts below the fields in the source. Lower limits are found by constructing the struct with low values.
"""

import re
from typing import Any

import msgspec

from trueup.studio.openapi import field_sentences

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
SWITCH: Shape = {"type": "boolean"}


def said(shape: Shape, description: str, **more: Any) -> Shape:
    """A shape with a sentence for editors; `more` are other keywords, such as its default."""
    return {**shape, "description": description, **more}


def mapping(title: str, description: str, properties: dict[str, Shape], **more: Any) -> Shape:
    """An object with these keys and no others."""
    return {
        "title": title, "description": description, "type": "object", "properties": properties,
        "additionalProperties": False, **more,
    }  # fmt: skip


def or_null(shape: Shape) -> Shape:
    """A shape, or nothing: a key without a value counts as missing.

    >>> or_null({"type": "string"}), or_null({"enum": [1]})
    ({'type': ['string', 'null']}, {'enum': [1, None]})
    """
    if "anyOf" in shape:
        return {**shape, "anyOf": [*shape["anyOf"], {"type": "null"}]}
    if "enum" in shape:
        return {**shape, "enum": [*shape["enum"], None]}
    types = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
    return {**shape, "type": [*types, "null"]}


def sentence(text: str) -> str:
    """The text below a field, in the words of a file.

    >>> sentence("The region of Bedrock; empty: none."), sentence("A key. None: they pass.")
    ('The region of Bedrock.', 'A key. If missing, they pass.')
    """
    flat = " ".join(text.split())
    flat = re.sub(r"[;.] (?:[Ee]mpty|None): (?:none|null)(?: by default)?\.", ".", flat)
    flat = re.sub(r"; (?:empty|None): (?!none, )", "; if missing, ", flat)
    flat = re.sub(r"\. (?:Empty|None): (?!none, )", ". If missing, ", flat)
    return flat.replace("None", "null")


def sentences(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The sentence of each field."""
    return {name: sentence(text) for name, text in field_sentences(kind).items()}


def struct(kind: type[msgspec.Struct], title: str, defaults: msgspec.Struct | None = None) -> Shape:
    """The shape of a struct, without references to other structs. `defaults` has the values of missing keys."""
    _, found = msgspec.json.schema_components([kind])
    shape = found[kind.__name__]
    about = sentences(kind)
    properties = {
        name: _field(kind, name, part, about[name], defaults) for name, part in shape["properties"].items()
    }  # fmt: skip
    lead = " ".join(shape["description"].partition("\n\n")[0].split())
    needed = {"required": shape["required"]} if shape["required"] else {}
    return mapping(title, lead, properties, **needed)


def _field(kind: type[msgspec.Struct], name: str, part: Shape, about: str, defaults: msgspec.Struct | None) -> Shape:
    default = part.pop("default", None) if defaults is None else getattr(defaults, name)
    part.pop("default", None)
    given = [*default] if isinstance(default, tuple) else default
    if "anyOf" in part and all(set(each) == {"type"} for each in part["anyOf"]):
        part = {"type": [each["type"] for each in part["anyOf"]]}
    if "null" in str(part.get("type", part.get("anyOf", ""))) and given is not None:
        about = re.sub(r"([;.] )if missing, ", r"\1null: ", about, flags=re.IGNORECASE)
    unless = {} if given in (None, "", [], {}) else {"default": given}
    return {**part, **_lowest(kind, name, part), "description": about, **unless}


def _lowest(kind: type[msgspec.Struct], name: str, part: Shape) -> Shape:
    """The lower limit of a number."""
    if not {"integer", "number"} & {
        *([part.get("type")] if isinstance(part.get("type"), str) else part.get("type", ()))
    }:
        return {}
    allowed = [value for value in (-1, 0, 1) if _is_allowed(kind, {name: value})]
    lowest: dict[int, Shape] = {-1: {}, 0: {"minimum": 0}, 1: {"minimum": 1}}
    above = {"exclusiveMinimum": 0}
    return above if allowed == [1] and "integer" not in str(part["type"]) else lowest[min(allowed)]


def _is_allowed(kind: type[msgspec.Struct], given: dict[str, Any]) -> bool:
    others = {field.encode_name: 1 for field in msgspec.structs.fields(kind) if field.required}
    try:
        kind(**{**others, **given})
    except ValueError as error:
        return str(error).startswith("money needs prices")
    return True
