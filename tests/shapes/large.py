"""Large replies: texts of any kind and of any size, for contracts of every kind (X2, X11)."""

import json
import random
from collections.abc import Callable

from tests.shapes.shape import Shape, checked
from trueup import Contract
from trueup.measure.dialogue import TEXT, make_states
from trueup.measure.replies import DOCUMENT, SCHEMA

Text = str | bytes
_ONE = json.dumps(DOCUMENT)
_CALL = '<tool_call>{"name": "book", "arguments": {"day": "Monday"}}</tool_call>\n'


def _fill(unit: str, size: int) -> str:
    return unit * (size // len(unit.encode("utf-8", "surrogatepass")))


def _drawn(low: int, high: int, width: float) -> Callable[[int], str]:
    """Random characters between two code points, each of the same number of bytes."""

    def make(size: int) -> str:
        draw = random.Random(7)
        points = memoryview(draw.randbytes(4 * int(size / width))).cast("I")
        return "".join(chr(p) if not 0xD800 <= (p := low + n % (high - low)) < 0xE000 else "A" for n in points)

    return make


def _chosen(signs: str) -> Callable[[int], str]:
    return lambda size: "".join(random.Random(7).choices(signs, k=size))


def _list(size: int) -> str:
    return f"[{_fill(_ONE + ',', size - len(_ONE) - 2)}{_ONE}]"  # not longer than requested: longer texts would not be read at all


def _bracketed(unit: str) -> Callable[[int], str]:
    return lambda size: f"[{_fill(unit, size - 2)}]"


def _middle(size: int) -> str:
    text = _list(size - len(" oops "))
    return f"{text[: size // 2]} oops {text[size // 2 :]}"


_UNITS = {
    "a long word": "a", "digits": "7", "spaces": " ", "line ends": "\n", "dots": ".", "backticks": "`", "quotes": '"',
    "apostrophes": "'", "{": "{", "}": "}", "[": "[", "]": "]", "(": "(", "<": "<", "commas": ",", "colons": ":", "\\": "\\",
    "Spanish": TEXT, "claims": "Tu cita está confirmada. ", "questions": "¿Quieres confirmar? ", "emoji": "👩‍👩‍👧 ",
    "combining marks": "e\u0301\u0323", "Arabic": "مرحبا كيف حالك ", "Chinese": "你好，我想预约明天的时间。", "Hangul": "안녕하세요 ",
    "zero-width": "\u200b", "half pairs": "\ud800", "tags": "<a>b</a>", "<think>": "<think>", "fences": '```json\n{"a": 1}\n```\n',
    "open fences": "```json\n", "Action lines": "Action: book\n", "name(": "book(", "calls in Python": "book(day='x') ",
    "tagged calls": _CALL, "open calls": "<tool_call>", "table rows": "| a | b |\n", "key: value": "name: value\n",
    "CSV": "a,b,c\n", "bullets": "- item\n", "small objects": '{"a": 1}\n', "small lists": "[1, 2]\n",
    "objects in prose": 'Say {"id": 7} now. ', "escaped objects": '{\\"a\\": 1}', "escapes": "\\u00e9", "entities": "&quot;",
    "quoted pairs": '"a": "b", ', "code": "def f(x):\n    return {'a': x}\n\n",
}  # fmt: skip
INPUTS: dict[str, Callable[[int], Text]] = {
    "random characters, all planes": _drawn(0, 0x110000, 3.93),
    "random characters, first plane": _drawn(0, 0xFFFF, 2.9),
    "random ASCII": _drawn(0, 128, 1),
    "random Han": _drawn(0x4E00, 0x9FFF, 3),
    "random Hangul": _drawn(0xAC00, 0xD7A3, 3),
    "random bytes": lambda size: random.Random(7).randbytes(size),
    "random signs": _chosen("{}[]\"':,<>`\\\n()| "),
    "random signs and letters": _chosen("{}[]\"':,<>`\\\n()| abcde12"),
    "valid JSON": _list,
    "JSON without its end": lambda size: _list(size)[:-1],
    "JSON with a word too many": _middle,
    "trailing commas": _bracketed('{"a": 1,},'),
    "Python": _bracketed("{'a': True},"),
    "keys without quotes": _bracketed("{a: b},"),
    **{name: (lambda size, unit=unit: _fill(unit, size)) for name, unit in _UNITS.items()},  # type: ignore[misc]
}
_TOOLS = [
    {"name": "book", "parameters": {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}},
    {"name": "search_slots", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}},
]


def contracts() -> dict[str, Contract]:
    """A contract of each kind; every one that judges text has 100 patterns and 200 terms."""
    states = make_states(**{"except": ["negated", "question", "conditional"]})
    rules = [{"name": "positive", "expr": "id > 0", "error": "{id} is not positive"}]
    return {
        "text": Contract(states=states, reply=True),
        "text and calls": Contract(states=states, reply=True, tools=_TOOLS),
        "an object": Contract(SCHEMA),
        "a list": Contract({"type": "array", "items": SCHEMA}),
        "all": Contract(SCHEMA, states=states, reply=True, tools=_TOOLS, rules=rules),
    }


def shapes(size: int, *kinds: str) -> list[Shape]:
    """Every kind of text under the contracts of these names, or under all of them."""
    judges = contracts()
    return [
        Shape(name, make, checked(judges[kind], {"state": "S"}), size, 2.0 * size / 10_000_000, kind)
        for name, make in INPUTS.items()
        for kind in kinds or judges
    ]
