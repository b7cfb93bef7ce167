"""Finds the one container of a text: after a fence, words or reasoning, and before whatever follows it.

Takes a text; returns the offsets of a stretch, or None if only the whole reader can decide.
"""

from trueup.recover.json.scan import is_mark, starts_value
from trueup.recover.layers.reasoning import reasoning_spans
from trueup.recover.layers.surroundings import is_debris, leads_in
from trueup.recover.marks import OPENS_REASONING, may_reason, next_closing

_MAX_OPENERS = 8
# The most common beginnings of JSON: these need no further test.
_PLAIN_STARTS = frozenset(('{"', "{\n", "{'", "[{", '["', "[\n"))
_PROSE_SIGNS = frozenset("\"'”{[")
_QUOTE_SIGNS = ('"', "'", "”")


def region(text: str) -> tuple[int, int] | None:
    """The stretch from the first opener to the last closer; the end is left open (-1) if another opener follows."""
    length = len(text)
    begin = _after_reasoning(text) if text[:1] != "{" or "<" in text else 0
    if begin < 0:
        return None
    start = 0 if text[:2] in _PLAIN_STARTS else _opener(text, begin, length)
    if start < 0:
        return None
    if start:
        start = _value_start(text, begin, start)
        if start < 0:
            return None
    stop = text.rfind("}" if text[start] == "{" else "]") + 1
    if stop <= start:
        return start, -1
    if stop < length:
        if _opener(text, stop, length) >= 0:
            return start, -1
        rest = text[stop:]
        if "<" in rest or (('"' in rest or "'" in rest) and is_debris(text, stop, length)):
            return None
    if not text.isascii() and ("｛" in text or "［" in text):
        return None
    return start, stop


def _after_reasoning(text: str) -> int:
    """Where reasoning at the start of a text ends; 0 if there is none, -1 if it needs a closer look."""
    opened = OPENS_REASONING.match(text) if text[:1] == "<" else None
    closed = next_closing(text, opened.end()) if opened else None
    if closed is not None and not may_reason(text[closed.end() :]):
        return closed.end()
    return -1 if may_reason(text) and reasoning_spans(text) else 0


def _value_start(text: str, begin: int, start: int) -> int:
    """Where the value starts, given the text before its first bracket; -1 if it needs a closer look."""
    before = text[begin:start]
    if before[-1:] == "\\" or is_mark(text, begin, start, len(text)) or "<" in before:
        return -1
    if not _PROSE_SIGNS.isdisjoint(before):
        lead = before.rstrip()
        if leads_in(text, begin, start) or ("{" in before and '"' in before):
            return -1  # perhaps a value that does not look like one, in a quotation for instance
        if lead.lstrip() in _QUOTE_SIGNS or (lead[-1:] == ":" and lead.rstrip(" \t\r\n:")[-1:] in _QUOTE_SIGNS):
            return -1
    return start


def _opener(text: str, at: int, stop: int) -> int:
    """The next bracket that opens a value, past a few in prose; -1 if there is none."""
    for _ in range(_MAX_OPENERS):
        brace, bracket = text.find("{", at, stop), text.find("[", at, stop)
        at = brace if bracket < 0 or 0 <= brace < bracket else bracket
        if at < 0 or starts_value(text, at, stop):
            return at
        at += 1
    return at
