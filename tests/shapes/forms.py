"""Text that is not JSON but may carry the fields: lines, tables, tags, scalars, fences, brackets by their indentation, remarks (X2)."""

import json
from typing import Any

from tests.shapes.shape import Shape, checked, repeated
from trueup import Contract

_UNITS = {
    "fields": "a: 1\n", "empty fields": "a:\n", "bullets": "- a\n", "bulleted fields": "- a: 1\n", "rows": "| a | 1 |\n",
    "one long row": "| a ", "tags": "<a>", "pairs of tags": "<a>x</a>", "headings": "## a\n", "text": "x\n", "bold": "**a**\n",
    "blanks": "a: 1\n\n\n\n", "quotes": '"a": "', "open lists": "a: [\n", "open tags": "<a b='", "comments": "<!--", "cdata": "<![CDATA[",
    "cells": "a,b\n", "numbers": "1 ", "dashes": "- ", "hashes": "#", "fences": "```\na: 1\n", "spaces": "a:          \n", "marks": "a: |\n",
    "unclear": "a: x\ny\n", "parameters": '<parameter name="a">', "ends": "</a>", "colons": ":", "spaced fields": "a 1\n",
    "paragraphs": "x\n\n", "text and paragraphs": "a: x\n\ny\n\n", "lines and fences": "a: x\n```\ny\n```\n", "words": "apple, ",
    "strings": '"a", ', "brackets": "[a, ", "boxes": "\\boxed{1}", "open boxes": "\\boxed{", "tabs": "\t", "stars": "*", "yes": "yes, ",
}  # fmt: skip


def _record(required: list[str], **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required}


_SIGHTS = {
    "object": Contract(_record([], a={"type": "string"}, b=_record([], a={"type": "string"}))),
    "list": Contract({"type": "array", "items": _record(["a"], a={"type": "integer"})}),
    "words": Contract({"type": "array", "items": {"type": "string"}}),
    "number": Contract({"type": "number"}, coerce="eager"),
    "truth": Contract({"type": "boolean"}, coerce="eager"),
}
_SEEN = [
    *((sight, name) for sight in ("object", "list") for name in _UNITS),
    *(
        ("words", name)
        for name in (
            "bullets",
            "text",
            "dashes",
            "bulleted fields",
            "fences",
            "words",
            "strings",
            "brackets",
            "paragraphs",
            "boxes",
        )
    ),
    ("number", "numbers"),
    ("truth", "yes"),
]
_PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
_ANSWER = '```json\n{"name": "Ada", "age": 36}\n```\n'
_DAY = Contract({"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]})
_QUICK = [
    "f(a=",
    "aaaa.bbbb(a =",
    "f(a==1) ",
    "(" * 9 + "a=",
    "<a b ",
    "<a b=",
    "<b>",
    "at a(",
    '{\\"a\\n',
    "x" * 99 + "(",
]
_FENCES = ["```js\nf() { x }\n```\n", "```js\n", "```js\n{}\n```\n", "~~~c\n```\n"]
_INDENTED = ["{\n", '{\n  "a": 1\n', '{"a": {not json}, ', 'oops {"a": 1} ', '"x "a", ', "1: {\n"]
_BEFORE = ["", '{"b": "', "[", '{\n  "a": [\n']
_REMARKS = ["sorry, ", "no wait ", "entschuldigung, das ", "the a b ", "!\n", "等等"]


def _without_its_end(size: int) -> str:
    item = {"name": "Ada", "tags": ["x", "y"], "age": 1}
    return json.dumps([item] * (size // len(json.dumps(item))))[:-1]


def _deeper(size: int) -> str:
    return "\n".join(" " * (2 * depth) + "a:" for depth in range(int(size**0.5)))


FORMS = [Shape(name, repeated(_UNITS[name]), checked(_SIGHTS[sight]), 100_000, 0.6, sight) for sight, name in _SEEN]
DEEPER = [Shape("deep indentation", _deeper, checked(it), 200_000, 0.3, name) for name, it in _SIGHTS.items()]
QUICK = [Shape(repr(unit), repeated(unit), checked(_DAY), 300_000) for unit in _QUICK]
FENCES = [Shape(repr(unit), repeated(unit, end=_ANSWER), checked(Contract(_PERSON)), 80_000) for unit in _FENCES]
INDENTED = [
    Shape(repr(unit), repeated(unit, start), checked(Contract(True)), 100_000, 1.5, repr(start))
    for unit in _INDENTED
    for start in _BEFORE
]
REMARKS = [
    Shape(repr(unit), repeated(unit, '{"name": "Ada", "age": 36}\n\n'), checked(Contract(_PERSON)), 160_000)
    for unit in _REMARKS
]
LISTS = [
    Shape("a list without its last bracket", _without_its_end, checked(Contract({"type": "array"})), 4_000_000, 1.0)
]
