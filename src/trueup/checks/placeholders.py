"""Placeholders: `{state}` and others, in the texts that a contract has for a model.

Takes a text and the values that a check knows; returns the text with the values filled in. Each value is put on one
line and shortened, and braces inside it are not read as placeholders. The reader of a contract refuses unknown names
with `unknown_place`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from trueup.checks.problems import closest
from trueup.verdict.patterns import lazy_regex

PLACE = lazy_regex(r"\{([A-Za-z_][\w.]*)\}")
WHY = ("state",)
HINT = ("state", "found", "data")
CORRECTION = ("state", "hint", "violations", "faults", "data", "tools", "nth", "most")
_MOST = 200  # characters of one value of the data


def unknown_place(text: str, known: Iterable[str]) -> str:
    """The problem of the first unknown placeholder; empty if all are known.

    >>> unknown_place("{State}: {data.first_name}", HINT)
    "there is no placeholder {State}; did you mean 'state'? The placeholders are {state}, {found}, {data} and {data.NAME}"
    """
    names = tuple(known)
    for name in PLACE.findall(text):
        if name in names or ("data" in names and re.fullmatch(r"data\.\w+", name)):
            continue
        shown = ", ".join(f"{{{each}}}" for each in names) + (" and {data.NAME}" if "data" in names else "")
        near = closest(name.casefold(), names) or "."
        return f"there is no placeholder {{{name}}}{near} The placeholders are {shown}"
    return ""


def filled(text: str, values: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """A text with its values; `{data}` is everything that was collected, `{data.NAME}` one field of it, empty if it is
    missing.

    >>> filled("{data.first_name} is in {state}", {"state": "ASKING"}, {"first_name": "Ada"})
    'Ada is in ASKING'
    """
    if "{" not in text:
        return text

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name == "data":
            lines = ((key, one_line(held)) for key, held in data.items())
            return ", ".join(f"{key}: {line}" for key, line in lines if line)
        if name.startswith("data."):
            return one_line(data.get(name.removeprefix("data.")))
        return str(values[name]) if name in values else found[0]

    return PLACE.sub(value, text)


def one_line(value: Any) -> str:
    """A value of the data as a text on one line.

    >>> one_line(["corte", "color"]), one_line(None), one_line("a\\nb")
    ('corte, color', '', 'a b')
    """
    if value is None:
        return ""
    parts = value if isinstance(value, list | tuple | set) else [value]
    line = " ".join(", ".join(map(str, parts)).split())
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"
