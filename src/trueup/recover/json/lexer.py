"""The tables and patterns of tolerant JSON: which signs open and close, which words are literals.

This module is only data. Every pattern is linear: no nested repeats, and look-aheads are bounded.
"""

import re
from functools import lru_cache

from trueup.verdict.patterns import lazy_regex

WS = r"[ \t\n\r]*"

# Opening sign of a string → the signs that may close it.
QUOTES: dict[str, str] = {
    '"': '"',
    "'": "'",
    "`": "`´",
    "“": '”“"',
    "”": '”“"',
    "„": '”“"',
    "‟": '”“"',
    "‘": "’‘'",
    "’": "’‘'",
    "‚": "’‘'",
    "«": "»",
    "＂": "＂",
    "「": "」",
    "´": "´`",
}
QUOTE_CODE: dict[str, str] = {
    "'": "S008", "`": "S010", "´": "S010", "＂": "S024", "«": "S009", "「": "S009",
    "“": "S009", "”": "S009", "„": "S009", "‟": "S009", "‘": "S009", "’": "S009", "‚": "S009",
}  # fmt: skip

# Full-width punctuation → the sign it stands for.
WIDE = {
    "：": ":",
    "，": ",",
    "、": ",",
    "；": ",",
    "،": ",",
    "؛": ",",
    "｛": "{",
    "｝": "}",
    "［": "[",
    "］": "]",
    "（": "(",
    "）": ")",
    "【": "[",
    "】": "]",
}

COMMAS = ",，、،;；؛"
OPENERS = "{[("
CLOSER_OF = {"{": "}", "[": "]", "(": ")"}

LITERALS: dict[str, object] = {"true": True, "false": False, "null": None}
FOREIGN: dict[str, object] = {
    "True": True, "False": False, "None": None, "TRUE": True, "FALSE": False, "NULL": None,
    "Null": None, "nil": None, "NONE": None,
}  # fmt: skip
WORDS: dict[str, object] = {**LITERALS, **FOREIGN}
NON_FINITE = frozenset(
    {"NaN", "nan", "Infinity", "-Infinity", "+Infinity", "inf", "-inf", "+inf", "Inf", "-Inf", "NAN"}
)

# Characters that may occur between tokens although JSON does not allow them as whitespace.
ODD_SPACE = "\u00a0\u1680\u2000-\u200f\u2028\u2029\u202a-\u202f\u205f\u2060-\u2064\u3000\ufeff\u180e\u000b\u000c\u0085\u001c-\u001f\u0000"
SKIP_PLAIN = lazy_regex(WS)
# Everything that may occur between tokens, for looking ahead.
BLANK = r"\s\u200b-\u200f\u2060-\u2064\ufeff\u180e\u0000"
SKIP_BLANK = lazy_regex(f"[{BLANK}]*")
SKIP_ODD = lazy_regex(f"[{ODD_SPACE}]+")
COMMENT = lazy_regex(r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|#[^\n]*|<!--[\s\S]*?(?:-->|\Z)")

# One clean or nearly clean member; the parser's rules read all others.
MEMBER = lazy_regex(
    WS + r"""(?:"([^"\\\x00-\x1f]*)"|'([^'\\\x00-\x1f]*)'|([A-Za-z_$][\w$]*))""" + WS + ":" + WS + r"(?:(?:"
    r""""([^"\\\x00-\x1f]*)"|'([^'\\\x00-\x1f]*)'|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"""
    r"|(true|false|null|True|False|None))" + WS + r"(?:,(?![0-9])|(?=\}))|([{\[]))"
)
# One clean item of a list followed by a comma or the end of the list.
ITEM = lazy_regex(
    WS + r"""(?:(?:"([^"\\\x00-\x1f]*)"|'([^'\\\x00-\x1f]*)'|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"""
    r"|(true|false|null|True|False|None))" + WS + r"(?:,|(?=\]))|([{\[]))"
)

# A possible key, up to and including its colon; bounded so that a look-ahead costs little.
EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\ufe0f"
_KEY_WORD = rf"[\w$@.\-{EMOJI}]{{1,80}}"
KEY_AHEAD = lazy_regex(
    rf"""[{BLANK},]*(?:(?:""[^"\n]{{1,120}}""|''[^'\n]{{1,120}}''|``[^`\n]{{1,120}}``|"(?:[^"\\\n]|\\.){{0,120}}?["”]|'[^'\n]{{0,120}}?'|[“”„‟][^“”\n]{{0,120}}?[“”"]"""
    rf"""|[‘’‚][^‘’\n]{{0,120}}[’‘']|[`´][^`´\n]{{0,120}}[`´]|«[^»\n]{{0,120}}»|「[^」\n]{{0,120}}」)"""
    rf"""[{BLANK}]*(?::|：|=>?|->)|{_KEY_WORD}["'”]?[{BLANK}]*(?:[:：](?!//)|=>))"""
)
# The same in the arguments of a call.
ARGUMENT_AHEAD = lazy_regex(rf"[{BLANK},]*:?[^\W\d]\w*[{BLANK}]*=>?(?!=)")
# A key of several words without its first quote, or a key without its last quote, with a value after the colon.
ODD_KEY_AHEAD = lazy_regex(
    rf"""[{BLANK},]*(?:[^\W\d][\w$.\-]{{0,40}}(?:[ ][\w$.\-]{{1,40}}){{1,4}}["”]\s*[:：]"""
    r"""|"[^\W\d][\w$.\-]{0,40}(?:[ ][\w$.\-]{1,40}){0,3}[:：]\s*(?:"[^"\n]{0,400}"|[\[{]|-?[0-9][0-9.]*|true|false|null|True|False|None)\s*[,}\]\n"])"""
)
# A quoted key whose colon is missing: accepted if a bracket follows, or if the schema has the key.
KEY_NO_COLON = lazy_regex(
    r"""[\s,]*["'“]([^"'“”\n]{1,80})["'”]\s+(?=(["'“\d\-]|true|false|null|True|False|None)|[\[{])"""
)
# The same without quotes: accepted if keys before it had no colon either, or if the schema has the key.
BARE_NO_COLON = lazy_regex(
    r"""[\s,]*([^\W\d][\w$.\-]{0,60})[ \t]+(?=["'“\[{]|-?[0-9]|(?:true|false|null|True|False|None)\b)"""
)
# A quoted key without its colon, and a whole value after it.
LONE_KEY = lazy_regex(
    r"""\s*"[^"\n\\]{1,80}"[ \t]+(?:"[^"\n\\]{0,200}"|-?[0-9][0-9.eE+-]{0,40}|true|false|null|True|False|None)\s*(?:[}\n]|,\s*["}])"""
)
_JOINED_KEY = lazy_regex(r"""\s*([^\W\d_]{1,16})\s*(?="[^"\n\\]{1,80}"\s*:)""")
# The same for a key directly at a quote inside a string that was perhaps never closed.
KEY_AT_QUOTE = lazy_regex(r"""(["'“‘`])([^"'“”\n\\:,{}\[\]]{1,80})["'”’`]\s*[:：]""")
BARE_KEY = lazy_regex(
    rf"[^\W\d][\w$@.\-]*|[$@][\w$@.\-]+|-?\d[\w.\-]*(?=\s*[:：])|:(?=[^\W\d]\w*\s*=>)|[{EMOJI}][\w$@.\-{EMOJI}]*"
)
# Another sign in place of a comma, with a quoted key after it.
ODD_COMMA = lazy_regex(r"""[.|]\s*["“][^"“”\n]{1,80}["”]\s*[:：]""")
# A key with its colon in place of a value: the brace of an inner object is missing.
KEY_AS_VALUE = lazy_regex(r"""["']([^"'\n\\]{1,60})["']\s*:\s*(?=["'\[{\d\-]|true|false|null)""")
_SCALAR = r"""(?:"[^"\n]{0,400}"|'[^'\n]{0,400}'|-?[0-9][0-9.eE+-]*|true|false|null|True|False|None)"""
# Scalars up to a closing bracket, in place of members: a list whose opening bracket is missing.
REST_OF_LIST = lazy_regex(rf"{_SCALAR}(?:\s*,\s*{_SCALAR}){{0,500}}\s*,?\s*\]")
SPACED_KEY = lazy_regex(r"[^\W\d][\w$.\-]*(?:[ ][\w$.\-]+){1,5}(?=[\"'”]?[ ]?:)")

NUMBER = lazy_regex(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
ODD_NUMBER = lazy_regex(
    r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)"
    r"|((?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][+-]?[0-9]+)?)[nLlfFdD]?)"
)
WRITTEN_NUMBER = lazy_regex(r"[+-]?[0-9.][0-9a-zA-Z._/+-]{0,4300}")
CLOSING_TAG = lazy_regex(r"</[A-Za-z_][\w:.-]{0,60}>|<\|[^<>|\n]{1,60}\|>")
ELLIPSIS = lazy_regex(r"(?:\.\.\.+|…+)")
CALL = lazy_regex(r"(?:new\s+)?([^\W\d][\w.]*)\(")
KEYWORD_ARG = lazy_regex(r"\s*[^\W\d]\w*\s*=(?!=)")
ESCAPE = lazy_regex(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|\r\n|[\s\S])")
SIMPLE_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
CONTROL = lazy_regex(r"[\x00-\x1f]")
SURROGATE = lazy_regex(r"[\ud800-\udfff]")
# In a list: a number or literal with only a space between it and the next one.
_IN_A_ROW = r"(?:-?[0-9]+(?:\.[0-9]+)?|true|false|null|True|False|None)"
SCALARS_IN_A_ROW = lazy_regex(rf"{_IN_A_ROW}(?=[ \t\n]+{_IN_A_ROW}(?:[ \t\n]|[,，\]]))")

_SHORT_KEY = 64


def fold(key: str) -> str:
    """A key without case, spacing and punctuation, for comparing.

    >>> fold("Unit_Price") == fold("unit price")
    True
    """
    return _folded(key) if len(key) <= _SHORT_KEY else "".join(filter(str.isalnum, key.casefold()))


@lru_cache(4096)
def _folded(key: str) -> str:
    """Cached, because the keys of a schema come again with every reply; long keys are not cached."""
    return "".join(filter(str.isalnum, key.casefold()))


def joined_key(text: str, at: int, end: int) -> re.Match[str] | None:
    """A word that joins the next member to the last: `, and "b": 2`."""
    found = _JOINED_KEY.match(text, at, end)
    if found is None:
        return None
    from trueup.recover.words import words  # loaded when a reply first needs a phrase

    return found if found[1].lower() in words("member.joins") else None


def json_word(word: str) -> str:
    """The JSON literal that a foreign word means.

    >>> json_word("None")
    'null'
    """
    value = WORDS[word]
    return "null" if value is None else "true" if value else "false"
