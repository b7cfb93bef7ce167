"""Decides what happens to the lines that share an id, and returns it as edits.

A line without a reply, such as a provider's error, never wins over one with a reply. Apart from `fail`, every id occurs once in
the output: the chosen line replaces the others, at its own place in the order of the input.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Literal, get_args

from trueup.batch.merging.duplicates import Group, IdLine
from trueup.batch.siftdir.manifest import Edit

How = Literal["fail", "first", "last", "valid"]
HOW: tuple[How, ...] = get_args(How)
MOST = 100  # replies that a record keeps beside its own


def edits_of(lines: Group, how: str) -> Iterator[Edit]:
    """The edits for the lines of one id, which come in the order of the input.

    >>> a, b = IdLine(0, 0, True, False), IdLine(0, 90, False, False)
    >>> [(edit.offset, edit.act) for edit in edits_of([a, b], "valid")]
    [(90, 'choose'), (0, 'drop')]
    >>> [(edit.offset, edit.act) for edit in edits_of([a, b], "fail")]
    [(0, 'keep'), (90, 'refuse')]
    """
    if how == "fail":
        yield from _refused(line for line in lines if not line.silent)
        return
    chosen = _chosen(lines, how)
    number = sum(1 for _ in lines) - 1
    others = islice((_told(line) for line in lines if line != chosen), MOST)
    yield Edit(chosen.number, chosen.offset, "choose", list(others), number)
    yield from (Edit(line.number, line.offset, "drop", [_told(chosen)]) for line in lines if line != chosen)


def _refused(spoken: Iterator[IdLine]) -> Iterator[Edit]:
    """The first line that has a reply stays; all others are refused."""
    first, second = next(spoken, None), next(spoken, None)
    if first is not None and second is not None:
        yield Edit(first.number, first.offset, "keep")
        yield from (Edit(line.number, line.offset, "refuse") for line in chain((second,), spoken))


def _chosen(lines: Group, how: str) -> IdLine:
    """The line that replaces the others: one with a reply, if there is one."""
    ranks = {"first": _not_silent, "last": _not_silent, "valid": _by_worth}
    best = next(iter(lines))
    for line in lines:
        rank, most = ranks[how](line), ranks[how](best)
        # if all failed, the last one wins: it is the latest attempt
        if rank > most or (rank == most and (how == "last" or (how == "valid" and line.failed))):
            best = line
    return best


def _not_silent(line: IdLine) -> int:
    return not line.silent


def _by_worth(line: IdLine) -> int:
    return 0 if line.silent else 1 if line.failed else 2


def _told(line: IdLine) -> tuple[int, int, bool]:
    return line.number, line.offset, line.failed
