"""Hovering: takes a contract and a place in it, and returns the documentation of the word there."""

import re
from typing import Any

from trueup.contract.codes import NoSuchCode, find_kinds
from trueup.studio.judging.completing import is_too_long, known_in
from trueup.studio.judging.cursor import Cursor, locate, word_at
from trueup.studio.judging.names import NamesInContract, about_schema, is_expression, names_at
from trueup.studio.judging.shapes import describes, keys, kind_of, shapes, zone
from trueup.studio.judging.units import OffsetUnits
from trueup.studio.judging.vocabulary import FUNCTIONS, KEYWORDS, OWN_KEYWORDS, REPLY_NAMES
from trueup.studio.settings import StudioSettings
from trueup.verdict.paths import Parts

_CODE = re.compile(r"[A-Z]{1,3}\d{3}\Z")
_COLON = re.compile(r"""["']?\s*(?::(?:\s|$)|=(?!=))""")
_STEP = re.compile(r"[\w]+")


def hover(settings: StudioSettings, text: str, kind: str, file: str, line: int, column: int) -> dict[str, Any]:
    """The documentation of the word at a line and a column, both from 1, the column in UTF-16 units.

    The text is None if there is none.
    """
    if is_too_long(text, kind):
        return {"text": None}
    lines = text.split("\n")
    row = min(max(line, 1), len(lines)) - 1
    here = lines[row]
    units = OffsetUnits(here)
    start, end = word_at(here, min(units.points(max(column, 1) - 1), len(here)))
    word = here[start:end]
    if not word:
        return {"text": None}
    said = _code(word)
    if not said:
        cursor = locate(text, kind.lower(), row, end)
        known = known_in(settings, text, kind, file, row, cursor)
        is_key = cursor.in_head or (cursor.role == "key" and _COLON.match(here, end) is not None)
        said = _of_key(cursor, known) if is_key else _of_value(cursor, known, word)
    if not said:
        return {"text": None}
    place = {"line": row + 1}
    return {
        "text": said,
        "from": {**place, "column": units.of(start) + 1},
        "to": {**place, "column": units.of(end) + 1},
    }


def _code(word: str) -> str:
    if not _CODE.match(word):
        return ""
    try:
        kind = find_kinds(word)[0]
    except NoSuchCode:
        return ""
    return f"{kind.code} · {kind.name}\n{kind.title}"


def _of_key(cursor: Cursor, known: NamesInContract) -> str:
    name = cursor.text.strip()
    place = zone(cursor.path)
    if place is not None and cursor.path and place.what == "schema":
        return (KEYWORDS | OWN_KEYWORDS).get(name, "")
    if place is not None and cursor.path and place.what == "names":
        return _of_schema((*cursor.path, name), known)
    shape = keys(cursor.path).get(name)
    if shape is not None:
        return "\n".join(
            part for part in (describes(shape), f"Takes {kind_of(shape)}." if kind_of(shape) else "") if part
        )
    named = names_at(known, cursor.path, "key").get(name, "")
    return named or " ".join(dict.fromkeys(describes(one) for one in shapes((*cursor.path, name)) if describes(one)))


def _of_schema(path: Parts, known: NamesInContract) -> str:
    place = zone(path)
    return about_schema(known.at(path), known.at(place.start)) if place is not None else ""


def _of_value(cursor: Cursor, known: NamesInContract, word: str) -> str:
    path = cursor.path if cursor.role == "value" else cursor.either
    if path is None:
        return ""
    over = is_expression(path, shapes(path))
    if over:
        return _in_expression(cursor, known, word, over)
    named = names_at(known, path, "value").get(word, "")
    if named:
        return named
    place = zone(path)
    if place is not None and place.what == "required":
        members = path[:-2] if isinstance(path[-1], int) else path[:-1]
        return _of_schema((*members, "properties", word), known)
    return ""


def _in_expression(cursor: Cursor, known: NamesInContract, word: str, over: str) -> str:
    if word in FUNCTIONS and word not in known.fields():
        return FUNCTIONS[word]
    if over == "reply":
        return REPLY_NAMES.get(word.partition(".")[0], "")
    steps: Parts = tuple(0 if step.isdigit() else step for step in _STEP.findall(word))
    return known.field(steps) or (known.fields().get(word, "") if cursor.path else "")
