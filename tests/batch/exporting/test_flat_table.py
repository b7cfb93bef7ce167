"""Flat tables: one row per unit, no cell that is a formula, and no lost values."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.sifting import run, unit
from trueup import Contract
from trueup.batch.exporting.flat_table import UnwritableTable, cell, write_table


@pytest.mark.spec("X23")
@given(st.text() | st.sampled_from(["=cmd|' /C calc'!A0", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "=", "plain"]))
def test_no_text_becomes_a_formula(text: str) -> None:
    written = cell(text)
    assert not written.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert written.removeprefix("'") == text.removeprefix("'") or written == text


@pytest.mark.spec("X23", "B9", "X5")
def test_a_run_can_be_exported_as_a_table(tmp_path: Path) -> None:
    lines = [
        unit("=1+1", '{"a": "=2", "b": -5, "c": [1, "=3"], "unit_id": "evil", "n": 2}'),
        unit("u\ud800", '{"=key": null, "d": "two\\nlines, and \\"quotes\\"\\u0000"}'),
        unit("failed", "no"),
    ]
    ran = run(tmp_path, lines, Contract({"type": "object"}))
    assert write_table(ran.out / "validated.jsonl", tmp_path / "t.csv") == 2
    rows = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_bytes().decode(), newline="")))
    assert [row["unit_id"] for row in rows] == ["'=1+1", "u\\ud800"]
    assert (rows[0]["a"], rows[0]["b"], rows[0]["c"], rows[0]["n"]) == ("'=2", "-5", '[1, "=3"]', "2")
    assert rows[1]["d"] == 'two\nlines, and "quotes"\x00'
    assert "'=key" in rows[0]
    assert write_table(ran.out / "validated.jsonl", tmp_path / "t.jsonl") == 2
    flat = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert flat[0] == {"n": 2, "unit_id": "=1+1", "a": "=2", "b": -5, "c": [1, "=3"]}
    assert flat[1]["unit_id"] == "u\ud800"


def test_a_table_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    ran = run(tmp_path, [unit("a", json.dumps({f"k{n}": n for n in range(1100)}))], Contract(schema=True))
    for target, says in (
        (tmp_path / "t.xls", "ends in"),
        (tmp_path / "none" / "t.jsonl", "cannot be written"),
        (tmp_path / "t.csv", "more than"),
    ):
        with pytest.raises(UnwritableTable, match=says):
            write_table(ran.out / "validated.jsonl", target)
        assert not target.exists()
