"""Cuts files into ranges, which depend only on their bytes, and reads the lines of a range.

A line belongs to the range that its first byte is in, so ranges do not depend on the number of workers. A line over the limit is
skipped in small reads; only its start is kept.
"""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

RANGE_SIZE = 4 << 20
_CHUNK = 1 << 20
_HEAD = 65_536  # bytes kept of a line that is too long, or the limit if that is smaller


class Range(NamedTuple):
    """A piece of work: the bytes from `start` to `end` of source number `source`."""

    number: int
    source: int
    start: int
    end: int


class LongLine(NamedTuple):
    """A line that was too long to read: its start, and its size in bytes."""

    head: bytes
    size: int


class UnreadableRow(NamedTuple):
    """A row of a table that cannot be read: its text if it has one, the reason, and its id if that is known."""

    text: bytes
    why: str
    id: str = ""


def ranges_of(sizes: list[int], size: int = RANGE_SIZE) -> Iterator[Range]:
    """The ranges of files with these sizes, in order.

    >>> [tuple(piece) for piece in ranges_of([5, 0, 2], 4)]
    [(0, 0, 0, 4), (1, 0, 4, 5), (2, 2, 0, 2)]
    """
    number = 0
    for source, length in enumerate(sizes):
        for start in range(0, length, size):
            yield Range(number, source, start, min(start + size, length))
            number += 1


def count_ranges(sizes: list[int], size: int = RANGE_SIZE) -> int:
    """The number of ranges."""
    return sum(-(-length // size) for length in sizes)


Lines = list[bytes] | LongLine


def lines_of(opened: BinaryIO, piece: Range, limit: int, length: int) -> Iterator[tuple[int, bytes | LongLine]]:
    """The lines that start inside a range, each with its offset; `length` is the size of the file when the run began.

    >>> import io
    >>> list(lines_of(io.BytesIO(b"one" + bytes([10]) + b"two"), Range(0, 0, 2, 7), 100, 7))
    [(4, b'two')]
    """
    for at, lines in blocks_of(opened, piece, limit, length):
        for line in (lines,) if isinstance(lines, LongLine) else lines:
            yield at, line
            at += len(line) + 1


def blocks_of(opened: BinaryIO, piece: Range, limit: int, length: int) -> Iterator[tuple[int, Lines]]:
    """The same in blocks: lines that follow each other with the offset of the first, or one line that is too long."""
    at, end = _begin(opened, piece), piece.end
    head = min(_HEAD, limit)
    held = b""  # the bytes read so far of the line that starts at `at`
    while at + len(held) < end:
        block = opened.read(min(_CHUNK, end - at - len(held)))
        if not block:
            break
        lines = (held + block).split(b"\n")
        stop = at + len(held) + len(block)
        held = lines.pop()
        if stop - at <= limit or max(map(len, lines), default=0) <= limit:
            if lines:
                yield at, lines
        else:
            yield from _apart(lines, at, limit, head)
        at = stop - len(held)
        if len(held) > limit:
            stop = _past_line(opened, at + len(held), length)
            yield at, LongLine(held[:head], stop - at)
            at, held = stop, b""
    if held:
        last = _last(opened, held, at, limit, length)
        yield at, last if isinstance(last, LongLine) else [last]


def _apart(lines: list[bytes], at: int, limit: int, head: int) -> Iterator[tuple[int, Lines]]:
    """Lines one by one, some of them too long."""
    for line in lines:
        yield at, [line] if len(line) <= limit else LongLine(line[:head], len(line) + 1)
        at += len(line) + 1


def _begin(opened: BinaryIO, piece: Range) -> int:
    """The start of the first line of a range; beyond its end if no line starts in it."""
    if not piece.start:
        opened.seek(0)
        return 0
    opened.seek(piece.start - 1)
    return _past_line(opened, piece.start - 1, piece.end)


def _last(opened: BinaryIO, held: bytes, at: int, limit: int, length: int) -> bytes | LongLine:
    """The last line of a range, which may end after it."""
    line = held + opened.readline(max(0, min(limit + 2 - len(held), length - at - len(held))))
    if len(line.removesuffix(b"\n")) <= limit:
        return line.removesuffix(b"\n")
    stop = at + len(line) if line.endswith(b"\n") else _past_line(opened, at + len(line), length)
    return LongLine(line[: min(_HEAD, limit)], stop - at)


def _past_line(opened: BinaryIO, at: int, end: int) -> int:
    """The end of the line at this position, searched up to `end`."""
    while at < end:
        piece = opened.readline(min(_CHUNK, end - at))
        if not piece:
            return end
        at += len(piece)
        if piece.endswith(b"\n"):
            return at
    return end
