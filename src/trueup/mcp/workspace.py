"""The workspace: shared by all tools. It takes settings, and gives access to folders, the store, long work and kept answers.

It reads and writes files by their names inside the served folders only. A name with `..`, and one that goes through a link, is refused.
"""

import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from trueup.contract.files.documents import Barred
from trueup.mcp.answer import ToolAnswer, untrusted
from trueup.store.store import Store
from trueup.studio.contracts.files import ContractFileState, open_contract
from trueup.studio.contracts.naming import bar_private
from trueup.studio.places import find, labelled, name_of
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import Key, StudioSettings
from trueup.studio.studio import Studio

_MOST_KEPT = 32  # answers
_MOST_CHARACTERS = 50_000_000  # of the untrusted texts in them; the latest answer is kept even if it has more
_MOST_ENTRIES = 5_000  # files of a folder to check for links


class Workspace(Studio):
    """One running server."""

    def __init__(self, settings: StudioSettings, *, allow_edit: bool = False) -> None:
        super().__init__(settings)
        self.allow_edit = allow_edit
        self.who = Key("mcp", "", "editor" if allow_edit else "reader")
        self.kept = Kept()

    @property
    def store(self) -> Store:
        """The store; a Refusal if there is none."""
        store = self.store_or_none
        if store is None:
            raise RequestRefused(
                404, "No store is open.", code="no_store", hint="Start the server with --store verdicts.db."
            )
        return store

    def contract(self, name: str) -> ContractFileState:
        """The contract file with a name."""
        self.path(name)
        return open_contract(self.settings, name)

    def path(self, name: str) -> Path:
        """The path of a name inside the folders; raises a Refusal unless the name is in its normal form."""
        if not name:
            raise RequestRefused(400, "The name of a file is empty.", hint=self._folders())
        try:
            path = find(self.settings, name)
        except RequestRefused:
            raise self._missing(name) from None
        if name_of(self.settings, path) != name:
            raise self._missing(name)
        return path

    def sources(self, names: Iterable[str]) -> tuple[str, ...]:
        """The paths of files and folders with replies. Files with settings and folders with links are refused."""
        return tuple(str(self._source(name)) for name in names)

    def _source(self, name: str) -> Path:
        path = self.path(name)
        if path.is_file():
            try:
                bar_private(self.settings, path)
            except Barred as error:
                raise RequestRefused(403, f"{name} cannot be read here: {error}", code="private") from None
        elif _has_links(path):
            raise RequestRefused(
                403, f"{name} contains links, or too many files to look for links.", code="links",
                hint="Name a folder with plain files, or one file.",
            )  # fmt: skip
        return path

    def _missing(self, name: str) -> RequestRefused:
        return RequestRefused(
            404, f"There is no file {name[:200]!r} in the served folders.", code="no_file",
            hint=f"{self._folders()} Links and `..` are refused. `lint` without a file lists the contracts.",
        )  # fmt: skip

    def _folders(self) -> str:
        labels = list(labelled(self.settings))
        shown = ", ".join(labels[:10]) + (" …" if len(labels) > 10 else "")
        return f"A name starts with one of the folders: {shown}." if labels else "No folder is served."


class Kept:
    """The latest answers, so that the rest of one can be read without doing the work again."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, tuple[str, ToolAnswer]] = OrderedDict()
        self._lengths: dict[str, int] = {}
        self._lock = threading.Lock()

    def put(self, tool: str, answer: ToolAnswer) -> str:
        """Keep an answer of a tool, and return its id."""
        name = secrets.token_hex(4)
        parts = [answer.facts, *(section.content for section in answer.sections)]
        length = sum(len(text) for _, text in untrusted(parts))
        with self._lock:
            self._answers[name] = (tool, answer)
            self._lengths[name] = length
            while len(self._answers) > _MOST_KEPT or (
                len(self._answers) > 1 and sum(self._lengths.values()) > _MOST_CHARACTERS
            ):
                oldest, _ = self._answers.popitem(last=False)
                del self._lengths[oldest]
        return name

    def get(self, tool: str, name: str) -> ToolAnswer:
        """The answer with this id."""
        with self._lock:
            kept = self._answers.get(name)
            if kept is not None:
                self._answers.move_to_end(name)
        if kept is None:
            raise RequestRefused(
                404, f"The result {name[:40]!r} is not kept any more.", code="no_result",
                hint=f"Call {tool} with its other arguments again.",
            )  # fmt: skip
        if kept[0] != tool:
            raise RequestRefused(400, f"The result {name[:40]!r} is of {kept[0]}.", hint=f"Call {kept[0]} with it.")
        return kept[1]

    def drop(self, name: str) -> None:
        """Forget an answer that was shown completely."""
        with self._lock:
            self._answers.pop(name, None)
            self._lengths.pop(name, None)


def _has_links(folder: Path) -> bool:
    """Whether a folder has links at any depth, or too many files to check."""
    seen = 0
    for where, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES or any(Path(where, each).is_symlink() for each in (*folders, *files)):
            return True
    return False
