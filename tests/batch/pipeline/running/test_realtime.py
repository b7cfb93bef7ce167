"""Real-time runs against a real server on loopback: storms of 429s, broken replies, refused keys, caps, pauses, a full disk."""

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.batch.pipeline.making import (
    GOOD,
    Counting,
    Ran,
    asking,
    assert_whole,
    go,
    lines,
    reply,
    results,
    run_pipeline,
    start,
    write_pipeline,
)
from tests.waiting import await_for, wait_for
from trueup.batch.pipeline.providers.choose import NoProvider
from trueup.batch.pipeline.providers.rate_limits import _Bucket
from trueup.batch.pipeline.rundir.control import NotRunning, kill, pause
from trueup.batch.pipeline.rundir.directory import OwnedRun, RunDir
from trueup.batch.pipeline.rundir.lock import Busy, Lock, RunTakenOver
from trueup.batch.pipeline.running.run import PipelineOptions, execute
from trueup.batch.pipeline.running.stop import Stop
from trueup.testing.script import Cut, Fail, Raw, Reset, Say, Slow
from trueup.testing.server import ScriptedServer
from trueup.testing.wire import Request

ITEMS = [{"id": f"unit{n:02d}"} for n in range(20)]
PRICES = {"m": {"input": 2.0, "output": 4.0}}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("GEMINI_API_KEY", "secret")


def write(folder: Path, url: str, provider: str = "openai", **api: Any) -> Path:
    base = url if provider in {"anthropic", "gemini"} else f"{url}/v1"
    settings = {"provider": provider, "model": "m", "base_url": base, "prices": PRICES, **api}
    return write_pipeline(folder, [asking("ask")], ITEMS, (), api=settings, chunk_size=7)


def served(tmp_path: Path, script: Any, provider: str = "openai", **api: Any) -> tuple[Ran, ScriptedServer]:
    with ScriptedServer(script) as server:
        ran = run_pipeline(write(tmp_path / "pipeline", server.url, provider, **api), tmp_path / "run")
    assert_whole(ran.path)
    return ran, server


@pytest.mark.spec("B17")
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "url"])
def test_every_provider_gets_requests_in_its_own_format(tmp_path: Path, provider: str) -> None:
    ran, server = served(tmp_path, lambda _: Say(GOOD, usage=(100, 10)), provider)
    assert len(ran.valid) == 20
    assert ran.money.calls == 20 == len(server.requests)
    assert ran.money.usd == pytest.approx(20 * (100 * 2 + 10 * 4) / 1e6)
    assert ran.money.lost == 0


def test_many_429s_are_waited_out_and_do_not_count_as_attempts(tmp_path: Path) -> None:
    seen: list[int] = []

    def script(_: Request) -> Any:
        seen.append(1)
        return Fail(429, "slow down", retry_after=0.01) if len(seen) % 3 else Say(GOOD, usage=(10, 10))

    ran, server = served(tmp_path, script)
    assert len(ran.valid) == 20
    assert ran.money.calls - ran.money.lost == 20 == len(results(ran.path))
    assert len(server.requests) > 40
    assert not ran.failed


@pytest.mark.parametrize(
    "fault",
    [Fail(503, "overloaded"), Raw("<html>500</html>", 500, "text/html"), Cut(Say(GOOD), 0.5), Reset(), Raw("{", 200)],
    ids=["503", "html", "cut", "reset", "half-json"],
)
def test_a_transport_failure_is_retried_only_for_its_unit(tmp_path: Path, fault: Any) -> None:
    failed: set[str] = set()

    def script(request: Request) -> Any:
        said = json.dumps(request.fields["messages"])
        if "unit07" in said and said not in failed:
            failed.add(said)
            return fault
        return Say(GOOD)

    ran, server = served(tmp_path, script)
    assert len(ran.valid) == 20
    assert len(server.requests) == 21
    rows = [row for file in (ran.path / "chunks").glob("*/*_results.jsonl") for row in lines(file)]
    assert sum("transport" in row for row in rows) == 1


@pytest.mark.spec("A7")
def test_a_unit_whose_replies_are_empty_gets_as_many_calls_as_the_configuration_says(tmp_path: Path) -> None:
    def script(request: Request) -> Any:
        return Say("") if "unit03" in json.dumps(request.fields["messages"]) else Say(GOOD)

    with ScriptedServer(script) as server:
        ran = run_pipeline(write(tmp_path / "pipeline", server.url), tmp_path / "run")
    assert ran.ids[1] == ["unit03"]
    assert len(server.requests) == 22


@pytest.mark.spec("A7")
@pytest.mark.parametrize("replies", [["", "no", ""], ["no", "", "no"], ["", "", "no"]])
def test_empty_and_invalid_replies_count_together(tmp_path: Path, replies: list[str]) -> None:
    left = list(replies)

    def script(request: Request) -> Any:
        if "unit03" not in json.dumps(request.fields["messages"]):
            return Say(GOOD)
        return Say(left.pop(0) if left else GOOD)

    with ScriptedServer(script) as server:
        ran = run_pipeline(write(tmp_path / "pipeline", server.url), tmp_path / "run")
    assert ran.ids[1] == ["unit03"]
    assert sum(ran.failed[0]["tries"].values()) == 3
    assert len(server.requests) == 22


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_key_that_the_provider_repeats_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    key = "Zq7.hush+hush/42=kX9"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    body = json.dumps({"error": {"message": f"bad key {key}, or {quote(key, safe='')}", "type": key}})

    def script(request: Request) -> Any:
        return Raw(body, status=status) if "unit03" in json.dumps(request.fields["messages"]) else Say(GOOD)

    with ScriptedServer(script) as server:
        ran = run_pipeline(write(tmp_path / "pipeline", server.url), tmp_path / "run")
        assert key in server.requests[0].headers["authorization"]
    assert ran.ids[1] == ["unit03"]
    for file in (tmp_path / "run").rglob("*"):
        if file.is_file():
            assert key not in (text := file.read_bytes().decode("utf-8", "replace")), file
            assert quote(key, safe="") not in text, file


def test_a_unit_whose_calls_never_get_through_fails_and_can_be_retried(tmp_path: Path) -> None:
    down = [True]

    def script(request: Request) -> Any:
        return Fail(500, "no") if down[0] and "unit03" in json.dumps(request.fields["messages"]) else Say(GOOD)

    with ScriptedServer(script) as server:
        ran = run_pipeline(write(tmp_path / "pipeline", server.url), tmp_path / "run")
        assert ran.ids[1] == ["unit03"]
        assert ran.failed[0]["failure_stage"] == "pipeline_internal"
        assert ran.failed[0]["tries"] == {"transport": 1}
        assert len(server.requests) == 22  # exactly `max_attempts` calls for the one that fails
        down[0] = False
        from trueup.batch.pipeline.retrying.retry import retry

        owned = OwnedRun.open(ran.path)
        assert retry(owned).units == 1
        owned.close()
        again = go(ran.path)
    assert len(again.valid) == 20
    assert_whole(ran.path)


@pytest.mark.parametrize(("status", "code"), [(401, "invalid_api_key"), (403, ""), (429, "insufficient_quota")])
def test_a_refused_key_stops_the_run_immediately(tmp_path: Path, status: int, code: str) -> None:
    with ScriptedServer(lambda _: Fail(status, "no more", code)) as server:
        ran = run_pipeline(write(tmp_path / "pipeline", server.url), tmp_path / "run")
        assert len(server.requests) <= 8
        assert (ran.result.status, ran.result.code) == ("paused", 3)
        assert "no more" in ran.result.reason
    assert RunDir.look(ran.path).state.step_rows()[0]["pending"] == 20  # nothing has failed: it can continue


def test_an_outage_pauses_the_run_and_fails_no_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.batch.pipeline.providers.rate_limits.PATIENCE", 0.05)
    items = [{"id": f"unit{n:03d}"} for n in range(60)]
    with ScriptedServer(lambda _: Fail(502, "down", retry_after=0.01)) as server:
        settings = {"provider": "openai", "model": "m", "base_url": f"{server.url}/v1"}
        settings["retry"] = {"max_attempts": 50, "initial_delay_seconds": 0}
        pipeline = write_pipeline(tmp_path / "pipeline", [asking("ask")], items, (), api=settings)
        ran = run_pipeline(pipeline, tmp_path / "run")
    assert ran.result.code == 3
    assert "nothing but errors" in ran.result.reason
    assert RunDir.look(ran.path).state.step_rows()[0]["pending"] == 60


@pytest.mark.spec("B17")
def test_the_cost_cap_is_kept_and_the_run_resumes_with_a_higher_one(tmp_path: Path) -> None:
    each = (100 * 2 + 10 * 4) / 1e6
    with ScriptedServer(lambda _: Say(GOOD, usage=(100, 10))) as server:
        pipeline = write(tmp_path / "pipeline", server.url, max_tokens=10)
        path = start(pipeline, tmp_path / "run")
        ran = go(path, PipelineOptions(max_cost=each * 9.5))
        assert ran.result.code == 3
        assert "cost cap" in ran.result.reason
        assert each * 8 <= sum(row["usd"] for row in results(path)) <= each * 9.5
        again = go(path, PipelineOptions(max_cost=1.0))
        assert len(server.requests) == 20
    assert len(again.valid) == 20
    assert again.money.usd == pytest.approx(20 * each)


def test_recorded_costs_that_are_not_booked_yet_count_against_the_cap(tmp_path: Path) -> None:
    with ScriptedServer(lambda _: Say(GOOD, usage=(100, 10))) as server:
        path = start(write(tmp_path / "pipeline", server.url, max_tokens=10), tmp_path / "run")
        for _ in range(3):
            assert go(path, PipelineOptions(max_cost=0.0012)).result.code == 3
        assert len(server.requests) <= 8  # the first wave, before the cost of a call was known


@pytest.mark.spec("B17")
def test_the_cost_is_estimated_before_a_list_is_fanned_out(tmp_path: Path) -> None:
    parts = {"type": "object", "properties": {"parts": {"type": "array"}}, "required": ["parts"]}
    steps = [
        asking("take", parts, rules={"required": ["parts"]}),
        {"name": "each", "scope": "fan_out", "field": "parts", "child_field": "part"},
        asking("ask", template="About {{ part }}."),
    ]
    rows = [*reply("take", "*", json.dumps({"parts": list(range(50))})), *reply("ask", "*", GOOD)]
    settings = {"prices": {"*": {"input": 1.0, "output": 1.0}}, "max_tokens": 100}
    pipeline = write_pipeline(tmp_path / "pipeline", steps, [{"id": "a"}], rows, api=settings)
    path = start(pipeline, tmp_path / "run")
    provider = Counting(rows)
    ran = go(path, PipelineOptions(max_cost=0.001), provider=provider)
    assert ran.result.code == 3
    assert "1 units became 50: about 50 calls to make for about $0.0" in ran.result.reason
    assert [step for step, _, _ in provider.asked] == ["take"]
    assert len(go(path, PipelineOptions(max_cost=1.0)).valid) == 50


def test_a_cap_without_a_price_is_refused(tmp_path: Path) -> None:
    path = start(write(tmp_path / "pipeline", "http://127.0.0.1:9", prices={}), tmp_path / "run")
    with pytest.raises(NoProvider, match=r"the price of 'm' is not known: give --price"):
        execute(path, PipelineOptions(max_cost=1.0))


def test_an_unknown_price_is_shown_as_unknown(tmp_path: Path) -> None:
    from trueup.batch.pipeline.estimating.cost import shown

    ran, _ = served(tmp_path, lambda _: Say(GOOD), prices={})
    assert shown(ran.money) == "unknown"
    assert ran.money.unpriced == 20


def test_rate_limits_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """120 a minute are two a second, with six seconds' worth kept: 12 requests are sent immediately, each later one half a second
    after.

    The clock of the gate only advances by the waits that it requests.
    """
    now = [0.0]
    passed: list[float] = []
    wait, take = _Bucket.wait, _Bucket.take

    async def sleep(_: Stop, seconds: float) -> None:
        now[0] += seconds
        await asyncio.sleep(0)

    def note(bucket: _Bucket, _: float, amount: float) -> None:
        if not bucket.free:
            passed.append(now[0])
        take(bucket, now[0], amount)

    monkeypatch.setattr(Stop, "sleep", sleep)
    monkeypatch.setattr(_Bucket, "wait", lambda bucket, _, amount: wait(bucket, now[0], amount))
    monkeypatch.setattr(_Bucket, "take", note)
    items = [{"id": str(n)} for n in range(15)]
    rows = reply("ask", "*", GOOD)
    slow = {"rate_limit": {"requests_per_minute": 120}}
    pipeline = write_pipeline(tmp_path / "slow", [asking("ask")], items, rows, api=slow)
    assert len(run_pipeline(pipeline, tmp_path / "slow_run", PipelineOptions(workers=1)).valid) == 15
    assert passed == pytest.approx([0.0] * 12 + [0.5, 1.0, 1.5])


def test_rate_limits_are_kept_against_a_server(tmp_path: Path) -> None:
    ran, _ = served(tmp_path, lambda _: Say(GOOD), rate_limit={"requests_per_minute": 1200})
    assert len(ran.valid) == 20


@pytest.mark.spec("B20")
def test_a_run_is_paused_from_outside_and_resumes(tmp_path: Path) -> None:
    rows = reply("ask", "*", GOOD)
    settings = {"replay": {"source": "replies.jsonl", "delay_seconds": 0.1}}
    items = [{"id": str(n)} for n in range(200)]  # ten seconds of work, if it is not paused
    path = start(write_pipeline(tmp_path / "pipeline", [asking("ask")], items, rows, api=settings), tmp_path / "run")
    with pytest.raises(NotRunning):
        pause(path)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(execute(path, PipelineOptions(workers=2))))
    thread.start()
    wait_for(lambda: len(results(path)) > 3)
    with pytest.raises(Busy, match="another process is running it"):
        Lock(path)
    assert pause(path, wait=60)
    thread.join()
    assert found[0].status == "paused"
    assert found[0].code == 130, "0 would say that all is valid"
    done = len(results(path))
    assert 3 < done < 200
    settings["replay"]["delay_seconds"] = 0
    ran = go(path, PipelineOptions(workers=50))
    assert len(ran.valid) == 200
    assert len(results(path)) == 200
    assert_whole(path)


@pytest.mark.spec("B20")
def test_a_run_that_is_still_starting_can_be_paused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner has the lock and reads its journal, which may take long; an earlier request that was ignored is not meant for it."""
    settings = {"replay": {"source": "replies.jsonl", "delay_seconds": 0.1}}
    items = [{"id": str(n)} for n in range(200)]
    made = write_pipeline(tmp_path / "pipeline", [asking("ask")], items, reply("ask", "*", GOOD), api=settings)
    path = start(made, tmp_path / "run")
    (path / "PAUSE").touch()
    finish = OwnedRun._finish_moves

    def slow(run: OwnedRun) -> None:
        assert not (path / "PAUSE").exists()
        pause(path)
        finish(run)

    with monkeypatch.context() as patch:
        patch.setattr(OwnedRun, "_finish_moves", slow)
        assert execute(path, PipelineOptions(workers=2)).status == "paused"
    assert len(go(path, PipelineOptions(workers=50)).valid) == 200


@pytest.mark.spec("X47")
def test_an_owner_whose_lock_file_is_removed_stops_before_it_writes(tmp_path: Path) -> None:
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS, rows), tmp_path / "run")
    first = OwnedRun.open(path)
    first.commit("began", mode="realtime")
    (path / "run.lock").unlink()
    second = OwnedRun.open(path)
    assert second.lock.term > first.lock.term
    with pytest.raises(RunTakenOver):
        first.commit("began", mode="realtime")
    second.commit("began", mode="realtime")
    second.close()
    first.close()
    assert len(go(path).valid) == 20
    assert_whole(path)


@pytest.mark.spec("X47")
def test_later_writes_of_a_replaced_owner_do_not_count(tmp_path: Path) -> None:
    from trueup.batch.pipeline.rundir.journal import JOURNAL, now, sealed

    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS, rows), tmp_path / "run")
    ran = go(path)
    late = {"n": 99, "term": 0, "at": now(), "kind": "ended", "status": "failed", "reason": "stale"}
    with (path / JOURNAL).open("ab") as journal:
        journal.write(sealed(late))
    assert RunDir.look(path).state.status == ran.result.status == "done"


def test_only_one_of_two_processes_started_together_owns_the_run(tmp_path: Path) -> None:
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS, rows), tmp_path / "run")
    ended: list[Any] = []

    class Patient(Counting):
        """Replies only after all others have ended, so that the run lasts until they have tried."""

        async def send(self, *given: Any) -> Any:
            await await_for(lambda: len(ended) >= 3)
            return await super().send(*given)

    def one() -> None:
        try:
            ended.append(execute(path, PipelineOptions(workers=2), provider=Patient(rows)).status)
        except Busy:
            ended.append("busy")

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == ["busy", "busy", "busy", "done"]
    assert len(results(path)) == 20
    assert_whole(path)


def test_a_stale_process_id_blocks_no_other_process(tmp_path: Path) -> None:
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "pipeline", [asking("ask")], ITEMS, rows), tmp_path / "run")
    (path / "orchestrator.pid").write_text(f"{os.getpid()}\n", "ascii")
    (path / "run.lock").write_text(json.dumps({"pid": os.getpid(), "born": "0", "term": 7}), "utf-8")
    with pytest.raises(NotRunning):
        kill(path)
    assert len(go(path).valid) == 20


def test_calls_in_progress_when_a_run_is_killed_are_reported_as_lost(tmp_path: Path) -> None:
    """Their cost cannot be known; their number can."""
    from trueup.batch.pipeline.rundir.disk import Disk

    class Cutting(Disk):
        left = 12

        def write(self, handle: int, data: bytes | memoryview) -> int:
            if b'"raw_response"' in bytes(data):
                Cutting.left -= 1
                if not Cutting.left:
                    raise KeyboardInterrupt
            return super().write(handle, data)

    with ScriptedServer(lambda _: Say(GOOD, usage=(10, 10))) as server:
        path = start(write(tmp_path / "pipeline", server.url), tmp_path / "run")
        with pytest.raises(KeyboardInterrupt):
            execute(path, PipelineOptions(workers=1), disk=Cutting())
        ran = go(path, PipelineOptions(workers=1))
        assert len(server.requests) == 21
    assert ran.money.lost == 1
    assert ran.money.unpriced == 1
    assert len(ran.valid) == 20
    assert_whole(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB, if the system allows one."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may make a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.spec("X46")
def test_a_full_disk_pauses_the_run_and_loses_nothing(tmp_path: Path, small_disk: Path) -> None:
    text = json.dumps({"answer": "x" * 20_000})
    items = [{"id": str(n)} for n in range(400)]
    rows = reply("ask", "*", text)
    pipeline = write_pipeline(tmp_path / "pipeline", [asking("ask")], items, rows, chunk_size=50)
    path = start(pipeline, small_disk / "run")
    provider = Counting(rows)
    ran = go(path, provider=provider)
    assert ran.result.code == 3
    assert "disk is full" in ran.result.reason
    recorded = len(results(path))
    assert recorded > 20
    assert len(provider.asked) <= recorded + 8
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    again = go(path, provider=provider)
    assert len(again.valid) == 400
    assert len(results(path)) == 400
    assert len(provider.asked) <= 408
    assert_whole(path)


def test_calls_that_never_return_do_not_delay_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.batch.pipeline.running.realtime._GRACE", 0.1)
    monkeypatch.setattr("trueup.batch.pipeline.running.realtime._TICK", 0.1)
    settings = {"replay": {"source": "replies.jsonl", "delay_seconds": 3600}}  # this test cannot wait for one
    rows = reply("ask", "*", GOOD)
    path = start(write_pipeline(tmp_path / "p", [asking("ask")], ITEMS, rows, api=settings), tmp_path / "run")
    ran = go(path, PipelineOptions(timeout=0.2))
    assert ran.result.code == 3
    assert "calls not finished 0.1 seconds after the stop are abandoned" in (path / "RUN_LOG.txt").read_text("utf-8")
    assert RunDir.look(path).state.step_rows()[0]["pending"] == 20


@pytest.mark.parametrize("batch", [False, True])
def test_a_mode_that_the_provider_refuses_is_stepped_down_from(tmp_path: Path, *, batch: bool) -> None:
    def script(request: Request) -> Any:
        if request.fields.get("response_format"):
            return Fail(
                400, "'response_format' of type 'json_schema' is not supported with this model", param="response_format"
            )
        return Say(GOOD, usage=(10, 10))

    with ScriptedServer(script) as server:
        pipeline = write(tmp_path / "pipeline", server.url, mode="json_schema")
        ran = run_pipeline(pipeline, tmp_path / "run", PipelineOptions(batch=batch, poll=0.001))
    assert len(ran.valid) == 20
    assert ran.money.calls == 20
    assert ran.money.lost == 0
    assert_whole(ran.path)


def test_rejected_calls_are_not_counted_as_lost(tmp_path: Path) -> None:
    """A run that is stopped during a storm and continues: the refused calls were answered, and cost nothing."""
    seen: list[int] = []

    def script(_: Request) -> Any:
        seen.append(1)
        if len(seen) == 8:
            return Fail(401, "who are you")
        return Fail(429, "slow down", retry_after=0) if len(seen) % 2 else Say(GOOD, usage=(10, 10))

    with ScriptedServer(script) as server:
        path = start(write(tmp_path / "pipeline", server.url), tmp_path / "run")
        assert go(path, PipelineOptions(workers=1)).result.code == 3
        ran = go(path, PipelineOptions(workers=1))
    assert len(ran.valid) == 20
    assert (ran.money.calls, ran.money.lost) == (20, 0)
    assert_whole(path)


@pytest.mark.spec("B20")
def test_the_reason_for_waiting_is_reported_immediately(tmp_path: Path) -> None:
    said: list[str] = []
    script: list[Any] = [Fail(429, "slow down", retry_after=0.01), *[Say(GOOD)] * 20]
    with ScriptedServer(script) as server:
        run_pipeline(
            write(tmp_path / "one", server.url), tmp_path / "limited", PipelineOptions(workers=1), on_log=said.append
        )
    assert [line for line in said if "waiting" in line] == [
        "openai: slow down; waiting 0.01 s; this does not count against any unit"
    ]
    said.clear()
    with ScriptedServer([Reset(), *[Say(GOOD)] * 20]) as server:
        ran = run_pipeline(
            write(tmp_path / "two", server.url), tmp_path / "cut", PipelineOptions(workers=1), on_log=said.append
        )
    (told,) = [line for line in said if "trying again" in line]
    assert told.startswith("openai: ")
    assert len(ran.valid) == 20


@pytest.mark.spec("B17")
def test_the_cost_cap_waits_for_calls_in_progress_and_keeps_their_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trueup.batch.pipeline.running.realtime._GRACE", 0.0)
    each = (100 * 2 + 10 * 4) / 1e6
    with ScriptedServer(lambda _: Slow(Say(GOOD, usage=(100, 10)), first=0.3)) as server:
        path = start(write(tmp_path / "pipeline", server.url, max_tokens=10), tmp_path / "run")
        ran = go(path, PipelineOptions(max_cost=each * 4.5, workers=4))
        sent = len(server.requests)
    assert ran.result.code == 3
    assert "0 calls under way" in ran.result.reason
    assert len(results(path)) == sent == 4  # each call is recorded, and no call was sent after the cap
    assert status_of(path)["money"]["usd"] == pytest.approx(4 * each)
    assert status_of(path)["money"]["lost"] == 0


@pytest.mark.spec("B17")
def test_an_estimate_that_is_too_high_does_not_stop_a_run_below_its_cap(tmp_path: Path) -> None:
    """If all money left is reserved for unfinished calls, they are awaited first; then their cost is known."""
    with ScriptedServer(lambda _: Say(GOOD, usage=(1, 1))) as server:
        path = start(write(tmp_path / "pipeline", server.url, max_tokens=1000), tmp_path / "run")
        ran = go(path, PipelineOptions(max_cost=0.009, workers=8))  # the estimate of a call is 0.004
    assert len(ran.valid) == 20
    assert ran.result.code == 0


@pytest.mark.spec("B10", "B18")
@pytest.mark.parametrize("workers", [1, 4])
def test_a_stopped_run_has_its_failures_so_far_and_consistent_counts(tmp_path: Path, workers: int) -> None:
    """Chunks in the middle of a step count too: in the file, in the table and in the manifest."""

    def script(request: Request) -> Any:
        bad = int(json.dumps(request.fields["messages"]).partition("unit")[2][:2]) % 2
        return Say("no idea" if bad else GOOD, usage=(100, 10))

    each = (100 * 2 + 10 * 4) / 1e6
    with ScriptedServer(script) as server:
        settings = {"max_tokens": 10, "retry": {"max_attempts": 1, "initial_delay_seconds": 0}}
        path = start(write(tmp_path / "pipeline", server.url, **settings), tmp_path / "run")
        ran = go(path, PipelineOptions(max_cost=each * 12.5, workers=workers))
        assert ran.result.code == 3
        found = status_of(path)
        assert found["failed"] == len(ran.failed) > 3
        assert {row["failure_stage"] for row in ran.failed} == {"parse"}
        assert found["steps"][0]["valid"] + found["failed"] == len(results(path)) == 12
        assert found["steps"][0]["pending"] == 20 - 12
        assert sum(found["steps"][0]["codes"].values()) == len(ran.failed)
        assert found["money"]["usd"] == pytest.approx(12 * each)
        again = go(path, PipelineOptions(max_cost=1.0))
    assert len(again.valid) == len(again.failed) == 10
    assert [row["unit_id"] for row in again.failed] == sorted(row["unit_id"] for row in again.failed)
    assert_whole(path)


def status_of(path: Path) -> dict[str, Any]:
    from trueup.batch.pipeline.reporting.status import standing

    return standing(RunDir.look(path), running=False)
