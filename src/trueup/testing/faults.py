"""Turn steps into responses: the protocol writes the reply, and wrappers change its delivery. Pure."""

import gzip
import struct
import zlib
from collections.abc import Callable, Collection
from typing import Any

from msgspec.structs import replace

from trueup.testing import script
from trueup.testing.encoding import dump, load
from trueup.testing.protocols.shapes import Speaks
from trueup.testing.wire import Request, Response


def build(step: Any, request: Request, protocol: Speaks, number: int) -> Response:
    """The response to a request, including faults."""
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
            return Response(step.status, (("Location", step.location or request.target),))
        case script.Hang(of=None):
            return Response(end="hang", silent=True)
        case script.Bomb():
            headers = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
            return Response(200, headers, (bomb(step.megabytes),))
        case script.Reset(of=None):
            return Response(end="reset", silent=True)
        case script.Whole():
            return build(script.as_step(step.of), _unstreamed(request), protocol, number)
        case script.Rejecting() if (fail := refused(request, step.names)) is not None:
            return protocol.failure(fail, number)
    inner = build(script.as_step(step.of), request, protocol, number)
    return bend(step, inner, protocol)


def plain(step: Any) -> Any:
    """The step without its delivery wrappers, for a batch.

    >>> plain(script.Slow(script.Cut("hi", 1), first=9)).text
    'hi'
    """
    while getattr(step, "of", None) is not None:
        step = step.of
    return script.as_step(step)


def bend(step: Any, inner: Response, protocol: Speaks) -> Response:
    """The same response, delivered as the wrapper says."""
    match step:
        case script.Cut():
            kept = keep(inner.pieces, step.after, step.events)
            if step.silent:
                return replace(inner, pieces=kept, framing="close", end="close")
            return replace(inner, pieces=kept, length=_length(inner), whole=False, end="close")
        case script.Reset():
            kept = keep(inner.pieces, step.after, step.events)
            return replace(inner, pieces=kept, length=_length(inner), whole=False, end="reset")
        case script.Hang():
            kept = keep(inner.pieces, step.after, step.events)
            return replace(inner, pieces=kept, length=_length(inner), whole=False, end="hang")
        case script.Erring():
            return replace(inner, pieces=(*inner.pieces[: step.events], protocol.error_event(step.fail)))
        case script.Slow():
            pieces = inner.pieces
            if step.size is not None:
                body, size = inner.body, max(step.size, 1)
                pieces = tuple(body[at : at + size] for at in range(0, len(body), size))
            return replace(inner, pieces=pieces, first=step.first, every=step.every, slow_head=step.head)
        case script.KeepAlive():
            return _kept_alive(step, inner)
        case script.Zipped():
            headers = (*inner.headers, ("Content-Encoding", "gzip"))
            return replace(inner, headers=headers, pieces=(gzip.compress(inner.body, mtime=0),))
        case script.WrongLength():
            length = max(len(inner.body) + step.by, 0)
            return replace(inner, framing="length", length=length, end="close")
        case script.Edited():
            return replace(inner, pieces=tuple(edited(piece, step.change) for piece in inner.pieces))
        case script.Garbled():
            return replace(inner, pieces=tuple(step.change(inner.pieces)))
        case script.Framed():
            return _framed(step, inner)
        case script.Rejecting():
            return inner
    raise script.ScriptError(f"unknown step: {step!r:.80}")


def refused(request: Request, names: Collection[str]) -> script.Fail | None:
    """A provider's error 400 for a request that uses one of these parameters or response formats; otherwise None.

    >>> refused(Request("POST", "/v1/messages", body=b'{"temperature": 0}'), {"temperature"}).param
    'temperature'
    """
    fields = request.fields
    for nest in ("generationConfig", "inferenceConfig", "toolConfig", "options"):  # Gemini, Bedrock, Ollama
        fields = {**(nested if isinstance(nested := fields.get(nest), dict) else {}), **fields}
    form = fields.get("response_format") or (fields.get("text") or {}).get("format") or {}
    kind = form.get("type") if isinstance(form, dict) else None
    if kind in names:
        message = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
        return script.Fail(400, message, param="response_format")
    for name in sorted(set(names) & fields.keys()):
        instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
        message = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
        return script.Fail(400, message, "unsupported_parameter", name)
    return None


def _unstreamed(request: Request) -> Request:
    """The same request, for a whole reply."""
    path = request.path.replace("streamGenerateContent", "generateContent").replace("converse-stream", "converse")
    return replace(request, path=path, body=dump({**request.fields, "stream": False}))


def edited(piece: bytes, change: Callable[[Any], Any]) -> bytes:
    """A body or an event with changed JSON. Lines without JSON stay unchanged.

    >>> edited(b'event: x\\ndata: {"a":1}\\n\\n', lambda value: {**value, "b": 2})
    b'event: x\\ndata: {"a":1,"b":2}\\n\\n'
    """
    if len(piece) > 16 and struct.unpack("!I", piece[:4])[0] == len(piece):  # a frame of AWS's event stream
        at = 12 + struct.unpack("!I", piece[4:8])[0]
        payload = edited(piece[at:-4], change)
        lengths = struct.pack("!I", at + len(payload) + 4) + piece[4:8]
        frame = lengths + struct.pack("!I", zlib.crc32(lengths)) + piece[12:at] + payload
        return frame + struct.pack("!I", zlib.crc32(frame))
    lines = []
    for line in piece.split(b"\n"):
        mark = b"data: " if line.startswith(b"data: ") else b""
        try:
            value = load(line.removeprefix(mark))
        except ValueError:
            lines.append(line)
        else:
            lines.append(mark + dump(change(value)))
    return b"\n".join(lines)


def _kept_alive(step: script.KeepAlive, inner: Response) -> Response:
    kind = dict(inner.headers).get("Content-Type", "")
    signs = {
        "text/event-stream": b": keep-alive\n\n",
        "application/x-ndjson": b" ",
        "application/vnd.amazon.eventstream": b"",  # nothing may be sent between two frames
    }
    sign = signs.get(kind, b"\n")
    before, after = inner.pieces[: step.events], inner.pieces[step.events :]
    if not sign:
        return inner if step.times is not None else replace(inner, pieces=before, whole=False, end="hang")
    if step.times is None:
        return replace(inner, pieces=(*before, sign), framing="chunked", whole=False, every=step.every, endless=sign)
    return replace(inner, pieces=(*before, *(sign,) * step.times, *after), framing="chunked", every=step.every)


def _framed(step: script.Framed, inner: Response) -> Response:
    named = {name.lower() for name in step.headers}
    headers = (*(pair for pair in inner.headers if pair[0].lower() not in named), *step.headers.items())
    status = inner.status if step.status is None else step.status
    inner = replace(inner, headers=headers, status=status, version=step.version)
    if step.version == "1.0":
        return replace(inner, framing="close", end="close")
    if step.chunks == "broken":
        body, half = inner.body, len(inner.body) // 2
        pieces = inner.pieces if len(inner.pieces) > 1 else (body[:half], body[half:])
        return replace(inner, pieces=pieces, framing="broken", whole=False, end="close")
    return inner


def _length(inner: Response) -> int:
    return len(inner.body) if inner.length is None else inner.length


def keep(pieces: tuple[bytes, ...], after: int | float | None, events: int | None) -> tuple[bytes, ...]:
    """The pieces before a cut; without a given place, the first half of the bytes.

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
    """A gzip file of this many megabytes of blanks, made without storing them.

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
