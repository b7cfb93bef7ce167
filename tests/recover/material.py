"""The material of the properties: JSON values of every kind, texts with a few faults, random tokens."""

import itertools
import json
import math
import re
from typing import Any

from hypothesis import strategies as st

from trueup import Contract

# Numbers, words and signs that mean something to a reader of broken JSON; each alone and next to any other.
TOKENS = [
    "{", "}", "[", "]", "(", ")", '"', "'", "`", '"""', ":", ",", ";", "=", "=>", "+", "-", "\\", '\\"', "\\n", "\\u00",
    "\\ud800", "\\u0022", "name", "age", "x", '"name"', '"age":', "36", ".5", "1e400", "0x1F", "1/4", "1_000", "007",
    "true", "True", "None", "null", "NaN", "undefined", "-Infinity", "...", "…", "//", "/*", "*/", "#", "\n", " ", "\t",
    "\r\n", "<think>", "</think>", "<answer>", "</answer>", '<parameter name="age">', "</parameter>", "<name>", "</name>",
    "```", "```json\n", "\n```", "“", "”", "‘", "’", "「", "」", "：", "，", "｛", "｝", "\ufeff", "\u200b", "\u00a0", "\x00",
    "é", "名", "𝒳", "\ud800", "Person(", "name=", "- **name**: ", "| age | 3 |", "> ", "<|im_end|>", "a", "b c", "Note: ",
    '{"name": "Ada", "age": 36}', '{"name": "Bob", "age": 7}', '"tags": ["a", "b"]', "[1, 2]", 'ObjectId("x")', "{}", "[]",
]  # fmt: skip

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sub": {"type": "object", "properties": {"x5": {"type": "number"}, "y6": {}}},
    },
    "required": ["name", "age"],
}

# The same signs without escapes, and with words that no sample contains, so that a lost word is noticed.
PLAIN = [
    "{", "}", "[", "]", "(", ")", '"', "'", "`", '"""', ":", ",", ";", "=", "=>", "+", "-", "nombre", "edad", "zz", '"qq"',
    '"ww":', "77", "0x1F", "True", "None", "undefined", "...", "…", "//", "/*", "*/", "#", "\n", " ", "\t", "<think>",
    "</think>", "<answer>", "</answer>", "```", "```json\n", "“", "”", "：", "，", "\u200b", "Person(", "clave=", "- **hh**: ",
    "| jj | 8 |", "> ", "Note: ", '{"name": "Bob", "age": 7}', "[88, 99]", 'ObjectId("mm")', "{}", "[]",
]  # fmt: skip

CONTRACTS = {
    "any": Contract(True),
    "person": Contract(PERSON),
    "lossy": Contract(PERSON, accept="lossy"),
    "eager": Contract(PERSON, coerce="eager"),
    "off": Contract(PERSON, coerce="off"),
    "strict": Contract(PERSON, strict=True),
    "none": Contract(PERSON, accept="none"),
    "people": Contract({"type": "array", "items": PERSON}),
    "number": Contract({"type": "integer"}, coerce="eager"),
    "scalar": Contract({"type": ["integer", "string"]}, coerce="eager"),
    "flat": Contract(True, max_depth=3),
    "small": Contract(True, max_size=20),
    "reply": Contract(),
}

# Every word occurs once and is not part of another one, so that a lost word is noticed.
SAMPLES = [
    '{"name": "Ada Byron", "age": 36, "tags": ["alto", "bajo, medio", "cima"], "sub": {"x5": 1.5, "y6": null}}',
    '{"name": "Ada", "age": 36, "list": [[11, 12], [13], {"k7": true}], "note": "uno\\ndos"}',
    '{"age": 36,\n "name": "Zoé Núñez",\n "tags": [\n  "x1",\n  "x2"\n ],\n "url": "https://e.org/p?q=1#f"\n}',
    '[{"name": "Kim", "age": 20}, {"name": "Lee", "age": 41, "tags": []}]',
    "{'name': 'Ada', 'age': 36, 'flags': [True, False, None]}",
    'Sure!\n```json\n{"name": "Ada", "age": 36}\n```\nBye.',
    '<think>Perhaps {"name": "Zed", "age": 5}?</think>\n<answer>{"name": "Ada", "age": 36}</answer>',
    '{"response": {"name": "Ada", "age": "36"}, "status": "fine"}',
    'First {"name": "Kim", "age": 20} then {"name": "Lee", "age": 41}.',
    "name: Ada\nage: 36\ntags:\n  - alto\n  - bajo\n",
    "- **Name**: Ada\n- **Age**: 36\n",
    "| key | value |\n|---|---|\n| name | Ada |\n| age | 36 |\n",
    "Person(name='Ada', age=36, tags=['alto', \"bajo\"])",
    "<person><name>Ada</name><age>36</age></person>",
    '<invoke name="make"><parameter name="name">Ada</parameter><parameter name="age">36</parameter></invoke>',
    '"name": "Ada",\n"age": 36',
    '> {\n>   "name": "Ada",\n>   "age": 36\n> }',
    "{“name”: “Ada”，「age」：36｝",
]
# The same in a string, with escapes: for tests that do not look for lost words.
ESCAPED = [
    '"{\\"name\\": \\"Ada\\", \\"age\\": 36}"',
    '{\\"name\\": \\"Ada\\", \\"age\\": 36}',
    '{"name": "A\\u0064a \\"x\\" \\ud83d\\ude00", "age": 36, "path": "C:\\\\dir\\/x"}',
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(10**60), max_value=10**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(
        [
            "",
            "null",
            "{}",
            '{"a": 1}',
            "```json",
            "</think>",
            "a\nb",
            'say "x", "y": 1',
            "// no",
            "…",
            "\\u0022[1",
            "\u0000",
            "\u2028",
        ]
    ),
)
keys = st.one_of(st.text(max_size=8), st.sampled_from(["name", "age", "tags", "$ref", "a b", "", "1", "\u00e9"]))


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(inner, max_size=5), st.dictionaries(keys, inner, max_size=5))


json_values = st.recursive(scalars, containers, max_leaves=25)
json_containers = containers(json_values)


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any] = json_values) -> tuple[Any, str]:
    """A value and one of the ways to write it."""
    value = draw(values)
    text = json.dumps(
        value,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, None, 2, "\t"])),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])),
    )
    if draw(st.booleans()):
        text = re.sub(r"\\(.)", lambda escape: "\\u0022" if escape[1] == '"' else escape[0], text)
    return value, draw(st.sampled_from(["", "", "\n", " \t"])) + text + draw(st.sampled_from(["", "", "\n", "\r\n "]))


@st.composite
def mutated(draw: st.DrawFn, tokens: list[str] | None = None, samples: list[str] | None = None) -> str:
    """A good text with up to six pieces inserted, deleted or replaced."""
    text = draw(st.sampled_from(samples or [*SAMPLES, *ESCAPED]))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        stop = min(len(text), at + draw(st.sampled_from([0, 0, 1, 1, 2, 4])))
        piece = draw(st.one_of(st.just(""), st.sampled_from(tokens or TOKENS)))
        text = text[:at] + piece + text[stop:]
    return text


@st.composite
def cut(draw: st.DrawFn) -> str:
    """A good text that ends too early."""
    text = draw(st.sampled_from(SAMPLES))
    return text[: draw(st.integers(0, len(text)))]


soups = st.lists(st.sampled_from(TOKENS), max_size=30).map("".join)
texts = st.one_of(mutated(), cut(), soups, st.text(max_size=60))


@st.composite
def chunks(draw: st.DrawFn, of: st.SearchStrategy[str]) -> tuple[str, list[str]]:
    """A text, and the same text cut into pieces."""
    text = draw(of)
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    edges = [0, *places, len(text)]
    return text, [text[a:b] for a, b in itertools.pairwise(edges)]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal down to their types: 1, 1.0 and true differ, and so do 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


def strictly(text: str) -> tuple[Any, bool]:
    """The value that the standard library reads, and whether the text is strict JSON: no NaN, repeated keys or lone surrogates."""
    plain = True

    def refuse(_: str) -> None:
        nonlocal plain
        plain = False

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal plain
        plain = plain and len(dict(found)) == len(found)
        return dict(found)

    def number(token: str) -> float:
        nonlocal plain
        plain = plain and math.isfinite(float(token))
        return float(token)

    try:
        value = json.loads(text, parse_constant=refuse, object_pairs_hook=pairs, parse_float=number)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None, False
    return value, plain


def scalars_of(value: Any) -> list[str]:
    """Every key and scalar of a value, as it would be written without quotes."""
    out: list[str] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            out += here
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
        else:
            out.append(here if isinstance(here, str) else json.dumps(here))
    return out
