"""Python calls in text, `f(a=1, b="x")`: the arguments of one call, given by name or by position.

The offset behind the opening parenthesis enters; the arguments and the offset behind the closing one leave. Nothing
is evaluated. What is not well-formed Python is left to the tolerant reader.
"""

import re
from typing import Any, NamedTuple

from trueup.recover.calls.tags import NOT_JSON, json_value
from trueup.recover.json.lexer import SURROGATE
from trueup.recover.json.parser import Reader, Record
from trueup.recover.json.tokens import read_token

_STRING = (
    r"[rbuRBU]?(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
)
_PIECE = re.compile(
    rf"(?P<string>{_STRING})|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<comma>,)|(?P<broken>['\"])", re.DOTALL
)
_KEYWORD = re.compile(r"\s*([^\W\d]\w*)\s*(?:=(?!=)|:(?!//))\s*")
_STRINGS = re.compile(rf"(?:\s*{_STRING})+\s*", re.DOTALL)
_ONE_STRING = re.compile(_STRING, re.DOTALL)
_LOST = frozenset({"S027", "S033", "S034"})
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|[\s\S])")
_PLAIN = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "a": "\a",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "\n": "",
}
_PAIRS = {")": "(", "]": "[", "}": "{"}


class Arguments(NamedTuple):
    """The arguments of a call: by name, by position, where they end, and what it took to read them."""

    named: dict[str, Any]
    by_place: list[Any]
    stop: int
    records: list[Record]


def read_arguments(text: str, inside: int, limit: int, max_depth: int) -> Arguments | int:
    """The arguments that follow an opening parenthesis; where they are not well-formed, how far they were read.

    >>> read_arguments("f(1, b=None)", 2, 12, 9)[:3]
    ({'b': None}, [1], 12)
    """
    spans, stop = _split(text, inside, limit)
    if spans is None:
        return stop
    named: dict[str, Any] = {}
    by_place: list[Any] = []
    records: list[Record] = []
    for start, end in spans:
        keyword = _KEYWORD.match(text, start, end)
        value = _value(text, keyword.end() if keyword else start, end, max_depth, records)
        if keyword is None:
            by_place.append(value)
        elif keyword[1] in named:
            return stop
        else:
            named[keyword[1]] = value
    return Arguments(named, by_place, stop, records)


def _split(text: str, inside: int, limit: int) -> tuple[list[tuple[int, int]] | None, int]:
    """The stretches between the commas of a call, and the offset behind its closing parenthesis."""
    spans: list[tuple[int, int]] = []
    start = inside
    stack: list[str] = []
    for piece in _PIECE.finditer(text, inside, limit):
        kind = piece.lastgroup
        if kind == "open":
            stack.append(piece[0])
        elif kind == "broken":
            return None, piece.end()
        elif kind == "close" and stack:
            if stack.pop() != _PAIRS[piece[0]]:
                return None, piece.end()
        elif kind == "close":
            if text[start : piece.start()].strip():
                spans.append((start, piece.start()))
            return (spans if piece[0] == ")" else None), piece.end()
        elif kind == "comma" and not stack:
            if not text[start : piece.start()].strip():
                return None, piece.end()
            spans.append((start, piece.start()))
            start = piece.end()
    return None, limit


def _value(text: str, start: int, end: int, max_depth: int, records: list[Record]) -> Any:
    raw = text[start:end].strip()
    found = json_value(raw)
    if found is not NOT_JSON:
        return found
    if _STRINGS.fullmatch(raw):
        joined = "".join(map(_string, _ONE_STRING.findall(raw)))
        if "\ufffd" in joined and "\ufffd" not in raw:
            records.append(("S035", start, end, "\ufffd", None))
        return joined
    if raw[:1] and raw[0] in "[{(":
        at = start + len(text[start:end]) - len(text[start:end].lstrip())
        outcome = Reader(text, at, end, frozenset(), max_depth).read()
        records += [r for r in outcome.records if r[0] not in {"S008", "S018", "S023"}]
        return outcome.value
    value, code = read_token(raw)
    if code in _LOST:
        records.append((code, start, end, "null", None))
    return value


def _string(literal: str) -> str:
    """What a string literal of Python says."""
    prefix = literal[0] if literal[0] not in "'\"" else ""
    body = literal[len(prefix) :]
    width = 3 if body[:3] in ("'''", '"""') and len(body) >= 6 else 1
    inner = body[width:-width]
    if prefix in ("r", "R") or "\\" not in inner:
        return inner
    joined = _ESCAPE.sub(_meaning, inner)
    if not SURROGATE.search(joined):
        return joined
    paired = joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return SURROGATE.sub("\ufffd", paired)


def _meaning(escape: re.Match[str]) -> str:
    code = escape[1]
    if code in _PLAIN:
        return _PLAIN[code]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
    elif code[0] in "01234567":
        number = int(code, 8)
    else:
        return escape[0]
    return chr(number) if number < 0x110000 else escape[0]
