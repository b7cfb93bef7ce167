"""Spots: the paths at some offsets of a text that is JSON, found in one pass over its tokens.

This is the quick way of `locate.Places`, for a text that was mended by splices: it is read in its mended form, and only as
far as the last offset asked for. Edits that lie inside each other are left to the slow way.
"""

import json
import re

from trueup.recover.json.frames import Node

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = re.compile(rf'{_STRING}|[{{}}\[\]:,]|[^\s{{}}\[\]:,"]+', re.DOTALL)
# whole members, passed over at once; their values hold containers two deep at most, so that the text is read a few times at most
_INSIDE = rf'[^"{{}}\[\]]*(?:{_STRING}[^"{{}}\[\]]*)*'
_CONTAINER = rf"[\[{{]{_INSIDE}(?:[\[{{]{_INSIDE}[\]}}]{_INSIDE})*[\]}}]"
_MEMBERS = re.compile(rf'(?:\s*{_STRING}\s*:\s*(?:{_STRING}|[^\s{{}}\[\]:,"]+|{_CONTAINER})\s*,)+', re.DOTALL)

Edit = tuple[int, int, str, str]


def mended_offsets(edits: list[Edit]) -> list[int] | None:
    """Where each edit stands in the mended text; None where two of them overlap.

    >>> mended_offsets([(2, 3, "", "S001"), (9, 13, "true", "S018"), (20, 20, "}", "S005"), (20, 20, "}", "S005")])
    [2, 8, 19, 19]
    """
    out = [0] * len(edits)
    shift = pending = 0
    before = end = -1
    for index in sorted(range(len(edits)), key=lambda index: edits[index][:2]):
        start, stop, after, _ = edits[index]
        if start < end:
            return None
        if start > before:
            shift, pending = shift + pending, 0
        out[index] = start + shift
        pending += len(after) - (stop - start)
        before, end = start, max(end, stop)
    return out


def nodes_at(text: str, wanted: list[tuple[int, bool]]) -> list[Node]:
    """The node at each offset of a JSON text: what lies there innermost, or with a True the container around it.

    >>> nodes_at('{"a": [1, 22]}', [(10, False), (10, True), (1, False)])
    [((None, 'a'), 1), (None, 'a'), (None, 'a')]
    """
    out: list[Node] = [None] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index][0])
    turn = at = 0
    place: Node = None  # of the value that comes next
    stack: list[tuple[Node, int]] = []  # each open container, and the number of its next item, -1 in an object
    key_next = False
    while turn < len(order):
        goal = wanted[order[turn]][0]
        if key_next and (passed := _MEMBERS.match(text, at, goal)):
            at = passed.end()
        token = _TOKEN.search(text, at)
        start, at = token.span() if token else (len(text), len(text) + 1)
        around = stack[-1][0] if stack else None
        while turn < len(order) and wanted[order[turn]][0] < start:
            out[order[turn]] = around
            turn += 1
        if token is None:
            break
        sign, here = text[start], place
        if sign == "{" or sign == "[":
            around = place
            stack.append((place, 0 if sign == "[" else -1))
            key_next = sign == "{"
            place = place if key_next else (place, 0)
        elif sign == "," or sign == ":" or sign == "]" or sign == "}":
            here = around
        elif key_next:
            here = place = (around, _word(token[0]))
            key_next = False
        while turn < len(order) and wanted[order[turn]][0] < at:
            out[order[turn]] = around if wanted[order[turn]][1] else here
            turn += 1
        if sign == "}" or sign == "]":
            stack.pop()
            key_next = False
        elif sign == "," and stack:
            node, number = stack[-1]
            key_next = number < 0
            if not key_next:
                stack[-1] = (node, number + 1)
                place = (node, number + 1)
    return out


def _word(token: str) -> str:
    return str(json.loads(token)) if "\\" in token else token[1:-1]
