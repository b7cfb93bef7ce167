"""A reply while it arrives: takes chunks of any kind, returns the text that each adds, and at the end all of it in the form
that `read` takes.

Chunks are pieces of the reply's text, an SDK's objects or their dicts, or the body of a stream: bytes or text of server-sent
events cut anywhere, or its lines one by one. A stream is either text or events; a mix of both is a `TypeError`.
"""

import codecs
from typing import Any

from trueup.read import detect
from trueup.read.deltas import Choosing, bare
from trueup.read.events import looks_like_lines, value
from trueup.verdict.patterns import lazy_regex

_FIELDS = ("data:", "event:", "id:", "retry:", ": ")
_BLANK = "\ufeff\r\n "
_DONE = "[DONE]"
_ERROR = lazy_regex(r"event:\s*error\s*")  # their text may be plain text


class Arriving:
    """The part of one reply that has arrived."""

    __slots__ = ("_begun", "_body", "_choosing", "_decoder", "_ends", "_events", "_pieces")

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._choosing = Choosing()
        self._pieces: list[str | bytes] = []
        self._ends: set[int] = set()  # the pieces before which a line seems to have ended
        self._decoder: codecs.IncrementalDecoder | None = None
        self._begun: str | None = ""  # the first characters, until they show what kind of text it is
        self._body: Body | None = None  # the text is the body of a stream

    def feed(self, chunk: Any) -> str:
        """Add the next chunk; return the text of the reply that it adds.

        >>> arriving = Arriving()
        >>> arriving.feed({"choices": [{"delta": {"content": "Hel"}}]})
        'Hel'
        """
        if type(chunk) is str and self._begun is None and self._body is None:
            self._pieces.append(chunk)
            return chunk
        if isinstance(chunk, str | bytes | bytearray | memoryview):
            return self._text(chunk if isinstance(chunk, str | bytes) else bytes(chunk))
        if chunk is None:
            return ""  # the content of a delta that has none
        if isinstance(chunk, int | float | list | tuple | set):
            raise TypeError(
                f"a chunk must be text, bytes, or an object or dict of a provider; got {type(chunk).__name__}"
            )
        if any(self._pieces):
            raise _mixed()
        event = bare(chunk)
        if event is None:
            return ""
        self._events.append(event)
        return self._choosing.text_of(event)

    def whole(self) -> Any:
        """Everything that has arrived: text, bytes, or the list of the events."""
        if self._events:
            return self._events
        pieces: list[Any] = self._pieces
        if self._ends and self._body is not None and self._body.has_events:
            pieces = [_on_new_line(piece) if at in self._ends else piece for at, piece in enumerate(pieces)]
        if all(isinstance(piece, str) for piece in pieces):
            return "".join(pieces)
        return b"".join(p.encode("utf-8", "surrogatepass") if isinstance(p, str) else p for p in pieces)

    def _text(self, piece: str | bytes) -> str:
        if piece and self._events:
            raise _mixed()
        text = piece if isinstance(piece, str) else self._decoded(piece)
        if self._body is not None and self._body.ends_before(text):
            self._ends.add(len(self._pieces))
            text = "\n" + text
        self._pieces.append(piece)
        if self._body is not None:
            return self._body.feed(text)
        if self._begun is None:
            return text
        self._begun += text
        return self._decided(self._begun)

    def _decided(self, begun: str) -> str:
        """Decide what kind of text it is as soon as its first characters show it; until then nothing is returned."""
        start = begun.lstrip(_BLANK)
        if not start or any(field.startswith(start) for field in _FIELDS):
            return ""
        self._begun = None
        if start.startswith(_FIELDS) or (looks_like_lines(start.rstrip() + "\n{") and _is_event(start)):
            self._body = Body()
            return self._body.feed(start)
        return begun

    def _decoded(self, piece: bytes) -> str:
        if self._decoder is None:
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return self._decoder.decode(piece)


class Body:
    """The body of a stream, read line by line as it arrives: server-sent events, or lines of JSON."""

    __slots__ = ("_choosing", "_data", "_line", "has_events")

    def __init__(self) -> None:
        # an event of a provider has arrived; before, it may be text that only begins like a body
        self.has_events = False
        self._choosing = Choosing()
        self._line: list[str] = []  # the pieces of the line that has not ended
        self._data: list[str] = []  # the lines of an event that is written over several

    def ends_before(self, piece: str) -> bool:
        """Whether a piece is a complete line: lines are passed in without their ends, too."""
        if not self._line or not (not piece or piece.startswith((*_FIELDS, "{"))):
            return False
        line = "".join(self._line)
        if not line.startswith("data:"):
            return line.startswith(_FIELDS) or isinstance(value(line), dict)
        data = line[5:].strip()
        return data == _DONE or isinstance(value(data), dict)

    def feed(self, text: str) -> str:
        """Add more of the body; return the text of the reply that its events add."""
        if "\n" not in text and "\r" not in text:
            self._line.append(text)
            return ""
        text = "".join((*self._line, text))
        cut = "\r" if text.endswith("\r") else ""  # its other half may follow
        lines = text.removesuffix(cut).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        rest = lines.pop() + cut
        self._line = [rest] if rest else []
        return "".join(map(self._read, lines))

    def _read(self, line: str) -> str:
        if not line.strip():
            held, self._data = "\n".join(self._data), []
            return self._added(held) if held else ""
        if line.startswith("data:"):
            line = line[5:].strip()
        elif line[0] != "{":
            self.has_events = self.has_events or _ERROR.fullmatch(line) is not None
            return ""
        if isinstance(value(line), dict):
            return self._added(line)
        self._data.append(line)
        return ""

    def _added(self, line: str) -> str:
        event = value(line)
        if not isinstance(event, dict):
            return ""
        self.has_events = self.has_events or detect.stream(event) is not None or detect.is_error(event)
        event = bare(event)
        return "" if event is None else self._choosing.text_of(event)


def _on_new_line(piece: str | bytes) -> str | bytes:
    return "\n" + piece if isinstance(piece, str) else b"\n" + piece


def _is_event(line: str) -> bool:
    """Whether a text is one event of a provider, written as JSON."""
    event = value(line)
    return isinstance(event, dict) and detect.stream(event) is not None


def _mixed() -> TypeError:
    return TypeError("a stream is either text or events of a provider, not both")
