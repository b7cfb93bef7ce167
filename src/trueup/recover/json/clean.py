"""The fast lane: decodes text that is already JSON once, and catches what decoders do not report.

msgspec refuses NaN, overflow and lone surrogates and keeps integers exact, but does not report duplicate keys. So the value
is encoded again and the quotes are counted: a key that vanished took its quotes along. `exact` does the same for a value
inside a text. It accepts only what the tolerant parser would read without a single record.
"""

import json
from typing import Any

import orjson

from trueup.verdict.patterns import lazy_regex

# Valid JSON escapes in what can only be LaTeX or a Windows path.
_UNMEANT = lazy_regex(
    r"\\(?:f(?:rac|orall|box|lat)|b(?:eta|egin|inom|ar|oldsymbol|f|ullet|mod|ig[gl]?)(?![a-z])"
    r"|t(?:imes|heta|ilde|ext(?:bf|it|rm)?\{|frac)|r(?:ho|ight|angle|ceil|floor)(?![a-z])|n(?:abla|eq|otin)(?![a-z])"
    r"""|[bfnrt](?<="[A-Za-z]:\\.)[\w.\\-]*(?=")|u0022)"""
)

# orjson refuses to encode a value nested deeper than this, so a value that it encoded is not.
WRITABLE_DEPTH = 254


def repeats_a_key(text: str) -> bool:
    """Whether valid JSON has a key twice in one object; slow but certain.

    >>> repeats_a_key('{"a": 1, "a": 2}'), repeats_a_key('{"a": "\\u0022"}')
    (True, False)
    """
    found = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        value = dict(members)
        found = found or len(value) != len(members)
        return value

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return False
    return found


def keeps_all_keys(text: str, again: bytes) -> bool:
    """Whether no key was lost in decoding: the value, encoded again, has as many quotes as the text.

    >>> keeps_all_keys('{"a": 1, "a": 2}', b'{"a":2}')
    False
    """
    return text.count('"') == again.count(b'"') and not ("\\" in text and "\\u0022" in text)


def has_integral(again: bytes) -> bool:
    """Whether an encoded value contains a number with a zero fraction, such as `5.0`.

    >>> has_integral(b'{"a":5.0}'), has_integral(b'{"a":0.07}')
    (True, False)
    """
    return b".0," in again or b".0}" in again or b".0]" in again or again.endswith(b".0")


def looks_odd(text: str) -> bool:
    r"""Whether valid JSON with a backslash needs a closer look: it has escaped quotes or probably unintended escapes.

    >>> looks_odd(r'"a\nb"'), looks_odd(r'"\frac{1}{2}"'), looks_odd(r'"C:\new"'), looks_odd(r'"\u0022"')
    (False, True, True, True)
    """
    found = _UNMEANT.search(text, text.find("\\"))
    return found is not None and ("\\u0022" in text or unmeant(text, 0, len(text)) is not None)


def unmeant(text: str, start: int, stop: int) -> tuple[int, int] | None:
    r"""The first escape in valid JSON that was probably not intended; None if there is none.

    >>> unmeant(r'"\\frac \beta"', 0, 15)
    (8, 13)
    """
    for found in _UNMEANT.finditer(text, start, stop):
        slash = found.start()
        while slash > start and text[slash - 1] == "\\":
            slash -= 1
        if (found.start() - slash) % 2 == 0 and found[0] != "\\u0022":
            return found.span()
    return None


_raw_decode = json.JSONDecoder().raw_decode
_WINDOW = 1024
_EDGE = 16


def closed(text: str, at: int, stop: int) -> tuple[bool, Any, int]:
    """Whether the value that opens here is JSON, the value, and the offset after it (or after what was tried, if it is not).

    Only a window of the text is decoded at a time, so a fault costs no more than its distance.

    >>> closed('[{"a": 1}, {"a": 2', 1, 18), closed('[{"a": 1}, {"a": 2', 11, 18)
    ((True, {'a': 1}, 9), (False, None, 18))
    """
    size = _WINDOW
    while True:
        piece = text[at : min(at + size, stop)]
        try:
            value, end = _raw_decode(piece)
            return True, value, at + end
        except json.JSONDecodeError as error:
            inside = error.msg.startswith("Unterminated") or error.pos >= len(piece) - _EDGE
            if len(piece) < size or not inside:
                return False, None, at + len(piece)
        except (ValueError, RecursionError):
            return False, None, at + len(piece)
        size *= 8


def exact(text: str, at: int, stop: int) -> tuple[bool, Any, int]:
    """Like `closed`, but also refuses a value that needs a closer look."""
    found, value, end = closed(text, at, stop)
    if not found:
        return False, None, end
    piece = text[at:end]
    try:
        again = orjson.dumps(value)
    except TypeError:
        return False, None, end
    # a repeated key took its quotes along, and a number that JSON does not have was encoded as null
    same = piece.count('"') == again.count(b'"') and piece.count("null") == again.count(b"null")
    return same and not ("\\" in piece and looks_odd(piece)), value, end
