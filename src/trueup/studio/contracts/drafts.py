"""Drafts: lints the text in an editor in place of its file. Other files that it names are read only inside the folders."""

import os
from pathlib import Path
from typing import Any

from trueup.contract.contract import Contract
from trueup.contract.files.documents import Barred, SourceFile
from trueup.contract.lint.run import Linted, lint_contract
from trueup.studio.contracts.naming import bar_private
from trueup.studio.judging.drafts import LintedDraft, faults
from trueup.studio.places import find, name_of
from trueup.studio.refusal import RequestRefused
from trueup.studio.settings import StudioSettings

_OUTSIDE = "Only files in the studio's folders are read."


def lint_draft(settings: StudioSettings, text: str, name: str, read: "set[Path] | None" = None) -> Linted:
    """The linter's report on a text in place of the file `name`.

    The paths of other files that it names are added to `read`.
    """
    path = place_of(settings, name)

    def allowed(other: Path) -> SourceFile:
        if other == path:
            return SourceFile(path, name, text)
        if read is not None:
            read.add(other)
        called = name_of(settings, other)
        if called is None or (os.path.lexists(other) and not _is_open(settings, called)):
            raise Barred(_OUTSIDE)
        bar_private(settings, other.resolve())
        return SourceFile(other.resolve(), called, text if other.resolve() == path else None)

    return lint_contract(path, find=allowed)


def _is_open(settings: StudioSettings, name: str) -> bool:
    """Whether an existing file may be read: not if it is hidden or barred from the studio."""
    try:
        find(settings, name)
    except RequestRefused:
        return False
    return True


def place_of(settings: StudioSettings, name: str) -> Path:
    """The path of a file by its name, even if it does not exist yet; its folder must exist."""
    folder, _, last = name.rpartition("/")
    if not folder or last in ("", ".", "..") or "\0" in last or any("\ud800" <= letter <= "\udfff" for letter in last):
        raise RequestRefused(404, f"There is no file {name[:200]!r} in the studio's folders.", code="no_file")
    path = find(settings, folder) / last
    if not os.path.islink(path):  # noqa: PTH114 - which says no for a name that is too long, where a Path raises
        return path
    return find(settings, name)  # a dangling or circular link counts as missing


def faults_of(linted: Linted, name: str, text: str) -> list[dict[str, Any]]:
    """Faults as data for the page."""
    return faults(LintedDraft(linted, text, name))


def contract_of(settings: StudioSettings, text: str, name: str) -> Contract:
    """The contract from a text in place of the file `name`; a Refusal with its faults if it has errors."""
    linted = lint_draft(settings, text, name)
    if linted.contract is None:
        raise FaultyDraft(name, faults_of(linted, name, text))
    return linted.contract


class FaultyDraft(RequestRefused):
    """A text that is not a valid contract, with all its faults."""

    def __init__(self, name: str, faults: list[dict[str, Any]], said: str = "") -> None:
        errors = [each for each in faults if each["level"] == "error"]
        first = f"{errors[0]['code']} in line {errors[0]['line']}: {errors[0]['message']}" if errors else ""
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        super().__init__(422, said or f"{name} has {count}.", code="lint_errors", hint=first)
        self.faults = faults

    def to_dict(self) -> dict[str, Any]:
        """The body of the response, with the faults."""
        told = super().to_dict()
        return {"error": {**told["error"], "faults": self.faults}}  # type: ignore[dict-item]
