"""Opens the sources that a user names as blocks, and reads their cases.

A source is a store, the folder of a sift, a run directory, a file of lines or a table, or Python values. For anything else,
`SourceError` names the source and lists the accepted kinds.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Self

from trueup.batch.input.ranges import Range
from trueup.batch.input.sources import InputSource, UnreadableSource, open_sources, shown
from trueup.batch.pipeline.rundir.disk import Damaged
from trueup.batch.siftdir.directory import NotASift, is_sifted, read_sifted, settled
from trueup.material.blocks import (
    Block,
    FileLines,
    PythonValues,
    RunReplies,
    StoreRows,
    begin_reading,
    block_size,
    cases_in,
    end_reading,
    lines_in,
)
from trueup.material.case import Case, Label
from trueup.material.labels import read_labels
from trueup.material.lines import FileFacts
from trueup.material.selection import Selection
from trueup.store.errors import StoreError
from trueup.store.open import open_store
from trueup.store.store import Store

__all__ = ["Selection", "SourceError", "SourceLike", "cases", "open_material"]

SourceLike = str | Path | Store | Iterable[Any]
ACCEPTED = "give a store, a folder of `trueup sift`, a run directory, or a file of replies (JSONL, CSV, Parquet, Arrow)"
_SQLITE = b"SQLite format 3\0"
_ENDINGS = (".db", ".sqlite", ".sqlite3")
_TOGETHER = 500  # Python values in a block
EVERYTHING = Selection()


class SourceName(str):
    """The name of a source, for places where plain text could be a reply."""

    __slots__ = ()


class SourceError(ValueError):
    """A source cannot be read. The message says which, why, and what is accepted."""


def cases(
    sources: Sequence[SourceLike], selection: Selection = EVERYTHING, *, labels: Sequence[str | Path] = ()
) -> Iterator[Case]:
    """Every selected case of the `sources`, in their order. A case that cannot be judged says why.

    `selection` chooses some of the cases; all by default. `labels` are files of labels for replies that are not in a store; none
    by default.

    >>> [case.text for case in cases([["one", ("two", {"state": "IDLE"})]])]
    ['one', 'two']
    """
    with open_material(sources, selection, labels=labels) as material:
        yield from islice(material.cases(), selection.limit)


class Material:
    """Opened sources: `blocks` that can be read in any order, and `streams` of Python values that can only be read once, in order."""

    def __init__(self, selection: Selection, labels: dict[str, tuple[Label, ...]]) -> None:
        self.selection = selection
        self.labels = labels
        self.blocks: list[Block] = []
        self.streams: list[Iterator[Any]] = []
        self.names: list[str] = []
        self._open = ExitStack()
        begin_reading(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close everything that was opened for reading, and remove unpacked files."""
        end_reading(self)
        self._open.close()

    def cases(self) -> Iterator[Case]:
        """Every selected case, block after block."""
        for block in self.every_block():
            yield from cases_in(block, self.selection, self.labels)

    def every_block(self) -> Iterator[Block]:
        """The blocks, then the blocks of the streams."""
        yield from self.blocks
        for stream in self.streams:
            yield from blocks_of_stream(stream)

    def add(self, source: SourceLike) -> None:
        """Add a source."""
        if isinstance(source, Store):
            self.names.append(source.where)
            self._add_store(source, address_in(source))
        elif isinstance(source, str | Path):
            self._add_named(str(source))
        elif isinstance(source, Sequence):
            self.names.append(f"{len(source):,} replies")
            self.blocks += blocks_of_stream(iter(source))
        elif isinstance(source, Iterable):
            self.names.append("replies")
            self.streams.append(iter(source))
        else:
            raise SourceError(f"{type(source).__name__} is not a source; {ACCEPTED}, or replies")

    def _add_named(self, name: str) -> None:
        if not name.strip():
            raise SourceError(f"a source has an empty name; {ACCEPTED}")
        self.names.append(shown(name))
        if is_store(name):
            self._add_store_at(name)
            return
        path = Path(name)
        try:
            if (path / "journal.jsonl").is_file():
                self._add_run(path)
            elif path.is_dir() and is_sifted(path):
                self._add_sift(path)
            else:
                self._add_files(name)
        except (NotASift, UnreadableSource, Damaged) as error:
            said = str(error)
            raise SourceError(said if "no such file" not in said else f"{said}; {ACCEPTED}") from None

    def _add_files(self, name: str) -> None:
        spool = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="trueup-replies-")))
        self.blocks += lines_in(open_sources([name], spool))

    def _add_sift(self, path: Path) -> None:
        """The records of a sift, valid and failed."""
        sifted = settled(lambda: read_sifted(path))
        if sifted.state != "done":
            if not sifted.pieces:
                raise SourceError(
                    f"{path}: the sift is not finished, and has no results yet; run it again to finish it"
                )
            self.names[-1] += " (not finished: only some of the replies)"
        made = sifted.summary.get("contract") or {}
        engine = str(sifted.summary.get("trueup") or "")
        origin = FileFacts(str(made.get("name") or ""), str(made.get("fingerprint") or ""), engine)
        for number, piece in enumerate(sifted.pieces):
            if not piece.path.is_file():
                raise SourceError(f"{piece.path} is missing: without it the replies of {path} are not complete")
            size = piece.path.stat().st_size
            stop = size if piece.stop < 0 else piece.stop
            source = InputSource(str(piece.path), piece.path.name, stop, "")
            step = block_size(stop - piece.start)
            for start in range(piece.start, stop, step):
                self.blocks.append(FileLines(source, Range(number, number, start, min(start + step, stop)), origin))

    def _add_run(self, path: Path) -> None:
        from trueup.material.runs import steps_of  # pipelines are not needed for files

        self.blocks += (RunReplies(str(path), chunk, step) for chunk, step in steps_of(path))

    def _add_store_at(self, url: str) -> None:
        try:
            with open_store(url, create=False) as store:
                self._add_store(store, url)
        except StoreError as error:
            raise SourceError(f"{error}; {ACCEPTED}") from None

    def _add_store(self, store: Store, url: str = "") -> None:
        """The verdicts of a store. Workers can read it too if its address is known."""
        from trueup.material.stored import cases_between, has_labels, ranges_of

        store.flush()
        labelled, chosen = has_labels(store), self.selection
        ranges = ranges_of(store, chosen)
        if url:
            self.blocks += (StoreRows(url, after, upto, chosen, labelled) for after, upto in ranges)
            return
        Random(0).shuffle(ranges)  # noqa: S311 - an order, not a secret
        self.streams.append(
            case for after, upto in ranges for case in cases_between(store, after, upto, chosen, labelled=labelled)
        )


def address_in(store: Store) -> str:
    """The address of an open store that another process can open too; empty if it is not a file."""
    path = getattr(store.backend, "path", None)
    return "" if path is None else str(Path(path).absolute())


def blocks_of_stream(values: Iterator[Any]) -> Iterator[PythonValues]:
    """Python values in blocks."""
    first = 0
    while some := tuple(islice(values, _TOGETHER)):
        yield PythonValues(some, first)
        first += len(some)


def open_material(
    sources: Iterable[SourceLike], selection: Selection = EVERYTHING, *, labels: Sequence[str | Path] = ()
) -> Material:
    """Open sources. Each must exist."""
    material = Material(selection, read_labels(labels))
    try:
        for source in sources:
            material.add(source)
    except BaseException:
        material.close()
        raise
    return material


def is_store(name: str) -> bool:
    """Whether a name is the name of a store.

    >>> is_store("postgresql://db/trueup"), is_store("replies.jsonl")
    (True, False)
    """
    if name.startswith(("postgresql://", "postgres://", "sqlite:")):
        return True
    path = Path(name)
    if "://" in name or path.is_dir():
        return False
    try:
        with path.open("rb") as opened:
            return opened.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return name.endswith(_ENDINGS)
