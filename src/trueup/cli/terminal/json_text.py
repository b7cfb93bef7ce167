r"""Write a plain value as JSON: as lines of styled pieces, or as one document.

It uses its own stack, so deep values cannot exhaust Python's, and it stops when the reader stops. The output is JSON in
which every character that could harm a terminal is a `\u` escape.
"""

import json
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len

from trueup.cli.terminal.layout import Line, short
from trueup.cli.terminal.output import plain_json

Piece = tuple[str, str]  # text, style

KEY, TEXT, NUMBER, WORD, SIGN = "cyan", "green", "magenta", "yellow", "dim"
_EMPTY: dict[type, str] = {dict: "{}", list: "[]"}


def lines(value: Any, indent: int = 2) -> Iterator[Line]:
    """The value as indented JSON, line by line.

    >>> ["".join(text for text, _ in line) for line in lines({"a": [1, None]})]
    ['{', '  "a": [', '    1,', '    null', '  ]', '}']
    """
    line: Line = []
    for depth, piece in _walk(value):
        if depth >= 0:
            yield line
            line = [(" " * (indent * depth), "")] if depth else []
        if piece[0]:
            line.append(piece)
    yield line


def cut(line: Line, room: int) -> Line:
    """A line cut to a number of cells."""
    out: Line = []
    for text, style in line:
        if cell_len(text) > room:
            return [*out, (short(text, room), style)]
        room -= cell_len(text)
        out.append((text, style))
    return out


def document(value: Any, *, indented: bool) -> str:
    r"""The value as one JSON document, on one line or indented.

    >>> document({"a": "\u202e"}, indented=False)
    '{"a":"\\u202e"}'
    """
    try:
        if indented:
            return plain_json(json.dumps(value, ensure_ascii=False, indent=2))
        return plain_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except RecursionError:
        if indented:
            return "\n".join("".join(text for text, _ in line) for line in lines(value))
        return "".join(text.rstrip(" ") if style == SIGN else text for _, (text, style) in _walk(value))


def _scalar(value: Any) -> Piece:
    if isinstance(value, str):
        return plain_json(json.dumps(value, ensure_ascii=False)), TEXT
    if value is None or isinstance(value, bool):
        return json.dumps(value), WORD
    if isinstance(value, int | float):
        return json.dumps(value), NUMBER
    return plain_json(json.dumps(str(value), ensure_ascii=False)), TEXT


def _walk(value: Any) -> Iterator[tuple[int, Piece]]:
    """Pieces in order. A depth of 0 or more starts a new line at that depth; -1 continues the current line."""
    stack: list[tuple[Iterator[Any], str]] = []
    here, name = value, None
    while True:
        if name is not None:
            yield -1, (plain_json(json.dumps(name, ensure_ascii=False)), KEY)
            yield -1, (": ", SIGN)
        if isinstance(here, dict | list) and here:
            opening, closing = ("{", "}") if isinstance(here, dict) else ("[", "]")
            yield -1, (opening, SIGN)
            stack.append((iter(here.items() if isinstance(here, dict) else here), closing))
            first = True
        else:
            yield -1, (_EMPTY[type(here)], SIGN) if isinstance(here, dict | list) else _scalar(here)
            first = False
        while stack:
            items, closing = stack[-1]
            try:
                item = next(items)
            except StopIteration:
                stack.pop()
                yield len(stack), (closing, SIGN)
                continue
            if not first:
                yield -1, (",", SIGN)
            yield len(stack), ("", "")
            name, here = item if closing == "}" else (None, item)
            break
        else:
            return
