"""Convert anything that a caller may check to one Reply: text, bytes, a provider's shape, messages.

Bytes that are not UTF-8 and halves of surrogate pairs are replaced by U+FFFD, each with a record, so that all later
code gets text that can be encoded.
"""

import codecs
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from trueup.verdict.facts import Finding
from trueup.verdict.patterns import lazy_regex
from trueup.verdict.reply import Reply

if TYPE_CHECKING:
    from trueup.read.history import Earlier
    from trueup.read.reading import Reading
    from trueup.recover.json.parser import Record

_HALF = lazy_regex(r"[\ud800-\udfff]")
_DAMAGED = lazy_regex(r"[\ud800-\udfff]+")
_MOST = 1_000
_NEXT_LINE = lazy_regex(r"\}\r?\n\{")
WHOLE = frozenset({str, bytes, dict, list, Reply})  # certainly not a stream that must be read first
# The first letters of a stream's body, except `{`, with which most values start.
STREAM_STARTS = frozenset("deir:f0g9b\0\ufeff\r\n ")
_STARTS = ("data:", "event:", "id:", "retry:", ":", "f:{", '0:"', 'g:"', "9:{", "b:{", "\0")
_BLANK = "\ufeff\r\n "
_FIRST_LINES = 4096


def is_stream(text: str) -> bool:
    """Whether a text may be a stream's body: server-sent events, lines of JSON, binary frames, Vercel's data lines.

    >>> is_stream(": a comment\\n\\ndata: {}"), is_stream('{"a": 1}'), is_stream("I think so.")
    (True, False, False)
    """
    if text[:1] == "{":
        return _NEXT_LINE.search(text, 0, _FIRST_LINES) is not None
    return (text[:64].lstrip(_BLANK) if text[:1] in _BLANK else text).startswith(_STARTS)


def incoming(source: Any) -> "tuple[Reply, tuple[Finding, ...], list[Record]]":
    """The given reply as one Reply, the findings about its shape, and records of the replacements in it."""
    if type(source) is dict:
        reading = _reader()(source)
        return reading.reply, reading.findings, []
    if isinstance(source, Reply):
        return source, (), []
    if isinstance(source, str):
        if not is_stream(source):
            return Reply(text=str.__str__(source)), (), []  # for a subclass, such as LangChain's, the plain text
    elif isinstance(source, bytes | bytearray | memoryview):
        text, damage = _decoded(bytes(source))
        if damage and is_stream(text) and (arrived := _until_cut(bytes(source))):
            source, text, damage = arrived, arrived, []
        if damage or not is_stream(text):
            return Reply(text=text), (), damage
    reading = _reader()(source)
    return reading.reply, reading.findings, []


@cache
def _reader() -> "Callable[[Any], Reading]":
    from trueup.read.reader import read  # a separate room, not needed for plain text

    return read


def called_before(history: Any) -> "list[Earlier]":
    """The model's messages before this reply, in order, with the results of their calls."""
    if not history or not isinstance(history, list | tuple):
        return []
    from trueup.read.history import earlier  # as above: needed only if there is a history

    return earlier(history, _reader())


def _decoded(raw: bytes) -> "tuple[str, list[Record]]":
    try:
        return raw.decode(), []
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "surrogateescape")
    return _HALF.sub("\ufffd", text), _damage(text, "S039")


def _until_cut(raw: bytes) -> str:
    """The rest of a stream that was cut inside its last character; empty if other bytes are damaged too."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(raw)
    except UnicodeDecodeError:
        return ""


def without_surrogates(text: str) -> "tuple[str, list[Record]]":
    """The text with each half of a surrogate pair replaced."""
    return _HALF.sub("\ufffd", text), _damage(text, "S035")


def _damage(text: str, code: str) -> "list[Record]":
    """A record for each damaged place; beyond a sensible number, the last record covers all the others."""
    records: list[Record] = []
    for run in _DAMAGED.finditer(text):
        if len(records) == _MOST:
            records.append((code, run.start(), len(text), "\ufffd", None))
            break
        records.append((code, run.start(), run.end(), "\ufffd" * (run.end() - run.start()), None))
    return records
