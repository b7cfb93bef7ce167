"""Values that are JSON as they stand inside of a text that is not: the fast parser takes them, and finds where they end.

The offset of an opening bracket enters. What leaves is what the tolerant reader would give without a single record; whatever
it might note or read otherwise (a key given twice, an odd escape, a great depth, a long integer) is left to it.
"""

import json
from typing import Any

from orjson import dumps

from trueup.recover.json.clean import looks_odd

_raw_decode = json.JSONDecoder().raw_decode
_WINDOW = 1024
_EDGE = 16


def closed(text: str, at: int, stop: int) -> tuple[bool, Any, int]:
    """Whether the value that opens here is JSON, the value, and the offset behind it, or behind what was looked at in vain.

    It is looked at through a window, so that a fault costs no more than its distance.

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
    """The same of a value that wants no second look."""
    found, value, end = closed(text, at, stop)
    if not found:
        return False, None, end
    piece = text[at:end]
    try:
        again = dumps(value)
    except TypeError:
        return False, None, end
    # a key given twice took its quotes along, and what is no number of JSON was written as null
    same = piece.count('"') == again.count(b'"') and piece.count("null") == again.count(b"null")
    return same and not ("\\" in piece and looks_odd(piece)), value, end
