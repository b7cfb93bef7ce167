"""What a caller may hand to a check, as text: str, bytes or a Reply.

Bytes that are not UTF-8 and halves of surrogate pairs are replaced by U+FFFD, each with a record, so that
everything behind this point reads text that can be encoded.
"""

from typing import Any

from trueup.recover.grammar import SURROGATE
from trueup.recover.reader import Record
from trueup.verdict.reply import Reply


def text_of(reply: Any) -> tuple[str, list[Record]]:
    """The text of a reply and the records of what had to be replaced in it."""
    if isinstance(reply, str):
        return reply, []
    if isinstance(reply, Reply):
        return reply.text, []
    if isinstance(reply, bytes | bytearray | memoryview):
        return _decoded(bytes(reply))
    raise TypeError(f"check() takes str, bytes or a Reply, got {type(reply).__name__}; pass the reply's text")


def _decoded(raw: bytes) -> tuple[str, list[Record]]:
    try:
        return raw.decode(), []
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "surrogateescape")
    records: list[Record] = [("S039", m.start(), m.end(), "\ufffd", None) for m in SURROGATE.finditer(text)]
    return SURROGATE.sub("\ufffd", text), records


def without_surrogates(text: str) -> tuple[str, list[Record]]:
    """The text with each half of a surrogate pair replaced."""
    records: list[Record] = [("S035", m.start(), m.end(), "\ufffd", None) for m in SURROGATE.finditer(text)]
    return SURROGATE.sub("\ufffd", text), records
