"""Compares the files of a run with their earlier state, and returns the new ranges if everything that was judged is still there.

Files may have more lines at their end, and more files may follow. The bytes of every judged range are read and hashed again; any
other change is refused.
"""

from typing import NamedTuple

from trueup.batch.input.ranges import Range, ranges_of
from trueup.batch.input.sources import InputSource, has_shrunk
from trueup.batch.judging.work import sum_of
from trueup.batch.merging.stored_ranges import BrokenRange, Shelf
from trueup.batch.siftdir.manifest import Manifest, PlannedRange

_CHUNK = 1 << 16


class InputChanged(ValueError):
    """The files differ in more than lines added at their end. The message says which."""


class Growth(NamedTuple):
    """Ranges to judge, and the numbers of the ranges that they replace."""

    new: list[Range]
    gone: list[int]


def looks_grown(earlier: list[InputSource], sources: list[InputSource]) -> bool:
    """Whether these may be the files of the run with more at their end, judging by their names and sizes."""
    return not _difference(earlier, sources)


def growth_of(manifest: Manifest, shelf: Shelf, earlier: list[InputSource], sources: list[InputSource], range_size: int, max_line: int) -> Growth:  # fmt: skip
    """The new ranges in the files of a run. Raises `InputChanged` for any other difference."""
    if difference := _difference(earlier, sources):
        raise InputChanged(difference)
    rows = list(manifest.plan())
    number = 1 + max((row.piece.number for row in rows), default=-1)
    new: list[Range] = []
    gone: list[int] = []
    for at, source in enumerate(sources):
        before = earlier[at] if at < len(earlier) else None
        begin = 0
        if before is not None:
            own = [row for row in rows if row.piece.source == at]
            begin, replaced = _kept_to(source, before, own)
            gone += (row.piece.number for row in replaced)
            if source.mark != before.mark:
                _verify(shelf, source._replace(size=before.size), [row for row in own if row not in replaced], max_line)
        for piece in ranges_of([source.extent - begin], range_size):
            new.append(Range(number + len(new), at, begin + piece.start, begin + piece.end))
    return Growth(new, gone)


def stay_judged(manifest: Manifest, shelf: Shelf, at: int, source: InputSource, max_line: int) -> None:
    """Make sure that a file that changed while it was read only has more at its end. Raises `InputChanged` if not."""
    if source.by_row or has_shrunk(source):
        raise InputChanged(f"{source.name}: the file changed while it was read")
    _verify(shelf, source, [row for row in manifest.plan() if row.piece.source == at], max_line)


def _difference(earlier: list[InputSource], sources: list[InputSource]) -> str:
    """The reason why some files cannot be earlier ones that grew; empty if they may be."""
    names = [source.name for source in earlier]
    if [source.name for source in sources[: len(names)]] != names:
        return f"the earlier files must come first, with the same names: {', '.join(names)}"
    for before, source in zip(earlier, sources, strict=False):
        if source.size < before.size:
            return f"{source.name} is shorter than it was"
        if source.by_row and source.mark != before.mark:
            return (
                f"{source.name} is a table that changed, and only files of lines can grow; give new rows as a new file"
            )
    return ""


def _kept_to(source: InputSource, before: InputSource, rows: list[PlannedRange]) -> tuple[int, list[PlannedRange]]:
    """The start of the new ranges of a file, and the ranges that they replace: those from the one with an unfinished last line on."""
    if source.size == before.size:
        return before.extent, []
    line = _last_line(source, before.size)
    replaced = [row for row in rows if row.piece.end > line] if line < before.size else []
    return replaced[0].piece.start if replaced else before.size, replaced


def _last_line(source: InputSource, size: int) -> int:
    """The start of the last line of a file of some size; its end if that line is finished."""
    with source.open() as opened:
        end = size
        while end:
            start = max(0, end - _CHUNK)
            opened.seek(start)
            found = opened.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def _verify(shelf: Shelf, source: InputSource, rows: list[PlannedRange], max_line: int) -> None:
    """Make sure that the judged bytes are still there."""
    for row in rows:
        try:
            judged = shelf.of(row).part.crc
        except BrokenRange:
            if row.kept is not None:
                raise
            continue  # it was not judged yet
        if judged != sum_of(source, row.piece, max_line):
            raise InputChanged(f"{source.name} changed between byte {row.piece.start:,} and byte {row.piece.end:,}")
