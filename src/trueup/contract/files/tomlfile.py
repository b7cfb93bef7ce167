"""TOML files as plain data with positions: takes text, and returns a document or the one fault that prevents reading
it.

The standard library reads the file. The positions of keys are found line by line, so anything inside a one-line value
has the position of its key. Dates are refused: a contract is JSON data, and a date in it is text in quotes.
"""

import datetime as dt
import tomllib
from typing import Any

from trueup.contract.files.faults import FilePlace, Marks, fault
from trueup.contract.files.yamlfile import MAX_DEPTH, UnreadableYaml
from trueup.verdict.paths import Parts
from trueup.verdict.patterns import lazy_regex

_AT = lazy_regex(r" \(at line (\d+), column (\d+)\)\Z")
_PART = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_NAME = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_TABLE = lazy_regex(rf"[ \t]*(\[\[?)[ \t]*({_NAME})[ \t]*\]")
_PAIR = lazy_regex(rf"[ \t]*({_NAME})[ \t]*=[ \t]*")
_PIECE = lazy_regex(_PART)
# Anything that may contain a dot: multi-line texts, comments, names and one-line texts. A text without an end extends
# to the end of the file.
_DOTTED = lazy_regex(
    r"\"\"\"(?:[^\"\\]|\\[\s\S]|\"(?!\"\"))*(?:\"\"\"|\\?\Z)|'''(?:[^']|'(?!\'\'))*(?:'''|\Z)"
    rf"|#[^\n]*|({_NAME})|[\"'][^\n]*"
)


def read_toml(text: str, marks: Marks) -> Any:
    """The data of a TOML document; positions are recorded in `marks`.

    >>> marks = Marks("x.toml")
    >>> read_toml('[order]\\nsequence = ["a"]', marks), str(marks.key(("order", "sequence")))
    ({'order': {'sequence': ['a']}}, 'x.toml:2:1')
    """
    _refuse_deep_keys(text, marks)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        end = FilePlace(marks.file, text.count("\n") + 1, len(text) - text.rfind("\n"))
        place = FilePlace(marks.file, int(found[1]), int(found[2])) if found else end
        said = _AT.sub("", str(error))
        raise UnreadableYaml(fault("N002", place, (), f"this is not TOML: {said[:1].lower()}{said[1:]}")) from None
    except RecursionError:
        raise UnreadableYaml(fault("N003", FilePlace(marks.file), (), "the document is nested too deeply")) from None
    _locate(text, marks)
    _refuse_foreign(data, marks)
    return data


def _refuse_deep_keys(text: str, marks: Marks) -> None:
    """Refuse a dotted key with too many parts: the standard library needs quadratic time to read it."""
    for found in _DOTTED.finditer(text):
        if found[1] is not None and found[1].count(".") >= MAX_DEPTH and len(_split(found[1])) > MAX_DEPTH:
            at = found.start()
            place = FilePlace(marks.file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
            raise UnreadableYaml(fault("N003", place, (), f"nested deeper than {MAX_DEPTH} levels"))


def _locate(text: str, marks: Marks) -> None:
    table: Parts = ()
    counts: dict[Parts, int] = {}
    marks.put((), FilePlace(marks.file))
    quoted = ""
    for number, line in enumerate(text.split("\n"), 1):
        if quoted:  # inside a multi-line text
            quoted = "" if line.count(quoted) % 2 else quoted
            continue
        head = _TABLE.match(line)
        if head is not None:
            table = _counted(_split(head[2]), counts, new=head[1] == "[[")
            place = FilePlace(marks.file, number, head.start(2) + 1)
            marks.put(table, place, place)
            continue
        pair = _PAIR.match(line)
        if pair is not None:
            value = line[pair.end() :]
            inner = pair.end() + 2 if value[:1] in "\"'" and value[:3] not in ('"""', "'''") else 0
            here = FilePlace(marks.file, number, pair.end() + 1, inner)
            marks.put((*table, *_split(pair[1])), here, FilePlace(marks.file, number, pair.start(1) + 1))
            quoted = next((mark for mark in ('"""', "'''") if value.count(mark) % 2), "")


def _split(name: str) -> Parts:
    pieces = (piece[0] for piece in _PIECE.finditer(name))
    return tuple(piece[1:-1] if piece[0] in "\"'" else piece for piece in pieces)


def _counted(name: Parts, counts: dict[Parts, int], *, new: bool) -> Parts:
    """The path of a table, including the item's index for an array of tables."""
    path: Parts = ()
    for index, part in enumerate(name):
        path = (*path, part)
        if new and index == len(name) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _refuse_foreign(data: Any, marks: Marks) -> None:
    """Refuse dates and times, numbers that JSON does not have, and data that is nested too deeply."""
    stack: list[tuple[Parts, Any]] = [((), data)]
    while stack:
        path, value = stack.pop()
        if len(path) > MAX_DEPTH:
            raise UnreadableYaml(fault("N003", marks.value(path), path[:4], f"nested deeper than {MAX_DEPTH} levels"))
        if isinstance(value, dict):
            stack += [((*path, key), part) for key, part in value.items()]
        elif isinstance(value, list):
            stack += [((*path, index), part) for index, part in enumerate(value)]
        elif isinstance(value, dt.date | dt.time):
            raise UnreadableYaml(fault("N002", marks.value(path), path, "a date is not JSON data", "Put it in quotes."))
        elif isinstance(value, float) and value - value != 0:
            raise UnreadableYaml(fault("N002", marks.value(path), path, f"{value} is not a JSON number"))
