r"""Encode any text so that every database can store it, and decode it again.

NUL and half surrogates are written as `\u0000` and `\ud83d`, a backslash as two; everything else is unchanged. Long texts are
stored as bytes instead. The encoding is lossless and unique.
"""

import re

_ODD = re.compile("[\\\\\x00\ud800-\udfff]")
_WRITTEN = re.compile(r"\\(\\|u[0-9a-f]{4})")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def pack(text: str) -> str:
    r"""A text as a cell can store it.

    >>> pack("a\x00b\\c")
    'a\\u0000b\\\\c'
    """
    try:
        if text.isascii() and text.isprintable() and "\\" not in text:
            return text
    except AttributeError:
        raise TypeError(f"names, ids and keys must be strings; got {text!r}") from None
    return _ODD.sub(_write, text)


def unpack(cell: str) -> str:
    r"""The text that was packed.

    >>> unpack(pack("a\x00\ud83d\\u0000")) == "a\x00\ud83d\\u0000"
    True
    """
    return _WRITTEN.sub(_read, cell) if "\\" in cell else cell


def to_bytes(text: str) -> bytes:
    """A long text as bytes, including half surrogates."""
    return text.encode("utf-8", "surrogatepass")


def to_text(blob: bytes) -> str:
    """The text that `to_bytes` encoded."""
    return bytes(blob).decode("utf-8", "surrogatepass")


def calm(text: str) -> str:
    """A CSV cell that no spreadsheet reads as a formula.

    >>> calm("=1+1"), calm("plain")
    ("'=1+1", 'plain')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _write(match: re.Match[str]) -> str:
    char = match.group()
    return "\\\\" if char == "\\" else f"\\u{ord(char):04x}"


def _read(match: re.Match[str]) -> str:
    what = match.group(1)
    return "\\" if what == "\\" else chr(int(what[1:], 16))
