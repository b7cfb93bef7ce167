"""Places: the folders that a studio was started with. It takes a name and returns a path inside them; nothing else is
ever opened.

A name is the label of a folder and a path below it, such as `contracts/salon.yaml`. The page knows only names, never
the location of a folder. Hidden files, links that lead outside, and anything that is neither a file nor a folder are
treated as missing.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings

_MOST_FILES = 20_000  # entries looked at in one walk
_DEEPEST = 8
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})


def labelled(settings: StudioSettings) -> dict[str, Path]:
    """The folders by their labels: their names, with a number if two have the same name."""
    found: dict[str, Path] = {}
    for folder in settings.folders:
        label, number = folder.name or "root", 2
        while label in found:
            label, number = f"{folder.name or 'root'}-{number}", number + 1
        found[label] = folder
    return found


def find(settings: StudioSettings, name: str) -> Path:
    """The path for a name; a Refusal unless it exists inside a folder of the studio."""
    label, _, rest = name.partition("/")
    folder = labelled(settings).get(label)
    if folder is None or "\0" in name:
        raise _missing(name)
    try:
        inside = folder.resolve(strict=True)
        path = (inside / rest).resolve(strict=True)
        there = path.is_file() or path.is_dir()
    except (OSError, RuntimeError, ValueError):
        raise _missing(name) from None
    if not there or not path.is_relative_to(inside) or _is_hidden(path.relative_to(inside)) or _is_kept(path, settings):
        raise _missing(name)
    return path


def top_of(settings: StudioSettings, path: Path) -> Path:
    """The folder of the studio that contains a path; its parent folder if there is none."""
    tops = (each.resolve() for each in labelled(settings).values())
    return next((top for top in tops if top in path.parents), path.parent)


def name_of(settings: StudioSettings, path: Path) -> str | None:
    """The name of a path; None if it is outside the folders of the studio."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    for label, folder in labelled(settings).items():
        inside = folder.resolve()
        if real == inside:
            return label
        if real.is_relative_to(inside):
            return f"{label}/{real.relative_to(inside).as_posix()}"
    return None


def named(settings: StudioSettings, text: str) -> str:
    """A text in which paths of the studio's folders are replaced by their names."""
    for label, folder in sorted(labelled(settings).items(), key=lambda item: -len(str(item[1]))):
        for spelled in dict.fromkeys((str(folder), str(folder.resolve()))):
            if len(spelled) > 1:
                text = text.replace(spelled, label)
    return text


def walk(
    settings: StudioSettings, *, suffixes: tuple[str, ...] = (), folders: bool = False
) -> Iterator[tuple[str, Path]]:
    """Every file with one of the suffixes, or every folder, by name; hidden ones and links are skipped."""
    seen = 0
    for label, top in labelled(settings).items():
        waiting = [(label, top, 0)]
        while waiting:
            name, folder, depth = waiting.pop()
            if folders:
                yield name, folder
            for entry in _entries(folder):
                seen += 1
                if seen > _MOST_FILES:
                    return
                if _is_skipped(entry, settings):
                    continue
                if entry.is_dir():
                    if depth < _DEEPEST:
                        waiting.append((f"{name}/{entry.name}", Path(entry.path), depth + 1))
                elif not folders and entry.is_file() and entry.name.lower().endswith(suffixes):
                    yield f"{name}/{entry.name}", Path(entry.path)


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_skipped(entry: "os.DirEntry[str]", settings: StudioSettings) -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED or entry.is_symlink():
        return True
    return _is_kept(Path(entry.path), settings)


def _is_kept(path: Path, settings: StudioSettings) -> bool:
    """Whether a path leads to a file that the studio must not read, even by a hard link or in another case."""
    for kept in settings.hidden:
        try:
            if path == kept or path.samefile(kept):
                return True
        except OSError:  # one of them was deleted a moment ago
            continue
    return False


def _is_hidden(below: Path) -> bool:
    return any(part.startswith(".") for part in below.parts)


def _missing(name: str) -> RequestRefused:
    return RequestRefused(
        404, f"There is no file {name[:200]!r} in the studio's folders.", code="no_file",
        hint="Start the studio with the folder that contains it.",
    )  # fmt: skip
