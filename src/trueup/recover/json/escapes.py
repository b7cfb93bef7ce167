"""Decodes the characters between two quotes: escapes, also invalid ones, and backslashes that are text.

Takes the raw content of a string; returns its value and the codes for everything that is not valid JSON.
"""

import json
import re
from functools import cache

from trueup.recover.json.clean import unmeant
from trueup.recover.json.lexer import CONTROL, ESCAPE, SIMPLE_ESCAPES, SURROGATE
from trueup.verdict.patterns import lazy_regex

# A backslash before a letter that is not a JSON escape: LaTeX or a path, like all other backslashes in this string.
_BACKSLASH_WORD = lazy_regex(r"(?<!\\)(?:\\\\)*\\[ac-eg-mo-qsv-zA-TV-Z]")
_SPACED = lazy_regex(r"[\s{}$^=]")
# A doubled backslash before a letter: this string was escaped with care.
_DOUBLED_WORD = lazy_regex(r"(?<!\\)(?:\\\\)+[A-Za-z]")
_SHARE = lazy_regex(r"\\\\[\w.$-]{1,80}\\[^\\{}^=\s][^{}^=]*\Z")
# Signs that have a meaning after a backslash in a regular expression, and the brackets of formulas.
_PATTERN_SIGNS = frozenset(".()[]{}*+?^$|-")
_FORMULA = lazy_regex(r"(?<!\\)\\(?:\([^()\n]*\\\)|\[([^\[\]\n]*)\\\])")
# A JavaScript escape.
_BRACED = lazy_regex(r"(?<!\\)((?:\\\\)*)\\u\{(0{0,4}[0-9a-fA-F]{1,5}|10[0-9a-fA-F]{4})\}")
_FORMULA_SIGNS = frozenset("\\^_=+")


@cache
def _commands() -> re.Pattern[str]:
    """LaTeX commands that start like a JSON escape."""
    return re.compile(
        r"\\(?:[bf]|n(?:abla|eq?|u|ot|otin|i|mid|ewline|ewcommand|eg|earrow|onumber|oindent|atural|leq|geq|olimits)(?![a-z])"
        r"|t(?:imes|heta|ext[a-z]*|au|anh?|o|op|riangle[a-z]*|ilde|frac|herefore|iny|able|abular)(?![a-z])"
        r"|r(?:ho|ight[a-z]*|angle|ceil|floor|vert|oot|brace|brack|m|ef|ule)(?![a-z]))"
    )


def unescape(raw: str) -> tuple[str, tuple[str, ...]]:
    r"""The meaning of the characters between the quotes, and the codes for everything that is not valid JSON.

    >>> unescape(r"a\_b\u0041")
    ('a_bA', ('S025',))
    """
    codes: list[str] = []
    value = raw
    if CONTROL.search(raw):
        codes.append("S016")
    if "\\" in raw:
        value, odd = _decoded(raw)
        codes += odd
        if SURROGATE.search(value):
            value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
            if SURROGATE.search(value):
                value = SURROGATE.sub("\ufffd", value)
                codes.append("S035")
    return value, tuple(codes)


def _signed(found: re.Match[str]) -> str:
    """A JavaScript escape as one or two JSON escapes."""
    return found[1] + json.dumps(chr(int(found[2], 16)))[1:-1]


def _has_formula(raw: str) -> bool:
    return any(m[1] is None or not _FORMULA_SIGNS.isdisjoint(m[1]) for m in _FORMULA.finditer(raw))


def _decoded(raw: str) -> tuple[str, list[str]]:
    if raw.count("\\") == raw.count('\\"'):
        return raw.replace('\\"', '"'), []
    odd: list[str] = []
    words = _BACKSLASH_WORD.search(raw) is not None or unmeant(f'"{raw}"', 0, len(raw) + 2) is not None
    is_path = words and _SPACED.search(raw) is None
    careful = _DOUBLED_WORD.search(raw) is not None
    # where single backslashes are text, `\\` ends a line of a formula or starts the name of a network share
    pairs = words and (not careful or _SHARE.match(raw) is not None)
    signs = not words and (careful or _has_formula(raw))

    def meaning(m: re.Match[str]) -> str:
        escape = m[1]
        plain = SIMPLE_ESCAPES.get(escape)
        if plain is not None:
            if (pairs and plain == "\\") or (plain < " " and words and (is_path or _commands().match(raw, m.start()))):
                if not odd:
                    odd.append("S041")
                return m[0]
            return plain
        if escape[0] == "u" and len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape[0] in "xU" and len(escape) > 1:
            odd.append("S025")
            code = int(escape[1:], 16)
            return chr(code) if code < 0x110000 else m[0]
        if signs and escape in _PATTERN_SIGNS:
            odd.append("S041")
            return m[0]
        odd.append("S041" if escape == "u" else "S025")  # digits are missing
        if escape[0] in "\r\n":
            return ""
        return m[0] if words or escape.isalnum() else escape

    if "\\u{" in raw:
        raw, count = _BRACED.subn(_signed, raw)
        odd += ["S025"] * bool(count)
    value = ESCAPE.sub(meaning, raw)
    return value, (["S041"] if words else sorted(set(odd))) if odd else []
