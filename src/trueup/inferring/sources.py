"""The sources of a draft: takes names and values; returns cases.

This adds to the formats of `material`: a text file is one reply, each file of a folder of text or JSON files is one
reply, and each item of an array in a JSON file is one reply. If lines do not show which field is the reply, each line
is a value, unless a field is named.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from trueup.inferring.reading import is_data
from trueup.material.case import Case
from trueup.material.selection import Selection
from trueup.material.sources import SourceError, cases

TEXTS = (".txt", ".md", ".text", ".out", ".log", ".html", ".xml")
LINES = (".jsonl", ".ndjson")
MAX_TEXT = 10_000_000
STDIN = "-"
_FIRST = 50  # the first lines, which show whether a field is the reply
_MARKS = ("journal.jsonl", "summary.json", "manifest.json", "MANIFEST.json")


class OpenedSources:
    """The cases of sources, to be read once. Afterwards, `whole_lines` shows whether lines were read as values."""

    def __init__(self, sources: Sequence[Any], selection: Selection, reply_column: str = "") -> None:
        self.whole_lines = False
        self._sources = sources
        self._selection = selection
        self._column = reply_column

    def __iter__(self) -> Iterator[Case]:
        with ExitStack() as stack:
            try:
                yield from islice(self._all(stack), self._selection.limit)
            except OSError as error:
                where = error.filename or "the source"
                raise SourceError(f"{where}: cannot be read: {error.strerror or error}") from None

    def _all(self, stack: ExitStack) -> Iterator[Case]:
        if sum(source == STDIN for source in self._sources if isinstance(source, str)) > 1:
            raise SourceError("standard input ('-') can be given only once")
        for source in self._sources:
            if isinstance(source, str) and source == STDIN:
                yield from self._lines(_spooled(stack))
            elif isinstance(source, str | Path):
                yield from self._named(str(source))
            else:
                yield from cases([source], self._selection)

    def _named(self, name: str) -> Iterator[Case]:
        if not name.strip():
            raise SourceError("a source has an empty name; give a file, a folder, a store, or '-' for standard input")
        path = Path(name)
        if path.is_dir() and (files := _replies_in(path)):
            for inner in files:
                if inner.suffix in LINES:
                    yield from self._lines(inner)
                else:
                    yield _response(inner) if inner.suffix == ".json" else _text(inner)
        elif path.is_file() and path.suffix in TEXTS:
            yield _text(path)
        elif path.is_file() and path.suffix == ".json":
            yield from _listed(path, self._column)
        elif path.is_file() and path.suffix in LINES:
            yield from self._lines(path)
        elif self._column:
            raise SourceError(f"{name}: --reply-column works only with JSON lines; give a .jsonl file")
        else:
            try:
                yield from cases([name], self._selection)
            except SourceError as error:
                if not path.is_dir():
                    raise
                raise SourceError(f"{error}; text and JSON files with one reply each also work") from None

    def _lines(self, path: Path) -> Iterator[Case]:
        """The replies in a file of lines; the lines themselves if none of the first shows which field is the reply."""
        if self._column:
            yield from _rows(path, self._column)
            return
        found = cases([str(path)], self._selection)
        first = list(islice(found, _FIRST))
        if first and all(case.unjudgeable in ("not_a_unit", "unreadable") for case in first):
            values = _rows(path, "")
            some = list(islice(values, _FIRST))
            if any(case.unjudgeable is None for case in some):
                self.whole_lines = True
                yield from chain(some, values)
                return
        yield from chain(first, found)


def _spooled(stack: ExitStack) -> Path:
    """Standard input as a file, because its first lines are read twice."""
    path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trueup-replies-"))) / "stdin.jsonl"
    with path.open("wb") as out:
        shutil.copyfileobj(sys.stdin.buffer, out)
    return path


def _rows(path: Path, column: str) -> Iterator[Case]:
    """One case per line: one of its fields, or the whole value."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _row(line, f"{path.name}:{number}", column)


def _row(line: bytes, place: str, column: str) -> Case:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Case(place, unjudgeable="unreadable", place=place)
    return _valued(value, place, column)


def _valued(value: Any, place: str, column: str) -> Case:
    if column:
        value = value.get(column) if isinstance(value, dict) else None
    if not isinstance(value, str | dict | list):
        return Case(place, unjudgeable="not_a_unit", place=place)
    return Case(place, value, place=place)


def _replies_in(folder: Path) -> list[Path]:
    """The files of a folder with one reply each, and files of lines; empty for a sift, a run or a folder of tables."""
    if any((folder / mark).exists() for mark in _MARKS):
        return []
    files = sorted(inner for inner in folder.iterdir() if inner.is_file() and inner.suffix in (*TEXTS, *LINES, ".json"))
    return files if any(inner.suffix not in LINES for inner in files) else []


def _text(path: Path) -> Case:
    if path.stat().st_size > MAX_TEXT:
        return Case(path.name, unjudgeable="unreadable", place=str(path))
    return Case(path.name, path.read_bytes().decode("utf-8", "replace"), place=str(path))


def _response(path: Path) -> Case:
    """A JSON file: a provider's response, or a value."""
    case = _text(path)
    try:
        return Case(case.id, msgspec.json.decode(case.reply or b""), place=case.place)
    except (msgspec.DecodeError, TypeError, RecursionError):
        return case


def _listed(path: Path, column: str) -> Iterator[Case]:
    """The replies of a JSON file: the items of an array, or the only value."""
    case = _response(path)
    if not isinstance(case.reply, list) or not is_data(case.reply):
        yield case
        return
    for number, value in enumerate(case.reply, 1):
        yield _valued(value, f"{path.name}:{number}", column)
