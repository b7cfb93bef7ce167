"""Shared schemas for the tests of the forms, and the rules for every verdict on a form."""

import json
from typing import Any

from tests.recover.material import same, scalars_of
from trueup import Contract

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def field(kind: Any) -> dict[str, Any]:
    if isinstance(kind, list):
        return {"type": "array", "items": field(kind[0])}
    return kind if isinstance(kind, dict) else {"type": TYPES[kind]}


def record(required: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    properties = {key: field(kind) for key, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields) if required is None else required}


def listed(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


PERSON = record(name=str, age=int)
CLOSED = {**PERSON, "additionalProperties": False}
REVIEW = record(title=str, rating=float, pros=[str], summary=str)
ORDER = record(name=str, address=record(city=str, zip=str), items=listed(record(sku=str, qty=int)))
SPANISH = record(título=str, calificación=float, ventajas=[str], resumen=str)
GERMAN = record(Straße=str, Hausnummer=int, Größe=float)
CHINESE = record(姓名=str, 年龄=int, 标签=[str])
CODE = record(language=str, code=str, explanation=str)
PEOPLE = listed(PERSON)
WORDS = listed({"type": "string"})
ADA = {"name": "Ada", "age": 36}
BOB = {"name": "Bob", "age": 5}
GREAT = {"title": "Great", "rating": 4.5, "pros": ["fast", "cheap"], "summary": "Nice one."}
AN_ORDER = {
    "name": "Ada",
    "address": {"city": "London", "zip": "E1"},
    "items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}],
}

Row = tuple[str, Any, str, Any]


def ordered(value: Any) -> Any:
    """A value with the keys of its objects sorted."""
    return json.loads(json.dumps(value, sort_keys=True))


def checked(schema: Any, reply: str, **options: Any) -> Any:
    verdict = Contract(schema, **options).check(reply)
    json.dumps(verdict.to_dict())
    for fix in verdict.fixes:
        assert fix.span is not None
        assert 0 <= fix.span[0] <= fix.span[1] <= len(reply)
    return verdict


def words_are_kept(reply: str, verdict: Any) -> bool:
    """Whether every word of the reply is in the value or in the span of a fix."""
    kept = " ".join(scalars_of(verdict.data)).lower()
    spans = [fix.span for fix in verdict.fixes]
    at = 0
    for word in reply.split():
        at = reply.index(word, at)
        if word.lower() not in kept and not any(a < at + len(word) and at < b for a, b in spans):
            return False
    return True


def gives(schema: Any, reply: str, expected: Any) -> None:
    """A reply in a form gives its fields; it is a guess, and every word of it is accounted for."""
    verdict = checked(schema, reply)
    assert verdict.ok, [str(found) for found in verdict.findings]
    assert same(ordered(verdict.data), ordered(expected))
    assert any(fix.code[0] == "F" for fix in verdict.fixes)
    assert words_are_kept(reply, verdict)
    assert not Contract(schema, accept="lossless").check(reply).ok
