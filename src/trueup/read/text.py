"""Plain text and bytes, which are the reply itself. Bytes that are not UTF-8 are replaced and reported (P007)."""

from typing import Any

from trueup.read.reading import Reading
from trueup.verdict.facts import finding
from trueup.verdict.reply import Reply


def read(text: str, raw: Any) -> Reading:
    """Read a text, which is the reply."""
    return Reading(Reply(text=text, raw=raw))


def decoded(source: bytes | bytearray | memoryview) -> tuple[str, bool]:
    """The text of bytes, and whether they were UTF-8; a byte order mark is dropped."""
    data = bytes(source)
    try:
        return data.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        return data.decode("utf-8-sig", "replace"), False


def damaged(reading: Reading) -> Reading:
    """A reading whose bytes were not UTF-8."""
    found = finding("P007", "$", "The reply's bytes are not UTF-8", None, {}, "")
    return reading._replace(findings=(*reading.findings, found))
