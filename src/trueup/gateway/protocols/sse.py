"""Server-sent events: bytes of a stream enter in any cut, whole events leave; and an event as bytes.

A line ends as the standard says and nowhere else. An event that is longer than its limit is refused. What is written is
always one event, whatever stands in its data.
"""

import re
from typing import NamedTuple

_BREAK = re.compile(rb"\r\n|\n|\r(?!\n|\Z)")
_ENDS = re.compile(r"\r\n|\r|\n")


class Event(NamedTuple):
    """One event: its name, its data, and the bytes it came as."""

    name: str
    data: bytes
    raw: bytes


class TooLong(ValueError):
    """An event of a stream is longer than its limit."""


class Reader:
    """Puts the events of a stream together.

    >>> reader = Reader()
    >>> reader.feed(b"event: ping\\ndata: {}\\n\\ndata: [DO"), [e.data for e in reader.feed(b"NE]\\n\\n")]
    ([Event(name='ping', data=b'{}', raw=b'event: ping\\ndata: {}\\n\\n')], [b'[DONE]'])
    """

    __slots__ = ("_held", "_lines", "_most", "_raw", "_size")

    def __init__(self, most: int = 4_000_000) -> None:
        self._most = most
        self._held: list[bytes] = []  # a line that has not ended yet
        self._lines: list[bytes] = []
        self._raw: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; the events that they end."""
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

    def end(self) -> list[Event]:
        """What is left when the stream has ended: an event without its blank line is still one, if it says something."""
        last = self.feed(b"\n\n") if self._held or self._lines else []
        return [event for event in last if event.data]

    def _close(self) -> Event | None:
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
        return Event(name, b"\n".join(data), raw)


# What says that a stream has come to its end, by the path of its protocol. Quotes and line breaks in a text are escaped, so no text of a
# model can say it.
_OVER = {
    "/v1/chat/completions": (b"\ndata: [DONE]", b"\ndata:[DONE]", b'"finish_reason":"', b'"finish_reason": "'),
    "/v1/messages": (b"\nevent: message_stop", b'"message_stop"', b'"stop_reason":"', b'"stop_reason": "'),
    "/v1/responses": (b'"response.completed"', b'"response.failed"', b'"response.incomplete"'),
}
_ERROR = (b'"error":{', b'"error": {', b'"type":"error"', b'"type": "error"')
_MARGIN = max(len(mark) for marks in _OVER.values() for mark in marks)


class Ending:
    """Looks in the bytes of a stream for what says that it is over: the last event, the reason of the end, or an error.

    >>> ending = Ending("/v1/chat/completions")
    >>> ending.feed(b'data: {"choices": []}\\n\\ndata: [DO'), ending.seen, ending.feed(b"NE]\\n\\n"), ending.seen
    (None, False, None, True)
    """

    __slots__ = ("_marks", "_tail", "seen")

    def __init__(self, path: str) -> None:
        marks = _OVER.get(path)
        self._marks = () if marks is None else (*marks, *_ERROR)
        self._tail = b"\n"
        self.seen = marks is None  # of other streams it is not known what ends them

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
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
