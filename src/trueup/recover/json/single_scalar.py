"""Reads a reply that is one scalar and nothing else: a quoted string, with its faults, or a bare number or literal.

Takes a stretch of text; returns a candidate, or None if the text is anything else. The string is read like one inside a
container. Prose that starts and ends with a quotation is not a string. A string that was cut off is recorded as such.
"""

import re
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.json import strings
from trueup.recover.json.frames import Record, shown
from trueup.recover.json.lexer import LITERALS, QUOTES
from trueup.recover.json.tokens import read_token
from trueup.verdict.codec import decode
from trueup.verdict.patterns import lazy_regex

# Signs after the scalar that mean nothing, and a comment.
_TRAILING = ",;."
_TAIL = lazy_regex(r"[ \t]*[,;.]?\s*((?://|#)[^\n]*|/\*[\s\S]*?\*/|<!--[\s\S]*?-->)?\s*")
# A string that one of these opened and nothing closed was cut off; an apostrophe may be prose.
_SURE = '"“„«「'
_LONGEST_TOKEN = 4300
_BLANK = lazy_regex(r"\s")
_WORD_QUOTE = lazy_regex(r"\w'\w")


def lone(text: str, start: int, stop: int) -> Candidate | None:
    """The scalar that fills a stretch of text.

    >>> lone('"a 24" screen",', 0, 15).value, lone("True", 0, 4).value, lone('"A" and "B"', 0, 11)
    ('a 24" screen', True, None)
    """
    if start >= stop:
        return None
    if text[start] in QUOTES:
        return _string(text, start, stop) if not text.startswith("```", start) else None
    if text.startswith('\\"', start):
        return _escaped(text, start, stop)
    return _token(text, start, stop) if stop - start <= _LONGEST_TOKEN else None


def _string(text: str, start: int, stop: int) -> Candidate | None:
    raw = text[start:stop]
    if raw[0] == '"' and raw[-1] == '"':
        try:
            return Candidate(decode(raw), [(start, stop)], [])
        except (ValueError, RecursionError):
            pass
    found = strings.triple(text, start, stop) or strings.doubled(text, start, stop)
    if found is None or text[found.after : stop].strip(_TRAILING + " \t"):
        found = _between(text, start, stop)
    if found is None:
        return None
    records: list[Record] = []
    for code in found.codes:
        at = found.stop if code in ("S013", "S028") else start
        records.append((code, at, found.after, shown(found.value), None))
    if text[found.after : stop].strip():
        tail = _TAIL.match(text, found.after, stop)
        records.append(("S017" if tail and tail[1] else "S038", found.after, stop, "", None))
    return Candidate(found.value, [(start, stop)], records)


def _escaped(text: str, start: int, stop: int) -> Candidate | None:
    r"""`\"a\"`: a string whose own quotes are escaped."""
    try:
        value = decode(decode(f'"{text[start:stop]}"'))
    except (ValueError, RecursionError):
        return None
    return (
        Candidate(value, [(start, stop)], [("W009", start, stop, shown(value), None)])
        if isinstance(value, str)
        else None
    )


def _between(text: str, start: int, stop: int) -> strings.StringToken | None:
    """The string between the first and the last quote; None if the quotes inside show that it is prose."""
    inner = _quotes(text, start + 1, stop, QUOTES[text[start]])
    if not inner and text[start] == '"':
        inner = _quotes(text, start + 1, stop, "”")
    if inner and _TAIL.fullmatch(text, inner[-1] + 1, stop):
        last = inner.pop()
        if inner and _is_prose(text, inner):
            return None
        return strings.finish(text, start, last, last + 1, ("S012",) if inner else ())
    if inner or text[start] not in _SURE:
        return None
    return strings.finish(text, start, stop, stop, ("S028",))


def _quotes(text: str, start: int, stop: int, closers: str) -> list[int]:
    """The offsets of quotes that could close a string: not escaped, and not inside a word."""
    signs = re.compile(rf"\\[\s\S]|[{re.escape(closers)}]")
    out = []
    for found in signs.finditer(text, start, stop):
        at = found.start()
        if text[at] != "\\" and not (text[at] in "'’" and _WORD_QUOTE.match(text, at - 1, stop)):
            out.append(at)
    return out


def _is_prose(text: str, inner: list[int]) -> bool:
    """Whether the first quote inside closes a quotation and the last one opens another."""
    first, last = inner[0], inner[-1]
    closes = not text[first - 1].isspace() and not (text[first + 1].isalnum())
    opens = not text[last + 1].isspace() and (text[last - 1].isspace() or text[last - 1] in "([{:,")
    return len(inner) > 1 and closes and opens


def _token(text: str, start: int, stop: int) -> Candidate | None:
    token = text[start:stop]
    value, code = _read(token)
    if isinstance(value, str):
        token = token.rstrip(_TRAILING + " \t")
        value, code = _read(token) if token else ("", None)
    if isinstance(value, str):
        return None
    records: list[Record] = [(code, start, start + len(token), shown(value), None)] if code else []
    if start + len(token) < stop:
        records.append(("S038", start + len(token), stop, "", None))
    return Candidate(value, [(start, stop)], records)


def _read(token: str) -> tuple[Any, str | None]:
    if _BLANK.search(token) is not None:
        return token, None
    value, code = read_token(token)
    return (token, None) if value is None and token not in LITERALS and code is None else (value, code)
