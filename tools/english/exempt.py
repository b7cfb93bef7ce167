"""Exemptions: text that quotes bad English on purpose."""

import re
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from english.files import ROOT
from english.lint import Hit

LIST = Path(__file__).with_name("exempt.toml")
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
