"""The replies to time: one document of 20 fields and about 1 KB with its schema, twelve broken versions of it, and a
longer document for streaming. All broken versions mean the same value. The module defines all of them itself.
"""

import json
import re
from typing import Any

Json = Any

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(properties: dict[str, Json]) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": list(properties)}


SCHEMA: dict[str, Json] = _object(
    {
        "order_id": _TEXT,
        "status": {"type": "string", "enum": ["draft", "placed", "shipped", "returned"]},
        "customer": _object({"name": _TEXT, "email": _TEXT, "loyal": _FLAG}),
        "items": {"type": "array", "items": _object({"sku": _TEXT, "title": _TEXT, "count": _WHOLE, "price": _NUMBER})},
        "currency": _TEXT,
        "subtotal": _NUMBER,
        "shipping": _NUMBER,
        "total": _NUMBER,
        "coupon": {"type": ["string", "null"]},
        "gift": _FLAG,
        "paid": _FLAG,
        "placed_on": _TEXT,
        "weight_grams": _WHOLE,
        "address": _object({"street": _TEXT, "city": _TEXT, "country": _TEXT}),
        "tags": _TEXTS,
        "note": _TEXT,
        "summary": _TEXT,
        "risk": _NUMBER,
        "attempts": _WHOLE,
        "agent": _TEXT,
    }
)

DOCUMENT: dict[str, Json] = {
    "order_id": "SO-2291-B",
    "status": "placed",
    "customer": {"name": "Ingrid Solberg", "email": "ingrid.s@example.org", "loyal": True},
    "items": [
        {"sku": "TX-100", "title": "Wool blanket, grey", "count": 2, "price": 49.5},
        {"sku": "LM-7", "title": "Desk lamp (brass)", "count": 1, "price": 129},
        {"sku": "MG-31", "title": "Mug, set of four", "count": 1, "price": 36.25},
    ],
    "currency": "EUR",
    "subtotal": 264.25,
    "shipping": 9.9,
    "total": 274.15,
    "coupon": None,
    "gift": False,
    "paid": True,
    "placed_on": "2025-03-14",
    "weight_grams": 4120,
    "address": {"street": "Storgata 14", "city": "Lillehammer", "country": "NO"},
    "tags": ["home", "fragile", "repeat customer"],
    "note": "Please leave the parcel with the neighbour at number 16.\nRing twice.",
    "summary": "Third order this year; the lamp was called the best buy of the spring by the customer.",
    "risk": 0.07,
    "attempts": 1,
    "agent": "desk-3",
}

PRETTY = json.dumps(DOCUMENT, indent=1, ensure_ascii=False)
COMPACT = json.dumps(DOCUMENT, ensure_ascii=False)

_BARE_KEY = re.compile(r'^(\s*)"(\w+)":', re.MULTILINE)


def _comments(text: str) -> str:
    text = text.replace('"total": 274.15,', '"total": 274.15, // items plus shipping')
    return text.replace('"risk": 0.07,', '/* "low", I think */ "risk": 0.07,')


def _inner_quotes(text: str) -> str:
    return text.replace("the best buy of the spring", '"the best buy" of the spring')


def _document_with_quotes() -> dict[str, Json]:
    return {**DOCUMENT, "summary": _inner_quotes(DOCUMENT["summary"])}


def _several() -> str:
    text = _BARE_KEY.sub(r"\1\2:", _comments(PRETTY)).replace("true", "True").replace("null", "None")
    return "Here is the order as JSON:\n\n```json\n" + text[:-2] + ",\n}\n```\n\nShout if a field looks off!"


_REASONING = (
    '<think>\nThe user wants an order. Maybe {"order_id": "SO-1", "status": "draft"}? No, it was placed.\n</think>\n'
)

BROKEN: dict[str, tuple[str, Json]] = {
    "code fence": (f"```json\n{PRETTY}\n```", DOCUMENT),
    "prose around it": (f"Sure! I filled the {{order}} template:\n\n{PRETTY}\n\nAnything else [y/n]?", DOCUMENT),
    "draft in reasoning": (_REASONING + PRETTY, DOCUMENT),
    "trailing commas": (PRETTY.replace("\n ]", ",\n ]").replace("\n}", ",\n}"), DOCUMENT),
    "Python repr": (repr(DOCUMENT), DOCUMENT),
    "unquoted keys": (_BARE_KEY.sub(r"\1\2:", PRETTY), DOCUMENT),
    "missing comma": (PRETTY.replace('"EUR",', '"EUR"'), DOCUMENT),
    "comments": (_comments(PRETTY), DOCUMENT),
    "raw line break": (PRETTY.replace("\\n", "\n"), DOCUMENT),
    "quotes in a string": (_inner_quotes(PRETTY), _document_with_quotes()),
    "missing bracket": (PRETTY[:-2], DOCUMENT),
    "several at once": (_several(), DOCUMENT),
}


def stream_document(size: int = 16_000) -> str:
    """Valid JSON of about `size` characters: a list of orders under one key."""
    one = len(COMPACT) + 2
    return json.dumps({"orders": [{**DOCUMENT, "attempts": i} for i in range(max(1, size // one))]})


STREAM_SCHEMA = _object({"orders": {"type": "array", "items": SCHEMA}})
