"""What a draft is made from: names and values enter; cases leave, or a finished draft where the source already says what is valid.

Beside what `material` reads, a text file is one reply, and a folder of text files one reply each.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from trueup.material.case import Case
from trueup.material.selection import Selection
from trueup.material.sources import cases

TEXTS = (".txt", ".md", ".text", ".out", ".log", ".html", ".xml")
MAX_TEXT = 10_000_000


def open_cases(sources: Sequence[Any], selection: Selection) -> Iterator[Case]:
    """The cases of all sources, in their order, up to the limit of the selection."""
    return islice(_all(sources, selection), selection.limit)


def _all(sources: Sequence[Any], selection: Selection) -> Iterator[Case]:
    for source in sources:
        if isinstance(source, str | Path):
            yield from _named(str(source), selection)
        else:
            yield from cases([source], selection)


def _named(name: str, selection: Selection) -> Iterator[Case]:
    path = Path(name)
    if path.is_dir() and (texts := _texts_in(path)):
        for inner in texts:
            yield _text(inner)
        for inner in sorted(path.glob("*.jsonl")):
            yield from cases([str(inner)], selection)
    elif path.is_file() and path.suffix in TEXTS:
        yield _text(path)
    elif path.is_file() and path.suffix == ".json":
        yield _response(path)
    else:
        yield from cases([name], selection)


def _texts_in(folder: Path) -> list[Path]:
    """The replies of a folder of text files; none for a sift or a run."""
    if any((folder / mark).exists() for mark in ("journal.jsonl", "summary.json", "manifest.json", "MANIFEST.json")):
        return []
    return sorted(inner for inner in folder.iterdir() if inner.is_file() and inner.suffix in TEXTS)


def _text(path: Path) -> Case:
    if path.stat().st_size > MAX_TEXT:
        return Case(path.name, unjudgeable="unreadable", place=str(path))
    return Case(path.name, path.read_bytes().decode("utf-8", "replace"), place=str(path))


def _response(path: Path) -> Case:
    """A file of JSON: a provider's response, or a value."""
    case = _text(path)
    try:
        return Case(case.id, msgspec.json.decode(case.reply or b""), place=case.place)
    except (msgspec.DecodeError, TypeError):
        return case
