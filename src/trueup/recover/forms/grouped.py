"""Numbers with commas between their thousands, written without quotes: `{"total": 2,701.00}`.

A candidate and what the schema wants of a key enter; the candidate with numbers in those places leaves, and beside it the
one with the comma as a decimal point where a comma alone does not tell. Text that the schema wants as text stays.
"""

import re
from collections.abc import Callable
from typing import Any

from trueup.recover.candidate import Candidate
from trueup.recover.forms.values import grouped_number
from trueup.recover.json.parser import Record, parts_of
from trueup.verdict.paths import Parts

_MOST = 200
_THOUSANDS = re.compile(r"0\d\d")
_COMMA_TOO = re.compile(r"""[\[;][^\[\];"']*\d\s*,\s*[-+]?\d[\d.eE+-]*\s*\Z""")
_NEAR = 120
_NUMERIC = frozenset({"number", "integer", "null"})


def regrouped(candidate: Candidate, wants: Callable[[str], frozenset[str]]) -> tuple[Candidate, Candidate] | None:
    """The candidate with such numbers, and with their other reading; None when there are none."""
    value, other = candidate.value, candidate.value
    records: list[Record] = []
    found = 0
    for record in candidate.records:
        code, start, stop, _, node = record
        parts = parts_of(node)
        numeric = code == "S015" and found < _MOST and _is_numeric(parts, wants)
        said = _at(candidate.value, parts) if numeric else None
        if isinstance(said, str) and (number := _whole_or_not(said)) is not None:
            found += 1
            value = _with(value, parts, number)
            clear = said.count(",") > 1 or "." in said
            other = _with(other, parts, number if clear else float(said.replace(",", ".")))
            record = ("S020", start, stop, repr(number), node)
        records.append(record)
    if not found:
        return None
    spans, form = candidate.spans, candidate.form
    return Candidate(value, spans, records, form), Candidate(other, spans, records, form)


def _whole_or_not(said: str) -> int | float | None:
    whole = grouped_number(said, with_fraction=False)
    return whole if whole is not None else grouped_number(said, with_fraction=True)


def _is_numeric(parts: Parts, wants: Callable[[str], frozenset[str]]) -> bool:
    """Whether a number may be meant: the schema does not say otherwise for the key."""
    keys = [part for part in parts if isinstance(part, str)]
    return not keys or wants(keys[-1]) <= _NUMERIC


def _at(value: Any, parts: Parts) -> Any:
    for part in parts:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _with(value: Any, parts: Parts, number: int | float) -> Any:
    """A value with a number in one place; the containers on the way there are new."""
    if not parts:
        return number
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[parts[0]] = _with(value[parts[0]], parts[1:], number)
    return copied


def parts_numbers(text: str, records: list[Record]) -> bool:
    """Whether a list of numbers was parted at commas that may stand inside them: `[1,000, 2]`, `[1,5; 2,5]`.

    >>> parts_numbers("[1,000]", [("S015", 3, 6, "", None)]), parts_numbers("[1; 2]", [("S038", 2, 3, "", None)])
    (True, False)
    """
    for code, start, stop, _, _ in records:
        if code == "S015":
            behind = text[max(0, start - 2) : start]
            if behind[1:] == "," and behind[0].isdigit() and _THOUSANDS.fullmatch(text, start, stop):
                return True
        elif (
            code == "S038" and text[start:stop].strip() == ";" and _COMMA_TOO.search(text, max(0, start - _NEAR), start)
        ):
            return True
    return False
