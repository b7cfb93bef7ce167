"""A list shows the counted units: by code, in a damaged run, and for any reply."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import ANSWER, GOOD, asking, reply, run_pipeline, write_pipeline
from tests.tui.driving import by_head, drive, footer, press, shown
from trueup.batch.pipeline.viewing.inspecting import JudgedReply, UnitDetails, unit_at
from trueup.batch.pipeline.viewing.unitlist import Query, UnitRow, page_at
from trueup.contract.contract import Contract
from trueup.tui.app import RunsApp
from trueup.tui.listing import Listing
from trueup.tui.marked import unit_text

RULES = {
    "required": ["answer"],
    "rules": [
        {"name": "no_shouting", "expr": "answer != 'NO'", "error": "it shouts"},
        {"name": "no_doubt", "expr": "answer != 'perhaps'", "error": "it doubts", "level": "warning"},
    ],
}
FENCED = '```json\n{"answer": "fine"}\n```'
SAID = {"a": '{"answer": "NO"}', "b": '{"answer": "perhaps"}', "c": '{"answer": "perhaps"}', "d": FENCED, "e": GOOD}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A run in which one code is an error of a unit and a warning of two others."""
    replies = [row for unit, text in SAID.items() for row in reply("ask", unit, text)]
    items = [{"id": unit} for unit in SAID]
    folder = write_pipeline(tmp_path / "p", [asking("ask", ANSWER, rules=RULES)], items, replies, chunk_size=5)
    return run_pipeline(folder, tmp_path / "runs" / "one").path


def test_a_row_of_codes_opens_the_units_that_it_counts(made: Path) -> None:
    app = RunsApp(made)
    opened: dict[tuple[str, str], list[str]] = {}

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "tab")
        rows = by_head(app, "#codes")
        for at, row in enumerate(rows):
            app.screen.query_one("#codes", Listing).move_cursor(row=at)
            await press(pilot, "enter")
            units = [unit["unit"] for unit in by_head(app, "#units")]
            assert len(units) == int(row["units"]), row
            opened[row["code"], row["kind"]] = units
            await press(pilot, "escape")

    drive(app, steps)
    assert opened == {("B005", "failure"): ["a"], ("B005", "warning"): ["b", "c"], ("W001", "fix"): ["d"]}


@pytest.mark.parametrize("damage", ["cut", "deleted", "no record"])
@pytest.mark.parametrize(("file", "lost"), [("ask_validated.jsonl", 4), ("ask_failures.jsonl", 1)])
def test_unreadable_units_are_counted_as_missing(made: Path, damage: str, file: str, lost: int) -> None:
    assert page_at(made, Query("ask")).fault == ""
    path = made / "chunks" / "chunk_000" / file
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes(b'{"unit_id": "a' if damage == "cut" else b"[]\n" * lost)
    page = page_at(made, Query("ask"))
    assert len(page.rows) == 5 - lost
    units = "1 unit" if lost == 1 else f"{lost} units"
    assert page.fault == f"chunks/chunk_000/{file}: {units} cannot be read; try `trueup repair {made}`"


def test_missing_units_are_reported_on_a_narrow_screen(made: Path) -> None:
    (made / "chunks" / "chunk_000" / "ask_failures.jsonl").write_bytes(b"")
    app = RunsApp(made)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        which = app.screen.query_one("#which")
        assert "1 unit cannot be read; try `trueup repair" in shown(app, "#which")
        assert which.size.height > 2, "a long line is wrapped, not cut"

    drive(app, steps, (60, 20))


@pytest.mark.parametrize("text", ['{"answer": "\ud83d"}', '```json\n{"answer": "fine"}\n```\ud83d', "\ud83d"])
def test_a_unit_with_half_a_surrogate_pair_is_listed(tmp_path: Path, text: str) -> None:
    """Half a surrogate pair: a model may write it, and a strict reader of JSON refuses the line."""
    replies = [row for unit in "abc" for row in reply("ask", unit, *[GOOD if unit == "b" else text] * 3)]
    ran = run_pipeline(write_pipeline(tmp_path / "p", [asking("ask")], replies=replies), tmp_path / "one")
    page = page_at(ran.path, Query("ask"))
    assert page.fault == ""
    valid, failed = ran.ids
    listed = {state: sorted(row.id for row in page.rows if row.state == state) for state in ("valid", "failed")}
    assert listed == {"valid": sorted(valid), "failed": sorted(failed)}
    assert sorted((*valid, *failed)) == ["a", "b", "c"]


def test_a_reply_with_a_damaged_record_is_still_shown_as_a_reply(made: Path) -> None:
    results = made / "chunks" / "chunk_000" / "ask_results.jsonl"
    results.write_bytes(b'{"half\n' + results.read_bytes())
    text = unit_text(unit_at(made, "ask", UnitRow("a", "chunk_000", "failed"))).plain
    assert "not all of this unit can be read" in text
    assert f"{results}:1: not a line of JSON" in text
    assert 'Reply in the failure record\n{"answer": "NO"}' in text
    assert "in place of a reply" not in text


def test_a_judged_unit_without_its_record_is_not_shown_as_open(made: Path) -> None:
    failures = made / "chunks" / "chunk_000" / "ask_failures.jsonl"
    failures.write_bytes(b'{"half\n' + failures.read_bytes())
    text = unit_text(unit_at(made, "ask", UnitRow("a", "chunk_000", "failed"))).plain
    assert "not judged yet" not in text
    assert f"{failures}:1: not a line of JSON" in text
    assert 'Last reply\n{"answer": "NO"' in text


def test_the_footer_names_only_keys_that_do_something(made: Path) -> None:
    app = RunsApp(made)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        assert footer(app).split("  ")[0] == "⏎ Read unit"
        await press(pilot, "slash")
        assert footer(app) == "⏎ Find  esc Back"
        await press(pilot, "b", "enter")
        assert [row["unit"] for row in by_head(app, "#units")] == ["b"]
        await press(pilot, "enter")
        assert footer(app) == "esc Back  r Refresh  q Quit"
        await press(pilot, "f")
        assert shown(app, "#which") == "ask · b", "the list is left alone while a unit is read"

    drive(app, steps, (60, 20))


def test_text_that_is_too_long_to_show_says_how_much_is_left_out() -> None:
    long = {"text": "x" * 30_000}
    said = json.dumps(long)
    unit = UnitDetails(
        "a",
        long,
        "p" * 20_007,
        (JudgedReply(said, Contract(schema=True).check(said), {}),),
        None,
        {"unit_id": "a", **long},
    )
    text = unit_text(unit).plain
    parts = {part.split("\n")[0]: part for part in text.split("\n\n")}
    assert "… 7 more characters" in parts["Prompt"]
    laid_out = json.dumps(long, indent=2)
    assert f"… {len(laid_out) - 20_000:,} more characters" in parts["Input"]
    assert parts["Last reply"].count(f"… {len(said) - 20_000:,} more characters") == 1, "the reply"
    assert parts["Last reply"].count(f"… {len(laid_out) - 20_000:,} more characters") == 1, "the value"
    assert "more characters" in parts["Unit after this step"]
