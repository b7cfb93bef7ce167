"""Steps into responses: the protocol writes the reply, the wrappers around it bend its delivery. Pure."""

import gzip
import struct
import zlib
from typing import Any

from msgspec.structs import replace

from trueup.testing import script
from trueup.testing.protocols.shapes import Speaks
from trueup.testing.wire import Request, Response


def build(step: Any, request: Request, protocol: Speaks, number: int) -> Response:
    """The response to a request, faults and all."""
    match step:
        case script.Say():
            return protocol.reply(step, request, number)
        case script.Fail():
            return protocol.failure(step, number)
        case script.Raw():
            body = step.body.encode() if isinstance(step.body, str) else step.body
            return Response(step.status, (("Content-Type", step.content_type), *step.headers.items()), (body,))
        case script.Wire():
            return Response(pieces=step.pieces, framing="none", end=step.end)
        case script.Redirect():
            return Response(step.status, (("Location", step.location),))
        case script.Hang():
            return Response(end="hang")
        case script.Bomb():
            headers = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
            return Response(200, headers, (bomb(step.megabytes),))
        case script.Reset(of=None):
            return Response(end="reset", silent=True)
    inner = build(script.as_step(step.of), request, protocol, number)
    return bend(step, inner, protocol)


def plain(step: Any) -> Any:
    """The step without the ways of delivering it, for a batch, where there is no delivery.

    >>> plain(script.Slow(script.Cut("hi", 1), first=9)).text
    'hi'
    """
    while getattr(step, "of", None) is not None:
        step = step.of
    return script.as_step(step)


def bend(step: Any, inner: Response, protocol: Speaks) -> Response:
    """The same response, delivered in the way of the wrapper."""
    match step:
        case script.Cut():
            kept = keep(inner.pieces, step.after, step.events)
            if step.silent:
                return replace(inner, pieces=kept, framing="close", end="close")
            return replace(inner, pieces=kept, length=_length(inner), whole=False, end="close")
        case script.Reset():
            kept = keep(inner.pieces, step.after, step.events)
            return replace(inner, pieces=kept, length=_length(inner), whole=False, end="reset")
        case script.Erring():
            return replace(inner, pieces=(*inner.pieces[: step.events], protocol.error_event(step.fail)))
        case script.Slow():
            pieces = inner.pieces
            if step.size is not None:
                body, size = inner.body, max(step.size, 1)
                pieces = tuple(body[at : at + size] for at in range(0, len(body), size))
            return replace(inner, pieces=pieces, first=step.first, every=step.every)
        case script.Zipped():
            headers = (*inner.headers, ("Content-Encoding", "gzip"))
            return replace(inner, headers=headers, pieces=(gzip.compress(inner.body, mtime=0),))
        case script.WrongLength():
            length = max(len(inner.body) + step.by, 0)
            return replace(inner, framing="length", length=length, end="close")
    raise script.ScriptError(f"no such step: {step!r:.80}")


def _length(inner: Response) -> int:
    return len(inner.body) if inner.length is None else inner.length


def keep(pieces: tuple[bytes, ...], after: int | float | None, events: int | None) -> tuple[bytes, ...]:
    """The pieces up to the place of a cut; without a place, the first half of the bytes.

    >>> keep((b"abc", b"def"), 4, None), keep((b"abc", b"def"), 0.5, None), keep((b"abc", b"def"), None, -1)
    ((b'abc', b'd'), (b'abc',), (b'abc',))
    """
    if events is not None:
        return pieces[:events]
    left = after if isinstance(after, int) else int(sum(map(len, pieces)) * (0.5 if after is None else after))
    kept = []
    for piece in pieces:
        if left <= 0:
            break
        kept.append(piece[:left])
        left -= len(piece)
    return tuple(kept)


def bomb(megabytes: int) -> bytes:
    """A gzip file of that many megabytes of blanks, without ever holding them.

    >>> len(bomb(100)) < 200_000, len(gzip.decompress(bomb(3)))
    (True, 3145728)
    """
    block = b" " * (1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(megabytes):
        checksum = zlib.crc32(block, checksum)
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    tail = struct.pack("<II", checksum, (megabytes << 20) & 0xFFFFFFFF)
    return head + packed * megabytes + b"\x03\x00" + tail
