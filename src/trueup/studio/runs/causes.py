"""Causes: takes the failures of a run or a sift and groups them by cause: step, code, path, and the patterns of their
messages.

A unit counts once in each group. Files are read once: each request continues where the last one stopped, and its time
is limited, so a run with millions of failures is grouped over several requests. Each answer says how many failures it
covers.
"""

import re
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.judging.records import RETRYABLE
from trueup.studio.runs.finding import RunPlace
from trueup.studio.runs.guarding import cut
from trueup.studio.runs.pictures import about_code
from trueup.studio.runs.pieces import RecordRange, RecordSummary, pieces_of, record_of
from trueup.verdict.paths import folded

Row = dict[str, Any]
_MOST_GROUPS = 300
_MOST_PATTERNS = 40  # patterns in a group
_SHOWN_PATTERNS = 4
_EXAMPLES = 3
_SHOWN = 240
_KEPT = 16  # runs whose groups are kept
_BETWEEN = 256
_VARIABLE = re.compile(r"'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"|`[^`\n]{0,400}`|[-+]?\b\d[\d.,_]*(?:e[-+]?\d+)?\b")
Key = tuple[str, str, str]


class MessagePattern(NamedTuple):
    """Messages that differ only in numbers and quoted texts: their units, the first message, and whether all are equal."""

    units: int
    message: str
    alike: bool = True


class FailureGroup:
    """Failures with one cause."""

    __slots__ = ("examples", "patterns", "retryable", "stage", "units")

    def __init__(self) -> None:
        self.units = 0
        self.retryable = 0
        self.stage = ""
        self.patterns: dict[str, MessagePattern] = {}
        self.examples: list[Row] = []

    def add(self, other: "FailureGroup") -> None:
        self.units += other.units
        self.retryable += other.retryable
        self.stage = self.stage or other.stage
        for pattern, found in other.patterns.items():
            _count(self.patterns, pattern, found)
        self.examples += other.examples[: _EXAMPLES - len(self.examples)]


def pattern_of(message: str) -> str:
    """A message without the parts that differ from unit to unit.

    >>> pattern_of("12 is more than the maximum of 5 of 'price'")
    '… is more than the maximum of … of …'
    """
    return cut(_VARIABLE.sub("…", message[:2000]), _SHOWN)


def _count(patterns: dict[str, MessagePattern], pattern: str, found: MessagePattern) -> None:
    key = pattern if pattern in patterns or len(patterns) < _MOST_PATTERNS else "…"
    known = patterns.get(key)
    if known is None:
        patterns[key] = found
    else:
        alike = known.alike and found.alike and known.message == found.message
        patterns[key] = MessagePattern(known.units + found.units, known.message, alike)


class _Read(NamedTuple):
    """How far a file was read: completely as of a stamp, or up to a place."""

    stamp: tuple[int, int]
    inode: int
    at: int
    units: int
    groups: dict[Key, FailureGroup]


class _Grouping:
    """The groups of one run, by file."""

    def __init__(self) -> None:
        self._files: dict[str, _Read] = {}
        self._turn = threading.Lock()

    def look(
        self, place: RunPlace, pieces: list[RecordRange], seconds: float
    ) -> tuple[dict[Key, FailureGroup], int, bool]:
        with self._turn:
            end = time.monotonic() + seconds
            known = {piece.key for piece in pieces}
            for gone in [file for file in self._files if file not in known]:
                del self._files[gone]
            complete = True
            for piece in pieces:
                if not self._is_read(piece):
                    if not complete or not self._read(place.path, piece, end):
                        complete = False
                        break
                    complete = time.monotonic() <= end or piece is pieces[-1]
            total: dict[Key, FailureGroup] = {}
            for read in self._files.values():
                for key, group in read.groups.items():
                    if key in total or len(total) < _MOST_GROUPS:
                        total.setdefault(key, FailureGroup()).add(group)
            return total, sum(read.units for read in self._files.values()), complete

    def _is_read(self, piece: RecordRange) -> bool:
        read = self._files.get(piece.key)
        return read is not None and read.stamp == _stamp(piece.path)

    def _read(self, root: Path, piece: RecordRange, end: float) -> bool:
        """Continue reading a file, at least a few lines; returns whether its end was reached."""
        stamp = _stamp(piece.path)
        read = self._files.get(piece.key)
        if read is None or read.inode != stamp[1] or read.at > stamp[0]:
            read = _Read(_UNREAD, stamp[1], piece.start, 0, {})
        at, units = read.at, read.units
        for number, (offset, line) in enumerate(piece.lines(root, at)):
            if number and number % _BETWEEN == 0 and time.monotonic() > end:
                self._files[piece.key] = _Read(_UNREAD, stamp[1], offset, units, read.groups)
                return False
            record = record_of(line)
            if record is not None:
                units += 1
                _note(read.groups, piece, offset, record)
            at = offset + len(line)
        self._files[piece.key] = _Read(stamp, stamp[1], at, units, read.groups)
        return True


_UNREAD = (-1, -1)


def _stamp(file: Path) -> tuple[int, int]:
    """The size and the identity of a file; None if it does not exist."""
    try:
        found = file.lstat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_ino


def _note(groups: dict[Key, FailureGroup], piece: RecordRange, offset: int, record: RecordSummary) -> None:
    counted: set[Key] = set()
    may_help = record.failure_stage in RETRYABLE or set(record.tries or ()) == {"transport"}
    for error in record.errors:
        key = (piece.step, cut(error.code, 40), cut(folded(error.path), _SHOWN))
        group = groups.get(key)
        if group is None:
            if len(groups) >= _MOST_GROUPS:
                continue
            group = groups[key] = FailureGroup()
        if key in counted:
            continue
        counted.add(key)
        group.units += 1
        group.retryable += may_help
        group.stage = group.stage or record.failure_stage
        _count(group.patterns, pattern_of(error.message), MessagePattern(1, cut(error.message, 400)))
        if len(group.examples) < _EXAMPLES:
            group.examples.append({
                "unit": cut(record.unit_id, 200), "at": f"{piece.key}~{offset}", "step": piece.step,
                "message": cut(error.message, 400), "excerpt": excerpt(record.raw_response),
            })  # fmt: skip


def excerpt(text: str, most: int = 160) -> str:
    """The beginning of a reply on one line."""
    return cut(" ".join(text[: 4 * most].split()), most)


_groupings: "OrderedDict[tuple[Path, str], _Grouping]" = OrderedDict()
_turn = threading.Lock()


def causes_of(place: RunPlace, step: str = "", seconds: float = 0.4) -> Row:
    """The failures by cause, as far as they were read; causes with the most units first."""
    pieces = pieces_of(place, kind="failed", step=step)
    with _turn:
        grouping = _groupings.pop((place.path, step), None) or _Grouping()
        _groupings[place.path, step] = grouping
        while len(_groupings) > _KEPT:
            _groupings.popitem(last=False)
    groups, read, complete = grouping.look(place, pieces, seconds)
    ranked = sorted(groups.items(), key=lambda item: (-item[1].units, item[0]))
    return {"causes": [_row(key, group) for key, group in ranked], "read": read, "complete": complete}


def _row(key: Key, group: FailureGroup) -> Row:
    step, code, path = key
    patterns = sorted(group.patterns.values(), key=lambda each: (-each.units, each.message))
    return {
        "step": step, "code": code, "path": path, **about_code(code), "stage": group.stage, "units": group.units,
        "retryable": group.retryable, "examples": group.examples,
        "patterns": [each._asdict() for each in patterns[:_SHOWN_PATTERNS]],
        "more_patterns": max(0, len(patterns) - _SHOWN_PATTERNS),
    }  # fmt: skip
