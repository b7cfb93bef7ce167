"""Large replies: texts of any kind and of ten megabytes, each judged whole by contracts of every kind.

python bench/large.py [--megabytes 10] [--over SECONDS] [INPUT…]
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from trueup import Contract
from trueup.measure.dialogue import TEXT, make_states
from trueup.measure.replies import DOCUMENT, SCHEMA

Result = dict[str, Any]
Text = str | bytes
TARGET = 2.0  # seconds for ten megabytes
_ONE = json.dumps(DOCUMENT)
_CALL = '<tool_call>{"name": "book", "arguments": {"day": "Monday"}}</tool_call>\n'


def _fill(unit: str, size: int) -> str:
    return unit * (size // len(unit.encode("utf-8", "surrogatepass")))


def _drawn(low: int, high: int, width: float) -> Callable[[int], str]:
    """Random characters between two code points that take so many bytes each."""

    def make(size: int) -> str:
        draw = random.Random(7)
        points = memoryview(draw.randbytes(4 * int(size / width))).cast("I")
        return "".join(chr(p) if not 0xD800 <= (p := low + n % (high - low)) < 0xE000 else "A" for n in points)

    return make


def _chosen(signs: str) -> Callable[[int], str]:
    return lambda size: "".join(random.Random(7).choices(signs, k=size))


def _list(size: int) -> str:
    return (
        f"[{_fill(_ONE + ',', size - len(_ONE) - 2)}{_ONE}]"  # no longer than asked for: more would not be read at all
    )


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


def seconds(contract: Contract, text: Text) -> float:
    """CPU seconds of one check."""
    begun = time.process_time()
    contract.check(text, context={"state": "S"})
    return time.process_time() - begun


def large(megabytes: float, names: tuple[str, ...] = ()) -> Result:
    """For each input and contract the seconds, and how they grew over half the size."""
    size = int(megabytes * 1_000_000)
    judges = contracts()
    found: Result = {}
    for name in names or INPUTS:
        half, whole = INPUTS[name](size // 2), INPUTS[name](size)
        row: Result = {}
        for kind, contract in judges.items():
            first, then = seconds(contract, half), seconds(contract, whole)
            row[kind] = {"seconds": then, "growth": then / first if first > 0.02 else None}
        found[name] = row
    return {"megabytes": megabytes, "inputs": found}


def table(data: Any) -> tuple[str, str, list[str], list[list[str]]]:
    """The rows for report.DRAW."""
    kinds = list(next(iter(data["inputs"].values())))
    rows = [[name, *(_shown(row[kind]) for kind in kinds)] for name, row in data["inputs"].items()]
    every = [row[kind]["seconds"] for row in data["inputs"].values() for kind in kinds]
    over = sum(spent > TARGET * data["megabytes"] / 10 for spent in every)
    note = (
        f"CPU seconds for {data['megabytes']:g} MB (as UTF-8) of each kind of text, and × the time for half of it. Of "
        f"{len(every)} cells {over} are over {TARGET * data['megabytes'] / 10:g} s."
    )
    return "Large replies", note, ["text", *kinds], rows


def _shown(cell: Result) -> str:
    grown = f" ×{cell['growth']:.1f}" if cell["growth"] else ""
    return f"{cell['seconds']:.2f} s{grown}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--over", type=float, default=0, help="show rows that have a cell over so many seconds")
    parser.add_argument("inputs", nargs="*", help=f"some of: {', '.join(INPUTS)}")
    options = parser.parse_args()
    for name in options.inputs or INPUTS:
        data = large(options.megabytes, (name,))
        _, _, _, (row,) = table(data)
        if max(cell["seconds"] for cell in data["inputs"][name].values()) >= options.over:
            print(f"{row[0]:32}", *(f"{cell:14}" for cell in row[1:]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
