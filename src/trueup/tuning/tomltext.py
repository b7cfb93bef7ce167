"""Replace a value in the text of a TOML file. Other edits are refused with a message about what to change by hand.

TOML spreads one list over many tables, so a small cut cannot add or remove most things.
"""

import json
from typing import Any

from trueup.contract.files.faults import Marks
from trueup.contract.files.tomlfile import read_toml
from trueup.tuning.edits import Add, Append, Edit, Put
from trueup.tuning.yamltext import CannotEdit
from trueup.verdict.paths import render
from trueup.verdict.patterns import lazy_regex

_LONG = 200
_VALUE = lazy_regex(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^\s,#\]}\"'\[{]+")


def edited(text: str, edit: Edit) -> str:
    """The text of a TOML file with one value replaced.

    >>> edited("a = 1 # one\\n", Put(("a",), 2))
    'a = 2 # one\\n'
    """
    if not isinstance(edit, Put) or not isinstance(edit.value, str | int | float):
        raise CannotEdit(f"trueup edits only single values in a TOML file; by hand, {_told(edit)}")
    marks = Marks("")
    read_toml(text, marks)
    place = marks.value(edit.path)
    if place == marks.value(edit.path[:-1]):
        raise CannotEdit(f"{render(edit.path)} does not have its own line in this TOML file; change it by hand")
    starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
    found = _VALUE.match(text, starts[place.line - 1] + place.column - 1)
    if found is None or found[0].startswith(('"""', "'''")):
        raise CannotEdit(f"{render(edit.path)} is not a single value; change it by hand")
    return text[: found.start()] + json.dumps(edit.value, ensure_ascii=False) + text[found.end() :]


def _told(edit: Edit) -> str:
    """An edit in words.

    >>> _told(Add((), "coerce", {"aliases": {"high": ["very high"]}}))
    'add coerce = {"aliases": {"high": ["very high"]}} to $'
    """
    where = render(edit.path)
    if isinstance(edit, Add):
        return f"add {edit.key} = {_short(edit.value)} to {where}"
    if isinstance(edit, Append):
        return f"add {_short(edit.value)} to {where}"
    return f"set {where} to {_short(edit.value)}" if isinstance(edit, Put) else f"remove {where}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"
