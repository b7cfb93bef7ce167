"""Counts how often the values of a field had evidence, by model.

Takes the evidence of a unit from its verdict or its record, and returns rates. Each value counts once. Tables can be added and
subtracted, so any worker may judge any range. The number of rows is limited; the last row counts all others.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trueup.batch.counting.groups import REST, writable
from trueup.verdict.evidence import FOUND
from trueup.verdict.paths import folded

KINDS = ("exact", "normalized", "fuzzy", "computed", "none", "only_in_prompt", "other_record", "not_checkable")
TITLES = {"none": "no evidence", **{name: name.replace("_", " ") for name in KINDS if name != "none"}}
_AT = {
    name.replace("_", " "): place for place, name in enumerate(KINDS)
}  # the grades of evidence are spelled with spaces
_CODES = {"E002": KINDS.index("only_in_prompt"), "E003": KINDS.index("other_record")}
_FOUND = tuple(place for place, name in enumerate(KINDS) if name in FOUND)
_UNCHECKED = KINDS.index("not_checkable")
_MODELS = 100
_FIELDS = 1000  # models
_SHOWN = 200  # characters of a model or a path

Table = dict[str, dict[str, list[int]]]  # model → path → a number for each kind
Fact = tuple[str, str, Any]  # of a finding: its code, path and span


def note(table: Table, model: str, grades: Iterable[tuple[str, str]], facts: Iterable[Fact]) -> None:
    """Count the evidence of one unit, given as paths and grades; `facts` are its findings.

    >>> table = {}
    >>> note(table, "", [("$[0].age", "exact"), ("$[1].age", "none")], [("E003", "$[0].age", None)])
    >>> account(table)["fields"]["$[].age"]
    {'values': 2, 'rate': 0.0, 'none': 1, 'other_record': 1}
    """
    for path, kind in _kinds(grades, facts):
        _row(table, model, _field(path))[kind] += 1


def note_record(table: Table, row: Mapping[str, Any]) -> None:
    """Count the evidence in a record."""
    note(table, model_of(row), _graded(row), _facts(row))


def kinds_in(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields in the evidence of a record, each with the kind of evidence that its value has."""
    return ((_field(path), KINDS[kind]) for path, kind in _kinds(_graded(row), _facts(row)))


def kinds_by_path(row: Mapping[str, Any]) -> dict[str, str]:
    """The kind of evidence of each value in a record."""
    return {path: KINDS[kind] for path, kind in _kinds(_graded(row), _facts(row))}


def _kinds(grades: Iterable[tuple[str, str]], facts: Iterable[Fact]) -> Iterator[tuple[str, int]]:
    said = {_key(path, span): _CODES[code] for code, path, span in facts if code in _CODES}
    for path, grade in grades:
        kind = said.get(path, _AT.get(grade))
        if kind is not None:
            yield path, kind


def add(table: Table, other: Table) -> None:
    """Add the table of other units."""
    for model, fields in other.items():
        for path, counts in fields.items():
            row = _row(table, model, path)
            row[:] = map(sum, zip(row, counts, strict=True))


def take(table: Table, other: Table) -> None:
    """Subtract units that were counted."""
    for model, fields in other.items():
        model = model if model in table else REST
        rows = table.get(model, {})
        for path, counts in fields.items():
            path = path if path in rows else REST
            if path not in rows:
                continue
            rows[path] = [mine - less for mine, less in zip(rows[path], counts, strict=True)]
            if not any(rows[path]):
                del rows[path]
        if not rows:
            table.pop(model, None)


def account(table: Table) -> dict[str, Any]:
    """The rates for `summary.json`: for all values, by field, and by model if one was named; empty if nothing was looked up."""
    if not table:
        return {}
    fields = _merged(table.values())
    found = {**_rates(_total(fields)), "fields": _by_field(fields)}
    if set(table) != {""}:
        found["models"] = {
            model: {**_rates(_total(rows)), "fields": _by_field(rows)} for model, rows in sorted(table.items())
        }
    return found


def _graded(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The paths and grades in the evidence of a record. Anything that is not evidence is left out."""
    evidence = row.get("evidence")
    for path, one in evidence.items() if isinstance(evidence, dict) else ():
        if isinstance(one, dict) and isinstance(one.get("grade"), str):
            yield path, one["grade"]


def _facts(row: Mapping[str, Any]) -> Iterator[Fact]:
    """The findings of a record."""
    for name in ("errors", "warnings"):
        for fact in row.get(name) or ():
            yield fact["code"], fact.get("path", "$"), fact.get("span")


def is_evidence(value: Any) -> bool:
    """Whether a field of a line is the evidence of an earlier record.

    >>> is_evidence({"$.total": {"grade": "exact"}}), is_evidence({"$.total": "seen"}), is_evidence("photo.jpg")
    (True, False, False)
    """
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(one, dict) and one.get("grade") in _AT for one in value.values())
    )


def model_of(row: Mapping[str, Any]) -> str:
    """The model that a record names, in its field `model` or in the `model` of its input.

    >>> model_of({"model": "a"}), model_of({"input": {"model": "b"}}), model_of({"input": "text"})
    ('a', 'b', '')
    """
    given = row.get("input")
    for fields in (row, given if isinstance(given, dict) else {}):
        if isinstance(fields.get("model"), str):
            return str(fields["model"])
    return ""


def _key(path: str, span: Any) -> str:
    """The key that evidence uses for the place of a finding; claims in a text differ by their span."""
    return f"text[{span[0]}:{span[1]}]" if path == "$" and span else path


def _field(path: str) -> str:
    return "text" if path.startswith("text[") else folded(path)


def _row(table: Table, model: str, path: str) -> list[int]:
    fields: dict[str, list[int]] = _room(table, model, _MODELS, dict)
    row: list[int] = _room(fields, path, _FIELDS, lambda: [0] * len(KINDS))
    return row


def _room(rows: dict[str, Any], key: str, most: int, new: Any) -> Any:
    key = writable(key if len(key) <= _SHOWN else f"{key[: _SHOWN - 1]}…")
    if key not in rows:
        key = key if len(rows) < most else REST
        rows.setdefault(key, new())
    return rows[key]


def _merged(tables: Iterable[dict[str, list[int]]]) -> dict[str, list[int]]:
    fields: dict[str, list[int]] = {}
    for rows in tables:
        for path, counts in rows.items():
            fields[path] = [mine + more for mine, more in zip(fields.get(path, [0] * len(KINDS)), counts, strict=True)]
    return fields


def _total(rows: dict[str, list[int]]) -> list[int]:
    return [sum(counts) for counts in zip(*rows.values(), strict=True)] or [0] * len(KINDS)


def _by_field(rows: dict[str, list[int]]) -> dict[str, dict[str, Any]]:
    """The rates by field. Fields with the most values without evidence come first."""
    found = {path: _rates(counts) for path, counts in rows.items()}
    return dict(sorted(found.items(), key=lambda item: (-_lacking(item[1]), -item[1]["values"], item[0])))


def _rates(counts: list[int]) -> dict[str, Any]:
    """The counts of a row without zeros, and the share of the values that have evidence among those that could be checked."""
    values = sum(counts)
    checked = values - counts[_UNCHECKED]
    rate = round(sum(counts[place] for place in _FOUND) / checked, 4) if checked else None
    return {"values": values, "rate": rate, **{name: n for name, n in zip(KINDS, counts, strict=True) if n}}


def _lacking(row: dict[str, Any]) -> int:
    return sum(row.get(name, 0) for name in ("none", "only_in_prompt", "other_record"))
