"""Choosing: the lines that share an id enter, what becomes of each leaves, as edits.

A line without a reply, such as a provider's error, never stands before one with a reply. Apart from `fail`, every id comes out
once: the line that was chosen stands for the others, at its own place in the order of the input.
"""

from collections.abc import Iterator
from typing import Literal, get_args

from trueup.batch.duplicates import Line
from trueup.batch.manifest import Edit

How = Literal["fail", "first", "last", "valid"]
HOW: tuple[How, ...] = get_args(How)
MOST = 100  # replies that a record keeps beside its own


def edits_of(lines: list[Line], how: str) -> Iterator[Edit]:
    """What becomes of the lines of one id, which come in the order of the input.

    >>> a, b = Line(0, 0, True, False), Line(0, 90, False, False)
    >>> [(edit.offset, edit.act) for edit in edits_of([a, b], "valid")]
    [(90, 'choose'), (0, 'drop')]
    >>> [(edit.offset, edit.act) for edit in edits_of([a, b], "fail")]
    [(0, 'keep'), (90, 'refuse')]
    """
    spoken = [line for line in lines if not line.silent]
    if how == "fail":
        first, *rest = spoken or lines[:1]
        if rest:
            yield Edit(first.number, first.offset, "keep")
        yield from (Edit(line.number, line.offset, "refuse") for line in rest)
        return
    chosen = _chosen(spoken or lines, how)
    others = [_told(line) for line in lines if line is not chosen]
    yield Edit(chosen.number, chosen.offset, "choose", others[:MOST], len(others))
    yield from (Edit(line.number, line.offset, "drop", [_told(chosen)]) for line in lines if line is not chosen)


def _chosen(lines: list[Line], how: str) -> Line:
    if how == "first":
        return lines[0]
    if how == "last":
        return lines[-1]
    return next((line for line in lines if not line.failed), lines[-1])


def _told(line: Line) -> tuple[int, int, bool]:
    return line.number, line.offset, line.failed
