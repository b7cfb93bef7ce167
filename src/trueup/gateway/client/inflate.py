"""Decompresses bodies piece by piece, up to a limit.

A body that would grow beyond its limit is refused as soon as that is known, so a small one cannot fill the memory.
"""

import zlib
from typing import Any

_STEP = 1 << 16


class TooLarge(ValueError):
    """A body is larger than its limit."""


class BadEncoding(ValueError):
    """A body is not compressed the way it claims, or in an unsupported way."""


class Inflater:
    """Decompresses one body: `identity`, `gzip` or `deflate`.

    >>> import gzip
    >>> Inflater("gzip", 100).feed(gzip.compress(b"hello"))
    b'hello'
    """

    __slots__ = ("_left", "_limit", "_opener")

    def __init__(self, encoding: str, limit: int) -> None:
        self._limit = self._left = limit
        self._opener: Any = None
        kind = encoding.strip().lower()
        if kind in ("gzip", "x-gzip"):
            self._opener = zlib.decompressobj(16 + zlib.MAX_WBITS)
        elif kind == "deflate":
            self._opener = zlib.decompressobj()
        elif kind not in ("", "identity"):
            raise BadEncoding(f"the body is encoded as {kind[:40]!r}, which was not asked for")

    def feed(self, piece: bytes) -> bytes:
        """The plain bytes of the next piece."""
        if self._opener is None:
            self._take(len(piece))
            return piece
        out: list[bytes] = []
        try:
            while piece:
                plain = self._opener.decompress(piece, min(_STEP, self._left + 1))
                self._take(len(plain))
                out.append(plain)
                piece = self._opener.unconsumed_tail
                if self._opener.unused_data or (piece and self._opener.eof):
                    raise BadEncoding("the compressed body continues after its end")
                if not plain and not piece:
                    break
            return b"".join(out)
        except zlib.error as error:
            raise BadEncoding(f"the body is not compressed as its header says: {error}") from None
        finally:
            out.clear()  # an error keeps its frames, and their contents, alive for a while

    @property
    def whole(self) -> bool:
        """Whether the body is complete."""
        return self._opener is None or bool(self._opener.eof)

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise TooLarge(f"the body has more than {self._limit:,} bytes")
