"""Server-sent events: splits the bytes of a stream, cut anywhere, into whole events, and writes an event as bytes.

A line ends where the standard says and nowhere else. An event longer than its limit is refused. The output is always one
event, whatever its data contains.
"""

import re
from typing import NamedTuple

_BREAK = re.compile(rb"\r\n|\n|\r(?!\n|\Z)")
_ENDS = re.compile(r"\r\n|\r|\n")


class ServerSentEvent(NamedTuple):
    """One event: its name, its data, and its original bytes."""

    name: str
    data: bytes
    raw: bytes


class TooLong(ValueError):
    """An event of a stream is longer than its limit."""


class Reader:
    """Assembles the events of a stream.

    >>> reader = Reader()
    >>> reader.feed(b"event: ping\\ndata: {}\\n\\ndata: [DO"), [e.data for e in reader.feed(b"NE]\\n\\n")]
    ([ServerSentEvent(name='ping', data=b'{}', raw=b'event: ping\\ndata: {}\\n\\n')], [b'[DONE]'])
    """

    __slots__ = ("_held", "_lines", "_most", "_raw", "_size")

    def __init__(self, most: int = 4_000_000) -> None:
        self._most = most
        self._held: list[bytes] = []  # an unfinished line
        self._lines: list[bytes] = []
        self._raw: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Add the next bytes; return the events that they complete."""
        self._size += len(chunk)
        if b"\n" not in chunk and b"\r" not in chunk and not (self._held and self._held[-1].endswith(b"\r")):
            self._held.append(chunk)
            if self._size > self._most:
                raise TooLong(f"an event of the stream has more than {self._most:,} bytes")
            return []
        text = b"".join((*self._held, chunk))
        events = []
        at = 0
        for found in _BREAK.finditer(text):
            line = text[at : found.start()]
            self._raw.append(text[at : found.end()])
            at = found.end()
            if line:
                self._lines.append(line)
            else:
                event = self._close()
                if event is not None:
                    events.append(event)
        self._held = [text[at:]] if at < len(text) else []
        self._size = len(text) - at + sum(map(len, self._raw))
        if self._size > self._most:
            raise TooLong(f"an event of the stream has more than {self._most:,} bytes")
        return events

    def end(self) -> list[ServerSentEvent]:
        """The rest when the stream has ended: an event without its blank line still counts, if it has content."""
        last = self.feed(b"\n\n") if self._held or self._lines else []
        return [event for event in last if event.data]

    def _close(self) -> ServerSentEvent | None:
        lines, raw = self._lines, b"".join(self._raw)
        self._lines, self._raw = [], []
        if not lines:
            return None
        name, data = "", []
        for line in lines:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
        return ServerSentEvent(name, b"\n".join(data), raw)


# The text that marks the end of a stream, by the path of its protocol. Quotes and line breaks in a string are escaped, so no
# model text can contain it.
_OVER = {
    "/v1/chat/completions": (b"\ndata: [DONE]", b"\ndata:[DONE]", b'"finish_reason":"', b'"finish_reason": "'),
    "/v1/messages": (b"\nevent: message_stop", b'"message_stop"', b'"stop_reason":"', b'"stop_reason": "'),
    "/v1/responses": (b'"response.completed"', b'"response.failed"', b'"response.incomplete"'),
}
_ERROR = (b'"error":{', b'"error": {', b'"type":"error"', b'"type": "error"')
_MARGIN = max(len(mark) for marks in _OVER.values() for mark in marks)


class Ending:
    """Searches the bytes of a stream for its end: the last event, the finish reason, or an error.

    >>> ending = Ending("/v1/chat/completions")
    >>> ending.feed(b'data: {"choices": []}\\n\\ndata: [DO'), ending.seen, ending.feed(b"NE]\\n\\n"), ending.seen
    (None, False, None, True)
    """

    __slots__ = ("_marks", "_tail", "seen")

    def __init__(self, path: str) -> None:
        marks = _OVER.get(path)
        self._marks = () if marks is None else (*marks, *_ERROR)
        self._tail = b"\n"
        self.seen = marks is None  # the end of other streams is unknown

    def feed(self, piece: bytes) -> None:
        """Add the next bytes."""
        if self.seen:
            return
        text = self._tail + piece
        for mark in self._marks:
            if mark in text:
                self.seen = True
                return
        self._tail = text[-_MARGIN:]


def written(data: bytes, name: str = "") -> bytes:
    r"""One event as bytes; line breaks in its data become lines of the same event.

    >>> written(b'{"a":1}', "ping\ndata: forged")
    b'event: ping data: forged\ndata: {"a":1}\n\n'
    """
    lines = [b"data: " + line for line in re.split(rb"\r\n|\r|\n", data)]
    if name:
        lines.insert(0, b"event: " + _ENDS.sub(" ", name).encode())
    return b"\n".join(lines) + b"\n\n"
