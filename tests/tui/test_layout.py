"""The screens at every size: everything needed is visible at 60 columns and 20 rows, and hints count the rest."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.batch.pipeline.making import GOOD, asking, go, reply, run_pipeline, start, write_pipeline
from tests.tui.driving import below, by_head, cells, drive, footer, idle, press, screen_lines, shown
from trueup.tui.app import RunsApp
from trueup.tui.dialogs import Confirm
from trueup.tui.hints import Pane
from trueup.tui.listing import Listing, fitting
from trueup.tui.runs import COLUMNS

PIPELINES = Path(__file__).resolve().parents[2] / "examples" / "pipelines"
NAME = "npc_dialogue-20260101-120000"
SIZES = [(60, 20), (80, 24), (200, 50)]
sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with thirty runs."""
    folder = tmp_path_factory.mktemp("layout") / "runs"
    assert go(start(PIPELINES / "npc_dialogue", folder / NAME, price="1000/1000")).result.code == 1
    for number in range(29):
        shutil.copytree(folder / NAME, folder / f"npc_dialogue-20260102-1200{number:02d}")
    return folder


def assert_seen(app: RunsApp, *words: str) -> None:
    """Everything is on the screen, uncut."""
    text = "\n".join(screen_lines(app))
    flat = " ".join(text.replace("│", " ").split())
    missing = [word for word in words if word not in flat]
    assert not missing, f"{missing} cannot be seen on\n{text}"


@sizes
def test_the_list_of_runs_fits(made: Path, size: tuple[int, int]) -> None:
    app = RunsApp(made)

    async def steps(pilot: Any) -> None:
        rows = by_head(app, "#runs")
        assert len(rows) == 30
        assert NAME in {row["run"] for row in rows}
        assert {"run", "state", "failed", "left"} <= set(rows[0])
        table = app.screen.query_one("#runs", Listing)
        assert table.max_scroll_x == 0, "every column that is shown can be seen"
        assert_seen(app, "Open run", "Sort", "Quit", "5 valid, 1 failed, 0 waiting", "$", "npc_dialogue · updated")
        room = table.size.height - 1
        assert below(app, "#runs") == ("" if room >= 30 else f"↓ {30 - room} more rows")
        await press(pilot, "end")
        assert below(app, "#runs") == ("" if room >= 30 else f"↑ {30 - room} more rows")

    drive(app, steps, size)


@pytest.mark.parametrize(("room", "wanted"), [(58, {"failed", "left"}), (78, {"failed", "left", "done", "cost"})])
def test_one_long_name_does_not_push_the_numbers_off_the_screen(room: int, wanted: set[str]) -> None:
    """The name shrinks as long as it stays distinguishable."""
    widths = [len(column.name) + 2 for column in COLUMNS]
    shown_at, cut = fitting(COLUMNS, [70, *widths[1:]], room)
    assert wanted <= {COLUMNS[at].name for at in shown_at}
    assert 28 <= cut[0] <= 40
    assert sum(width + 2 for width in cut) <= room


@sizes
def test_a_run_fits(made: Path, size: tuple[int, int]) -> None:
    app = RunsApp(made / NAME)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter")
        for key in ("Units", "Sort", "Back", "Retry failed", "Revalidate", "Pause", "Resume", "Kill", "Quit"):
            assert key in footer(app)
        assert_seen(app, NAME, "6 units, 5 valid, 1 failed, 0 waiting", "100% done · $", "Units", "Kill", "Quit")
        assert {"step", "progress", "valid", "failed", "waiting"} <= set(by_head(app, "#steps")[0])
        assert_seen(app, "speak", "score", "V005 failure", "10 calls")
        table = app.screen.query_one("#codes", Listing)
        hidden = max(0, 7 - (table.size.height - 1))
        assert below(app, "#codes") == (f"↓ {hidden} more row{'s' * (hidden != 1)}" if hidden else "")

    drive(app, steps, size)


@sizes
def test_the_units_fit_and_one_is_read_in_full(made: Path, size: tuple[int, int]) -> None:
    app = RunsApp(made / NAME)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        assert_seen(app, "pedlar-desperate", "✗ failed", "V005", "failed at schema_validation", "Last reply")
        assert_seen(app, "Read unit", "All/failed/open/valid", "Find id", "Back", "Quit")
        pane = app.screen.query_one(Pane)
        assert str(pane.border_subtitle) == f"↓ {pane.max_scroll_y} more lines"
        await press(pilot, "enter")
        assert not app.screen.query_one("#units").display
        assert pane.size.width > size[0] - 8
        await press(pilot, "end")
        assert str(pane.border_subtitle) in (f"↑ {pane.max_scroll_y} more lines", "")
        assert_seen(app, "Input", "speak · pedlar-desperate")
        await press(pilot, "escape")
        assert app.screen.query_one("#units").display

    drive(app, steps, size)


@sizes
def test_a_question_fits(made: Path, tmp_path: Path, size: tuple[int, int]) -> None:
    run = Path(shutil.copytree(made / NAME, tmp_path / NAME))
    config = run / "config" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("max_attempts: 3", "max_attempts: 4"), "utf-8")
    app = RunsApp(run)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "v")
        assert_seen(app, "Revalidate with the pipeline in this folder:", "enter continues, escape cancels")
        assert isinstance(app.focused, Input)
        await press(pilot, "escape", "t")
        assert isinstance(app.screen, Confirm)
        assert_seen(app, "1 unit will be asked about again", "Retry these units?", "Yes (y)", "No (n)")
        assert app.focused is not None
        assert app.focused.id == "no", "enter alone changes nothing"

    drive(app, steps, size)


@pytest.mark.parametrize("way", ["key", "click"])
def test_lists_are_sorted_by_key_and_by_click_and_stay_sorted(tmp_path: Path, way: str) -> None:
    for number, name in enumerate(("b", "c", "a")):
        items = [{"id": f"{name}{at}"} for at in range(3 - number)]
        rows = reply("ask", "*", GOOD)
        run_pipeline(write_pipeline(tmp_path / f"p{name}", [asking("ask")], items, rows), tmp_path / "runs" / name)
    app = RunsApp(tmp_path / "runs")

    def column(name: str) -> list[str]:
        return [row[name] for row in by_head(app, "#runs")]

    async def steps(pilot: Any) -> None:
        assert column("run") == ["a", "c", "b"], "the newest first"
        await press(pilot, "down")
        if way == "key":
            await press(pilot, "o")
        else:
            await pilot.click("#runs", offset=(2, 0))
        await idle(pilot)
        assert column("run") == ["a", "b", "c"]
        table = app.screen.query_one("#runs", Listing)
        assert table.ordered_columns[0].label.plain == "run ▲"
        assert (table.chosen or "").endswith("c"), "the run that was chosen stays chosen"
        if way == "key":
            await press(pilot, "O")
        else:
            await pilot.click("#runs", offset=(2, 0))
        await idle(pilot)
        assert column("run") == ["c", "b", "a"]
        app.screen.look()  # type: ignore[attr-defined]
        await idle(pilot)
        assert column("run") == ["c", "b", "a"], "a refresh keeps the order"
        assert "Reverse" in footer(app)
        table.focus()
        while table.order is None or table.order.column != "valid":
            await press(pilot, "o")
        assert column("valid") == ["1", "2", "3"], "numbers are sorted as numbers"

    drive(app, steps, (160, 30))


def test_columns_of_one_run_are_sorted_too(made: Path) -> None:
    app = RunsApp(made / NAME)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "tab", "o")
        assert [row[0] for row in cells(app, "#codes")] == sorted(row[0] for row in cells(app, "#codes"))
        app.screen.look()  # type: ignore[attr-defined]
        await idle(pilot)
        assert [row[0] for row in cells(app, "#codes")] == sorted(row[0] for row in cells(app, "#codes"))
        await press(pilot, "home", "enter")
        assert shown(app, "#which") == "score · valid · C001 · 1 unit"

    drive(app, steps)


def test_a_resized_window_is_filled_again(made: Path) -> None:
    app = RunsApp(made)

    async def steps(pilot: Any) -> None:
        assert "pipeline" not in by_head(app, "#runs")[0]
        await pilot.resize_terminal(200, 30)
        await idle(pilot)
        assert {"pipeline", "updated", "of about", "cost"} <= set(by_head(app, "#runs")[0])
        await pilot.resize_terminal(60, 20)
        await idle(pilot)
        assert "pipeline" not in by_head(app, "#runs")[0]

    drive(app, steps, (60, 20))


def test_a_click_on_a_key_presses_it(made: Path) -> None:
    app = RunsApp(made)

    async def steps(pilot: Any) -> None:
        await pilot.click("KeyBar", offset=(3, 0))
        await idle(pilot)
        assert "speak" in {row["step"] for row in by_head(app, "#steps")}

    drive(app, steps)
