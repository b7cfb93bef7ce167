"""Contracts: the files, their versions, their edits."""

import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from trueup.studio.contracts.codes import codes_over_time
from trueup.studio.contracts.drafts import FaultyDraft, faults_of, lint_draft
from trueup.studio.contracts.files import (
    ContractFileState,
    bases_of,
    called,
    extenders,
    healths,
    line_ends,
    list_contracts,
    open_contract,
)
from trueup.studio.contracts.precision import precision
from trueup.studio.contracts.saving import create, save
from trueup.studio.contracts.stored import StoredContract, history, known_contracts
from trueup.studio.endpoint import TEXTS, Endpoint, Nothing
from trueup.studio.moments import moment
from trueup.studio.settings import Key
from trueup.studio.studio import Studio


class OneFile(msgspec.Struct, frozen=True):
    """A file by its name."""

    file: str


class Saving(msgspec.Struct, frozen=True):
    """A text for a file, and the hash of what it was made from."""

    file: str
    text: str
    hash: str = ""
    force: bool = False
    """Save a text even if it has lint errors."""
    create: bool = False
    """Make a new file."""


class OneName(msgspec.Struct, frozen=True):
    """A contract by its name in the store."""

    name: str


class OverTime(msgspec.Struct, frozen=True):
    """A contract by its name, and a time range."""

    name: str
    since: str = "30d"
    until: str = ""
    by: Literal["hour", "day"] = "day"


def contracts(studio: Studio, asked: Nothing, who: Key) -> dict[str, Any]:  # noqa: ARG001 - every handler's signature
    """The contract files in the folders, and the contracts that only the store has, with the store's figures for each."""
    listed, complete = list_contracts(studio.settings)
    bases = bases_of(studio.settings, listed)
    known = {each.name: each for each in _known(studio, who)}
    files = []
    for (file, path, look), health in zip(listed, healths(studio.settings, listed), strict=True):
        name = called(path, health and health.name, look.name)
        files.append({
            "file": file, "name": name, "title": look.title, "hash": look.hash,
            "errors": None if health is None else health.errors, "warnings": None if health is None else health.warnings,
            "fingerprint": health.fingerprint if health else "", "changed": _changed(path),
            "extended_by": len(extenders(bases, file)), **_counts(known.get(name)),
        })  # fmt: skip
    names = {each["name"] for each in files}
    stored = [{"name": name, **_counts(each)} for name, each in known.items() if name not in names]
    return {"files": files, "complete": complete, "stored": stored}


def _known(studio: Studio, who: Key) -> list[StoredContract]:
    store = studio.store_or_none
    return [] if store is None else known_contracts(store, who.tenant)


def _counts(known: StoredContract | None) -> dict[str, Any]:
    known = StoredContract() if known is None else known
    counts = msgspec.structs.asdict(known)
    shown = ("verdicts", "capped", "refused", "estimated", "first", "last", "versions", "labelled")
    return {name: counts[name] for name in shown}


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def contract_file(studio: Studio, asked: OneFile, who: Key) -> dict[str, Any]:  # noqa: ARG001
    """One contract file: its text, its hash, the linter's findings, and the files that extend it."""
    return _told(studio, open_contract(studio.settings, asked.file))


def save_file(studio: Studio, asked: Saving, who: Key) -> dict[str, Any]:  # noqa: ARG001
    """Save a contract file if it still has the given hash, or create a new one.

    `broken` names contracts that extend it and now have errors.
    """
    linted = lint_draft(studio.settings, asked.text, asked.file)
    faults = faults_of(linted, asked.file, asked.text)
    if linted.contract is None and not asked.force:
        raise FaultyDraft(asked.file, faults)
    if asked.create:
        opened = create(studio.settings, asked.file, asked.text)
    else:
        opened = save(studio.settings, asked.file, asked.text, asked.hash)
    told = _told(studio, opened)
    listed = [each for each in list_contracts(studio.settings)[0] if each[0] in told["extended_by"]]
    pairs = zip(listed, healths(studio.settings, listed), strict=True)
    return {**told, "broken": [name for (name, _, _), health in pairs if health is not None and health.errors]}


def _told(studio: Studio, opened: ContractFileState) -> dict[str, Any]:
    linted = lint_draft(studio.settings, opened.text, opened.name)
    contract = linted.contract
    return {
        "file": opened.name, "text": opened.text, "hash": opened.hash, "kind": opened.kind, "line_ends": line_ends(opened.raw),
        "read_only": _is_read_only(opened), "faults": faults_of(linted, opened.name, opened.text),
        "name": called(opened.path, contract and contract.name, opened.data.get("name")), "fingerprint": contract.fingerprint if contract else "",
        "extended_by": extenders(bases_of(studio.settings, list_contracts(studio.settings)[0]), opened.name),
    }  # fmt: skip


def _is_read_only(opened: ContractFileState) -> bool:
    try:
        return not (opened.path.stat().st_mode & 0o222 and os.access(opened.path.parent, os.W_OK))
    except OSError:  # deleted a moment ago
        return True


def versions(studio: Studio, asked: OneName, who: Key) -> dict[str, Any]:
    """The versions of a contract that have judged, oldest first, each with its text and its difference to the last."""
    return history(studio.store, asked.name, who.tenant)


def codes(studio: Studio, asked: OverTime, who: Key) -> dict[str, Any]:
    """How often a contract found each code, by hour or by day."""
    since = moment("since", asked.since)
    return codes_over_time(
        studio.store, asked.name, since=0.0 if since is None else since, until=moment("until", asked.until), by=asked.by, tenant=who.tenant
    )  # fmt: skip


def right_refusals(studio: Studio, asked: OneName, who: Key) -> dict[str, Any]:
    """How many refusals by each code and rule people find right."""
    return precision(studio.store, asked.name, who.tenant)


ENDPOINTS = (
    Endpoint("GET", "/contracts", "read", contracts),
    Endpoint("GET", "/contracts/file", "read", contract_file, takes=OneFile),
    Endpoint("PUT", "/contracts/file", "edit", save_file, takes=Saving, most=TEXTS, slow=True),
    Endpoint("GET", "/contracts/history", "read", versions, takes=OneName),
    Endpoint("GET", "/contracts/codes", "read", codes, takes=OverTime),
    Endpoint("GET", "/contracts/precision", "read", right_refusals, takes=OneName),
)
