"""Reads the value of a field on one line, as YAML and Markdown write it: a literal, quoted or emphasised text, a short list.

Takes a stretch of a line and the types that the schema wants; returns its value. Anything but a clear literal stays text.
"""

import re
from typing import Any

from trueup.recover.forms.outline import OutlineLine
from trueup.recover.json.parser import Parser
from trueup.recover.json.tokens import read_token
from trueup.verdict.patterns import lazy_regex

PAIRS = {'"': '"', "'": "'", "“": "”", "«": "»", "`": "`", "「": "」", "‘": "’"}
TEXT_ONLY = frozenset({"string", "null"})
LIST_ONLY = frozenset({"array", "null"})
_NUMERIC = frozenset({"number", "integer", "null"})
_PARTS = lazy_regex(r"[,;、，；][ \t]*")
_MAX_PART, _MAX_PART_WORDS = 60, 6
# Values that do not include a comma after them.
_PLAIN = lazy_regex(r"[-+]?[0-9][0-9.,eE+-]{0,400}|[\[{].*[\]}]|true|false|null|True|False|None|~", re.DOTALL)
_GROUPED = lazy_regex(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3})+(\.[0-9]+)?")


def parts_of_list(raw: str) -> list[str] | None:
    """The parts of a text that lists short items between commas; None if it does not.

    >>> parts_of_list("fast, cheap"), parts_of_list("fast")
    (['fast', 'cheap'], None)
    """
    parts = [part.strip() for part in _PARTS.split(raw)] if raw[:1] not in ("[", "{") else []
    short = all(0 < len(part) <= _MAX_PART and len(part.split()) <= _MAX_PART_WORDS for part in parts)
    return parts if len(parts) > 1 and short else None


def inline(raw: str, want: frozenset[str] = frozenset(), ends: str = "") -> Any:
    """A scalar on one line, without its quotes or emphasis: a literal if it is written as in JSON, otherwise its text.

    A comma or semicolon at its end is removed from a literal or a quoted text, and from any text if all lines end with it.

    >>> inline("36"), inline("1.50"), inline("**Ada**"), inline("'x'")
    (36, '1.50', 'Ada', 'x')
    """
    raw = raw.strip()
    last = raw[-1:]
    text, quoted = bare(raw.rstrip(",;").rstrip() if last in (",", ";") else raw)
    if quoted:
        return text
    if last in (",", ";") and last != ends and _PLAIN.fullmatch(text) is None:
        text, quoted = bare(raw)
    if quoted or (want and want <= {"string"}):
        return text
    if text in ("", "~"):
        return None
    if want and want <= _NUMERIC and (grouped := grouped_number(text, with_fraction="number" in want)) is not None:
        return grouped
    value, code = read_token(text)
    plain = code in (None, "S018") and (value is None or isinstance(value, bool) or str(value) == text)
    return value if plain else text


def grouped_number(text: str, *, with_fraction: bool) -> int | float | None:
    """A number with commas between its thousands; None if the text is not one, or the comma may be a decimal point.

    >>> grouped_number("1,234", with_fraction=False), grouped_number("1,200.50", with_fraction=True)
    (1234, 1200.5)
    >>> grouped_number("1,234", with_fraction=True) is None
    True
    """
    found = _GROUPED.fullmatch(text)
    if found is None or (found[1] and not with_fraction):
        return None
    if with_fraction and found[1] is None and text.count(",") < 2:
        return None
    digits = text.replace(",", "")
    return float(digits) if found[1] else int(digits)


def common_end(lines: list[OutlineLine], text: str) -> str:
    """The comma or semicolon that all of some lines end with; the last line may lack the comma."""
    signs = [text[line.start : line.end].rstrip()[-1:] for line in lines]
    first = signs[0] if len(signs) > 1 else ""
    if first == ",":
        return first if all(sign == first for sign in signs[:-1]) else ""
    return first if first == ";" and all(sign == first for sign in signs) else ""


def bare(raw: str) -> tuple[str, bool]:
    """A text without the quotes or emphasis around it, and whether it was quoted.

    >>> bare('"a" and "b"'), bare("__init__"), bare("**x**")
    (('"a" and "b"', False), ('__init__', False), ('x', False))
    """
    for mark in ("***", "**", "*") if raw[:1] == "*" else ():
        if raw.startswith(mark) and raw.endswith(mark) and len(raw) > 2 * len(mark):
            inner = raw[len(mark) : -len(mark)]
            if "*" not in inner:
                return bare(inner.strip()) if inner[:1] in PAIRS else (inner.strip(), False)
    closer = PAIRS.get(raw[:1])
    if closer is None or len(raw) < 2 or raw[-1] != closer:
        return raw, False
    inner = raw[1:-1]
    if closer == '"' and "\\" in inner:
        read = Parser(f"[{raw}]", 0, len(raw) + 2, frozenset(), 2).read()
        good = not read.cut and len(read.value) == 1 and isinstance(read.value[0], str)
        return (read.value[0], True) if good else (inner, True)
    if closer in "\"'":
        unescaped = inner.replace(closer * 2, "")
        return (inner.replace(closer * 2, closer), True) if closer not in unescaped else (raw, False)
    return (inner, True) if closer not in inner and raw[0] not in inner else (raw, False)
