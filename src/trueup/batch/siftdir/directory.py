"""Reads the folder of a sift: its summary and its records, even if the sift is not finished.

Nothing is changed, even while a sift writes to the folder. Lines that are not records are skipped and counted. Until a sift is
finished its parts are in `.sift/`: their tallies make the summary so far, and their lines the records so far.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import orjson

from trueup import __version__
from trueup.batch.counting.tally import UnitTally
from trueup.batch.input.ranges import Range
from trueup.batch.judging.work import PartFoot, read_part
from trueup.batch.siftdir.manifest import FORMAT, NAME
from trueup.batch.siftdir.summary import read_summary

Row = dict[str, Any]
FILES = {"valid": "validated.jsonl", "failed": "failures.jsonl"}
_WORK = ".sift"
_BLOCK = 1 << 20
_TRIES = 5
_Found = TypeVar("_Found")


class NotASift(ValueError):
    """The folder is not the folder of a sift, or its summary is damaged."""


class Moved(NotASift):
    """The files of a folder were moved or written while they were read."""

    doing = "read"

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: its files changed while they were {self.doing}; run the command again")


class RecordSpan(NamedTuple):
    """A range of a file with records of one kind, `valid` or `failed`; `stop` is -1 for the end of the file."""

    kind: str
    path: Path
    start: int = 0
    stop: int = -1

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines, each with its place in the file. Raises FileNotFoundError if a running sift has merged the file away."""
        with self.path.open("rb", buffering=_BLOCK) as opened:
            opened.seek(self.start)
            at = self.start
            while (self.stop < 0 or at < self.stop) and (line := opened.readline()):
                yield at, line
                at += len(line)


class Sifted(NamedTuple):
    """The content of a sift's folder; `state` is `done`, `judging` or `merging`."""

    path: Path
    summary: Row
    state: str
    pieces: tuple[RecordSpan, ...]


def is_sifted(folder: Path) -> bool:
    """Whether a sift writes to this folder."""
    return (folder / "summary.json").is_file() or (folder / _WORK / NAME).is_file()


def read_sifted(folder: Path) -> Sifted:
    """The sift in a folder, finished or not."""
    try:
        summary = read_summary((folder / "summary.json").read_bytes())
    except FileNotFoundError:
        return _unfinished(folder)
    except ValueError as error:
        raise NotASift(f"{folder / 'summary.json'} is not the summary of a sift: {error}") from None
    return Sifted(folder, summary, "done", tuple(RecordSpan(kind, folder / name) for kind, name in FILES.items()))


def settled(read: Callable[[], _Found]) -> _Found:
    """The result of `read`, which is called again if a running sift moved files while it worked."""
    for _ in range(_TRIES - 1):
        with suppress(Moved):
            return read()
    return read()


def _unfinished(folder: Path) -> Sifted:
    work = folder / _WORK
    if not (work / NAME).is_file():
        raise NotASift(f"{folder} contains no summary.json: run `trueup sift … --out {folder}` first")
    parts = _parts(work)  # read before the manifest, which then has the ranges that a running sift merges in between
    facts, waiting = _manifest(work / NAME)
    if facts.get("state") == "done" and (folder / "summary.json").is_file():
        raise Moved(folder)
    if "key" not in facts:
        raise NotASift(f"{folder}: there are no results yet; the sift has not judged anything")
    if facts.get("format") != FORMAT:
        raise NotASift(f"{work}: written by another version of trueup; sift the files again with --fresh")
    try:
        merge = facts.get("merge") or {"sizes": [0, 0], "tally": None}
        tally = UnitTally.of(merge["tally"]) if merge["tally"] else UnitTally()
        pieces = [
            RecordSpan(kind, next(path for path in (work / name, folder / name) if path.exists()), 0, size)
            for (kind, name), size in zip(FILES.items(), merge["sizes"], strict=False)
            if size
        ]
        for path, part in parts:
            if part.key != facts["settings"] or part.piece not in waiting:
                continue  # another sift's, replaced since, or merged already
            tally.add(part.tally)
            valid, failed = part.sizes[:2]
            pieces += (RecordSpan("valid", path, 0, valid), RecordSpan("failed", path, valid, valid + failed))
        inputs = [{"name": source[0], "bytes": source[1]} for source in facts["sources"]]
    except StopIteration:  # put in place between the two reads
        raise Moved(folder) from None
    except (KeyError, TypeError, ValueError) as error:
        raise NotASift(f"{work / NAME} is damaged ({error!r}); sift the files again with --fresh") from None
    summary: Row = {
        "trueup": __version__,
        "contract": {"name": "", "hash": facts.get("contract", ""), "fingerprint": ""},
        "inputs": inputs,
        **tally.account(),
        "timings": {"seconds": 0.0, "units_per_second": 0},
    }
    return Sifted(folder, summary, str(facts.get("state", "judging")), tuple(pieces))


def _parts(work: Path) -> list[tuple[Path, PartFoot]]:
    """The ranges that have their own part, in the order of the input."""
    try:
        paths = list((work / "parts").glob("*.part"))
    except FileNotFoundError:  # a sift removes the folder when it ends
        return []
    parts = [(path, part) for path in paths if (part := read_part(path)) is not None]
    return sorted(parts, key=lambda entry: (entry[1].piece.source, entry[1].piece.start))


def _manifest(path: Path) -> tuple[Row, set[Range]]:
    """The content of the manifest, and the ranges that are not merged yet. Another process may be writing to it."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)) as database:
            database.execute("BEGIN")  # both from the same transaction
            if not database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'edits'").fetchone()[0]:
                return {}, set()
            facts = {name: orjson.loads(value) for name, value in database.execute("SELECT name, value FROM facts")}
            rows = database.execute("SELECT number, source, first, last FROM plan WHERE kept IS NULL")
            return facts, {Range(*row) for row in rows}
    except (sqlite3.Error, ValueError) as error:
        raise NotASift(f"{path}: cannot be read: {error}") from None


def line_at(opened: BinaryIO, place: int) -> bytes:
    """The line at a position of an open file."""
    opened.seek(place)
    return opened.readline()
