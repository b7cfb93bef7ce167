"""The screens over runs, driven by keys like a person would, over real runs of the shipped pipelines."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from textual.widgets import DataTable, Input

from tests.batch.pipeline.making import ANSWER, asking, run_pipeline, start, write_pipeline
from tests.tui.driving import by_head, cells, drive, idle, press, settled, shown
from trueup.batch.pipeline.viewing.inspecting import unit_at
from trueup.batch.pipeline.viewing.unitlist import Query, UnitRow, page_at
from trueup.cli.main import main
from trueup.testing.script import Raw, Say
from trueup.testing.server import ScriptedServer
from trueup.tui.app import RunsApp
from trueup.tui.dialogs import Confirm
from trueup.tui.marked import unit_text
from trueup.tui.pictures import picture, runs_at
from trueup.tui.run import RunScreen
from trueup.tui.runs import Runs
from trueup.tui.units import UnitsScreen

FENCED = '```json\n{"answer": "short"}\n```'
PIPELINES = Path(__file__).resolve().parents[2] / "examples" / "pipelines"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of two steps, one unit of which failed, and a run that never began."""
    folder = tmp_path_factory.mktemp("tui") / "runs"
    assert run_pipeline(PIPELINES / "npc_dialogue", folder / "first").result.code == 1
    start(PIPELINES / "npc_dialogue", folder / "second")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "runs"))


def units_at(path: Path, step: str, kind: str = "", code: str = "") -> tuple[UnitRow, ...]:
    return page_at(path, Query(step, kind, code)).rows


@pytest.mark.spec("B20")
def test_runs_steps_and_units_are_shown(folder: Path) -> None:
    app = RunsApp(folder)

    async def steps(pilot: Any) -> None:
        assert isinstance(app.screen, Runs)
        rows = {row["run"]: row for row in by_head(app, "#runs")}
        names = ("pipeline", "state", "units", "valid", "failed", "waiting", "cost", "left")
        assert [rows["first"][name] for name in names] == ["npc_dialogue", "done", "6", "5", "1", "0", "$0.0000", "-"]
        assert rows["second"]["state"] == "ready"
        assert re.fullmatch(r"\d\d-\d\d \d\d:\d\d", rows["first"]["updated"])
        app.screen.query_one(DataTable).move_cursor(row=list(rows).index("first"))
        await press(pilot, "enter")
        assert isinstance(app.screen, RunScreen)
        assert "6 units, 5 valid, 1 failed" in shown(app, "#about")
        funnel = by_head(app, "#steps")
        assert [row["step"] for row in funnel] == ["speak", "score"]
        assert (funnel[0]["valid"], funnel[0]["failed"], funnel[0]["calls"]) == ("5", "1", "10")
        assert [row[:4] for row in cells(app, "#codes")] == [
            ["V005", "failure", "1", "speak"],
            *([code, "fix", "1", "speak"] for code in ("C011", "S001", "S008", "W001", "W002")),
            ["C001", "fix", "1", "score"],
        ]
        assert cells(app, "#codes")[0][4] == "not-in-enum"
        await press(pilot, "enter")
        assert isinstance(app.screen, UnitsScreen)
        units = cells(app, "#units")
        assert len(units) == 6
        assert units[0][:3] == ["pedlar-desperate", "✗ failed", "V005"]
        unit = shown(app, "#unit")
        assert "failed at schema_validation" in unit
        assert "V005 $.tone" in unit
        assert "You write lines for a game" in unit
        await press(pilot, "f", "f", "f")
        assert len(cells(app, "#units")) == 5
        assert shown(app, "#which") == "speak · valid · 5 units"
        await press(pilot, "slash", *"smith", "enter")
        assert {row[0].split("-")[0] for row in cells(app, "#units")} == {"smith"}
        await press(pilot, "escape", "escape")
        assert isinstance(app.screen, Runs)

    drive(app, steps, (180, 40))


@pytest.mark.spec("B20")
def test_fixes_are_marked_in_the_reply(folder: Path) -> None:
    row = next(row for row in units_at(folder / "first", "speak") if row.id == "pedlar-friendly")
    unit = unit_at(folder / "first", "speak", row)
    assert [fix.code for fix in unit.replies[-1].verdict.fixes][:1] == ["S008"]  # type: ignore[union-attr]
    text = unit_text(unit)
    assert "⟨S008⟩" in text.plain
    assert any("green" in str(span.style) for span in text.spans)


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a real server: a unit with a fix and a warning of a rule about an earlier step, and one without a reply."""
    folder = tmp_path_factory.mktemp("noted")
    rule = {"name": "longer", "expr": "len(answer) > len(start)", "error": "{answer} after {start}", "level": "warning"}
    steps = [
        {"name": "open", "scope": "expression", "expressions": {"start": "'once upon'"}},
        asking("tell", ANSWER, "Tell {{ unit_id }}.", {"rules": [rule]}),
    ]
    api = {"provider": "url", "model": "m", "retry": {"max_attempts": 1, "initial_delay_seconds": 0}}
    with ScriptedServer(
        lambda asked: (
            Raw("<h1>Down</h1>", 500, "text/html")
            if "Tell b" in str(asked.fields["messages"])
            else Say(FENCED, usage=(9, 3))
        )
    ) as server:
        pipeline = write_pipeline(
            folder / "p", steps, [{"id": "a"}, {"id": "b"}], [], api={**api, "base_url": f"{server.url}/v1"}
        )
        run_pipeline(pipeline, folder / "run")
    return folder / "run"


def test_warnings_and_fixes_of_a_unit_are_shown(noted: Path) -> None:
    rows = {row.id: row for row in units_at(noted, "tell")}
    assert rows["a"].codes == ("B005", "W001")
    assert [row.id for row in units_at(noted, "tell", code="B005")] == ["a"]
    unit = unit_at(noted, "tell", rows["a"])
    assert len(unit.replies) == 1  # a sent request is not a reply
    assert unit.input["start"] == "once upon"  # the unit as it entered the step, not as the run began
    text = unit_text(unit).plain
    assert "⟨W001⟩" in text
    assert "short after once upon" in text


def test_an_error_page_is_shown_if_there_was_no_reply(noted: Path) -> None:
    unit = unit_at(noted, "tell", next(row for row in units_at(noted, "tell") if row.id == "b"))
    text = unit_text(unit).plain
    assert unit.replies == ()
    assert "failed at pipeline_internal" in text
    assert "Sent in place of a reply\n<h1>Down</h1>\n" in text


def test_a_run_that_waits_is_resumed_from_its_screen(folder: Path) -> None:
    app = RunsApp(folder / "second")

    async def steps(pilot: Any) -> None:
        await pilot.press("enter")
        await pilot.press("s")
        await settled(pilot, lambda: picture(folder / "second").state == "done")
        app.screen.look()  # type: ignore[attr-defined]
        await idle(pilot)
        assert "5 valid, 1 failed" in shown(app, "#about")

    drive(app, steps)


@pytest.mark.spec("B20")
def test_retry_shows_what_happens_and_asks_first(folder: Path) -> None:
    """The unit that failed had all its attempts, so one more is configured: there is something to retry."""
    config = folder / "first" / "config" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("max_attempts: 3", "max_attempts: 4"), "utf-8")
    app = RunsApp(folder / "first")
    before = units_at(folder / "first", "speak", "failed")

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "t")
        assert isinstance(app.screen, Confirm)
        assert "1 unit will be asked about again" in shown(app, "#happens")
        await press(pilot, "n")
        assert isinstance(app.screen, RunScreen)
        assert units_at(folder / "first", "speak", "failed") == before
        await press(pilot, "t", "y")
        await settled(pilot, lambda: len(app._notifications) > 0)
        assert "1 unit to retry in retry_000" in " ".join(note.message for note in app._notifications)

    drive(app, steps)
    assert units_at(folder / "first", "speak", "failed") == ()


def test_a_retry_that_would_do_nothing_says_why_and_does_not_ask(folder: Path) -> None:
    app = RunsApp(folder / "first")

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "t")
        assert isinstance(app.screen, RunScreen)
        (note,) = app._notifications
        assert note.message.startswith("nothing to retry. 1 unit used all 3 attempts")

    drive(app, steps)


def test_pausing_a_run_that_is_not_running_is_reported(folder: Path) -> None:
    app = RunsApp(folder / "first")

    async def steps(pilot: Any) -> None:
        await pilot.press("enter", "p")
        await settled(pilot, lambda: len(app._notifications) > 0)
        assert any("no process is running it" in note.message for note in app._notifications)

    drive(app, steps)


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    app = RunsApp(tmp_path)

    async def steps(pilot: Any) -> None:
        await pilot.pause()
        assert "No runs in" in shown(app, "#hint")

    drive(app, steps, (80, 24))


def test_a_damaged_run_is_shown_as_such(folder: Path) -> None:
    journal = folder / "first" / "journal.jsonl"
    journal.write_bytes(b'{"nonsense": 1}\n' + journal.read_bytes()[:50])
    app = RunsApp(folder)

    async def steps(pilot: Any) -> None:
        states = {row["run"]: row["state"] for row in by_head(app, "#runs")}
        assert states["first"] == "damaged"
        assert states["second"] != "damaged"

    drive(app, steps)


@pytest.mark.spec("X19", "X20")
def test_terminal_codes_and_markup_in_replies_are_shown_as_text(folder: Path) -> None:
    hostile = "\x1b]52;c;eA==\x07[/foo][bold red]x[/]\x1b[2J\u202e"
    for file in (folder / "first" / "chunks").rglob("speak_failures.jsonl"):
        text = file.read_text("utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
        for row in rows:
            row["unit_id"] = hostile
            row["errors"][0]["message"] = hostile
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    app = RunsApp(folder / "first")

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        unit = cells(app, "#units")[0][0] + shown(app, "#unit")
        assert "[/foo][bold red]x[/]" in unit
        assert "\x1b" not in unit
        assert "\u202e" not in unit

    drive(app, steps)


def test_runs_are_listed_newest_first(folder: Path, tmp_path: Path) -> None:
    os.utime(folder / "first" / "journal.jsonl", (2_000_000_000, 2_000_000_000))
    assert [path.name for path in runs_at(folder)] == ["first", "second"]
    assert runs_at(folder / "first") == [folder / "first"]
    assert runs_at(tmp_path / "nowhere") == []


def test_the_search_line_is_hidden_until_requested(folder: Path) -> None:
    app = RunsApp(folder / "first")

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        assert not app.screen.query_one("#find", Input).display
        await pilot.press("slash")
        assert app.screen.query_one("#find", Input).display

    drive(app, steps)


@pytest.mark.spec("B20")
def test_revalidate_shows_what_flips_and_applies_it_on_request(folder: Path, tmp_path: Path) -> None:
    changed = Path(shutil.copytree(PIPELINES / "npc_dialogue", tmp_path / "changed"))
    schema = changed / "schemas" / "speak.json"
    schema.write_text(schema.read_text("utf-8").replace('"nervous"', '"nervous", "worried"'), "utf-8")
    config = changed / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("nervous, hostile]", "nervous, hostile, worried]"), "utf-8")
    app = RunsApp(folder / "first")
    journal = folder / "first" / "journal.jsonl"
    before = journal.read_bytes()

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "v")
        app.screen.query_one("#answer", Input).value = str(changed)
        await press(pilot, "enter")
        assert isinstance(app.screen, Confirm)
        assert "failed → valid: 1 unit" in shown(app, "#happens")
        assert "No model is asked" in shown(app, "#happens")
        assert journal.read_bytes() == before
        await press(pilot, "y")
        await settled(pilot, lambda: len(app._notifications) > 0)

    drive(app, steps)
    assert journal.read_bytes() != before
    assert picture(folder / "first").status["failed"] == 0


def test_a_run_is_not_revalidated_by_a_contract(folder: Path) -> None:
    done = CliRunner().invoke(main, ["revalidate", str(folder / "first"), "--contract", "any.yaml"])
    assert done.exit_code == 2
    assert "a run is judged by its pipeline; give --pipeline FOLDER, not --contract" in done.stderr
