"""Runs with very many units: one page at a time is read and kept, in any order, and no unit is missing between pages."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import GOOD, asking, reply, start, write_pipeline
from tests.growth import lowest
from tests.tui.driving import cells, drive, footer, idle, press, shown
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.running.outcomes import Outcomes, broken
from trueup.batch.pipeline.viewing.unitlist import PAGE, Query, UnitRow, page_at
from trueup.tui.app import RunsApp


def make(folder: Path, units: int, size: int = 1000, *, every: int = 10, done: int | None = None) -> Path:
    """A run after its step: every tenth unit failed. With `done`, only that many chunks have finished it."""
    items = [{"id": f"unit{number:06d}"} for number in range(units)]
    pipeline = write_pipeline(folder / "p", [asking("ask")], items, reply("ask", "*", GOOD), chunk_size=size)
    path = start(pipeline, folder / "run")
    run = OwnedRun.open(path)
    run.commit("began", mode="realtime")
    for chunk in list(run.state.chunks.values())[:done]:
        units_in = list(run.units(chunk, 0))
        outcomes = Outcomes(len(units_in))
        for place, unit in enumerate(units_in):
            if int(unit["unit_id"][4:]) % every:
                outcomes.passed(place, [{**unit, "answer": "yes"}])
            else:
                code = "V005" if int(unit["unit_id"][4:]) % (2 * every) else "V002"
                outcomes.failed(place, broken(unit, code, "wrong"))
        run.commit("done", **outcomes.write(run, chunk, "ask", 0.1))
    run.close()
    return path


def walk(path: Path, query: Query, *, back: bool = False, size: int = PAGE) -> list[UnitRow]:
    """Every unit, page by page."""
    page = page_at(path, query, size=size)
    found = list(page.rows)
    while page.after:
        page = page_at(path, query, page.rows[-1], size=size)
        assert page.before
        found += page.rows
    if not back:
        return found
    returned = list(page.rows)
    while page.before:
        page = page_at(path, query, page.rows[0], back=True, size=size)
        assert page.after
        returned = [*page.rows, *returned]
    return returned


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("paging"), 1050, 100, done=8)


@pytest.mark.parametrize("order", ["", "unit", "state", "codes", "chunk"])
@pytest.mark.parametrize("down", [False, True])
def test_all_pages_together_are_every_unit_once_in_order(run: Path, order: str, *, down: bool) -> None:
    query = Query("ask", order=order, down=down and bool(order))
    whole = page_at(run, query, size=10_000).rows
    assert len({row.id for row in whole}) == len(whole) == 1050
    assert walk(run, query, size=77) == list(whole)
    assert walk(run, query, size=77, back=True) == list(whole)
    if order == "unit":
        ids = [row.id for row in whole]
        assert ids == sorted(ids, reverse=down)


def test_pages_contain_only_the_requested_units(run: Path) -> None:
    assert len(walk(run, Query("ask", "failed"), size=7)) == 80
    assert {row.state for row in walk(run, Query("ask", "open"))} == {"waiting"}
    assert len(walk(run, Query("ask", "valid", text="UNIT0000"))) == 90
    assert len(walk(run, Query("ask", code="V005"), size=3)) == 40
    assert page_at(run, Query("nothing")).rows == ()


@pytest.mark.spec("B20")
def test_many_units_are_shown_a_page_at_a_time(tmp_path: Path) -> None:
    path = make(tmp_path, 3_000)
    app = RunsApp(path)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter")
        assert "3,000 units, 2,700 valid, 300 failed" in shown(app, "#about")
        await press(pilot, "enter")
        assert len(cells(app, "#units")) == PAGE
        assert shown(app, "#which") == "ask · all · units 1–200, more with ]"
        assert "Next 200" in footer(app)
        assert "Previous" not in footer(app)
        await press(pilot, "right_square_bracket")
        assert shown(app, "#which") == "ask · all · units 201–400, more with ]"
        assert "Previous 200" in footer(app)
        assert cells(app, "#units")[0][0] == "unit002000"
        await press(pilot, "left_square_bracket")
        assert shown(app, "#which") == "ask · all · units 1–200, more with ]"
        await press(pilot, "o", "O")
        assert cells(app, "#units")[0][0] == "unit002999", "the order is that of all units, not of one page"
        await press(pilot, "slash", *"unit00299", "enter")
        await idle(pilot)
        assert shown(app, "#which") == "ask · all · 10 units · id contains 'unit00299'"

    drive(app, steps)


def test_a_page_uses_the_same_memory_for_a_run_of_any_size(tmp_path: Path) -> None:
    def peak(path: Path) -> int:
        last = page_at(path, Query("ask", order="unit", down=True)).rows[-1]
        page_at(path, Query("ask"))
        tracemalloc.start()
        page_at(path, Query("ask", order="unit"))
        page_at(path, Query("ask", order="unit", down=True), last)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    large, small = (make(tmp_path / str(units), units) for units in (8_000, 1_000))
    assert lowest(peak, large) < 2 * lowest(peak, small)
