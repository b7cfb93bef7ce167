r"""Removes escapes: JSON encoded twice, copied out of a string with its backslashes (`{\"a\": 1}`), or doubled for a template.

Takes a text; returns a view without one level of escapes, or None if nothing was escaped in this way.
"""

from trueup.recover.json.lexer import ESCAPE, SIMPLE_ESCAPES
from trueup.recover.layers.view import LayerView, ViewPieces, without
from trueup.verdict.patterns import lazy_regex

ESCAPED_START = lazy_regex(r"""[{\[](?:\\[nrt]|[\s{\[]){0,60}\\{1,8}["']""")
_BREAK = lazy_regex(r'"(?:[^"\\]|\\[\s\S])*"?|\\[nrt]')
_BREAK_START = lazy_regex(r'[{\[]\s*\\[nrt](?:\\[nrt]|\s)*["{\[\]}\d]')
_BRACES = lazy_regex(r"\{+|\}+")
_DOUBLED_START = lazy_regex(r"""\{\{\s*(?:["'“][^"'”\n{}]{1,80}["'”]|\w{1,60})\s*:""")
# Braces of one object inside another, each written twice.
_DOUBLED_TWICE = 4


def unfold(text: str, start: int, stop: int) -> LayerView:
    r"""Remove one level of escapes from a stretch of text.

    >>> unfold(r"{\"a\": 1}", 0, 10).text
    '{"a": 1}'
    """
    stretch = text[start:stop]
    if stretch.count("\\") == stretch.count('\\"'):  # only quotes are escaped, as in nearly every case
        return LayerView(stretch.replace('\\"', '"'), lambda: _unfolded(text, start, stop))
    return _unfolded(text, start, stop).whole()


def _unfolded(text: str, start: int, stop: int) -> ViewPieces:
    pieces = ViewPieces()
    at = start
    for match in ESCAPE.finditer(text, start, stop):
        pieces.add(text[at : match.start()], at, 1)
        escape = match[1]
        meaning = SIMPLE_ESCAPES.get(escape)
        if meaning is None:
            # halves of a surrogate pair stay escaped: their string is decoded later
            wide = escape[0] == "u" and len(escape) == 5
            meaning = escape if not wide else match[0] if escape[1] in "dD" else chr(int(escape[1:], 16))
        pieces.add(meaning, match.start(), 0)
        at = match.end()
    pieces.add(text[at:stop], at, 1)
    return pieces


def unbreak(text: str) -> LayerView | None:
    """Decode escaped line breaks between tokens; None if none follows an opening bracket."""
    opened = _BREAK_START.search(text) if "\\" in text else None
    if opened is None or ((first := ESCAPED_START.search(text)) and first.start() < opened.start()):
        return None
    return without(_BREAK, text, lambda match: match[0] if match[0][0] == '"' else " ")


def undouble(text: str) -> LayerView | None:
    """Halve doubled braces, as in a template; None if any brace is single, or only the outermost are doubled."""
    if "{{" not in text or not _DOUBLED_START.search(text):
        return None
    if any(len(match[0]) % 2 for match in _BRACES.finditer(text)):
        return None
    opening = text.count("{")
    if opening < _DOUBLED_TWICE or opening != text.count("}"):
        return None
    return without(_BRACES, text, lambda match: match[0][::2])
