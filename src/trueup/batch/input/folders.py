"""Finds the files of replies in a folder, a pattern or an address, in a fixed order.

A folder that Hugging Face `datasets` saved lists its own files, split by split. In other folders, every file with a known ending
counts, also in subfolders, except hidden files, files that begin with an underscore, and files of a sift.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trueup.batch.tables.kinds import ENDINGS, PACKED, ending

_PATTERN = "*?["
_WORK = ".sift"  # files that a sift keeps beside its results
_ONE_FILE = ("http://", "https://")  # servers that do not list their files


class BadFolder(ValueError):
    """A folder without readable files. The message says why."""


class FolderFile(NamedTuple):
    """A file: its path, and a short name for it."""

    path: str
    name: str


class _Tree(NamedTuple):
    """A folder: its files by their path inside it, and how to open one."""

    root: str
    files: list[str]
    read: Callable[[str], bytes]

    def file(self, inside: str) -> FolderFile:
        return FolderFile(f"{self.root.rstrip('/')}/{inside}", inside)


def files_of(given: str, file_system: Callable[[str], Any]) -> list[FolderFile] | None:
    """The files of a folder or a pattern; None for anything else. `file_system` returns the fsspec file system of an address."""
    found = _remote(given, file_system) if "://" in given else _local(given)
    if found is None or isinstance(found, list):
        return found
    files = _saved(found)
    if files is None:
        files = [found.file(inside) for inside in sorted(_given(found.files)) if _is_read(inside)]
    if not files:
        raise BadFolder(f"no file in it ends in {', '.join(ENDINGS)}")
    return files


def address_of(path: Path) -> str:
    """The address if the path of a folder is one; empty if it is a path.

    >>> address_of(Path("s3://bucket/sifted")), address_of(Path("out/s3:")), address_of(Path("C:/out"))
    ('s3://bucket/sifted', '', '')
    """
    scheme, *rest = path.parts or ("",)
    is_one = rest and scheme.endswith(":") and len(scheme) > len("C:")
    return f"{scheme}//{'/'.join(rest)}" if is_one else ""


def _local(given: str) -> _Tree | list[FolderFile] | None:
    path = Path(given)
    if path.is_dir():
        return _Tree(given, list(_walk(path)), lambda inside: (path / inside).read_bytes())
    if path.exists() or not any(mark in given for mark in _PATTERN):
        return None
    import glob

    matches = sorted(name for name in glob.glob(given, recursive=True) if not Path(name).is_dir())  # noqa: PTH207
    return _matched(given, matches)


def _given(files: list[str]) -> Iterator[str]:
    """Files without those that a sift wrote into its own folder, which are not input for another sift."""
    sifted = {f"{inside.partition(f'/{_WORK}/')[0]}/" for inside in files if f"/{_WORK}/" in inside}
    for inside in files:
        if not any(inside[: at + 1] in sifted for at, mark in enumerate(inside) if mark == "/"):
            yield inside


def _walk(root: Path) -> Iterator[str]:
    """The files in a folder, by their path inside it. The work folder of a sift, which may have many, is not listed."""

    def refuse(error: OSError) -> None:  # its files would be left out silently
        inside = Path(error.filename).relative_to(root)
        if not any(part.startswith((".", "_")) for part in inside.parts):
            raise BadFolder(f"the folder {error.filename} cannot be read: {error.strerror}")

    for folder, inner, names in os.walk(root, onerror=refuse):
        if Path(folder) != root and _WORK in inner:
            inner.clear()
            continue
        for name in names:
            yield (Path(folder) / name).relative_to(root).as_posix()


def _remote(given: str, file_system: Callable[[str], Any]) -> _Tree | list[FolderFile] | None:
    if given.startswith(_ONE_FILE):
        return None
    pattern = any(mark in given for mark in _PATTERN)
    if not pattern and given.lower().endswith((*ENDINGS, *PACKED)):
        return None
    files = file_system(given)
    scheme = given.partition("://")[0]
    if pattern:
        return _matched(given, sorted(f"{scheme}://{str(name).lstrip('/')}" for name in files.glob(given)))
    if not files.isdir(given):
        return None
    root = str(files._strip_protocol(given)).rstrip("/")  # noqa: SLF001 - fsspec's own name for it
    found = [str(name)[len(root) :].lstrip("/") for name in files.find(given)]
    return _Tree(given, found, lambda inside: files.cat_file(f"{root}/{inside}"))


def _matched(given: str, matches: list[str]) -> list[FolderFile]:
    """The files that match a pattern; names do not include the folder before it."""
    if not matches:
        raise BadFolder("no file matches it")
    before = given[: min(given.find(mark) for mark in _PATTERN if mark in given)]
    size = before.rfind("/") + 1
    return [FolderFile(name, name[size:]) for name in matches]


def _is_read(inside: str) -> bool:
    hidden = any(part.startswith((".", "_")) for part in inside.split("/"))
    return not hidden and ending(inside) in ENDINGS


def _saved(tree: _Tree) -> list[FolderFile] | None:
    """The files of a folder that `datasets` saved, in its own order; None for any other folder."""
    if "dataset_dict.json" in tree.files:
        splits = _json(tree, "dataset_dict.json").get("splits")
        if not isinstance(splits, list):
            raise BadFolder("dataset_dict.json names no splits")
        return [file for split in splits for file in _shards(tree, f"{split}/")]
    return _shards(tree, "") if "state.json" in tree.files and "dataset_info.json" in tree.files else None


def _shards(tree: _Tree, inside: str) -> list[FolderFile]:
    state = _json(tree, f"{inside}state.json")
    named = state.get("_data_files")
    if not isinstance(named, list) or not all(isinstance(one, dict) and "filename" in one for one in named):
        raise BadFolder(f"{inside}state.json names no files")
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise BadFolder(
            f"{inside or 'the dataset'} was saved with a selection of rows; call flatten_indices() and save it again"
        )
    return [tree.file(f"{inside}{one['filename']}") for one in named]


def _json(tree: _Tree, inside: str) -> dict[str, Any]:
    try:
        found = json.loads(tree.read(inside))
    except (OSError, ValueError) as error:
        raise BadFolder(f"{inside} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise BadFolder(f"{inside} contains no object")
    return found
