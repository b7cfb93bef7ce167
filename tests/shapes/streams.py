"""Streams: values fed in small pieces, events of providers, sentences held back; long conversations; long replies to show."""

from typing import Any

from tests.shapes.shape import Shape, repeated
from trueup import Contract
from trueup.ask.gate import Gate
from trueup.ask.memory import Memory
from trueup.ask.stream import AskStream
from trueup.read.reader import read, read_stream
from trueup.verdict.facts import Findings, fix
from trueup.verdict.locate import locate
from trueup.verdict.verdict import Verdict

_PIECES = {
    "objects": '{"k": "value", "n": [1, 2.5, true]}, ', "string": '"a long text without an end ', "brackets": "[", "openers": '{"a":',
    "prose": "prose < with { signs ", "fences": "```\n", "escapes": "\\u00e9", "digits": "1",
}  # fmt: skip
_STARTS = {"in a list": "[", "in a string": '{"text": "', "bare": ""}
_HEAD = 'data: {"object": "chat.completion.chunk", "choices": []}\n\n'
_EVENTS = [
    'data: {"choices": [{"index": 0, "delta": {"content": "x"}}]}\n\n',
    'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "x"}}]}}]}\n\n',
    'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}]}\n\n',
    "data: \n",
    "data: {\n",
    ":\n\n",
    "\r",
]
_TEXT = Contract()
_SHOWN = {"brackets": "[", "openers": '{"a":', "numbers": "[1,", "letters": "x", "quotes": '"'}
_FIXES = tuple(fix("C001", f"$.a[{n}].b", None, "1", "2") for n in range(1_000))


def _fed(text: str) -> None:
    stream = Contract(True).stream()
    for at in range(0, len(text), 8):
        stream.feed(text[at : at + 8])


def _looped(text: str) -> None:
    """One character at a time, like a program that shows each state; the last state is kept while the next is made."""
    value = None
    for part in Contract(list[Any]).stream(iter(text)):
        value = part
    assert value is not None


def _conversation(size: int) -> list[dict[str, Any]]:
    calls = [{"id": f"c{i % 7}", "function": {"name": "f", "arguments": "{}"}} for i in range(size)]
    return [{"role": "assistant", "tool_calls": calls}, *({"role": "tool", "tool_call_id": "c3"} for _ in range(size))]


def _asked(text: str) -> None:
    def stream(_: Any) -> Any:
        return (text[at : at + 5] for at in range(0, len(text), 5))

    assert list(AskStream(_TEXT, stream, "Hi", memory=Memory()))


def _numbered(size: int) -> str:
    """Different words, because reading stops in a text that repeats one forever."""
    return " ".join(f"word{n * 7919 % 10_000}" for n in range(size // 9))


def _gated(text: str) -> None:
    assert Gate(_TEXT, {}, 1).feed(text) == []


def _located(text: str) -> object:
    return locate(Verdict(text, None, Findings(), _FIXES))


VALUES = [
    Shape(name, repeated(piece, start), _fed, 60_000, 0.4, place)
    for name, piece in _PIECES.items()
    for place, start in _STARTS.items()
]
VALUES += [
    Shape(f"one character at a time: {unit}", repeated(unit, "["), _looped, 24_000)
    for unit in ('"ab", ', '{"a": "b"}, ', '[["a"]], ', "1, ")
]
EVENTS = [Shape(repr(event), repeated(event, _HEAD), read_stream, 16_000 * len(event)) for event in _EVENTS]
CONVERSATIONS = [Shape("calls and their outputs", _conversation, read, 12_000)]
SENTENCES: list[Shape] = [
    Shape("words, passed on by sentence", _numbered, _asked, 40_000),
    *(Shape(repr(marks), repeated(marks), _gated, 200_000, 1.0) for marks in ("!", "?)", "…")),
]
SHOWN = [Shape(name, repeated(unit), _located, 300_000, 5.0) for name, unit in _SHOWN.items()]
