"""Screens that are closed while a command is running, and lists that change while somebody reads them."""

import sys
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.batch.pipeline.making import GOOD, asking, reply, run_pipeline, start, write_pipeline
from tests.tui.driving import cells, drive, idle, press, settled, shown
from tests.waiting import wait_for
from trueup.batch.pipeline.rundir.directory import OwnedRun
from trueup.batch.pipeline.rundir.lock import born
from trueup.batch.pipeline.running.outcomes import Outcomes
from trueup.batch.pipeline.viewing.unitlist import Query, page_at
from trueup.tui import commands
from trueup.tui.app import RunsApp
from trueup.tui.dialogs import Confirm
from trueup.tui.run import RunScreen
from trueup.tui.runs import Runs
from trueup.tui.units import UnitsScreen

# A command that notes its process, works until the file `hold` is removed, and notes that it is done. It gives up after
# some time.
_WORK = """
import os, pathlib, sys, time
folder = pathlib.Path(sys.argv[2]).parent
(folder / "pid").write_text(str(os.getpid()))
for _ in range(3000):
    if not (folder / "hold").exists():
        break
    time.sleep(0.01)
(folder / ("gave up" if (folder / "hold").exists() else "done")).touch()
print("it is done")
"""


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a unit to retry, on which every command runs until `hold` is removed."""
    rows = reply("ask", "*", "no json")
    api = {"retry": {"max_attempts": 1, "initial_delay_seconds": 0}}
    pipeline = write_pipeline(tmp_path / "p", [asking("ask")], [{"id": "a"}], rows, api=api)
    path = run_pipeline(pipeline, tmp_path / "runs" / "run").path
    config = path / "config" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace('"max_attempts": 1', '"max_attempts": 2'), "utf-8")
    monkeypatch.setattr(commands, "_CALL", (sys.executable, "-c", _WORK))
    (path.parent / "hold").touch()
    return path


def is_alive(folder: Path) -> bool:
    return bool(born(int((folder / "pid").read_text())))


async def revalidate(pilot: Any, app: RunsApp) -> None:
    await press(pilot, "v")
    app.screen.query_one("#answer", Input).value = "anywhere"
    await pilot.press("enter")


def test_closing_the_screens_does_not_wait_for_a_command_and_ends_one_that_only_looks(long: Path) -> None:
    app = RunsApp(long)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter")
        await revalidate(pilot, app)
        await settled(pilot, (long.parent / "pid").exists)
        await pilot.press("q")

    drive(app, steps)
    assert not (long.parent / "gave up").exists(), "the screens were closed while it was still at work"
    wait_for(lambda: not is_alive(long.parent))
    assert not (long.parent / "done").exists()


def test_a_command_that_changes_the_run_finishes_its_work_after_the_screens_were_closed(long: Path) -> None:
    app = RunsApp(long)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "t")
        assert isinstance(app.screen, Confirm)
        await pilot.press("y")
        await settled(pilot, (long.parent / "pid").exists)
        await pilot.press("q")

    drive(app, steps)
    assert not (long.parent / "gave up").exists()
    (long.parent / "hold").unlink()
    wait_for((long.parent / "done").exists)
    wait_for(lambda: not is_alive(long.parent))


def test_work_in_progress_is_shown_and_its_end_is_reported_on_any_screen(long: Path) -> None:
    app = RunsApp(long.parent)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "t")
        await pilot.press("y")
        await settled(pilot, (long.parent / "pid").exists)
        assert app.screen.sub_title == "retry is running …"
        await pilot.press("t", "v", "s")
        assert isinstance(app.screen, RunScreen), "nothing else is begun meanwhile"
        assert {note.message for note in app._notifications} == {"retry is running …"}
        await pilot.press("escape")
        assert isinstance(app.screen, Runs)
        (long.parent / "hold").unlink()
        await settled(pilot, lambda: "it is done" in {note.message for note in app._notifications})

    drive(app, steps)


def test_a_judgement_that_is_no_longer_awaited_asks_nothing(long: Path) -> None:
    app = RunsApp(long.parent)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter")
        await revalidate(pilot, app)
        await settled(pilot, (long.parent / "pid").exists)
        assert app.screen.sub_title == "revalidate: the stored replies are judged …"
        await pilot.press("escape")
        await settled(pilot, lambda: not is_alive(long.parent))
        await idle(pilot)
        assert isinstance(app.screen, Runs)

    drive(app, steps)


# Lists that change --------------------------------------------------------------------------------------------------


def begun(folder: Path, units: int, size: int) -> tuple[Path, OwnedRun]:
    """A run that this process is running; no chunk has finished its step yet."""
    items = [{"id": f"unit{number:03d}"} for number in range(units)]
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(folder / "p", [asking("ask")], items, rows, chunk_size=size), folder / "run")
    run = OwnedRun.open(path)
    run.commit("began", mode="realtime")
    return path, run


def pass_all(run: OwnedRun, name: str) -> None:
    """Let a chunk finish the step."""
    chunk = run.state.chunks[name]
    units = list(run.units(chunk, 0))
    outcomes = Outcomes(len(units))
    for place, unit in enumerate(units):
        outcomes.passed(place, [{**unit, "answer": "yes"}])
    run.commit("done", **outcomes.write(run, chunk, "ask", 0.1))


async def tick(pilot: Any, app: RunsApp) -> None:
    """The action of the screen's timer every two seconds."""
    assert isinstance(app.screen, UnitsScreen)
    app.screen._look_again()
    await idle(pilot)


def test_the_units_of_a_run_that_has_ended_are_shown_as_they_ended(tmp_path: Path) -> None:
    path, run = begun(tmp_path, 3, 3)
    app = RunsApp(path)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        assert {row[1] for row in cells(app, "#units")} == {"· waiting"}
        pass_all(run, "chunk_000")
        run.close()
        await tick(pilot, app)
        assert {row[1] for row in cells(app, "#units")} == {"✓ valid"}

    drive(app, steps)


def test_the_open_unit_stays_although_it_moves_to_another_page(tmp_path: Path) -> None:
    path, run = begun(tmp_path, 400, 200)
    app = RunsApp(path)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter", "down", "down", "enter")
        assert shown(app, "#unit").startswith("not judged yet")
        pass_all(run, "chunk_000")  # the first page now shows the second chunk
        await tick(pilot, app)
        assert shown(app, "#which") == "ask · unit002"
        assert shown(app, "#unit").startswith("valid")
        await press(pilot, "escape")
        assert cells(app, "#units")[0][0] == "unit200"
        run.close()

    drive(app, steps)


def test_units_that_have_no_code_yet_are_explained(tmp_path: Path) -> None:
    path, run = begun(tmp_path, 3, 3)
    app = RunsApp(path)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter", "f")
        assert (
            shown(app, "#unit")
            == "no units yet: units are listed as failed or valid once their chunk has finished the step"
        )
        run.close()
        await tick(pilot, app)
        assert shown(app, "#unit") == "no unit"

    drive(app, steps)


def test_reading_ends_if_it_is_no_longer_awaited(tmp_path: Path) -> None:
    path, run = begun(tmp_path, 3, 3)
    run.close()
    assert page_at(path, Query("ask"), left=lambda: True).rows == ()
    assert len(page_at(path, Query("ask")).rows) == 3
