"""Codes: a code or a name enters, its row of the catalogue and its page leave; those of installed checks too.

The pages are data of the package, `findings/<CODE>-<name>.md`. A check of one's own brings its page along.
"""

from importlib.resources import files
from typing import Any

from trueup.contract.plugins import installed
from trueup.verdict.catalogue import FINDINGS, FIXES, FindingKind, FixKind

Kind = FixKind | FindingKind

ALL: list[Kind] = [*FIXES.values(), *FINDINGS.values()]

FAMILIES = {
    "W": "Wrappers: what stood around the value",
    "S": "Syntax: how the value was written",
    "F": "Forms: shapes that are not JSON",
    "K": "Calls: how a tool call was given",
    "C": "Coercions: a value brought to the schema's type",
    "R": "Replies: what a provider sent",
    "P": "Reading: what the text cannot give",
    "L": "Limits",
    "G": "Grades",
    "V": "Schema: what the value breaks",
    "T": "Tools: what is wrong with calls, and with words about them",
    "A": "Asking: why it ended without a valid reply",
    "B": "Rules: what the data breaks",
    "E": "Evidence: what the sources do not say",
    "Q": "Worth: what makes a reply worth its price",
    "H": "Shelf: what ready checks find",
    "D": "Dialogue: what does not fit the state of the conversation",
    "U": "Units: what is wrong with a line of a batch",
    "X": "Bugs: what is wrong with the code of a contract",
    "N": "Files: what is wrong with a contract or a pipeline",
}
OWN_FAMILY = "Custom checks of installed packages"


class NoSuchCode(ValueError):
    """Nothing has that code or name; `near` are the ones that come close."""

    def __init__(self, word: str, near: list[Kind]) -> None:
        super().__init__(f"no code or name {word!r}")
        self.near = near


def find_kinds(word: str) -> list[Kind]:
    """The kinds of a code or a name, in any case; a name may belong to a fix and to its finding.

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
    """The letter of a kind's family; `own` for a check of an installed package."""
    return kind.code[0] if kind.code in FINDINGS or kind.code in FIXES else "own"


def describe(kind: Kind) -> dict[str, Any]:
    """One row of the catalogue as JSON-able data."""
    return {"kind": "fix" if isinstance(kind, FixKind) else "finding", **kind._asdict()}


def own_kinds() -> list[Kind]:
    """What the custom checks of installed packages find."""
    return [check.kind for check in installed().values()]


def page_of(kind: Kind) -> str:
    """The Markdown of a kind's page."""
    if family_of(kind) == "own":
        return next(check.page() for check in installed().values() if check.code == kind.code)
    return (files("trueup.findings") / f"{kind.code}-{kind.name}.md").read_text(encoding="utf-8")
