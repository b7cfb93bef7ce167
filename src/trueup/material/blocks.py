"""Divides sources into blocks that can be read in any order and in any process.

Each block is a small value that is sent to a worker, which reads its cases. A file is divided into ranges of bytes, a sift into
ranges of its records, a run into the replies of a step in a chunk, and a store into ranges of rows. Python values are used
unchanged.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from trueup.batch.input.ranges import Range
from trueup.batch.input.sources import PLAIN, InputSource
from trueup.material.case import Case, Label
from trueup.material.lines import UNKNOWN, FileFacts, case_of_line
from trueup.material.selection import Selection
from trueup.store.selecting import Place
from trueup.verdict.verdict import Verdict

_SMALLEST, _LARGEST = 64 << 10, 4 << 20  # bytes of a block of a file
_MANY = 400  # blocks per source, unless it is small or very large


class FileLines(NamedTuple):
    """A range of a file."""

    source: InputSource
    piece: Range
    origin: FileFacts = UNKNOWN

    def read(self) -> Iterator[Case]:
        """The cases of its lines."""
        name, limit = self.source.name, PLAIN.max_line
        with self.source.open() as opened:
            for offset, line in self.source.rows(opened, self.piece, limit):
                line = line.removeprefix(b"\xef\xbb\xbf") if offset == 0 and isinstance(line, bytes) else line
                case = case_of_line(line, f"{name}@{self.source.row(offset)}", limit, self.origin)
                if case is not None:
                    yield case


class RunReplies(NamedTuple):
    """The replies of one step in one chunk of a run."""

    run: str
    chunk: str
    step: str

    def read(self) -> Iterator[Case]:
        """The cases of its replies."""
        from trueup.material.runs import cases_of_step  # pipelines are not needed for files

        return cases_of_step(Path(self.run), self.chunk, self.step)


class StoreRows(NamedTuple):
    """The verdicts of a store after one place, up to and including another."""

    url: str
    after: Place | None
    upto: Place
    selection: Selection = Selection()
    labelled: bool = False

    def read(self) -> Iterator[Case]:
        """The cases of its verdicts."""
        from trueup.material.stored import cases_between

        return cases_between(_store(self.url), self.after, self.upto, self.selection, labelled=self.labelled)


class PythonValues(NamedTuple):
    """Python values: cases, verdicts, stored verdicts, replies, or pairs of a reply and its context."""

    values: tuple[Any, ...]
    first: int = 0

    def read(self) -> Iterator[Case]:
        """The case of each value."""
        for number, value in enumerate(self.values, self.first):
            yield case_of_value(value, number)


Block = FileLines | RunReplies | StoreRows | PythonValues
Index = Mapping[str, tuple[Label, ...]]


def cases_in(block: Block, selection: Selection, labels: Index) -> Iterator[Case]:
    """The selected cases of a block, with their labels."""
    everything = selection.is_open
    for case in block.read():
        if labels and (more := labels.get(case.id)):
            case = replace(case, labels=(*case.labels, *more))
        if everything or selection.takes(case):
            yield case


def lines_in(sources: Iterable[InputSource], origin: FileFacts = UNKNOWN) -> Iterator[FileLines]:
    """The blocks of files."""
    for number, source in enumerate(sources):
        size = block_size(source.extent)
        for start in range(0, source.extent, size):
            yield FileLines(source, Range(number, number, start, min(start + size, source.extent)), origin)


def block_size(extent: int) -> int:
    """The size of a file's blocks in bytes: small enough for a quick first estimate, and so large that starting one costs nothing.

    >>> block_size(10), block_size(100 << 20), block_size(1 << 40)
    (65536, 262144, 4194304)
    """
    return min(max(_SMALLEST, extent // _MANY), _LARGEST)


def case_of_value(value: Any, number: int) -> Case:
    """The case of a Python value; `number` names it if it has no id.

    >>> case_of_value(("{}", {"state": "IDLE"}), 3).context, case_of_value("{}", 3).id
    ({'state': 'IDLE'}, '3')
    """
    if isinstance(value, Case):
        return value
    if type(value).__module__ == "trueup.store.records":
        from trueup.material.stored import case_of_row, case_of_stored
        from trueup.store.records import RawRow, Stored

        if isinstance(value, RawRow):
            return case_of_row(value)
        if isinstance(value, Stored):
            return case_of_stored(value)
    if isinstance(value, Verdict):
        return _case_of_verdict(value, str(number))
    context = None
    if isinstance(value, tuple) and len(value) == 2 and (value[1] is None or isinstance(value[1], dict)):
        value, context = value
    if isinstance(value, Verdict):
        return replace(_case_of_verdict(value, str(number)), context=context)
    if value is None:
        return Case(str(number), unjudgeable="no_reply")
    return Case(str(number), value, context)


def _case_of_verdict(verdict: Verdict, name: str) -> Case:
    from trueup.material.case import Recorded

    findings = tuple(found.to_dict() for found in verdict.findings)
    codes = tuple(dict.fromkeys(found.code for found in verdict.findings))
    reply = verdict.reply
    fixes = tuple(fix.to_dict() for fix in verdict.fixes)
    recorded = Recorded(verdict.ok, codes, findings, verdict.data, fixes=fixes, metrics=verdict.metrics)
    return Case(name, reply, None, recorded=recorded, model=reply.model)


# By process: a forked process must not use a connection of its parent.
_stores: dict[tuple[int, str], Any] = {}
_readers: list[object] = []  # readers that may be using them


def _store(url: str) -> Any:
    """The store at an address, opened once in each process."""
    from trueup.store.open import open_store

    here = (os.getpid(), url)
    if here not in _stores:
        _stores[here] = open_store(url, create=False)
    return _stores[here]


def begin_reading(reader: object) -> None:
    """Register a reader of blocks, so that stores stay open for it."""
    _readers.append(reader)


def end_reading(reader: object) -> None:
    """Close the stores that blocks have opened in this process, unless other readers use them."""
    if any(each is reader for each in _readers):
        _readers[:] = [each for each in _readers if each is not reader]
        if not _readers:
            close_stores()


def close_stores() -> None:
    """Close the stores that blocks have opened here, unless several readers use them. They are opened again when needed."""
    if len(_readers) > 1:
        return
    for here in [place for place in _stores if place[0] == os.getpid()]:
        _stores.pop(here).close()
