"""Text from any source, made safe to show on a terminal, in a log or on a screen.

The result cannot move the cursor, colour the screen, hide itself or change the writing direction:
each character that could is shown as a visible escape. Markup of any kind is left as plain characters.
"""

import re

from trueup.verdict.patterns import lazy_regex

# Control characters, format characters (bidirectional, zero-width, tag block), line and paragraph separators,
# surrogates, and the characters that Unicode calls default-ignorable. U+FE0F stays: it only selects the coloured form of an emoji.
_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ANY = lazy_regex(f"[{_UNSAFE}]")
_ANY_OR_BREAK = lazy_regex(f"[{_UNSAFE}\t\n]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def safe(text: str) -> str:
    r"""The text, made safe to print; line breaks and tabs stay.

    >>> safe("a\x1b[31mred\u202eder")
    'a\\x1b[31mred<U+202E>der'
    """
    return _ANY.sub(_visible, text)


def safe_line(text: str) -> str:
    r"""The text, made safe to print on one line: line breaks and tabs become visible too.

    >>> safe_line("one\ntwo")
    'one\\ntwo'
    """
    return _ANY_OR_BREAK.sub(_visible, text)


def safe_json(text: str) -> str:
    r"""The text of a JSON document, made safe to print; it stays JSON with the same meaning.

    >>> safe_json('"\u202e"')
    '"\\u202e"'
    """
    return _ANY.sub(_json_escape, text)


def _visible(match: re.Match[str]) -> str:
    char = match.group()
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{ord(char):02x}" if char < "\xa0" else f"<U+{ord(char):04X}>"


def _json_escape(match: re.Match[str]) -> str:
    at = ord(match.group())
    if at < 0x10000:
        return f"\\u{at:04x}"
    at -= 0x10000
    return f"\\u{0xD800 + (at >> 10):04x}\\u{0xDC00 + (at & 0x3FF):04x}"
