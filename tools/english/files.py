"""The files of the project that contain prose, and the reader for each."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from english import markdown, python, script, settings
from english.passage import Passage

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("src", "docs", "examples", "bench", "tools", "tests", ".ci", ".github")

READERS: dict[str, Callable[[str], Iterable[Passage]]] = {
    ".md": markdown.markdown,
    ".py": python.python,
    ".js": script.script,
    ".mjs": script.script,
    ".css": script.styles,
    ".html": script.page,
    ".svg": script.page,
    ".yaml": settings.settings,
    ".yml": settings.settings,
    ".toml": settings.comments,
    ".conf": settings.comments,
    ".service": settings.comments,
    "Makefile": settings.comments,
    "Containerfile": settings.comments,
}

# Not written for people, not in English, or not our text.
LEFT_OUT = {
    "src/trueup/ask/words": "prompts to models: a change needs a new run of the study",
    "src/trueup/studio/bundle": "built from src/trueup/studio/page",
    "tests/data": "replies and sources that tests read",
    "site": "built from docs",
}
NEVER = {"__pycache__", "node_modules", "build", "dist"}


def reader_of(path: Path) -> Callable[[str], Iterable[Passage]] | None:
    return READERS.get(path.suffix or path.name)


def name_of(path: Path) -> str:
    path = path.resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def is_left_out(path: Path) -> bool:
    name = name_of(path)
    return any(name == folder or name.startswith(f"{folder}/") for folder in LEFT_OUT)


def files_of(places: Iterable[Path]) -> Iterator[Path]:
    """The files with prose at these places. A named file is read even if its folder is excluded."""
    for place in places:
        if place.is_file():
            yield place
            continue
        for folder, inner, names in os.walk(place):
            inner[:] = sorted(name for name in inner if name not in NEVER and not is_left_out(Path(folder, name)))
            paths = [Path(folder, name) for name in sorted(names)]
            yield from (path for path in paths if reader_of(path) and not is_left_out(path))


def whole_project() -> Iterator[Path]:
    yield from sorted(path for path in ROOT.iterdir() if path.is_file() and reader_of(path))
    yield from files_of(ROOT / folder for folder in FOLDERS if (ROOT / folder).exists())


def passages_of(path: Path) -> list[Passage]:
    """The prose of a file in its order. Strings in tests are data, so only their docstrings and comments count."""
    reader = reader_of(path) or markdown.markdown
    source = path.read_text("utf-8")
    if path.suffix == ".py" and name_of(path).startswith("tests/"):
        return sorted(python.python(source, messages=False), key=lambda passage: passage.places[0])
    return sorted(reader(source), key=lambda passage: passage.places[0])
