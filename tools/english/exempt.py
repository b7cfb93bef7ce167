"""Exemptions: text that quotes bad English on purpose, and the folders that are still being rewritten."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from english.files import ROOT
from english.lint import Hit

LIST = Path(__file__).with_name("exempt.toml")
BASELINE = Path(__file__).with_name("baseline.json")
_INLINE = re.compile(r"prose: allow ([\w., -]+) \(([^)]{8,})\)")


def listed() -> list[dict[str, object]]:
    """The list: files (a pattern), rules (or all of them) and the reason."""
    entries = tomllib.loads(LIST.read_text("utf-8")).get("exempt", [])
    assert isinstance(entries, list)
    return entries


def _is_listed(hit: Hit, entries: list[dict[str, object]]) -> bool:
    for entry in entries:
        rules = entry.get("rules")
        if fnmatchcase(hit.file, str(entry["files"])) and (not isinstance(rules, list) or hit.rule in rules):
            return True
    return False


def _is_allowed_there(hit: Hit, lines: list[str]) -> bool:
    """True if the line of the hit or the one before it says `prose: allow RULE (reason)`."""
    for line in lines[max(0, hit.line - 2) : hit.line]:
        match = _INLINE.search(line)
        if match and hit.rule in re.split(r"[ ,]+", match[1]):
            return True
    return False


def without_exempt(hits: Iterable[Hit]) -> list[Hit]:
    """The hits to correct, in the order of files and lines."""
    entries, lines = listed(), dict[str, list[str]]()
    left = []
    for hit in sorted(set(hits)):
        if hit.file not in lines:
            lines[hit.file] = (ROOT / hit.file).read_text("utf-8").splitlines()
        if not _is_listed(hit, entries) and not _is_allowed_there(hit, lines[hit.file]):
            left.append(hit)
    return left


# -- folders that are not clean yet --------------------------------------------------------------------------------


def folder_of(file: str) -> str:
    """The folder that a file is counted with: a room of src or tests, a folder of docs, else the first folder."""
    parts = file.split("/")
    if len(parts) == 1:
        return file
    if parts[:2] == ["src", "trueup"]:
        return "/".join(parts[:3]) if len(parts) > 3 else "src/trueup"
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def counts(hits: Iterable[Hit]) -> Counter[str]:
    return Counter(folder_of(hit.file) for hit in hits)


def baseline() -> dict[str, int]:
    """How many hits each folder may still have. The numbers only go down; without the file, nothing is allowed."""
    return dict(json.loads(BASELINE.read_text("utf-8"))) if BASELINE.exists() else {}


def lower(hits: Iterable[Hit], *, start: bool = False) -> dict[str, int]:
    """Writes the baseline again with the remaining hits; `start` also adds folders and raises numbers."""
    found, allowed = counts(hits), baseline()
    left = dict(found) if start else {name: min(most, found[name]) for name, most in allowed.items() if found[name]}
    BASELINE.write_text(json.dumps(left, indent=1, sort_keys=True) + "\n", "utf-8")
    return left
