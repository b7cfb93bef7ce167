"""Explains codes for a page that is read offline: returns their catalogue pages as plain text by section.

Codes of custom checks have pages in the packages that define them. A code that no installed package defines has no explanation.
"""

from collections.abc import Iterable
from importlib import resources
from typing import Any

from trueup.verdict.catalogue import FINDINGS, FIXES
from trueup.verdict.patterns import lazy_regex

_SECTIONS = ("Finds", "Why", "Triggers", "Fix")
_LINK = lazy_regex(r"\[([^\]\[]+)\]\([^)\s]*\)")

Row = dict[str, Any]


def explained(codes: Iterable[str]) -> dict[str, Row]:
    """The explanation of each code: its name, its title, and the sections of its page with their paragraphs.

    >>> explained(["S001"])["S001"]["sections"][0]
    ['Finds', ['A comma directly before a closing bracket. trueup drops it.']]
    """
    rows: dict[str, Row] = {}
    for code in sorted(set(codes)):
        page = _page(code)
        if page:
            rows[code] = {"title": page.partition("\n")[0].removeprefix("# "), "sections": _sections(page)}
    return rows


def _page(code: str) -> str:
    kind = FINDINGS.get(code) or FIXES.get(code)
    if kind is not None:
        return (resources.files("trueup.findings") / f"{kind.code}-{kind.name}.md").read_text("utf-8")
    from trueup.contract.plugins import installed

    return next((check.page() for check in installed().values() if check.code == code), "")


def _sections(page: str) -> list[Any]:
    """The sections of a page, each with its title and its paragraphs; only the first example is used."""
    found = []
    for part in page.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        if title not in _SECTIONS:
            continue
        if title == "Triggers":
            example = text.partition("```trueup\n")[2].partition("\n```")[0]
            found.append(["Example", [], example])
        else:
            paragraphs = [" ".join(each.split()) for each in text.strip().split("\n\n")]
            found.append([title, [_LINK.sub(r"\1", each) for each in paragraphs if each]])
    return found
