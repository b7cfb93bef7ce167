"""The files of a contract: the file and place of each part, and the files' texts after edits.

Takes the path of a contract. Turns an edit of the contract into the new text of the file with the edited part. This may
be a file that the contract extends or names. After every edit, the new text is read again and must give exactly the
intended data.
"""

import difflib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trueup.contract.contract import Contract
from trueup.contract.files.documents import parse_document
from trueup.contract.files.extends import ExtendedFile, read_whole
from trueup.contract.files.faults import ContractError
from trueup.contract.lint.run import load_contract
from trueup.contract.options import options_in
from trueup.tuning.edits import Add, Edit, Remove, changed, moved
from trueup.tuning.tomltext import edited as edited_toml
from trueup.tuning.yamltext import CannotEdit, YamlTree, edited
from trueup.verdict.paths import Parts, render

_NAMED = ("schema", "tools")  # parts that a contract may name a file for


class FileChange(NamedTuple):
    """The new text of one file."""

    file: Path
    old: str
    new: str

    def diff(self) -> str:
        """The change as a unified diff."""
        name = self.file.as_posix().lstrip("/")
        lines = difflib.unified_diff(
            self.old.splitlines(keepends=True), self.new.splitlines(keepends=True), f"a/{name}", f"b/{name}", n=2
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


class ContractFile:
    """A contract and its files, as they were when they were read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        load_contract(self.path)  # raises with all errors of the contract
        self.whole: ExtendedFile = read_whole(self.path)
        self._texts: dict[Path, str] = {}
        self._own: Any = parse_document(self.text(self.path), self.path.as_posix(), self.path.suffix.lower()).data

    @property
    def data(self) -> dict[str, Any]:
        """The data of the whole contract."""
        return self.whole.data

    def text(self, file: Path) -> str:
        """The text of a file, with line feeds."""
        if file not in self._texts:
            self._texts[file] = file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        return self._texts[file]

    def digests(self) -> dict[Path, str]:
        """The contents of each file that has been read."""
        return {file: hashlib.sha256(text.encode()).hexdigest() for file, text in self._texts.items()}

    def contract(self, edits: Sequence[Edit] = ()) -> Contract:
        """The contract after edits; no file is written."""
        return contract_of(changed(self.data, edits))

    def home(self, path: Parts) -> tuple[Path, Parts]:
        """The file that contains a part of the contract, and the part's path in it."""
        own = self._own if isinstance(self._own, dict) else {}
        named = path[0] if path and path[0] in _NAMED else ""
        if named and isinstance(own.get(named), str):
            return self.path.parent / own[named], path[1:]
        if "extends" not in own:
            return self.path, path
        place = self.whole.marks.value(path)
        file = Path(place.file)
        wanted = _value(self.data, path)
        theirs = self._document(file)
        for candidate in reversed(YamlTree(self.text(file), file.suffix.lower()).paths_at(place.line, place.column)):
            if _value(theirs, candidate) == wanted:
                return file, candidate
        raise CannotEdit(f"{render(path)} is put together from several files; edit it by hand")

    def _document(self, file: Path) -> Any:
        return parse_document(self.text(file), file.as_posix(), file.suffix.lower()).data

    def change(self, edits: Sequence[Edit]) -> list[FileChange]:
        """The new texts of the edited files. Raises `CannotEdit` if a file cannot be edited in place."""
        texts: dict[Path, str] = {}
        for edit in edits:
            file, path = self._home_of(edit)
            text = texts.get(file, self.text(file))
            kind = file.suffix.lower()
            made = moved(edit, path)
            if isinstance(made, Remove):
                made = Remove(_alone(parse_document(text, file.as_posix(), kind).data, path))
            new = edited_toml(text, made) if kind == ".toml" else edited(text, made, kind)
            self._verify(file, text, new, made)
            texts[file] = new
        return [FileChange(file, self.text(file), new) for file, new in texts.items()]

    def _home_of(self, edit: Edit) -> tuple[Path, Parts]:
        if isinstance(edit, Add) and not edit.path:
            return self.path, ()  # a new part belongs to the contract itself
        if edit.path[:1] == ("examples",):
            return self.path, edit.path
        return self.home(edit.path)

    def _verify(self, file: Path, old: str, new: str, edit: Edit) -> None:
        name, kind = file.as_posix(), file.suffix.lower()
        try:
            found = parse_document(new, name, kind)
        except ContractError as error:
            raise CannotEdit(f"the edit would break the file: {error.faults[0].message}") from None
        if found.faults or found.data != changed(parse_document(old, name, kind).data, [edit]):
            raise CannotEdit(f"{render(edit.path)} cannot be edited in place; edit it by hand")


def contract_of(data: dict[str, Any]) -> Contract:
    """The contract made from the data of a file."""
    return Contract(**options_in(data))


def _alone(data: Any, path: Parts) -> Parts:
    """A path, or its parent's path if the parent contains nothing else: no empty list or mapping remains."""
    while len(path) > 1 and len(_value(data, path[:-1])) == 1:
        path = path[:-1]
    return path


def _value(data: Any, path: Parts) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return CannotEdit
    return data
