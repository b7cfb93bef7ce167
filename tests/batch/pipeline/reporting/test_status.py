"""The status of a run in the middle of its work: counts that add up, the cost of recorded replies, and the expected time and cost."""

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.batch.pipeline.making import GOOD, asking, go, lines, reply, start, write_pipeline
from tests.waiting import wait_for
from trueup.batch.pipeline.estimating.forecast import cost_of_all, progress, seconds_left
from trueup.batch.pipeline.reporting.live import Live
from trueup.batch.pipeline.reporting.status import standing, status
from trueup.batch.pipeline.reporting.words import cost
from trueup.batch.pipeline.rundir.directory import MANIFEST, OwnedRun, RunDir
from trueup.batch.pipeline.rundir.journal import JOURNAL
from trueup.batch.pipeline.running.run import PipelineOptions, execute
from trueup.testing.script import Hang, Say
from trueup.testing.server import ScriptedServer

PRICE = {"m": {"input": 1000.0, "output": 1000.0}}


def write(folder: Path, url: str, units: int = 12, steps: int = 2, **api: Any) -> Path:
    settings = {"provider": "url", "model": "m", "base_url": f"{url}/v1", "prices": PRICE}
    settings |= {"retry": {"max_attempts": 1, "initial_delay_seconds": 0}, **api}
    named = [asking(f"ask{number}") for number in range(steps)]
    return write_pipeline(folder, named, [{"id": f"u{at}"} for at in range(units)], (), api=settings, chunk_size=100)


class Held:
    """Answers some requests, then waits until it is released; every third reply is wrong."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.seen = 0
        self.free = threading.Event()

    def __call__(self, _: Any) -> Any:
        self.seen += 1
        if self.seen > self._number and not self.free.is_set():
            return Hang()
        return Say("no" if self.seen % 3 == 0 else GOOD, usage=(60, 40))


@pytest.mark.spec("B20")
def test_a_chunk_in_the_middle_of_a_step_is_counted(tmp_path: Path) -> None:
    """Nothing is in the journal yet, but six units and their cost are known."""
    seen: list[Live] = []
    with ScriptedServer(Held(6)) as server:
        path = start(write(tmp_path / "p", server.url), tmp_path / "run")
        options = PipelineOptions(workers=2, max_cost=50.0)
        thread = threading.Thread(target=lambda: execute(path, options, seen.append))
        thread.start()
        wait_for(lambda: seen and seen[-1].done == 6 and seen[-1].status["done"] == 6)
        live = seen[-1]
        wait_for(lambda: standing(RunDir.look(path), running=True)["done"] == 6)
        found = standing(RunDir.look(path), running=True)
        first, second = found["steps"]
        assert (first["valid"], first["failed"], first["pending"]) == (4, 2, 6)
        assert (second["valid"], second["failed"], second["pending"]) == (0, 0, 0)
        assert found["valid"] + found["failed"] + found["pending"] == 12
        assert (found["failed"], first["codes"]) == (2, live.codes)
        assert (live.done, live.total, live.failed) == (6, 22, 2)
        assert found["money"]["usd"] == pytest.approx(0.6)
        assert (found["money"]["calls"], found["cap_usd"], live.cap) == (6, 50.0, 50.0)
        # six at ten cents, six to come at the same, ten in the second step at the estimate for one of its units
        assert live.estimated == pytest.approx(1.2 + 10 * (300 + 400) / 1000)
        assert live.seconds_left is not None
        assert live.seconds_left > 0
        (path / "PAUSE").touch()
        wait_for(lambda: live._stop.reason)
    thread.join()
    stopped = standing(RunDir.look(path), running=False)
    assert stopped["money"]["usd"] == pytest.approx(0.6), "what is recorded was paid for, though no step is done"
    assert "live" not in stopped
    assert stopped["failed"] == len(lines(path / "failures.jsonl")) >= 2
    assert stopped["valid"] + stopped["failed"] + stopped["pending"] == 12


def test_data_of_an_earlier_owner_is_not_shown_as_current(tmp_path: Path) -> None:
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], replies=rows), tmp_path / "run")
    run = OwnedRun.open(path)
    run.commit("began", mode="realtime")
    picture = {"term": run.state.term, "seconds": 5.0, "per_second": 3.0, "open": {}}
    run.write_manifest(picture)
    run.close()
    assert standing(RunDir.look(path), running=True)["live"]["per_second"] == 3.0
    again = OwnedRun.open(path)
    again.commit("began", mode="realtime")
    assert "live" not in standing(RunDir.look(path), running=True)
    again.close()
    assert (path / MANIFEST).exists()


def test_a_step_finished_in_the_meantime_is_not_counted_twice(tmp_path: Path) -> None:
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], replies=rows), tmp_path / "run")
    go(path)
    run = RunDir.look(path)
    opened = {name: {"step": "ask", "valid": 2, "failed": 0, "codes": {}, "money": {}} for name in run.state.chunks}
    assert status(run.state, {"open": opened})["valid"] == 3


def test_the_cap_of_a_run_is_stored_with_it(tmp_path: Path) -> None:
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], replies=rows), tmp_path / "run")
    go(path, PipelineOptions(max_cost=2.5))
    assert standing(RunDir.look(path), running=False)["cap_usd"] == 2.5
    assert [row["cap"] for row in lines(path / JOURNAL) if row["kind"] == "began"] == [2.5]


def test_an_unknown_price_is_never_zero(tmp_path: Path) -> None:
    with ScriptedServer(lambda _: Say(GOOD, usage=(5, 5))) as server:
        path = start(write(tmp_path / "p", server.url, prices={}), tmp_path / "run")
        go(path)
    found = standing(RunDir.look(path), running=False)
    assert cost(found) == "unknown"


ROW: dict[str, Any] = {"step": "a", "scope": "chunk", "valid": 0, "failed": 0, "retried": 0, "pending": 10}


def test_time_and_cost_are_forecast() -> None:
    half = {**ROW, "valid": 5, "pending": 5, "money": {"usd": 1.0, "unpriced": 0}}
    then = {**ROW, "step": "b", "pending": 5, "money": {"usd": 0.0, "unpriced": 0}}
    assert progress([half, then]) == (5, 20)
    assert cost_of_all([half, then]) is None, "nothing is known of the second step"
    assert cost_of_all([half, then], {"b": 0.5}) == pytest.approx(1.0 + 1.0 + 5.0)
    assert cost_of_all([{**half, "money": {"usd": 1.0, "unpriced": 2}}]) is None
    assert cost_of_all([{**half, "pending": 0}]) == 1.0
    assert (seconds_left(5, 20, 3.0), seconds_left(5, 20, 0.0), seconds_left(5, 5, 0.0)) == (5.0, None, 0.0)
