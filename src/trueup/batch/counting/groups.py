"""Counts findings in groups: by code, by path or by rule. A unit counts once in each group, and a warning never counts as a
failure.

Takes findings one by one and returns rows: units, times, a few ids of failed units, how many failed, how many had warnings, how
often each code occurs, and a few ids of units with warnings. The number of rows is limited; the last row counts all others.
"""

from typing import Any

from trueup.verdict.catalogue import FINDINGS, OWN, FindingKind

EXAMPLES = 5
MOST = 1000  # groups in a table
REST = "…"  # the group of everything over the limit
_SHOWN = 200  # characters of an id, a path or a rule

Table = dict[str, list[Any]]
Seen = dict[int, int]  # facts already counted for units: the hash of a fact, and the levels that it was counted at
_LEVELS = {"error": 1, "warning": 2}


def note(table: Table, key: str, finding: tuple[str, str, str], seen: Seen) -> None:
    """Count a finding, given as the id of its unit, its code and its level. `seen` has the facts already counted for units."""
    uid, code, level = finding
    row = table.get(key)
    if row is None:
        key, row = _new_row(table, _short(key))
    row[1] += 1
    row[5][code] = row[5].get(code, 0) + 1
    mark, bit = hash((id(table), key, uid)), _LEVELS[level]
    levels = seen.get(mark, 0)
    if levels & bit:
        return
    seen[mark] = levels | bit
    row[0] += not levels
    number, ids = (3, row[2]) if bit == 1 else (4, row[6])
    row[number] += 1
    if len(ids) < EXAMPLES:
        ids.append(shown_id(uid))


def add(table: Table, other: Table) -> None:
    """Add the table of the next range."""
    for key, (units, times, ids, failed, warned, codes, warned_ids) in other.items():
        row = table.get(key) or _new_row(table, key)[1]
        row[0] += units
        row[1] += times
        row[2] += ids[: EXAMPLES - len(row[2])]
        row[3] += failed
        row[4] += warned
        row[6] += warned_ids[: EXAMPLES - len(row[6])]
        for code, number in codes.items():
            row[5][code] = row[5].get(code, 0) + number


def take(table: Table, other: Table) -> None:
    """Subtract rows that were added; the examples stay."""
    for key, (units, times, _, failed, warned, codes, _) in other.items():
        key = key if key in table else REST
        row = table.get(key)
        if row is None:
            continue
        row[0] -= units
        row[1] -= times
        row[3] -= failed
        row[4] -= warned
        for code, number in codes.items():
            row[5][code] -= number
            if not row[5][code]:
                del row[5][code]
        if not row[0]:
            del table[key]


def account(table: Table) -> dict[str, dict[str, Any]]:
    """The rows for `summary.json`. Groups that fail the most units come first."""
    return {
        key: {
            "level": "error" if failed else "warning", "units": units, "failed": failed, "warned": warned, "times": times,
            "codes": dict(sorted(codes.items(), key=lambda item: (-item[1], item[0]))),
            "examples": ids or warned_ids, **({"warned_examples": warned_ids} if failed and warned else {}),
        }
        for key, (units, times, ids, failed, warned, codes, warned_ids) in ranked(table)
    }  # fmt: skip


def by_code(table: Table) -> dict[str, dict[str, Any]]:
    """The same for a table by code, with the name and the title of each code."""
    rows: dict[str, dict[str, Any]] = {}
    for code, row in account(table).items():
        del row["codes"]
        kind = FINDINGS.get(code) or OWN.get(code) or FindingKind(code, code.lower(), "error", "")
        rows[code] = {"name": kind.name, "level": row.pop("level"), "title": kind.title, **row}
    return rows


def ranked(table: Table) -> list[tuple[str, list[Any]]]:
    """The rows: groups that fail the most units first, then those with the most warnings."""
    return sorted(table.items(), key=lambda item: (-item[1][3], -item[1][0], item[0]))


def writable(text: str) -> str:
    r"""Text that any JSON can contain: half a surrogate pair is spelled out.

    >>> writable("a\ud800"), writable("é")
    ('a\\ud800', 'é')
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def shown_id(uid: str) -> str:
    """An id as an example: short, and safe for any JSON."""
    return writable(_short(uid))


def _new_row(table: Table, key: str) -> tuple[str, list[Any]]:
    key = writable(key)
    if key not in table and len(table) >= MOST:
        key = REST
    return key, table.setdefault(key, [0, 0, [], 0, 0, {}, []])


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def is_new(seen: Seen, fact: tuple[Any, ...]) -> bool:
    """Whether a fact is new. From now on it is not."""
    mark = hash(fact)
    if mark in seen:
        return False
    seen[mark] = 0
    return True
