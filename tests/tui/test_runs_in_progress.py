"""Runs in the middle of their calls: a sent request is not a reply, in real time, in a batch and after kill -9."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.batch.pipeline.making import ANSWER, GOOD, asking, go, lines, start, write_pipeline
from tests.cli.running import COMMAND
from tests.tui.driving import by_head, cells, drive, footer, idle, press, shown
from tests.waiting import wait_for
from trueup.batch.pipeline.rundir.directory import RunDir
from trueup.batch.pipeline.rundir.replies import is_reply, kind_of, last_replies
from trueup.batch.pipeline.viewing.inspecting import unit_at
from trueup.batch.pipeline.viewing.unitlist import Query, UnitRow, page_at
from trueup.cli.main import main
from trueup.testing.batches import Batch
from trueup.testing.script import Fail, Hang, Raw, Say
from trueup.testing.server import ScriptedServer
from trueup.tui.app import RunsApp
from trueup.tui.marked import unit_text
from trueup.tui.pictures import picture
from trueup.tui.run import about

FIXED = '```json\n{"answer": "in a fence"}\n```'
PRICES = {"m": {"input": 1000.0, "output": 1000.0}}  # a dollar for a thousand tokens


def answer(asked: Any) -> Any:
    """Unit a is answered, b gets an error page, c was refused first, and no answer ever comes for d and e."""
    said = str(asked.fields["messages"])
    if "Say b" in said:
        return Raw("<h1>Down</h1>", 500, "text/html")
    return Hang() if "Say d" in said or "Say e" in said else Say(FIXED, usage=(100, 50))


def write(folder: Path, url: str, **api: Any) -> Path:
    settings = {"provider": "url", "model": "m", "base_url": f"{url}/v1", "prices": PRICES}
    settings |= {"retry": {"max_attempts": 2, "initial_delay_seconds": 0}, **api}
    return write_pipeline(
        folder, [asking("ask", ANSWER)], [{"id": name} for name in "abcde"], (), api=settings, chunk_size=5
    )


@contextmanager
def running(path: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A real process that runs it."""
    command = [*COMMAND, "run", str(path), "--quiet", *options]
    environment = {**os.environ, "OPENAI_API_KEY": "secret"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer) as opened:
        yield opened


def rows_at(path: Path) -> dict[str, UnitRow]:
    return {row.id: row for row in page_at(path, Query("ask")).rows}


def held(path: Path) -> bool:
    """Whether a is answered, b has finally failed, and d and e were asked about."""
    rows = lines(path / "chunks" / "chunk_000" / "ask_results.jsonl")
    kinds = [(row["unit_id"], kind_of(row)) for row in rows]
    wanted = {("a", "reply"), ("c", "reply"), ("b", "failure"), ("d", "sent"), ("e", "sent")}
    return wanted <= set(kinds)


def replies_shown(path: Path) -> dict[str, int]:
    return {unit: len(unit_at(path, "ask", row).replies) for unit, row in rows_at(path).items()}


@pytest.mark.spec("B20")
def test_a_run_in_the_middle_of_its_calls_shows_only_the_replies_that_arrived(
    tmp_path: Path, server: ScriptedServer
) -> None:
    path = start(write(tmp_path / "p", server.url), tmp_path / "run")
    with running(path) as process:
        wait_for(lambda: held(path))
        assert {unit: row.state for unit, row in rows_at(path).items()} == {
            "a": "replied", "b": "waiting", "c": "replied", "d": "asked", "e": "asked"
        }  # fmt: skip
        assert replies_shown(path) == {"a": 1, "b": 0, "c": 1, "d": 0, "e": 0}
        asked = unit_text(unit_at(path, "ask", rows_at(path)["d"])).plain
        assert asked.startswith("not judged yet: a request was sent; there is no reply yet\n")
        assert "reply" not in asked.partition("Prompt")[2].lower()
        assert "Last reply" not in asked
        assert "⟨W001⟩" in unit_text(unit_at(path, "ask", rows_at(path)["a"])).plain
        failed = unit_text(unit_at(path, "ask", rows_at(path)["b"])).plain
        assert "calls failed on the way" in failed
        assert "Last reply" not in failed
        wait_for(lambda: picture(path).live.get("under_way") == 2)
        wait_for(lambda: picture(path).status["money"]["calls"] == 2)
        seen = picture(path)
        assert seen.state == "running"
        assert (seen.status["failed"], seen.status["valid"], seen.status["pending"]) == (1, 2, 2)
        assert seen.status["money"]["usd"] == pytest.approx(0.3)
        assert "2 calls under way" in about(seen).plain
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert picture(path).state == "stopped"
    assert replies_shown(path) == {"a": 1, "b": 0, "c": 1, "d": 0, "e": 0}
    lost = unit_text(unit_at(path, "ask", rows_at(path)["d"])).plain
    assert "no process is running this run, so its reply is lost" in lost
    money = picture(path).status["money"]
    assert (money["usd"], money["lost"], money["unpriced"]) == (pytest.approx(0.3), 2, 2)
    run = RunDir.look(path)
    assert set(last_replies(run, run.state.chunks["chunk_000"], "ask")) == {"a", "c"}


@pytest.mark.spec("B20")
def test_a_run_that_waits_for_its_batch_shows_no_reply_at_all(tmp_path: Path) -> None:
    with ScriptedServer(lambda _: Say(FIXED), batches=[Batch(polls=10**9)] * 9) as server:
        path = start(write(tmp_path / "p", server.url, provider="openai"), tmp_path / "run")
        with running(path, "--batch", "--poll", "0.01") as process:
            wait_for(lambda: picture(path).status.get("batches", {}).get("sent"))
            assert {row.state for row in rows_at(path).values()} == {"asked"}
            assert set(replies_shown(path).values()) == {0}
            text = unit_text(unit_at(path, "ask", rows_at(path)["d"])).plain
            assert "its request is in a batch at the provider; there is no reply yet" in text
            assert "1 batch at the provider, 5 requests" in about(picture(path)).plain
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert set(replies_shown(path).values()) == {0}
        assert {row.state for row in rows_at(path).values()} == {"asked"}, "the batch is still at the provider"


def test_the_screens_show_the_same(tmp_path: Path, server: ScriptedServer) -> None:
    path = start(write(tmp_path / "p", server.url), tmp_path / "run")
    app = RunsApp(path)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        states = {row["unit"]: row["state"] for row in by_head(app, "#units")}
        assert states == {
            "a": "… replied", "b": "· waiting", "c": "… replied", "d": "… asked", "e": "… asked"
        }  # fmt: skip
        assert "Last reply" in shown(app, "#unit")
        await press(pilot, "down", "down", "down")
        await idle(pilot)
        assert "there is no reply yet" in shown(app, "#unit")
        assert "Last reply" not in shown(app, "#unit")
        await press(pilot, "f", "f")  # failed, open
        assert len(cells(app, "#units")) == 5
        assert "Read unit" in footer(app)
        await press(pilot, "down", "down", "down")
        process.kill()
        process.wait()
        app.screen._look_again()  # type: ignore[attr-defined]
        await idle(pilot)
        assert "no process is running this run, so its reply is lost" in shown(app, "#unit")
        await press(pilot, "escape")
        app.screen.look()  # type: ignore[attr-defined]
        await idle(pilot)
        assert "run  stopped" in shown(app, "#about")

    with running(path) as process:
        wait_for(lambda: held(path))
        drive(app, steps)


def test_a_unit_that_was_retried_keeps_its_earlier_replies(tmp_path: Path) -> None:
    """The second request gets only an error: the first reply is still the reply, and not the server's error page."""
    script: list[Any] = [Say("no json"), *[Say(GOOD, usage=(1, 1))] * 4, *[Raw("<h1>Down</h1>", 500, "text/html")] * 9]
    with ScriptedServer(script) as server:
        pipeline = write(tmp_path / "p", server.url, retry={"max_attempts": 1, "initial_delay_seconds": 0})
        path = start(pipeline, tmp_path / "run")
        assert len(go(path).failed) == 1
        assert CliRunner().invoke(main, ["retry", str(path), "--attempts", "2", "--start"]).exit_code == 1
    (row,) = page_at(path, Query("ask", "failed")).rows
    assert row.chunk == "retry_000"
    unit = unit_at(path, "ask", row)
    assert [reply.raw for reply in unit.replies] == ["no json"]
    assert "Sent in place of a reply" not in unit_text(unit).plain


def test_a_run_deleted_while_it_is_shown_is_reported(tmp_path: Path) -> None:
    path = start(write(tmp_path / "p", "http://127.0.0.1:1"), tmp_path / "runs" / "run")
    app = RunsApp(tmp_path / "runs")

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        assert len(cells(app, "#units")) == 5
        shutil.rmtree(path)
        await press(pilot, "r", "down", "f", "escape")
        app.screen.look()  # type: ignore[attr-defined]
        await idle(pilot)
        assert "was deleted" in shown(app, "#about")
        await press(pilot, "t", "k", "p", "s", "enter")
        assert cells(app, "#units") == []
        await press(pilot, "escape", "escape")
        app.screen.look()  # type: ignore[attr-defined]
        await idle(pilot)
        assert "No runs in" in shown(app, "#hint")

    drive(app, steps)


@pytest.mark.parametrize("name", ["ask_results.jsonl", "units.jsonl", "ask_validated.jsonl", "ask_failures.jsonl"])
def test_damaged_files_of_a_chunk_are_skipped(tmp_path: Path, name: str) -> None:
    with ScriptedServer([Say(GOOD), Say("no"), *[Say(GOOD)] * 9]) as server:
        path = start(write(tmp_path / "p", server.url, retry={"max_attempts": 1}), tmp_path / "run")
        go(path)
    file = path / "chunks" / "chunk_000" / name
    file.write_bytes(
        b'\xff{"unit_id": 5}\n[]\n{"unit_id": "a", "raw_response": 7, "errors": 3}\n{"unit_id": "b"' + file.read_bytes()
    )
    app = RunsApp(path)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter", "down", "down", "enter", "escape", "f", "f", "escape", "t")

    drive(app, steps)


def test_a_run_can_be_shown_while_it_is_written(tmp_path: Path) -> None:
    """The screens stay open from the first call of a run to its end, and then show that it has ended."""
    settings = {"replay": {"source": "replies.jsonl", "delay_seconds": 0.01}}
    rows = [{"step": "ask", "unit_id": "*", "raw_response": GOOD}]
    items = [{"id": str(number)} for number in range(60)]
    path = start(
        write_pipeline(tmp_path / "p", [asking("ask")], items, rows, api=settings, chunk_size=7), tmp_path / "run"
    )
    app = RunsApp(path)

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen([*COMMAND, "run", str(path), "-q", "-j", "2"], stdout=subprocess.DEVNULL)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        process = begin()
        while process.poll() is None:
            await press(pilot, "r", "down", "f")
        await press(pilot, "escape")
        app.screen.look()  # type: ignore[attr-defined]
        await idle(pilot)
        assert "60 units, 60 valid, 0 failed, 0 waiting" in shown(app, "#about")

    drive(app, steps)


def test_lines_that_record_a_call_are_distinguished_from_replies() -> None:
    markers: list[dict[str, Any]] = [
        {"unit_id": "a", "call": 0, "sent": True},
        {"unit_id": "a", "call": 0, "refused": "rate"},
        {"unit_id": "a", "transport": {"reason": "reset"}},
        {"unit_id": "a", "failure": {"reason": "gone"}, "page": "<h1>"},
        {"unit_id": "a"},
        {"unit_id": "a", "raw_response": None},
    ]
    assert not any(map(is_reply, markers))
    assert is_reply({"unit_id": "a", "raw_response": "", "usage": {}}), "an empty reply was paid for"


def test_recorded_results_of_a_run_with_refused_calls_can_be_replayed(tmp_path: Path) -> None:
    script: list[Any] = [Fail(429, "slow down", retry_after=0.01), *[Say(GOOD)] * 5]
    with ScriptedServer(script) as server:
        path = start(write(tmp_path / "p", server.url), tmp_path / "run")
        go(path)
    recorded = path / "chunks" / "chunk_000" / "ask_results.jsonl"
    assert "refused" in {kind_of(row) for row in lines(recorded)}
    rows = lines(recorded)
    again = write_pipeline(tmp_path / "again", [asking("ask", ANSWER)], [{"id": name} for name in "abcde"], rows)
    text = (again / "replies.jsonl").read_text("utf-8")
    (again / "replies.jsonl").write_text(text.replace('"unit_id"', '"step": "ask", "unit_id"'), "utf-8")
    assert len(go(start(again, tmp_path / "second")).valid) == 5


def test_results_of_reading_are_dropped_when_the_screens_close(tmp_path: Path) -> None:
    """A read that ends after its screen has lost its widgets shows nothing, and raises nothing."""
    path = start(write(tmp_path / "p", "http://127.0.0.1:1"), tmp_path / "runs" / "run")
    app = RunsApp(path)

    async def steps(pilot: Any) -> None:
        await press(pilot, "enter", "enter")
        screens = list(app.screen_stack[1:])
        for screen in screens:
            await screen.query("*").remove()
            screen.look()  # type: ignore[attr-defined]
        await idle(pilot)

    drive(app, steps)
