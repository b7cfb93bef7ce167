"""Converts AWS event streams, as they arrive, into server-sent events of Anthropic's protocol.

Each frame has two checksums, which must be right. An exception in a frame becomes an error of the protocol. A stream that
ends inside a frame, or a frame that is too long, is refused.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator

import msgspec

from trueup.gateway.client.inflate import BadEncoding
from trueup.gateway.protocols.sse import written

CONTENT_TYPE = b"application/vnd.amazon.eventstream"
_AROUND = 16  # bytes of a frame besides headers and payload
_MOST = 16_777_216
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # sizes of header values, by type
_ERRORS = {
    "throttlingException": "rate_limit_error", "modelTimeoutException": "timeout_error",
    "serviceUnavailableException": "overloaded_error", "validationException": "invalid_request_error",
}  # fmt: skip
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Frames:
    """The frames of one stream."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """The events that this piece completes."""
        data = self._held + piece if self._held else piece
        out: list[bytes] = []
        at = 0
        while len(data) - at >= _AROUND:
            total, head, check = struct.unpack_from(">III", data, at)
            if zlib.crc32(data[at : at + 8]) != check or not _AROUND + head <= total <= _MOST:
                raise BadEncoding("a frame of the event stream is broken")
            if len(data) - at < total:
                break
            frame = data[at : at + total]
            if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:], "big"):
                raise BadEncoding("a frame of the event stream is broken")
            out.append(_event(dict(_headers(frame[12 : 12 + head])), frame[12 + head : -4]))
            at += total
        self._held = data[at:]
        return b"".join(out)

    def end(self) -> None:
        """The end of the stream; an incomplete frame is an error."""
        if self._held:
            raise BadEncoding("the event stream ends inside a frame")


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    """The headers of a frame that are text."""
    at = 0
    try:
        while at < len(data):
            size = data[at]
            name = data[at + 1 : at + 1 + size].decode()
            kind = data[at + 1 + size]
            at += 2 + size
            if kind in (6, 7):  # bytes, text
                length = int.from_bytes(data[at : at + 2], "big")
                yield name, data[at + 2 : at + 2 + length].decode("utf-8", "replace")
                at += 2 + length
            else:
                at += _SIZES[kind]
    except (IndexError, KeyError, UnicodeDecodeError):
        raise BadEncoding("a frame of the event stream is broken") from None


def _event(headers: dict[str, str], payload: bytes) -> bytes:
    """A frame as a server-sent event."""
    kind = headers.get(":exception-type") or headers.get(":error-code")
    try:
        if kind:
            said = _decode(payload) if payload else {}
            message = said.get("message") if isinstance(said, dict) else None
            error = {"type": _ERRORS.get(kind, "api_error"), "message": str(message or kind)}
            return written(_encode({"type": "error", "error": error}), "error")
        if headers.get(":event-type") != "chunk":
            return b""
        inner = base64.b64decode(_decode(payload)["bytes"], validate=True)
        name = _decode(inner)["type"]
    except (msgspec.MsgspecError, binascii.Error, ValueError, KeyError, TypeError):
        raise BadEncoding("an event of the event stream cannot be read") from None
    return written(inner, str(name))
