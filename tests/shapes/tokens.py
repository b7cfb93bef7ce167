"""Tokens of broken JSON, repeated: each after several starts, under several contracts (X2). And a megabyte of each hostile shape."""

from random import Random

from tests.shapes.shape import Shape, checked, repeated
from trueup import Contract

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "a": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["name"],
}
CONTRACTS = {
    "any": Contract(True),
    "lenient": Contract(PERSON, accept="lossy", coerce="eager"),
    "list": Contract({"type": "array", "items": PERSON}),
}
TOKENS = [
    "[", "{", "(", '{"a":', '{"a":[', "[[1],", '{"a"', '{"a" "b" ', '{"a": "x" ', '{"a":1,', "[1,", "{,", "{a", "{a: ", "{ ",
    '"', "'", "`", '"""', "“”", "{“", '":', '",', '", "', '"a","a"', '"a"+', '""x""', '\\"', "\\", "\\u0022", "\\u00e9", "\\n",
    '{\\"', '{"a\n', '{"name": "', '{"name": "x", "a": 1} ', '{"x": 1} ', '{"a":1}}', '"a":2,', "1", "1_", "1.5e", "-", "0x",
    "1/", "x", "x ", "é", "True ", "null,", "...", "…", "：", "，", "｛", "//", "/*", "*/", "#\n", "\n", "\n\n{", " ", "\t",
    "\u200b", "\x00", "```\n", "```json\n", "~~~", "> {\n", "<think>", "</think>", "<think></think>", "<a>", "</a>", "<name>",
    "</name>", "<name></name>", "<|im_end|>", "<![CDATA[", "<!--", '<parameter name="a">', "</parameter>",
    "<arg_key>a</arg_key><arg_value>", "<invoke>", "- a: 1\n", "name: x\n", "name:\n", "- ", "| a | 1 |\n", "**name:** x\n",
    '"a","a"/*', "“”/*", '""x""<!--', '/*{"a" "b" ', '{"a": "x" /*...', '{"name": "<!--', "P(a=1, ", "P(", "a=1\n", "[x](y) ", "{{x}} ", "&amp;", "&", ",", ";", ":", "=", "=>", "}", "]", ")", "}]", "Note: ",
]  # fmt: skip
STARTS = ["", '{"name": "x", "b": ', '{"name": "', "["]
SIZE = 20_000
MEGABYTE = 1_000_000


def _tokens(units: list[str], starts: list[str], contracts: list[str]) -> list[Shape]:
    return [
        Shape(repr(unit), repeated(unit, start), checked(CONTRACTS[name]), SIZE, 0.050, f"{start!r}, {name}")
        for unit in units
        for start in starts
        for name in contracts
    ]


REPEATED = _tokens(TOKENS, STARTS, list(CONTRACTS))


def runs(count: int, seed: int = 20) -> list[Shape]:
    """Tokens in runs of two to four that are repeated as a whole, each after one start and under one contract."""
    draw = Random(seed)
    return [
        shape
        for _ in range(count)
        for unit in ["".join(draw.choices(TOKENS, k=draw.randint(2, 4)))]
        for shape in _tokens([unit], [draw.choice(STARTS)], [draw.choice(sorted(CONTRACTS))])
    ]


_DECOY = '{"x": "a decoy that fits nothing, and is long enough to fill a megabyte with all its friends"} '
_HOSTILE = {
    "brackets": (repeated("["), MEGABYTE),
    "openers": (repeated('{"a":'), MEGABYTE),
    "a string without an end": (repeated("x", '{"name": "'), MEGABYTE),
    "stray quotes in a value": (repeated('" ', '{"name": '), 200_000),
    "stray quotes": (repeated('"'), MEGABYTE),
    "decoys": (repeated(_DECOY), MEGABYTE),
    "decoys that fit": (repeated('{"name": "Bob", "a": 1} '), 240_000),
}
HOSTILE = [
    Shape(name, make, checked(CONTRACTS[contract]), size, 1.0, contract)
    for name, (make, size) in _HOSTILE.items()
    for contract in ("any", "lenient")
]
