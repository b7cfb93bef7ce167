"""Ranges: a file becomes pieces of work fixed by its bytes alone, and a piece becomes its lines.

A line belongs to the range that its first byte lies in, so the pieces do not depend on who works on them or how many do.
A line over the limit is passed over in small reads; only its head is kept.
"""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

RANGE_SIZE = 2 << 20
_CHUNK = 1 << 20
_HEAD = 65_536


class Range(NamedTuple):
    """A piece of work: the bytes from `start` to `end` of source number `source`."""

    number: int
    source: int
    start: int
    end: int


class Long(NamedTuple):
    """A line that was too long to be read: its first part, and how many bytes it has."""

    head: bytes
    size: int


def ranges_of(sizes: list[int], size: int = RANGE_SIZE) -> Iterator[Range]:
    """The pieces of files with these sizes, in order.

    >>> [tuple(piece) for piece in ranges_of([5, 0, 2], 4)]
    [(0, 0, 0, 4), (1, 0, 4, 5), (2, 2, 0, 2)]
    """
    number = 0
    for source, length in enumerate(sizes):
        for start in range(0, length, size):
            yield Range(number, source, start, min(start + size, length))
            number += 1


def count_ranges(sizes: list[int], size: int = RANGE_SIZE) -> int:
    """How many pieces there are."""
    return sum(-(-length // size) for length in sizes)


def lines_of(opened: BinaryIO, piece: Range, limit: int, length: int) -> Iterator[tuple[int, bytes | Long]]:
    """The lines that start inside a range, each with its offset; `length` is where the file ended when the run began.

    >>> import io
    >>> list(lines_of(io.BytesIO(b"one" + bytes([10]) + b"two"), Range(0, 0, 2, 7), 100, 7))
    [(4, b'two')]
    """
    at = piece.start
    if at:
        opened.seek(at - 1)
        at = _past_line(opened, at - 1, piece.end)
    else:
        opened.seek(0)
    readline = opened.readline
    while at < piece.end:
        line = readline(min(limit + 1, length - at))
        if not line:
            return
        size = len(line)
        if size > limit and not line.endswith(b"\n"):
            end = _past_line(opened, at + size, length)
            yield at, Long(line[:_HEAD], end - at)
            at = end
            continue
        yield at, line
        at += size


def _past_line(opened: BinaryIO, at: int, end: int) -> int:
    """Where the line that stands here is over, looked for up to `end`."""
    while at < end:
        piece = opened.readline(min(_CHUNK, end - at))
        if not piece:
            return end
        at += len(piece)
        if piece.endswith(b"\n"):
            return at
    return end
