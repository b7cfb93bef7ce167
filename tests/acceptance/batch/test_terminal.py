"""B20, phrase by phrase: a live bar, the log, and the screens over runs, on a real terminal."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.widgets import Input

from tests.acceptance.octobatch.reading import by_id
from tests.cli.running import COMMAND, Run, clean_environment, read_all
from tests.tui.driving import by_head, drive, footer, idle, press, settled, shown
from tests.waiting import wait_for
from trueup.tui.app import RunsApp

pytestmark = pytest.mark.spec("B20")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def slow(folder: Path, seconds: float, units: int = 40) -> None:
    """A pipeline that takes long enough to be watched, with prices: one unit in five fails."""
    items = [{"id": f"npc{number:02d}", "mood": "calm"} for number in range(units)]
    (folder / "npc/items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    good = {"tone": "warm", "personality_consistency": 0.9, "mood_responsiveness": 0.8, "score": "8"}
    usage = {"input_tokens": 100, "output_tokens": 50}
    rows = []
    for item in items:
        reply = {**good, "tone": "vague"} if int(item["id"][3:]) % 5 == 0 else good
        rows.append({"step": "score", "unit_id": item["id"], "raw_response": json.dumps(reply), "usage": usage})
    (folder / "npc/replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = folder / "npc/config.yaml"
    text = config.read_text().replace("chunk_size: 100", "chunk_size: 8")
    config.write_text(re.sub(r"(source: replies.jsonl)", rf"\1, delay_seconds: {seconds}", text))
    assert "delay_seconds" in config.read_text()


COMMAND_OF_RUN = [*COMMAND, "run", "npc", "--run-dir", "runs/npc", "--price", "10/10", "--max-cost", "5", "-j", "2"]


def watch(folder: Path, columns: int, **environment: str) -> str:
    """Run it on a terminal of this width; returns everything that was drawn."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        COMMAND_OF_RUN, cwd=folder, env=clean_environment(**environment), stdout=subprocess.DEVNULL, stderr=end
    )
    os.close(end)
    drawn = read_all(terminal).decode("utf-8", "replace")
    os.close(terminal)
    process.wait()
    return drawn


def drawn_lines(drawn: str) -> list[str]:
    return [line for line in re.split(r"[\r\n]+", _ESCAPE.sub("", drawn)) if line.strip()]


@pytest.mark.parametrize("columns", [60, 120])
def test_a_live_bar_with_counts_rates_eta_and_failures_by_reason(folder: Path, columns: int) -> None:
    slow(folder, 0.15)  # the time left is shown after two seconds
    drawn = watch(folder, columns)
    lines = drawn_lines(drawn)
    text = "\n".join(lines)
    assert re.search(r"\d+%  \d+ of 40  \d+ failed", text), "counts"
    assert re.search(r"\d\.\d/s", text), "rates"
    assert re.search(r"\d:\d\d left", text), "time left"
    assert re.search(r"[VB]\d{3}×\d", text), "failures by reason"
    assert re.search(r"\$0\.\d{4} of about \$0\.\d{4}, cap \$5", text), "cost so far, in all, at most"
    assert re.search(r"2 calls under way", text)
    assert max(map(cell_len, lines)) <= columns
    assert "…" not in text, "nothing is cut off"


def test_no_color_draws_a_bar_without_colour(folder: Path) -> None:
    slow(folder, 0)
    drawn = watch(folder, 60, NO_COLOR="1")
    assert "of 40" in drawn
    assert not re.search(r"\x1b\[[0-9;]*[1-9][0-9;]*m", drawn)


def test_output_that_is_not_a_terminal_gets_plain_lines(folder: Path) -> None:
    """A line comes every five seconds; here more often, so that the test does not have to wait."""
    slow(folder, 0.05)
    often = "from trueup.cli import main; from trueup.cli.progress import run; run._EVERY = 0.1; main.main()"
    command = [sys.executable, "-c", often, *COMMAND_OF_RUN[len(COMMAND) :]]
    done = subprocess.run(command, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    assert lines
    assert all(line.startswith("trueup run: ") for line in lines)
    assert "\x1b" not in done.stderr
    assert any(re.search(r"\d+ of 40  \d+ failed  \d", line) for line in lines)


def test_counts_and_time_per_phase_are_in_the_log(run: Run, folder: Path) -> None:
    run("run", "npc", "--run-dir", "run")
    log = (folder / "run/RUN_LOG.txt").read_text()
    phase = r"(\d+) of (\d+) passed in \d+\.\d{3}s"
    found = re.search(rf"chunk_000 score schema validation: {phase}; business rules: {phase}", log)
    assert found
    passed_first, seen_first, passed, seen = map(int, found.groups())
    assert seen_first >= passed_first == seen >= passed
    assert re.search(r"chunk_000 score: \d+ valid, \d+ failed in \d+\.\d+s", log)


# The screens --------------------------------------------------------------------------------------------------------


@pytest.fixture
def npc(run: Run, folder: Path) -> Path:
    assert run("run", "npc", "--run-dir", "runs/npc").code == 1
    return folder / "runs/npc"


def test_a_list_of_runs(npc: Path) -> None:
    app = RunsApp(npc.parent)

    async def steps(_: Any) -> None:
        (row,) = by_head(app, "#runs")
        wanted = ("run", "state", "units", "valid", "failed", "waiting")
        assert [row[name] for name in wanted] == ["npc", "done", "5", "3", "2", "0"]
        assert "Open run" in footer(app)

    drive(app, steps, (160, 30))


def test_a_funnel_per_step(run: Run, folder: Path) -> None:
    run("run", "tarot", "--run-dir", "runs/tarot", "--max-units", "3")
    app = RunsApp(folder / "runs/tarot")
    (known,) = json.loads(run("status", "tarot", "--json").out)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter")
        for row, step in zip(by_head(app, "#steps"), known["steps"], strict=True):
            assert row["step"] == step["step"]
            assert [row[name] for name in ("valid", "failed", "waiting")] == [
                str(step[name]) for name in ("valid", "failed", "pending")
            ]

    drive(app, steps)


def test_a_unit_inspector_with_raw_parsed_fixes_and_findings(npc: Path) -> None:
    app = RunsApp(npc)
    failed = next(iter(by_id(npc / "failures.jsonl").values()))

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        unit = shown(app, "#unit")
        assert failed["raw_response"][:20] in unit, "raw"
        assert failed["errors"][0]["message"] in unit, "findings"
        assert "parsed" in unit
        await press(pilot, "slash", *"elder", "enter")
        unit = shown(app, "#unit")
        assert '"8"⟨C002⟩' in unit, "the fix, in the raw text"
        assert "C002 $.score" in unit, "and in words"
        assert '"score": 8' in unit, "parsed"
        assert "Low mood responsiveness: 0.2" in unit, "a warning is a finding"

    drive(app, steps)


def test_retry(npc: Path) -> None:
    config = npc / "config/config.yaml"
    config.write_text(config.read_text().replace("max_attempts: 3", "max_attempts: 9"))
    app = RunsApp(npc)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "t")
        assert "will be asked about again" in shown(app, "#happens")
        assert not (npc / "chunks/retry_000").exists(), "nothing happens before the answer"
        await press(pilot, "y")
        await settled(pilot, lambda: (npc / "chunks/retry_000").exists())

    drive(app, steps)


def test_revalidate(folder: Path, npc: Path) -> None:
    """A looser rule: what failed by it would pass."""
    config = folder / "npc/config.yaml"
    config.write_text(config.read_text().replace("personality_consistency >= 0.6", "personality_consistency >= 0.0"))
    app = RunsApp(npc)
    before = (npc / "journal.jsonl").read_bytes()

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "v")
        app.screen.query_one("#answer", Input).value = str(folder / "npc")
        await press(pilot, "enter")
        assert "judged again" in shown(app, "#happens")
        assert (npc / "journal.jsonl").read_bytes() == before
        await press(pilot, "n")
        assert (npc / "journal.jsonl").read_bytes() == before
        await press(pilot, "v")
        app.screen.query_one("#answer", Input).value = str(folder / "npc")
        await press(pilot, "enter", "y")
        await settled(pilot, lambda: any("judged again" in note.message for note in app._notifications))
        assert (npc / "journal.jsonl").read_bytes() != before

    drive(app, steps)


@contextmanager
def under_way(folder: Path) -> Iterator[Path]:
    """A run that somebody else is running."""
    slow(folder, 0.5, 160)
    command = [*COMMAND, "run", "npc", "--run-dir", "runs/npc", "-q", "-j", "2"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = folder / "runs/npc"
    try:
        wait_for(lambda: (path / "chunks/chunk_000/score_results.jsonl").exists())
        yield path
    finally:
        process.kill()
        process.wait()


def test_pause_and_resume(folder: Path) -> None:
    with under_way(folder) as path:
        app = RunsApp(path)

        async def steps(pilot: Any) -> None:
            await press(pilot, "enter")
            assert "running" in shown(app, "#about")
            await press(pilot, "p")
            await settled(pilot, lambda: any("is paused" in note.message for note in app._notifications))
            await _looked(pilot, app, "paused")
            config = path / "config/config.yaml"
            config.write_text(config.read_text().replace("delay_seconds: 0.5", "delay_seconds: 0"))
            await press(pilot, "s")
            await _until(pilot, app, "done")

        drive(app, steps)
    assert len(by_id(path / "validated.jsonl")) == 128


def test_kill(folder: Path) -> None:
    with under_way(folder) as path:
        app = RunsApp(path)

        async def steps(pilot: Any) -> None:
            await press(pilot, "enter", "k")
            assert re.search(r"Process \d+ is asked to stop", shown(app, "#happens"))
            await press(pilot, "n")
            await _looked(pilot, app, "running")
            await press(pilot, "k", "y")
            await settled(pilot, lambda: any("process" in note.message for note in app._notifications))
            await _looked(pilot, app, "paused")

        drive(app, steps)


async def _looked(pilot: Any, app: RunsApp, state: str) -> None:
    app.screen.look()  # type: ignore[attr-defined]
    await idle(pilot)
    assert state in shown(app, "#about")


async def _until(pilot: Any, app: RunsApp, state: str) -> None:
    for _ in range(1200):
        app.screen.look()  # type: ignore[attr-defined]
        await idle(pilot)
        if f"npc  {state}" in shown(app, "#about"):
            return
        await pilot.pause(0.1)
    raise AssertionError(shown(app, "#about"))


def test_the_run_is_listed_with_its_time_left_and_cost_while_it_runs(folder: Path) -> None:
    with under_way(folder) as path:
        app = RunsApp(path.parent)

        async def steps(pilot: Any) -> None:
            def row() -> dict[str, str]:
                return by_head(app, "#runs")[0]

            await settled(pilot, lambda: bool(re.fullmatch(r"\d+:\d\d", row()["left"])))
            assert row()["state"] == "running"
            assert row()["done"].endswith("%")

        drive(app, steps, (160, 30))
