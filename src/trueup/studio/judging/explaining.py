"""Explaining: takes a code and returns its page as blocks of plain text. Their only markup is backticks around code.

A block is a `text`, a `list` with its items, or `code`. The code of an example that can be tried comes with the reply, the contract and
the context to try it with.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueup.contract.codes import ALL, FAMILIES, OWN_FAMILY, Kind, describe, family_of, own_kinds, page_of
from trueup.contract.files.documents import KINDS
from trueup.contract.files.shape import file_schema
from trueup.verdict.catalogue import FixKind
from trueup.verdict.pages import BadPage, PageExample, read_example, read_page

_LINK = re.compile(r"\[([^\]\[]+)\]\([^)\s]+\)")
_FENCE = re.compile(r"(`{3,})(\w*)")
_ITEM = re.compile(r"(?:[-*]|\d+\.)\s+")

Blocks = list[dict[str, Any]]


def listed() -> list[dict[str, Any]]:
    """All codes, with their families."""
    return [_row(kind) for kind in (*ALL, *own_kinds())]


def explained(kind: Kind) -> dict[str, Any]:
    """The page of a kind.

    >>> page = explained(next(kind for kind in ALL if kind.code == "S001"))
    >>> [section["title"] for section in page["sections"]]
    ['Finds', 'Why', 'Triggers', 'Stays quiet', 'Fix']
    >>> page["sections"][2]["blocks"][0]["example"]["reply"]
    '{"tags": ["a",],}'
    """
    try:
        sections = read_page(page_of(kind)).sections
    except BadPage:  # from a package's check, which may have any format
        sections = {"Finds": page_of(kind)}
    return {
        **_row(kind),
        "sections": [{"title": title, "blocks": list(_blocks(text))} for title, text in sections.items()],
    }


def _row(kind: Kind) -> dict[str, Any]:
    grade, level = (kind.grade, None) if isinstance(kind, FixKind) else (None, kind.level)
    return {**describe(kind), "grade": grade, "level": level, "family": FAMILIES.get(family_of(kind), OWN_FAMILY)}


def _blocks(text: str) -> Iterator[dict[str, Any]]:
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is not None:
            end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == fence[1]), len(lines))
            yield _code("\n".join(lines[at + 1 : end]), fence[2])
            at = end + 1
            continue
        end = at
        while end < len(lines) and lines[end].strip() and not _FENCE.match(lines[end]):
            end += 1
        if end > at:
            yield _prose(lines[at:end])
        at = max(end, at + 1) if end == at else end


def _prose(lines: list[str]) -> dict[str, Any]:
    """A paragraph, or a list if each item starts like one."""
    if not _ITEM.match(lines[0]):
        return {"kind": "text", "text": _plain(" ".join(line.strip() for line in lines))}
    items: list[str] = []
    for line in lines:
        item = _ITEM.match(line)
        if item is not None:
            items.append(line[item.end() :].strip())
        else:
            items[-1] += f" {line.strip()}"
    return {"kind": "list", "items": [_plain(item) for item in items]}


def _plain(text: str) -> str:
    """A text in which links are replaced by their words.

    >>> _plain("See [T001](T001-unknown-tool.md).")
    'See T001.'
    """
    return _LINK.sub(r"\1", text)


def _code(text: str, language: str) -> dict[str, Any]:
    block: dict[str, Any] = {"kind": "code", "text": text}
    if language == "trueup":
        example = _tried(read_example(text + "\n"))
        if example is not None:
            block["example"] = example
    return block


def _tried(example: PageExample) -> dict[str, Any] | None:
    """The inputs of an example; None if it needs Python, or is not about one contract and one reply."""
    options = dict(example.options)
    kind = Path(options.pop("file", "contract.yaml")).suffix
    takes = () if example.contract else file_schema()["properties"]
    if example.python or isinstance(example.reply, bytes) or kind not in KINDS or not options.keys() <= {*takes}:
        return None
    if "tools" not in options:
        options = {"schema": True, **options}
    lines = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in options.items())
    is_text = isinstance(example.reply, str) or example.reply is None
    context = dict(example.context)
    state = context.pop("state", "")
    return {
        "reply": (example.reply or "") if is_text else json.dumps(example.reply, ensure_ascii=False, indent=2),
        "response": not is_text,
        "contract": example.contract or lines,
        "kind": kind,
        "state": state if isinstance(state, str) else "",
        "context": json.dumps(context, ensure_ascii=False, indent=2) if context else "",
    }
