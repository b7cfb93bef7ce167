"""HTTP/1.1 over one asyncio connection: reads bytes as Requests, and writes Responses as bytes, with their faults.

Raises a ValueError for requests that our clients never send: a head over 64 KB, a body over 1 GB, a bad request line.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from trueup.testing.encoding import load

MAX_HEAD, MAX_BODY = 64 * 1024, 1 << 30


class Request(msgspec.Struct, frozen=True):
    """One received request; names of headers are in lower case.

    `target` is the requested address with its query. `custom_id` is set for a line of a batch.
    """

    method: str
    path: str
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: bytes = b""
    custom_id: str = ""
    target: str = ""

    @property
    def json(self) -> Any:
        """The body as JSON; None if it is not JSON."""
        try:
            return load(self.body)
        except ValueError:
            return None

    @property
    def fields(self) -> dict[str, Any]:
        """The JSON object in the body; empty if there is none."""
        value = self.json
        return value if isinstance(value, dict) else {}

    @property
    def model(self) -> str:
        """The requested model, from the body or from the path (Gemini, Bedrock)."""
        named = self.fields.get("model")
        if isinstance(named, str):
            return named
        if self.path.startswith("/model/"):
            return unquote(self.path.split("/")[2])
        return self.path.rpartition("/models/")[2].partition(":")[0] if "/models/" in self.path else ""

    @property
    def messages(self) -> list[Any]:
        """The conversation in the request: `messages`, `input` or `contents`."""
        fields = self.fields
        found = fields.get("messages", fields.get("input", fields.get("contents", [])))
        return found if isinstance(found, list) else [found]

    @property
    def streams(self) -> bool:
        """Whether the client asks for a stream of events."""
        if self.path.endswith("/api/chat"):  # Ollama streams unless the request says no
            return self.fields.get("stream") is not False
        return self.fields.get("stream") is True or self.path.endswith(("streamGenerateContent", "/converse-stream"))


class Response(msgspec.Struct, frozen=True):
    """A response to send: pieces of a body, their framing, their speed, and how the connection ends.

    With the framing `none`, only the pieces are sent, and they include the head. `endless` is sent repeatedly after the
    pieces.
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[bytes, ...] = ()
    framing: Literal["length", "chunked", "broken", "close", "none"] = "length"
    length: int | None = None
    first: float = 0.0
    every: float = 0.0
    whole: bool = True
    end: Literal["keep", "close", "reset", "hang"] = "keep"
    silent: bool = False
    version: Literal["1.1", "1.0"] = "1.1"
    slow_head: bool = False
    endless: bytes = b""

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.pieces)


class ClientConnection:
    """One client: reads its requests in order, with its own buffer, to notice if the client leaves."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._buffer = bytearray()
        writer.transport.set_write_buffer_limits(high=0)

    async def _fill(self) -> bool:
        data = await self._reader.read(1 << 16)
        self._buffer += data
        return bool(data)

    async def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if not await self._fill():
                raise ConnectionResetError("the client left during a request")
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    async def _line(self) -> bytes:
        while (at := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise ValueError("a line over 64 KB")
            if not await self._fill():
                raise ConnectionResetError("the client left during a request")
        return await self._take(at + 2)

    async def read(self) -> Request | None:
        """The next request, or None if the client has closed the connection."""
        while (at := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise ValueError("a head over 64 KB")
            if not await self._fill():
                return None
        if at > MAX_HEAD:
            raise ValueError("a head over 64 KB")
        lines = (await self._take(at + 4)).decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise ValueError(f"not an HTTP/1.1 request line: {lines[0]!r:.80}")
        headers = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines[1:] if x)}
        if headers.get("expect", "").lower() == "100-continue":
            await self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        address = urlsplit(words[1])
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        return Request(words[0], address.path, query, headers, await self._body(headers), target=words[1])

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            length = int(headers.get("content-length") or 0)
            if length > MAX_BODY:
                raise ValueError("a body over 1 GB")
            return await self._take(length)
        whole = bytearray()
        while size := int((await self._line()).split(b";")[0], 16):
            whole += (await self._take(size + 2))[:-2]
            if len(whole) > MAX_BODY:
                raise ValueError("a body over 1 GB")
        while await self._line() != b"\r\n":
            pass
        return bytes(whole)

    async def left(self) -> None:
        """Wait until the client has closed its side."""
        try:
            while await self._fill():
                pass
        except OSError:
            pass

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def send(self, response: Response, told: Callable[[int], None], *, bare: bool = False) -> bool:
        """Send a response, without its body if `bare` (HEAD). Returns whether the connection can be used again.

        `told` is called with the bytes of every piece before it is sent, so a client never has more than was reported.
        """
        if response.first:
            await asyncio.sleep(response.first)
        if not response.silent:
            await self._send_pieces(response, told, bare=bare)
        while response.endless:
            await asyncio.sleep(response.every)
            told(len(response.endless))
            await self._write(_framed(response, response.endless, 1))
        if response.end == "hang":
            await asyncio.Event().wait()
        if response.end == "reset":
            self.reset()
        return response.end == "keep" and response.framing != "close"

    async def _send_pieces(self, response: Response, told: Callable[[int], None], *, bare: bool) -> None:
        pieces = [] if bare else [piece for piece in response.pieces if piece]
        waiting = b"" if response.framing == "none" else _head(response)
        if response.slow_head:
            for at in range(len(waiting)):
                await self._write(waiting[at : at + 1])
                await asyncio.sleep(response.every)
            waiting = b""
        for number, piece in enumerate(pieces):
            framed = _framed(response, piece, number)
            if number and response.every:
                await self._write(waiting)
                waiting = b""
                await asyncio.sleep(response.every)
            waiting += framed
            told(len(piece))
            if number + 1 < len(pieces) and (
                response.every or len(waiting) > 1 << 16 or response.framing in ("chunked", "broken", "none")
            ):
                await self._write(waiting)
                waiting = b""
        if response.framing == "chunked" and response.whole and not bare:
            waiting += b"0\r\n\r\n"
        await self._write(waiting)

    def reset(self) -> None:
        """Close the connection with RST."""
        line = self._writer.get_extra_info("socket")
        if line is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def abort(self) -> None:
        """Drop the connection, with all unsent bytes."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close the connection normally, if it is still open."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass


def _framed(response: Response, piece: bytes, number: int) -> bytes:
    """The bytes to send for a piece of the body; the second chunk is the broken one."""
    if response.framing == "broken":
        return b"zz\r\n%s\r\n" % piece if number else b"%x\r\n%s\r\n" % (len(piece), piece)
    return b"%x\r\n%s\r\n" % (len(piece), piece) if response.framing == "chunked" else piece


def _head(response: Response) -> bytes:
    try:
        words = HTTPStatus(response.status).phrase
    except ValueError:
        words = "Scripted"
    headers = list(response.headers)
    if response.framing in ("chunked", "broken"):
        headers.append(("Transfer-Encoding", "chunked"))
    elif response.framing == "length":
        length = len(response.body) if response.length is None else response.length
        headers.append(("Content-Length", str(length)))
    if response.end != "keep" or response.framing == "close":
        headers.append(("Connection", "close"))
    lines = [
        f"HTTP/{response.version} {response.status} {words}",
        *(f"{name}: {value}" for name, value in headers),
        "",
        "",
    ]
    return "\r\n".join(lines).encode("latin-1")
