"""Replies with the value that a careful person reads, written without looking at the engine; one file for each kind of fault.

`cases/*.jsonl` has a reply and its schema or tools, and what is expected: `expect`, `calls`, or `refused`. `cases/open.txt`
lists the cases that are not read correctly yet. A case that is read correctly must be removed from the list.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from trueup import Contract
from trueup.conform.options import Options

CASES = Path(__file__).parent / "cases"
OPEN = frozenset((CASES / "open.txt").read_text("utf-8").split())


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text("utf-8").splitlines() if line.strip()]


def plain(value: Any) -> Any:
    """A value in which 2 and 2.0 are the same, and True and 1 are not."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else (type(value), value)


def options_of(row: dict[str, Any]) -> dict[str, Any]:
    options = dict(row.get("options") or {})
    if "aliases" in options:
        options["coerce"] = Options(profile=options.pop("coerce", "standard"), aliases=options.pop("aliases"))
    return options


def is_right(row: dict[str, Any]) -> bool:
    if "tools" in row:
        verdict = Contract(tools=row["tools"], **options_of(row)).check(row["reply"])
        calls = [{"name": call.name, "arguments": call.args} for call in verdict.calls]
        if row.get("refused"):
            return not verdict.ok or not calls
        return (verdict.ok or not row["calls"]) and plain(calls) == plain(row["calls"])
    verdict = Contract(row["schema"], **options_of(row)).check(row["reply"])
    if row.get("refused"):
        return not verdict.ok
    return verdict.ok and plain(verdict.data) == plain(row["expect"])


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.glob("*.jsonl")))
def test_replies_are_read_as_a_person_reads_them(name: str) -> None:
    wrong = {row["id"] for row in rows(name) if not is_right(row)}
    own = {row["id"] for row in rows(name)}
    assert not wrong - OPEN, "these are not read right"
    assert not (OPEN & own) - wrong, "these have come right: take them off cases/open.txt"


def test_every_case_has_a_unique_name_and_every_open_one_exists() -> None:
    ids = [row["id"] for path in CASES.glob("*.jsonl") for row in rows(path.name)]
    assert len(ids) == len(set(ids))
    assert set(ids) >= OPEN
