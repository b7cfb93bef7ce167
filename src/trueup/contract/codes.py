"""Codes: looks up a code or a name and returns its row in the catalogue and its page, also for installed checks.

The pages are package data, `findings/<CODE>-<name>.md`. A custom check provides its own page.
"""

from importlib.resources import files
from typing import Any

from trueup.contract.plugins import installed
from trueup.verdict.catalogue import FINDINGS, FIXES, FindingKind, FixKind

Kind = FixKind | FindingKind

ALL: list[Kind] = [*FIXES.values(), *FINDINGS.values()]

FAMILIES = {
    "W": "Text around the value",
    "S": "Syntax of the value",
    "F": "Formats other than JSON",
    "K": "Format of a tool call",
    "C": "Coercions to the declared type",
    "R": "A provider's response",
    "P": "Unreadable or untrustworthy text",
    "L": "Limits",
    "G": "Grades",
    "V": "Violations of the schema",
    "T": "Tool calls, and text about them",
    "A": "Requests without a valid reply",
    "B": "Violations of business rules",
    "E": "Values that the sources do not support",
    "Q": "Quality of a reply",
    "H": "Ready checks",
    "D": "Contradictions with the conversation's state",
    "U": "Units of a batch",
    "X": "Bugs in the code of a contract",
    "N": "Files of contracts, pipelines and gateways",
}
OWN_FAMILY = "Custom checks of installed packages"


class NoSuchCode(ValueError):
    """The code or name is unknown; `near` lists similar ones."""

    def __init__(self, word: str, near: list[Kind]) -> None:
        super().__init__(f"no code or name {word!r}")
        self.near = near


def find_kinds(word: str) -> list[Kind]:
    """The kinds with a code or a name, in upper or lower case; a fix and its finding may share a name.

    >>> [kind.code for kind in find_kinds("Trailing-Comma")]
    ['S001']
    """
    wanted = word.strip().casefold()
    found = [kind for kind in ALL if wanted in (kind.code.casefold(), kind.name)]
    if not found:
        found = [kind for kind in own_kinds() if wanted in (kind.code.casefold(), kind.name)]
    if not found:
        from rapidfuzz import fuzz, process

        known = {word: kind for kind in (*ALL, *own_kinds()) for word in (kind.code, kind.name)}
        near = process.extract(
            wanted, known.keys(), scorer=fuzz.ratio, processor=str.casefold, limit=3, score_cutoff=60
        )
        raise NoSuchCode(word, list(dict.fromkeys(known[word] for word, _, _ in near)))
    return found


def family_of(kind: Kind) -> str:
    """The letter of a kind's family, or `own` for a check of an installed package."""
    return kind.code[0] if kind.code in FINDINGS or kind.code in FIXES else "own"


def describe(kind: Kind) -> dict[str, Any]:
    """One row of the catalogue as JSON-able data."""
    return {"kind": "fix" if isinstance(kind, FixKind) else "finding", **kind._asdict()}


def own_kinds() -> list[Kind]:
    """The findings of the custom checks of installed packages."""
    return [check.kind for check in installed().values()]


def page_of(kind: Kind) -> str:
    """The Markdown of a kind's page."""
    if family_of(kind) == "own":
        return next(check.page() for check in installed().values() if check.code == kind.code)
    return (files("trueup.findings") / f"{kind.code}-{kind.name}.md").read_text(encoding="utf-8")
